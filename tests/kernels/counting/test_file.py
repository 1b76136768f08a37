"""Counting a file in batches equals counting it in memory; what is broken is told, not counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from audit.base.errors import AuditError, InputError, PolicyError, SchemaError
from audit.base.progress import silent
from audit.counting.counts import PairCount
from audit.counting.file import count_pairs
from audit.data.columns import Columns
from audit.data.dataset import load_labels
from audit.engine.pairs.entailed import count_entailed, in_line, joint_entailed
from audit.engine.pairs.pair_counts import count_pairs as count_in_memory
from audit.engine.pairs.pair_counts import support
from audit.engine.pairs.propagation import aggregate
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from fixtures.coded import icd9cm
from fixtures.examples import examples
from fixtures.toy import toy

FORMATS = ("csv", "tsv", "csv.gz", "parquet", "lists.parquet", "jsonl")
LABELS = ("dog", " cow ", "bird", "tool", "pet", "unicorn", "", None)
SMALL = 20 * 2**20
"""About the least memory."""

records = st.lists(st.lists(st.sampled_from(LABELS), min_size=1, max_size=5), max_size=8)


def long_frame(found: Sequence[Sequence[str | None]]) -> pl.DataFrame:
    rows = [(f"i{number}", label) for number, labels in enumerate(found) for label in labels]
    schema = {"instance": pl.String, "label": pl.String}
    return pl.DataFrame([(None, "dog"), *rows, ("last", "cow")], schema, orient="row")


def write(frame: pl.DataFrame, folder: Path, kind: str) -> Path:
    path = folder / f"rows.{kind}"
    if kind in ("csv", "csv.gz"):
        frame.write_csv(path, compression="gzip" if kind == "csv.gz" else "uncompressed")
    elif kind == "tsv":
        frame.write_csv(path, separator="\t")
    elif kind == "parquet":
        frame.write_parquet(path, row_group_size=3)
    else:
        listed = frame.group_by("instance", maintain_order=True).agg(labels="label")
        without = pl.DataFrame({"instance": ["none"], "labels": [[]]}, listed.schema)
        listed = pl.concat([listed, without])
        if kind == "jsonl":
            listed.write_ndjson(path)
        else:
            listed.write_parquet(path, row_group_size=3)
    return path


def assert_counts_the_file(found: PairCount, path: Path, hierarchy: Hierarchy) -> None:
    dataset = load_labels(path, hierarchy, unlisted="refuse")
    aggregated = aggregate(dataset.direct, dataset.hierarchy.closure)
    expected, pairs = count_in_memory(aggregated), found.pairs
    closure = dataset.hierarchy.closure
    entailed, keys = count_entailed(dataset.direct, closure), expected.keys(closure.shape[0])
    alone = joint_entailed(keys, expected.joint, entailed, in_line(closure))

    assert found.hierarchy.nodes == dataset.hierarchy.nodes
    table = found.pairs_of(found.pair_records(), silent).counted.collect()
    for name in ("a", "b", "joint"):
        np.testing.assert_array_equal(pairs[name], getattr(expected, name))
    sums = pairs["confusion"] * max(len(dataset), 1)
    np.testing.assert_allclose(sums, expected.confusion_sum, rtol=1e-12)
    np.testing.assert_array_equal(table["joint_entailed"], alone)
    np.testing.assert_array_equal(found.support, support(aggregated))
    assert found.ledger == dataset.ledger
    assert_frame_equal(found.refusals, dataset.refusals)
    assert_frame_equal(found.mappings, dataset.mappings)


@pytest.mark.parametrize("kind", FORMATS)
@given(records, st.integers(1, 9))
@examples(4)
def test_every_format_counts_as_in_memory(
    tmp_path_factory: pytest.TempPathFactory, kind: str, found: list[list[str | None]], batch: int
) -> None:
    path = write(long_frame(found), tmp_path_factory.mktemp("stream"), kind)

    counted = count_pairs(path, toy(), Columns(unlisted="refuse"), batch=batch)

    assert_counts_the_file(counted, path, toy())


def test_codes_that_a_classification_lacks_get_a_place(tmp_path: Path) -> None:
    path, hierarchy = tmp_path / "rows.csv", icd9cm()
    codes = ["428.0", "4280", "401.9", "038.97", "V30.00", "nonsense", "99.99"]
    path.write_text("instance,label\n" + "".join(f"a,{c}\nb,{c}\n" for c in codes[:1]))
    path.write_text("instance,label\n" + "".join(f"{i},{c}\n" for i in "ab" for c in codes))

    counted = count_pairs(path, hierarchy, Columns(unlisted="refuse"))
    assert_counts_the_file(counted, path, hierarchy)


# --- order ---------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_an_instance_that_comes_back_is_never_counted_twice(tmp_path: Path, batch: int) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("instance,label\na,dog\nb,cow\nb,dog\na,cow\n")

    with pytest.raises(SchemaError, match=r"(?s)'a' again.*row 4"):
        count_pairs(path, toy(), batch=batch)


# --- broken input --------------------------------------------------------------------------


def test_a_damaged_row_group_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame({"instance": [f"i{n}" for n in range(900)], "label": ["dog"] * 900})
    pq.write_table(frame.to_arrow(), path, row_group_size=300, write_page_checksum=True)
    column = pq.read_metadata(path).row_group(1).column(0)
    content = bytearray(path.read_bytes())
    end = column.data_page_offset + 60
    content[end - 20 : end] = b"\xff" * 20
    path.write_bytes(bytes(content))

    with pytest.raises(InputError, match="whole file of Parquet"):
        count_pairs(path, toy())


def test_what_is_said_of_a_table_need_not_be_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table = pl.DataFrame({"instance": ["1"], "label": ["dog"]}).to_arrow()
    pq.write_table(table.replace_schema_metadata({b"by\xff": b"\xfe"}), path)

    assert count_pairs(path, toy()).ledger.instances == 1


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", b"instance,label\na,dog\nb\n", ":3: every row"),
        ("a.csv", b"instance,label\na,\xc3\xa9\nb,\xff\n", "UTF"),
        ("a.csv", b"instance,label\n", "with a value"),
        ("a.csv", b"who,when,label\na,1,dog\na,2,cow\nb,1,cow\n", "--id who --label label"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00garbage", "whole"),
        ("a.parquet", b"PAR1 nonsense", "Parquet"),
        ("a.jsonl", b'{"instance": "a", "label": ["dog"]}\n{"inst\n', ":2"),
        ("a.jsonl", b'{"instance": "a", "label": {"of": 2}}\n', "is not certain"),
        ("a.pkl", b"\x80\x04.", "pickled"),
    ],
)
def test_what_is_broken_is_told(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(AuditError, match=told):
        count_pairs(path, toy())


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing there"):
        count_pairs(tmp_path / "rows.csv", toy())


def test_a_node_that_is_none_is_told_before_anything_is_counted(tmp_path: Path) -> None:
    told: list[str] = []
    path = write(long_frame([["dog"]]), tmp_path, "csv")
    policy = Policy(residual_nodes=("nowhere",))
    with pytest.raises(PolicyError, match="nowhere"):
        count_pairs(path, toy(), policy=policy, progress=lambda step, *_: told.append(step))

    assert set(told) == {"reading labels"}


def test_memory_too_small_for_a_batch(tmp_path: Path) -> None:
    path = write(long_frame([["dog"]]), tmp_path, "csv")

    with pytest.raises(InputError, match="MiB is required"):
        count_pairs(path, toy(), memory=2**20)
    with pytest.raises(InputError, match="MiB is required"):
        count_pairs(path, toy(), memory=SMALL, batch=10**6)
    with pytest.raises(InputError, match="at least one row"):
        count_pairs(path, toy(), batch=0)

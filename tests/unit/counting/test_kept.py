"""A count that a run keeps is read back as it was; what is damaged or of another is told."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from audit.base.errors import InputError, OutputError
from audit.counting.counts import PairCount
from audit.counting.file import count_pairs
from audit.counting.kept import counted_sources, read_counts, write_counts
from audit.engine.pairs.record_counts import KINDS
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import ICD9
from audit.measure.measure import measure
from audit.policy.policy import Policy
from fixtures.brute_force_counts import Rows
from fixtures.examples import examples
from fixtures.full_disk import full_disk
from fixtures.labelled import tree
from fixtures.named_counts import LABEL, write_rows
from fixtures.toy import EDGES, toy

LABELS = ("animal", "bird", "cow", "dog", "mammal", "pet", "tool", "elf", "unicorn", None)
POLICY = Policy(residual_nodes=("cow", "tool"))
ROWS: Rows = {
    "a": ["dog", "cow", "cow"],
    "b": ["bird", "cow", "tool"],
    "c": ["elf"],
    "d": ["dog", "mammal"],
    "e": [],
}


def count(rows: Rows, hierarchy: Hierarchy, policy: Policy | None = POLICY) -> PairCount:
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(rows, Path(folder) / "rows.parquet", listed=True)
        return count_pairs(path, hierarchy, label=LABEL, policy=policy)


def assert_same(found: PairCount, wanted: PairCount) -> None:
    """Every field, and every array of it."""
    assert found.hierarchy.sha256 == wanted.hierarchy.sha256
    assert_frame_equal(found.labels.written, wanted.labels.written)
    for one, other in (
        (found.labels.node_of, wanted.labels.node_of),
        (found.labels.reason_of, wanted.labels.reason_of),
        (found.residual, wanted.residual),
        *((found.records.of(kind).keys, wanted.records.of(kind).keys) for kind in KINDS),
        *((found.records.of(kind).joint, wanted.records.of(kind).joint) for kind in KINDS),
        *(
            (getattr(found.tally, name), getattr(wanted.tally, name))
            for name in ("lengths", "support", "direct_support")
        ),
        *(
            (getattr(found.pairs, name), getattr(wanted.pairs, name))
            for name in ("a", "b", "joint", "confusion_sum")
        ),
        (found.tally.entailed.keys, wanted.tally.entailed.keys),
        (found.tally.entailed.joint, wanted.tally.entailed.joint),
        *(
            (getattr(found.strata, name), getattr(wanted.strata, name))
            for name in ("cuts", "size", "carried", "labelled")
        ),
    ):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert found.ledger == wanted.ledger
    assert_frame_equal(found.refusals, wanted.refusals)
    assert_frame_equal(found.mappings, wanted.mappings)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


rows_of_toy = st.lists(st.lists(st.sampled_from(LABELS), max_size=6), min_size=1, max_size=8)


@given(rows_of_toy)
@examples(15)
def test_what_was_written_is_read_back(rows: list[list[str | None]]) -> None:
    wanted = count({f"i{n}": own for n, own in enumerate(rows)}, toy())
    with tempfile.TemporaryDirectory() as folder:
        write_counts(wanted, Path(folder) / "one", ["b", "a"])
        found = read_counts(Path(folder) / "one", toy())

        assert_same(found, wanted)
        write_counts(found, Path(folder) / "other", ["a", "b"])
        assert contents(Path(folder) / "other") == contents(Path(folder) / "one")
        assert counted_sources(Path(folder) / "other") == {"a", "b"}


def test_nodes_that_labels_brought_are_read_back(tmp_path: Path) -> None:
    hierarchy = tree("718.5 < 718", "428.0 < 428", "718 428 < top", coding=ICD9)
    wanted = count({"a": ["718.60", "428.0"], "b": ["719.70", "4280"]}, hierarchy, None)
    write_counts(wanted, tmp_path)

    assert len(wanted.hierarchy) > len(hierarchy)
    assert_same(read_counts(tmp_path, hierarchy), wanted)
    assert counted_sources(tmp_path) == frozenset()


def test_a_run_that_keeps_no_counts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"(?s)a run that keeps its counts.*--memory SIZE"):
        read_counts(tmp_path / "counts", toy())


def test_counts_by_stratum_of_an_earlier_version(tmp_path: Path) -> None:
    write_counts(count(ROWS, toy()), tmp_path)
    pl.DataFrame({"first_length": [2]}).write_parquet(tmp_path / "strata.parquet")

    with pytest.raises(InputError, match=r"(?s)by their margins.*Hint: count all data together"):
        read_counts(tmp_path, toy())


@pytest.mark.parametrize(
    "edges",
    [
        pytest.param([*EDGES, ("cat", "mammal")], id="another node"),
        pytest.param([*EDGES, ("cow", "pet")], id="another parent"),
        pytest.param([edge for edge in EDGES if edge != ("dog", "pet")], id="a parent less"),
    ],
)
def test_a_count_of_another_hierarchy_is_refused(
    tmp_path: Path, edges: list[tuple[str, str]]
) -> None:
    write_counts(count(ROWS, toy()), tmp_path)
    frame = pl.DataFrame(edges, schema=["child", "parent"], orient="row")

    with pytest.raises(InputError, match=r"(?s)the hierarchy that the earlier data.*data together"):
        read_counts(tmp_path, Hierarchy.build(frame, name="toy"))


# --- damage --------------------------------------------------------------------------------


def damaged(path: Path, how: str) -> None:
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "another table":
        pl.DataFrame({"x": [1]}).write_parquet(path)
    elif how == "other types":
        other = (cs.integer().cast(pl.Float64), cs.string().cast(pl.Categorical))
        pl.read_parquet(path).with_columns(*other).write_parquet(path)


def read_all(folder: Path) -> None:
    """All that is done with counts that were kept."""
    counted_sources(folder)
    measure(read_counts(folder, toy()), POLICY)


@pytest.mark.parametrize("how", ["gone", "cut", "empty", "another table", "other types"])
def test_whatever_file_is_damaged_is_told(tmp_path: Path, how: str) -> None:
    write_counts(count(ROWS, toy()), tmp_path, ["a"])
    whole = contents(tmp_path)

    assert sorted(whole) == sorted(
        f"{name}.parquet" for name in ("sources", "labels", "nodes", "records", "pairs", "entailed")
    )
    for name, content in whole.items():
        damaged(tmp_path / name, how)
        with pytest.raises(InputError, match=r"required\n(Found|Hint): "):
            read_all(tmp_path)
        (tmp_path / name).write_bytes(content)
    assert_same(read_counts(tmp_path, toy()), count(ROWS, toy()))


@pytest.mark.parametrize("size", [100, 1200])
def test_a_full_disk_is_told(tmp_path: Path, size: int) -> None:
    found = count(ROWS, toy())

    with pytest.raises(OutputError, match="room on the disk"), full_disk(size):
        write_counts(found, tmp_path)

"""Corrected copies: of every format the bytes that a plain writer makes of the changed labels."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.runs.fixes.changes import Change
from audit.runs.fixes.copying import log_of, read_again, undone, write_copy
from audit.runs.settings import Settings

LABELS = ("a1", "a2", "b1", "b2", "c1", "d1")
TREE = "child,parent\n" + "".join(f"{x},root\n" for x in "abcd")
EDGES = [("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b"), ("c1", "c"), ("d1", "d")]
Carried: TypeAlias = Mapping[str, Sequence[str]]
"""Labels of each instance, in the order of the rows."""


def table(rows: Sequence[Sequence[str]], separator: str = ",", end: str = "\r\n") -> bytes:
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator=end).writerows(rows)
    return stream.getvalue().encode()


def long(carried: Carried) -> bytes:
    rows = [(f"n{one}", one, label) for one, own in carried.items() for label in own or [""]]
    return b"\xef\xbb\xbf" + table([("site", "id", "label"), *rows])


def joined(carried: Carried) -> bytes:
    rows = [(one, "; ".join(own), "x y") for one, own in carried.items()]
    return table([("id", "labels", "text"), ("1", "a1; b1", ""), *rows], "\t", "\n")


def piped(carried: Carried) -> bytes:
    return "".join("|".join([one, *own]) + "\n" for one, own in carried.items()).encode()


def lines(carried: Carried) -> bytes:
    rows = [{"id": one, "of": {"é": 1}, "labels": [*own]} for one, own in carried.items()]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def packed(carried: Carried) -> bytes:
    return gzip.compress(long(carried), mtime=0)


WRITERS: dict[str, Callable[[Carried], bytes]] = {
    "long.csv": long,
    "joined.tsv": joined,
    "lines.jsonl": lines,
    "packed.csv.gz": packed,
    "piped.psv": piped,
}

carried = st.dictionaries(
    st.integers(100, 130).map(str),
    st.lists(st.sampled_from(LABELS), min_size=1, max_size=5, unique=True),
    min_size=2,
    max_size=8,
)


@st.composite
def changed(draw: Any) -> tuple[Carried, list[Change], Carried]:
    """Labels, changes of some of them, and what they are then."""
    before = draw(carried)
    after, changes = {one: [*own] for one, own in before.items()}, list[Change]()
    for one, own in before.items():
        for label in own:
            free = [other for other in LABELS if other not in after[one]]
            kind = draw(st.sampled_from(["", "", "replace", "remove"]))
            if kind == "replace" and free:
                new = draw(st.sampled_from(free))
                after[one][after[one].index(label)] = new
                changes.append(Change(one, "replace", label, new))
            elif kind == "remove" and len(after[one]) > 1:
                after[one].remove(label)
                changes.append(Change(one, "remove", label))
        free = [other for other in LABELS if other not in (*own, *after[one])]
        if free and draw(st.booleans()):
            after[one].append(new := draw(st.sampled_from(free)))
            changes.append(Change(one, "add", new=new))
    return before, changes, after


def settings(folder: Path, name: str, data: bytes) -> Settings:
    hierarchy = folder / "tree.csv"
    hierarchy.write_bytes(table([("child", "parent"), *EDGES]) + TREE.encode()[13:])
    (folder / name).write_bytes(data)
    return Settings(dataset=str(folder / name), hierarchy=str(hierarchy))


def copied(folder: Path, known: Settings, changes: Sequence[Change], out: str = "copy") -> Path:
    run = folder / "run"
    run.mkdir(exist_ok=True)
    (run / "result.json").write_text("{}")
    return write_copy(run, known, read_again(known), changes, folder / out).copy


@pytest.mark.parametrize("name", WRITERS)
@given(case=changed())
def test_a_copy_is_what_a_writer_makes_of_the_changed_labels_and_undoing_gives_the_data(
    name: str, case: tuple[Carried, list[Change], Carried], tmp_path_factory: pytest.TempPathFactory
) -> None:
    before, changes, after = case
    folder, write = tmp_path_factory.mktemp("copies"), WRITERS[name]
    known = settings(folder, name, write(before))

    copy = copied(folder, known, changes)

    assert copy.read_bytes() == write(after)
    assert undone(log_of(copy), folder / "again").read_bytes() == write(before)


def test_quotes_stay_where_they_are_and_come_where_they_are_needed(tmp_path: Path) -> None:
    known = settings(tmp_path, "few.csv", b'id,label\n1,"a1"\n2,a1\n3,"c,1"\n')
    tree = tmp_path / "tree.csv"
    tree.write_bytes(tree.read_bytes() + b'"c,1",c\n')
    changes = [Change("1", "replace", "a1", "b1"), Change("2", "replace", "a1", "c,1")]

    copy = copied(tmp_path, known, [*changes, Change("3", "replace", "c,1", "a2")])

    assert copy.read_bytes() == b'id,label\n1,"b1"\n2,"c,1"\n3,a2\n'


def test_the_first_blank_of_several_columns_takes_a_label_that_is_added(tmp_path: Path) -> None:
    known = settings(tmp_path, "s.csv", b"id,DX1,DX2,DX3\n1,a1,,\n2,b1,b2,c1\n3,a1,a2,\n")

    copy = copied(tmp_path, known, [Change("1", "add", new="d1"), Change("2", "remove", "b2")])

    assert copy.read_bytes() == b"id,DX1,DX2,DX3\n1,a1,d1,\n2,b1,,c1\n3,a1,a2,\n"


def test_only_the_labels_of_parquet_differ(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    whole = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int32()),
            "score": pa.array([0.5, None, 1.5], pa.float32()),
            "labels": pa.array([["a1", "b1"], [], ["c1"]], pa.list_(pa.large_string())),
        },
        metadata={"made by": "a test"},
    )
    pq.write_table(whole, file, row_group_size=2, compression="zstd")
    known = settings(tmp_path, "t.parquet", file.read_bytes())
    changes = [Change("1", "replace", "b1", "b2"), Change("2", "add", new="d1")]

    copy = copied(tmp_path, known, [*changes, Change("3", "remove", "c1")])

    found, whole = pq.read_table(copy), pq.read_table(file)
    assert found.schema.equals(whole.schema, check_metadata=True)
    assert found.drop(["labels"]).equals(whole.drop(["labels"]))
    assert found["labels"].to_pylist() == [["a1", "b2"], ["d1"], []]
    meta = pq.ParquetFile(copy).metadata
    assert [meta.row_group(n).num_rows for n in range(2)] == [2, 1]
    assert meta.row_group(0).column(0).compression == "ZSTD"
    assert undone(log_of(copy), tmp_path / "again").read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ([Change("1", "replace", "b2", "a2")], "none for 1 change: 'b2 of 1'"),
        ([Change("9", "add", new="a2")], "none for 1 change: 'add a2 of 9'"),
        (2 * [Change("1", "remove", "a1")], "several on 'a1 of 1'"),
    ],
)
def test_a_change_without_a_place_is_refused_and_nothing_is_written(
    change: list[Change], said: str, tmp_path: Path
) -> None:
    known = settings(tmp_path, "few.csv", long({"1": ["a1"], "2": ["a2", "b1"]}))
    before = sorted(tmp_path.iterdir())

    with pytest.raises(InputError, match=said):
        copied(tmp_path, known, change)

    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "run"])


def test_a_changed_copy_is_not_taken_back(tmp_path: Path) -> None:
    known = settings(tmp_path, "few.csv", long({"1": ["a1"], "2": ["a2", "b1"]}))
    copy = copied(tmp_path, known, [Change("1", "replace", "a1", "a2")])
    copy.write_bytes(copy.read_bytes() + b"\n")

    with pytest.raises(InputError, match="another content"):
        undone(log_of(copy), tmp_path / "again")

    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    "damage",
    [
        {"schema_version": "2.0"},
        {"files": {"../tree.csv": {"before": "0", "after": "0"}}},
        {"files": []},
        {"files": {"few.csv": {"before": "0", "after": 1}}},
        {"folder": True},
    ],
)
def test_a_log_that_was_changed_is_refused(damage: dict[str, Any], tmp_path: Path) -> None:
    known = settings(tmp_path, "few.csv", long({"1": ["a1"], "2": ["a2", "b1"]}))
    copy = copied(tmp_path, known, [Change("1", "replace", "a1", "a2")])
    log = log_of(copy)
    log.write_text(json.dumps(json.loads(log.read_text("utf-8")) | damage), "utf-8")
    before = (tmp_path / "tree.csv").read_bytes()

    with pytest.raises(InputError):
        undone(log, tmp_path / "again")

    assert not (tmp_path / "again").exists()
    assert (tmp_path / "tree.csv").read_bytes() == before

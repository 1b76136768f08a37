"""Corrected copies: of every format the bytes that a plain writer makes of the changed labels."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from audit.base.errors import InputError
from audit.cli.app import app
from audit.runs.fixes.changes import Change
from audit.runs.fixes.copying import log_of, undone
from audit.runs.fixes.written_back import settings_of
from audit.runs.settings import Settings
from fixtures.corrected_copies import copied
from fixtures.examples import examples
from fixtures.plugins import install, installed

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


def wide(yes: str, no: str) -> Callable[[Carried], bytes]:
    """A writer of a column of flags for each label."""

    def write(carried: Carried) -> bytes:
        rows = [
            (one, *(yes if label in own else no for label in LABELS), "7.5")
            for one, own in carried.items()
        ]
        return table([("id", *LABELS, "weight"), *rows])

    return write


WRITERS: dict[str, Callable[[Carried], bytes]] = {
    "long.csv": long,
    "joined.tsv": joined,
    "lines.jsonl": lines,
    "packed.csv.gz": packed,
    "piped.psv": piped,
    "zeros.csv": wide("1", "0"),
    "truths.csv": wide("True", "False"),
    "words.csv": wide("Yes", "No"),
    "crosses.csv": wide("x", ""),
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


@pytest.mark.parametrize("name", WRITERS)
@given(case=changed())
@examples(15)
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


@given(
    rows=st.lists(st.lists(st.sampled_from(["", *LABELS]), min_size=4, max_size=4), min_size=2),
    data=st.data(),
)
@examples(20)
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_cells_of_several_columns_change_where_they_stand(
    end: str, rows: list[list[str]], data: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [[*dict.fromkeys(filter(None, row))] for row in [*rows, ["a1", "b1", "", "c1"]]]
    rows = [row + [""] * (4 - len(row)) for row in rows]
    after, changes = [[*row] for row in rows], list[Change]()
    for number, row in enumerate(after):
        free = [one for one in LABELS if one not in row]
        for place, label in enumerate(rows[number]):
            kind = data.draw(st.sampled_from(["", "replace", "remove"])) if label else ""
            if kind == "replace" and free:
                row[place] = free.pop()
                changes.append(Change(f"s{number}", "replace", label, row[place]))
            elif kind == "remove":
                row[place] = ""
                changes.append(Change(f"s{number}", "remove", label))
        if free and "" in row and data.draw(st.booleans()):
            changes.append(Change(f"s{number}", "add", new=free[0]))
            row[row.index("")] = free[0]
    folder = tmp_path_factory.mktemp("columns")
    known = settings(folder, f"s.{end}", b"")

    def frame(cells: list[list[str]]) -> pl.DataFrame:
        ids = [f"s{number}" for number in range(len(cells))]
        own = {f"DX{n + 1}": [row[n] or None for row in cells] for n in range(4)}
        return pl.DataFrame({"id": ids, **own}, schema_overrides=dict.fromkeys(own, pl.String))

    write = {"csv": pl.DataFrame.write_csv, "parquet": pl.DataFrame.write_parquet}
    write[end](frame(rows), folder / f"s.{end}")  # type: ignore[operator]

    copy = copied(folder, known, changes)

    found = pl.read_csv(copy, infer_schema=False) if end == "csv" else pl.read_parquet(copy)
    assert found.equals(frame(after))


def test_a_label_without_a_free_cell_is_refused(tmp_path: Path) -> None:
    known = settings(tmp_path, "s.csv", b"id,DX1,DX2\n1,a1,b1\n2,b2,\n")

    with pytest.raises(InputError, match="none for 1 change: 'add c1 of 1'"):
        copied(tmp_path, known, [Change("1", "add", new="c1")])


def test_a_table_of_flags_gets_no_further_column(tmp_path: Path) -> None:
    known = settings(tmp_path, "w.csv", b"id,a1,a2,b1\n1,1,0,1\n2,0,0,1\n")

    with pytest.raises(InputError, match="a column for each label that is written"):
        copied(tmp_path, known, [Change("1", "replace", "a1", "c1")])


@pytest.mark.parametrize("kind", [pa.bool_(), pa.int8(), pa.float32(), pa.string()])
def test_flags_of_parquet_keep_their_type(kind: pa.DataType, tmp_path: Path) -> None:
    flags = {"a1": [1, 0, 1], "a2": [0, 0, 0], "b1": [1, 1, 1]}
    typed = {
        name: pa.array(own).cast(pa.bool_() if kind == pa.bool_() else kind)
        for name, own in flags.items()
    }
    whole = pa.table({"id": pa.array(["x", "y", "z"]), **typed}, metadata={"by": "a test"})
    pq.write_table(whole, tmp_path / "w.parquet")
    known = settings(tmp_path, "w.parquet", (tmp_path / "w.parquet").read_bytes())

    changes = [Change("x", "replace", "a1", "a2"), Change("y", "remove", "b1")]
    copy = copied(tmp_path, known, [*changes, Change("y", "add", new="a1")])

    found = pq.read_table(copy)
    assert found.schema.equals(whole.schema, check_metadata=True)
    assert [found[name].cast(pa.float64()).to_pylist() for name in flags] == [
        [0, 1, 1],
        [1, 0, 0],
        [1, 0, 1],
    ]


def test_a_row_for_a_further_label_of_parquet_has_what_others_have_alike(tmp_path: Path) -> None:
    rows = {"id": [7, 7, 8], "site": ["n", "n", "s"], "seq": [1, 2, 1], "label": ["a1", "a2", "b1"]}
    pq.write_table(pa.table(rows), tmp_path / "l.parquet", row_group_size=2)
    known = settings(tmp_path, "l.parquet", (tmp_path / "l.parquet").read_bytes())

    changes = [Change("7", "add", new="c1"), Change("7", "remove", "a2")]
    copy = copied(tmp_path, known, [*changes, Change("8", "remove", "b1")])

    assert pq.read_table(copy).to_pydict() == {
        "id": [7, 7, 8],
        "site": ["n", "n", "s"],
        "seq": [1, None, 1],
        "label": ["a1", "c1", None],
    }
    assert pq.ParquetFile(copy).metadata.row_group(0).num_rows == 2


LEFT_OUT = ["a1 yes", "a1 no", "b1 no", "a1 Yes", "b1 yes"]
"""Labels of one instance, and of each whether it counts."""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["csv", "parquet", "jsonl", "xlsx"])
def test_rows_that_do_not_count_stay_as_they_are(end: str, tmp_path: Path) -> None:
    def frame(rows: Sequence[str]) -> pl.DataFrame:
        own = [dict(zip(("label", "Sure"), row.split(" "), strict=True)) for row in rows]
        return pl.DataFrame([{"id": "7", **one} for one in own])

    def lines(rows: pl.DataFrame, file: Path) -> None:
        rows.with_columns(label=pl.concat_list("label")).write_ndjson(file)

    write: dict[str, Any] = {"csv": pl.DataFrame.write_csv, "xlsx": pl.DataFrame.write_excel}
    write |= {"parquet": pl.DataFrame.write_parquet, "jsonl": lines}
    file = tmp_path / f"r.{end}"
    write[end](frame(LEFT_OUT), file)
    known = replace(settings(tmp_path, file.name, file.read_bytes()), where=("sure=yes",))
    known = replace(known, id="id", label="label")

    changes = [Change("7", "replace", "a1", "c1"), Change("7", "replace", "b1", "b2")]
    copy = copied(tmp_path, known, changes)

    read: dict[str, Any] = {"csv": pl.read_csv, "xlsx": pl.read_excel}
    read |= {"parquet": pl.read_parquet, "jsonl": pl.read_ndjson}
    labels = read[end](copy)["label"]
    labels = labels.explode() if end == "jsonl" else labels
    assert labels.to_list() == ["c1", "a1", "b1", "c1", "b2"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["?", "<i4", ">u2", "<f4"])
def test_only_entries_of_an_array_differ(kind: str, order: Any, tmp_path: Path) -> None:
    before = np.array([[1, 0, 1], [0, 0, 1]]).astype(kind, order=order)
    np.save(tmp_path / "w.npy", before)
    known = settings(tmp_path, "w.npy", (tmp_path / "w.npy").read_bytes())
    (tmp_path / "names.txt").write_text("a1\na2\nb1\n")
    known = replace(known, classes=tmp_path / "names.txt")

    copy = copied(
        tmp_path, known, [Change("0", "replace", "a1", "a2"), Change("1", "add", new="a1")]
    )

    after = np.array([[0, 1, 1], [1, 0, 1]]).astype(kind, order=order)
    np.save(tmp_path / "after.npy", after)
    assert copy.read_bytes() == (tmp_path / "after.npy").read_bytes()
    assert (
        undone(log_of(copy), tmp_path / "again").read_bytes() == (tmp_path / "w.npy").read_bytes()
    )


def test_an_array_of_class_numbers_has_one_for_each_row(tmp_path: Path) -> None:
    np.save(tmp_path / "c.npy", np.array([0, 2, 1]))
    known = settings(tmp_path, "c.npy", (tmp_path / "c.npy").read_bytes())
    (tmp_path / "names.txt").write_text("a1\na2\nb1\n")
    known = replace(known, classes=tmp_path / "names.txt")

    copy = copied(tmp_path, known, [Change("1", "replace", "b1", "a1")])

    assert np.load(copy).tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="for each instance"):
        copied(tmp_path, known, [Change("1", "remove", "b1")], "other")


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


def test_data_of_a_hierarchy_of_a_plugin_are_changed(tmp_path: Path) -> None:
    name = install(tmp_path)
    known = settings(tmp_path, "few.csv", long({"1": ["cat"], "2": ["dog", "owl"]}))
    known = replace(known, hierarchy="animals", plugins=(name,))

    with installed(tmp_path):
        copy = copied(tmp_path, known, [Change("2", "replace", "dog", "cat")])

    assert copy.read_bytes() == long({"1": ["cat"], "2": ["cat", "owl"]})


@pytest.mark.parametrize(
    ("name", "data", "hint"),
    [
        ("t.csv", b"id~label\n1~a1\n2~a2\n3~b1\n", "write it with commas"),
        ("t.txt", b"__label__a1 one\n__label__a2 two\n", "write them as a table"),
        ("t.db", None, "audit sqlite:///"),
    ],
)
def test_what_cannot_be_written_back_is_refused_before_it_is_read(
    name: str, data: bytes | None, hint: str, tmp_path: Path
) -> None:
    known = settings(tmp_path, name, data or b"")
    if data is None:
        (tmp_path / name).unlink()
        with sqlite3.connect(tmp_path / name) as made:
            made.execute("CREATE TABLE t (id TEXT, label TEXT)")
            made.execute("INSERT INTO t VALUES ('1', 'a1')")
    command = ["run", known.dataset, "--hierarchy", known.hierarchy, "--no-pdf"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output

    with pytest.raises(InputError, match=hint):
        settings_of(tmp_path / "run")


def test_a_label_that_the_encoding_of_the_text_lacks_is_refused(tmp_path: Path) -> None:
    data = "id,label,by\n1,a1,é\n2,a2,\n".encode("cp1252")
    known = settings(tmp_path, "few.csv", data)
    (tmp_path / "tree.csv").write_text(TREE + "Ω,a\na1,a\na2,a\n", "utf-8")

    with pytest.raises(InputError, match=r"cp1252, are required(.|\n)*'Ω'"):
        copied(tmp_path, known, [Change("1", "replace", "a1", "Ω")])


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

"""Corrected copies: each kind of table with the labels decided, else a list of corrections."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from audit.base.errors import InputError
from audit.runs.fixes.changes import Change
from audit.runs.fixes.corrections import Applied, read_again, write_corrected
from audit.runs.settings import Settings
from fixtures.held import sha256

LABELS = ("a1", "a2", "b1", "b2", "c1", "d1")
TREE = "child,parent\n" + "".join(f"{x},root\n" for x in "abcd")
TREE += "".join(f"{label},{label[0]}\n" for label in LABELS)


def applied(
    folder: Path, name: str, data: bytes | pl.DataFrame, *changes: Change, **options: Any
) -> Applied:
    """What is written of a table with changes, in a folder of its own."""
    (folder / "tree.csv").write_text(TREE)
    (folder / "run" / "restricted").mkdir(parents=True)
    (folder / "run" / "result.json").write_text("{}")
    file = folder / name
    if isinstance(data, bytes):
        file.write_bytes(data)
    elif name.endswith("xlsx"):
        data.write_excel(file)
    else:
        data.write_parquet(file)
    kept = [{"role": "data", "path": str(file), "sha256": sha256(file.read_bytes())}]
    (folder / "run" / "restricted" / "manifest.json").write_text(json.dumps({"inputs": kept}))
    known = Settings(dataset=str(file), hierarchy=str(folder / "tree.csv"), **options)
    return write_corrected(
        folder / "run", known, read_again(known), changes, folder / f"out_{name}"
    )


TEXTS = {
    "long": (
        b"n,id,label\r\nn1,1,a1\r\nn1,1,b1\r\nn2,2,a1\r\nn3,3,c1\r\n",
        b"n,id,label\r\nn1,1,b1\r\nn1,1,c1\r\nn2,2,b2\r\nn3,3,\r\n",
        [("1", "remove", "a1"), ("1", "add", "", "c1"), ("2", "replace", "a1", "b2"),
         ("3", "remove", "c1")],
    ),
    "emptied": (
        b"n,id,label\n1,1,a1\n2,1,b1\n3,2,a2\n",
        b"n,id,label\n2,1,\n3,2,a2\n",
        [("1", "remove", "a1"), ("1", "remove", "b1")],
    ),
    "columns": (
        b"id,DX1,DX2,DX3\n1,a1,,\n2,b1,b2,c1\n3,a1,a2,\n",
        b"id,DX1,DX2,DX3\n1,a1,d1,\n2,b1,,c1\n3,a1,a2,\n",
        [("1", "add", "", "d1"), ("2", "remove", "b2")],
    ),
    "joined": (
        b"id\tlabels\ttext\n1\ta1; b1\t\n2\ta1\tx y\n3\tb1; c1\t\n",
        b"id\tlabels\ttext\n1\tb1\t\n2\ta1; d1\tx y\n3\tb1; d1\t\n",
        [("1", "remove", "a1"), ("2", "add", "", "d1"), ("3", "replace", "c1", "d1")],
    ),
    "notes": (
        b"# of a clinic\n# and more\nid,label\n1,a1\n2,a2\n",
        b"# of a clinic\n# and more\nid,label\n1,b1\n2,a2\n",
        [("1", "replace", "a1", "b1")],
    ),
    "quoted": (
        b'id,label,"said, aloud"\n1,"a1",""\n2,a2,"x, ""y"""\n',
        b'id,label,"said, aloud"\n1,b1,\n2,a2,"x, ""y"""\n',
        [("1", "replace", "a1", "b1")],
    ),
}  # fmt: skip
STATED: dict[str, dict[str, Any]] = {
    "columns": {"id": ("id",), "label": ("DX#",)},
    "joined": {"sep": ";"},
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_has_the_labels_decided_and_all_other_cells_as_they_were(
    name: str, tmp_path: Path
) -> None:
    before, after, changes = TEXTS[name]

    done = applied(
        tmp_path, f"{name}.csv", before, *(Change(*one) for one in changes), **STATED.get(name, {})
    )

    assert done.out.read_bytes() == after
    assert (tmp_path / f"{name}.csv").read_bytes() == before


def test_a_packed_text_is_packed(tmp_path: Path) -> None:
    text = "id,label,by\n1,a1,é\n2,a2,\n"
    packed = gzip.compress(text.encode())

    done = applied(tmp_path, "t.csv.gz", packed, Change("1", "replace", "a1", "b1"))

    assert gzip.decompress(done.out.read_bytes()).decode() == text.replace("a1", "b1")


def test_a_text_of_another_encoding_stays_in_it(tmp_path: Path) -> None:
    text = "id,label,by\n1,a1,é\n2,a2,\n"

    change = Change("1", "replace", "a1", "b1")
    done = applied(tmp_path, "t.csv", text.encode("cp1252"), change, encoding="cp1252")

    assert done.out.read_text("cp1252") == text.replace("a1", "b1")


def test_a_further_row_of_parquet_has_what_others_have_alike(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"id": [7, 7, 8], "site": ["n", "n", "s"], "seq": [1, 2, 1], "label": ["a1", "a2", "b1"]},
        schema_overrides={"seq": pl.Int8},
    )

    changes = Change("7", "add", new="c1"), Change("7", "remove", "a2"), Change("8", "remove", "b1")
    done = applied(tmp_path, "l.parquet", table, *changes)

    after = {"id": [7, 7, 8], "site": ["n", "n", "s"], "seq": [1, None, 1]}
    expected = pl.DataFrame({**after, "label": ["a1", "c1", None]}, schema=table.schema)
    assert pl.read_parquet(done.out).equals(expected)


def test_lists_of_labels_change_and_other_columns_keep_their_types(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"id": [1, 2, 3], "score": [0.5, None, 1.5], "labels": [["a1", "b1"], [], ["c1"]]},
        schema_overrides={"id": pl.Int32, "score": pl.Float32},
    )

    changes = [Change("1", "replace", "b1", "b2"), Change("2", "add", new="d1")]
    done = applied(tmp_path, "t.parquet", table, *changes, Change("3", "remove", "c1"))

    own = pl.Series("labels", [["a1", "b2"], ["d1"], []])
    assert pl.read_parquet(done.out).equals(table.with_columns(own))
    assert pl.read_parquet(done.out).schema == table.schema


def test_a_workbook_keeps_the_values_of_its_cells(tmp_path: Path) -> None:
    table = pl.DataFrame({"id": ["007", "008"], "n": [1.5, 20000.0], "label": ["a1", "b1"]})

    done = applied(tmp_path, "b.xlsx", table, Change("007", "replace", "a1", "a2"))

    found = pl.read_excel(done.out)
    assert found.equals(table.with_columns(label=pl.Series(["a2", "b1"])))


def test_rows_that_do_not_count_stay_as_they_are(tmp_path: Path) -> None:
    before = b"id,label,sure\n7,a1,yes\n7,a1,no\n7,b1,no\n7,b1,yes\n"

    changes = [Change("7", "replace", "a1", "c1"), Change("7", "replace", "b1", "b2")]
    done = applied(tmp_path, "r.csv", before, *changes, where=("sure=yes",))

    assert done.out.read_bytes() == b"id,label,sure\n7,c1,yes\n7,a1,no\n7,b1,no\n7,b2,yes\n"


LISTED = {
    "p.psv": b"1|a1|b1\n2|c1\n",
    "lines.jsonl": b'{"id":"1","labels":["a1"]}\n{"id":"2","labels":["c1"]}\n',
    "flags.csv": b"id,a1,a2\n1,1,0\n2,0,1\n",
    "mixed.jsonl": b'{"id":"1","x":[1,"a"],"labels":["a1"]}\n{"id":"2","labels":["c1"]}\n',
    "numbers.npy": b"",
}


@pytest.mark.parametrize("name", LISTED)
def test_data_that_are_no_table_get_a_list_of_corrections(name: str, tmp_path: Path) -> None:
    data, options = LISTED[name], dict[str, Any]()
    if name.endswith("npy"):
        np.save(stream := io.BytesIO(), np.array([[1, 0], [1, 0]]))
        (tmp_path / "names.txt").write_text("a1\na2\n")
        data, options = stream.getvalue(), {"classes": tmp_path / "names.txt"}

    if name == "flags.csv":
        options = {"flags": True, "id": ("id",)}
    change = Change("1", "replace", "a1", "a2", finding="f", by="me")
    done = applied(tmp_path, name, data, change, **options)

    with done.out.open(encoding="utf-8", newline="") as stream:
        rows = [*csv.DictReader(stream)]
    log = json.loads(done.log.read_text("utf-8"))
    assert rows == [{"id": "1", "old": "a1", "new": "a2", "finding": "f", "keep": ""}]
    assert done.files == ()
    assert log["changes"][0]["by"] == "me"
    assert log["corrections"]["after"] == sha256(done.out.read_bytes())
    assert log["corrections"]["before"][name] == sha256(data)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ([Change("1", "replace", "b2", "a2")], "none for 1 change: 'b2 of 1'"),
        ([Change("9", "add", new="a2")], "none for 1 change: 'add a2 of 9'"),
        (2 * [Change("1", "remove", "a1")], "several on 'a1 of 1'"),
    ],
)
@pytest.mark.parametrize("name", ["few.csv", "few.psv"])
def test_a_change_without_a_place_is_refused_and_nothing_is_written(
    name: str, change: list[Change], said: str, tmp_path: Path
) -> None:
    data = b"1|a1\n2|a2|b1\n" if name.endswith("psv") else b"id,label\n1,a1\n2,a2\n2,b1\n"

    with pytest.raises(InputError, match=said):
        applied(tmp_path, name, data, *change)

    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([name, "run", "tree.csv"])


def test_a_label_without_a_free_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none for 1 change: 'add c1 of 1'"):
        applied(tmp_path, "s.csv", b"id,DX1,DX2\n1,a1,b1\n2,b2,\n",
                Change("1", "add", new="c1"), **STATED["columns"])  # fmt: skip

"""Lines without a header: an id, a tab and labels, or an id and labels between pipes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import audit
from audit.base.errors import FormatError, SchemaError
from audit.data.formats import read_labels
from audit.data.label_format import Columns, RawLabels

GROUPED = b'AT1"G\tGO:1;GO:2\n007\t\n\nAT1"G\tGO:3; GO:4;\n'
PIPED = b"100001|038.0|V30.00\n0002\n\n100001|401.9||x\n0003|\n"
each = pytest.mark.parametrize("format", ["grouped", "psv"])


def read(
    folder: Path, text: bytes | str, name: str = "a", columns: Columns | None = None,
    format: str | None = None,
) -> RawLabels:  # fmt: skip
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_labels(folder / name, columns or Columns(), format)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("association", GROUPED),
        ("association", GROUPED.replace(b"\n", b"\r\n")),
        ("association", b"\xef\xbb\xbf" + GROUPED),
        ("association", gzip.compress(GROUPED, mtime=0)),
        ("preds_test.psv", PIPED),
        ("preds", PIPED.replace(b"\n", b"\r\n")),
        ("preds.txt", b"\xef\xbb\xbf" + PIPED),
        ("preds.psv.gz", gzip.compress(PIPED, mtime=0)),
    ],
)
def test_labels_of_lines_however_they_are_stored(tmp_path: Path, name: str, content: bytes) -> None:
    raw = read(tmp_path, content, name)
    labels, ids = raw.rows["label"].to_list(), raw.instances["instance"].to_list()
    if name == "association":
        assert (raw.format, labels) == ("grouped", ["GO:1", "GO:2", "GO:3", "GO:4", None])
        assert ids == ['AT1"G', "007"]
    else:
        assert (raw.format, labels) == ("psv", ["038.0", "V30.00", "401.9", None, "x"])
        assert ids == ["100001", "0002", "0003"]


def test_ids_alone_are_known_by_the_suffix(tmp_path: Path) -> None:
    raw = read(tmp_path, "1\n2\n", "preds.psv")
    assert raw.rows.is_empty()
    assert raw.instances["instance"].to_list() == ["1", "2"]


def test_a_line_without_a_key_is_a_bad_row(tmp_path: Path) -> None:
    raw = read(tmp_path, "a\tx\n \ty;z\n", format="grouped")
    assert raw.rows["refused"].to_list() == [None, "bad_row", "bad_row"]
    assert raw.instances["instance"].to_list() == ["a"]


@pytest.mark.parametrize(
    ("format", "line", "found", "told"),
    [
        ("grouped", "a;b", "a;b", "an id, one tab, and labels"),
        ("grouped", "a\tb\tc", "a\tb\tc", "an id, one tab, and labels"),
        ("grouped", "z" * 70, "z" * 60, "an id, one tab, and labels"),
        ("psv", "x,y", "x,y", "separated by pipes"),
        ("psv", "x" * 70 + ",y", "x" * 60, "separated by pipes"),
    ],
)
def test_a_line_of_another_shape_is_told_by_its_beginning(
    tmp_path: Path, format: str, line: str, found: str, told: str
) -> None:
    sign = "\t" if format == "grouped" else "|"
    with pytest.raises(SchemaError, match=told) as caught:
        read(tmp_path, f"1{sign}a\n\n{line}\n", format=format)
    assert (caught.value.where, caught.value.found) == (f"{tmp_path / 'a'}:3", repr(found))


@each
def test_there_are_no_columns_to_name(tmp_path: Path, format: str) -> None:
    columns = Columns(id="a", group="b", label="c")
    with pytest.raises(SchemaError, match="Found: --id, --label, --group"):
        read(tmp_path, "x\ty\n" if format == "grouped" else "x|y\n", columns=columns)


@pytest.mark.parametrize("line", ["1\tcow;big dog", "1\tbig dog;cow", "1\ttwo words", " \tcow"])
def test_a_text_behind_a_tab_is_no_list_of_labels(tmp_path: Path, line: str) -> None:
    with pytest.raises(FormatError):
        read(tmp_path, f"{line}\n", "association")


@pytest.mark.parametrize(
    ("header", "end"), [("stay|sex|dx|", "|"), ("stay|sex|dx", ""), ("id|label|sex", "")]
)
def test_a_header_between_bars_is_no_instance(tmp_path: Path, header: str, end: str) -> None:
    digits = "" if "label" in header else "1"
    order = ["stay", "label", "sex"] if "label" in header else ["stay", "sex", "dx"]
    rows = [{"stay": f"{one}{digits}", "label": "dog", "sex": "m", "dx": "dog"} for one in "abcde"]
    lines = [header, *("|".join(row[name] for name in order) + end for row in rows)]
    path = tmp_path / "a.txt"
    path.write_text("\n".join(lines) + "\n")
    found = audit.load_labels(path, {"dog": "animal", "cat": "animal"})
    assert found.instances["instance"].to_list() == [row["stay"] for row in rows]
    assert (found.ledger.rows_mapped, found.ledger.refused) == (5, {})

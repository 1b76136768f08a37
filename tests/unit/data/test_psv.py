"""Pipe-separated lines, as CAML writes its predictions."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from audit.base.errors import SchemaError
from audit.data.formats import read_labels
from audit.data.label_format import Columns

LINES = b"100001|038.0|V30.00\n0002\n\n100001|401.9||x\n0003|\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("preds_test.psv", LINES),
        ("preds", LINES.replace(b"\n", b"\r\n")),
        ("preds.txt", b"\xef\xbb\xbf" + LINES),
        ("preds.psv.gz", gzip.compress(LINES, mtime=0)),
    ],
)
def test_labels_between_pipes(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    raw = read_labels(path, Columns())
    assert raw.format == "psv"
    assert raw.rows["label"].to_list() == ["038.0", "V30.00", "401.9", None, "x"]
    assert raw.instances["instance"].to_list() == ["100001", "0002", "0003"]


def test_ids_alone_are_known_by_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "preds.psv"
    path.write_text("1\n2\n")
    raw = read_labels(path, Columns())
    assert raw.rows.is_empty()
    assert raw.instances["instance"].to_list() == ["1", "2"]


def test_a_table_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "preds.psv"
    path.write_text("1|a\nx,y\n")
    with pytest.raises(SchemaError, match=r"separated by pipes\nFound: 'x,y'") as caught:
        read_labels(path, Columns(), "psv")
    assert caught.value.where == f"{path}:2"


def test_there_are_no_columns_to_name(tmp_path: Path) -> None:
    path = tmp_path / "preds.psv"
    path.write_text("1|a\n")
    with pytest.raises(SchemaError, match="Found: --label"):
        read_labels(path, Columns(label="a"))


def test_a_long_line_is_told_by_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "preds.psv"
    path.write_text("1|a\n" + "x" * 70 + ",y\n")
    with pytest.raises(SchemaError) as caught:
        read_labels(path, Columns(), "psv")
    assert caught.value.found == repr("x" * 60)

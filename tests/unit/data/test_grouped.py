"""Grouped lines: an id, a tab, labels."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from audit.base.errors import FormatError, SchemaError
from audit.data.formats import read_labels
from audit.data.label_format import Columns

LINES = b'AT1"G\tGO:1;GO:2\n007\t\n\nAT1"G\tGO:3; GO:4;\n'


@pytest.mark.parametrize(
    "content",
    [LINES, LINES.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + LINES, gzip.compress(LINES, mtime=0)],
    ids=["plain", "crlf", "bom", "gz"],
)
def test_labels_behind_the_tab(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "association"
    path.write_bytes(content)
    raw = read_labels(path, Columns())
    assert raw.format == "grouped"
    assert raw.rows["label"].to_list() == ["GO:1", "GO:2", "GO:3", "GO:4", None]
    assert raw.instances["instance"].to_list() == ['AT1"G', "007"]


def test_a_line_without_a_key_is_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "association"
    path.write_text("a\tx\n \ty;z\n")
    raw = read_labels(path, Columns(), "grouped")
    assert raw.rows["refused"].to_list() == [None, "bad_row", "bad_row"]
    assert raw.instances["instance"].to_list() == ["a"]


@pytest.mark.parametrize("line", ["a;b", "a\tb\tc"])
def test_every_line_has_one_tab(tmp_path: Path, line: str) -> None:
    path = tmp_path / "association"
    path.write_text(f"x\ty\n\n{line}\n")
    with pytest.raises(SchemaError, match="an id, one tab, and labels") as caught:
        read_labels(path, Columns(), "grouped")
    assert caught.value.where == f"{path}:3"


def test_there_are_no_columns_to_name(tmp_path: Path) -> None:
    path = tmp_path / "association"
    path.write_text("x\ty\n")
    with pytest.raises(SchemaError, match="Found: --id, --group"):
        read_labels(path, Columns(id="a", group="b"))


@pytest.mark.skipif("AUDIT_DATA" not in os.environ, reason="AUDIT_DATA names no folder")
def test_genes_of_the_slim() -> None:
    raw = read_labels(Path(os.environ["AUDIT_DATA"]) / "go-slim" / "slim_association", Columns())
    assert raw.format == "grouped"
    assert raw.instances.height == 34_284
    assert raw.rows["label"].str.starts_with("GO:").all()


def test_a_long_line_is_told_by_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "association"
    path.write_text("x\ty\n" + "z" * 70 + "\n")
    with pytest.raises(SchemaError) as caught:
        read_labels(path, Columns(), "grouped")
    assert caught.value.found == repr("z" * 60)


@pytest.mark.parametrize("line", ["1\tcow;big dog", "1\tbig dog;cow", "1\ttwo words", " \tcow"])
def test_a_text_behind_a_tab_is_no_list_of_labels(tmp_path: Path, line: str) -> None:
    (path := tmp_path / "association").write_text(f"{line}\n")
    with pytest.raises(FormatError):
        read_labels(path, Columns())

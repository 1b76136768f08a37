"""CAML tables: codes are read, the text is passed over."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from audit.base.errors import InputError, SchemaError
from audit.data.formats import read_labels
from audit.data.label_format import Columns
from audit.data.sources import source_of
from fixtures.written import written

TEXT = (
    "SUBJECT_ID,HADM_ID,TEXT,LABELS,length\n"
    '7,100001,"a, note\n\nwith ""quotes""",038.0;V30.00,4\n'
    "8,100002,none,,1\n"
    "7,100001,again,401.9,1\n"
)


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("HADM_ID", "hadm_id").replace("LABELS", "Labels").encode(),
        gzip.compress(TEXT.encode(), mtime=0),
    ],
    ids=["plain", "bom", "crlf", "header", "gz"],
)
def test_labels_of_an_admission_are_joined(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ("train.csv.gz" if content.startswith(b"\x1f") else "train.csv")
    path.write_bytes(content)
    raw = read_labels(path, Columns())
    assert raw.format == "caml"
    assert raw.rows.select("instance", "label").rows() == [
        ("100001", "038.0"),
        ("100001", "V30.00"),
        ("100001", "401.9"),
    ]
    assert raw.instances.rows() == [("100001", "7", None), ("100002", "8", None)]


def test_nothing_between_two_semicolons_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "train.csv", "HADM_ID,LABELS\n1,a;; b \n,c\n,\n")
    raw = read_labels(path, Columns())
    assert raw.rows.select("instance", "label", "refused").rows() == [
        ("1", "a", None),
        ("1", None, None),
        ("1", "b", None),
        (None, "c", "bad_row"),
        (None, None, "bad_row"),
    ]


def test_the_text_is_not_kept(tmp_path: Path) -> None:
    path = written(tmp_path / "train.csv", TEXT)
    kept = source_of(path).table(["HADM_ID", "LABELS"])
    assert kept.columns == ["HADM_ID", "LABELS"]
    assert kept["HADM_ID"].to_list() == ["100001", "100002", "100001"]


def test_a_comma_in_a_text_without_quotes_is_told_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "train.csv", "HADM_ID,TEXT,LABELS,length\n1,a,b,1\n2,a, b,c,1\n")
    with pytest.raises(SchemaError, match="5 fields") as caught:
        read_labels(path, Columns())
    assert caught.value.where == f"{path}:3"


def test_other_columns_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "train.csv", "stay,codes,part\n1,a;b,dev\n")
    columns = Columns(id="stay", label="codes", split="part")
    raw = read_labels(path, columns, "caml")
    assert raw.rows["label"].to_list() == ["a", "b"]
    assert raw.instances.rows() == [("1", None, "dev")]


def test_a_header_alone_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "train.csv", "HADM_ID,LABELS\n")
    with pytest.raises(InputError, match="a dataset with rows is required"):
        read_labels(path, Columns())

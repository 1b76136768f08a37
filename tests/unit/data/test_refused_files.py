"""Files that say two things at once, or more than their format, are refused."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import audit
from audit.base.columnar import parquet_schema
from audit.base.errors import AuditError, FormatError
from audit.base.files import read_table
from audit.data.formats import read_labels, read_predictions
from audit.data.label_format import Columns
from audit.hierarchies.reading import load_hierarchy
from fixtures.prediction_files import npy_bytes, npz_bytes, safetensors_bytes
from fixtures.written import written

SCORES = np.array([[0.25, 0.75], [0.5, 0.5]])


def refused(path: Path, told: str) -> None:
    with pytest.raises(AuditError, match=told) as caught:
        read_predictions(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("column", ["id", "node", "score", "label", "dog", "stay"])
def test_a_column_of_durations(column: str, tmp_path: Path) -> None:
    """It is text where it is an id or a label, is passed over, or is refused in a message."""
    frame = pl.DataFrame({"id": ["1", "2"], "label": ["401.9", "250.00"], "node": "a"})
    frame = frame.with_columns(score=0.5).with_columns(
        pl.duration(days=pl.Series([1, 2])).alias(column)
    )
    path = tmp_path / "a.parquet"
    for columns in (["id", "label", column], ["id", "node", "score"], ["id", column, "score"]):
        frame.select({*columns}).write_parquet(path)
        for strata in ((), (column,)):
            with contextlib.suppress(AuditError):
                audit.load_labels(path, "icd9cm", strata=strata)
        with contextlib.suppress(AuditError):
            read_predictions(path)
    frame.write_parquet(path)
    if column == "stay":
        assert len(audit.load_labels(path, "icd9cm", strata=["stay"])) == 2


@pytest.mark.parametrize("header", ['"a""b","a""b"', '"a""b",a"b', '"la""bel","la""bel"'])
def test_columns_of_one_name_with_a_quote(header: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", f"id,label,{header}\n1,401.9,x,y\n")
    for read in (read_predictions, load_hierarchy, lambda p: audit.load_labels(p, "icd9cm")):
        with contextlib.suppress(AuditError):
            read(path)
    names = read_table(path).columns
    assert len({*names}) == len(names)


@pytest.mark.parametrize("number", [0x110000, 0xD800, 2**31])
@pytest.mark.parametrize("place", [0, 3, 7])
def test_a_text_of_an_array_that_is_no_unicode(number: int, place: int, tmp_path: Path) -> None:
    codes = np.full((2, 8), ord("a"), np.uint32)
    codes[1, place] = number
    path = tmp_path / "scores.npz"
    names = codes.view("<U8")[:, 0]
    np.savez(path, ids=names, classes=np.array(["dog", "cow"]), scores=SCORES)
    refused(path, "Unicode")


def test_bytes_after_an_array(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.npy", npy_bytes(SCORES) + b"\0")
    refused(path, "further bytes")


def test_a_header_that_is_not_closed(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.npy", npy_bytes(SCORES).replace(b"}", b" "))
    refused(path, "whole NumPy file")


def test_two_members_for_one_array(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("scores.npy", npy_bytes(SCORES))
        archive.writestr("scores", npy_bytes(1 - SCORES))
    path.write_bytes(stream.getvalue())
    refused(path, "two members")


def test_a_member_that_is_no_array(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("scores.npy", npy_bytes(SCORES))
        archive.writestr("notes.txt", b"of 2024")
    refused(path, "a member that is not an array")


def test_names_beyond_unicode(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    content = npz_bytes(scores=SCORES, classes=np.array(["dog", "cow"]))
    path.write_bytes(content)
    names = np.array([0x110000, 0x41], np.uint32).view("<U1")
    path.write_bytes(npz_bytes(scores=SCORES, classes=names))
    refused(path, "must be Unicode")


def test_a_key_that_stands_twice(tmp_path: Path) -> None:
    lines = written(tmp_path / "labels.jsonl", '{"id": "1", "labels": ["a"], "labels": ["b"]}\n')
    with pytest.raises(AuditError, match="more than one value of the key 'labels'"):
        read_labels(lines, Columns(), "jsonl")

    tree = written(tmp_path / "tree.json", '{"a": {"b": {}, "b": {"c": {}}}}')
    with pytest.raises(AuditError, match="more than one value of the key 'b'"):
        load_hierarchy(tree, format="tree")

    content = safetensors_bytes({"scores": SCORES}, "F64")
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length].decode()
    entry = json.dumps(json.loads(header)["scores"])
    twice = f'{{"scores": {entry}, "scores": {entry}}}'.encode()
    tensors = tmp_path / "scores.safetensors"
    tensors.write_bytes(len(twice).to_bytes(8, "little") + twice + content[8 + length :])
    refused(tensors, "more than one value of the key 'scores'")


@pytest.mark.parametrize("header", [",label,site", "instance,label,"])
def test_a_column_without_a_name_is_none_to_stumble_over(tmp_path: Path, header: str) -> None:
    path = written(tmp_path / "labels.csv", f"{header}\na,dog,1\nb,cow,1\nc,dog,2\nd,dog,2\n")
    columns = Columns(id=header.split(",")[0])

    assert read_labels(path, columns).rows["label"].to_list() == ["dog", "cow", "dog", "dog"]


def test_a_page_of_fewer_values_than_none_is_refused(tmp_path: Path) -> None:
    """A reader that makes room for them ends the process: one bit is enough."""
    table = tmp_path / "labels.parquet"
    pl.DataFrame({"instance": ["1", "1", "2", "2", "3"], "label": list("abcde")}).write_parquet(
        table
    )
    five, fewer_than_none = b",\x15\x0a\x15", b",\x15\x0b\x15"
    content = table.read_bytes()
    assert five in content
    table.write_bytes(content.replace(five, fewer_than_none, 1))

    with pytest.raises(AuditError, match="negative number of values"):
        read_labels(table, Columns())


def test_a_column_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    pq.write_table(pa.table({"instance": ["1"], "label": ["dog"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"label", b"lab\xf4l"))

    with pytest.raises(AuditError, match="a Parquet file is required"):
        read_labels(path, Columns())


def test_what_is_said_of_a_table_need_not_be_text(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "labels.parquet"
    table = pa.table({"instance": ["1"], "label": ["dog"]})
    pq.write_table(table.replace_schema_metadata({b"by\xff": b"\xfe"}), path)

    assert read_labels(path, Columns()).rows["label"].to_list() == ["dog"]
    assert parquet_schema(path) == {"instance": pl.String, "label": pl.String}
    assert capfd.readouterr().err == ""


def test_what_makes_a_table_of_edges_is_said_and_works(tmp_path: Path) -> None:
    rows = "parent: None child: Root\nparent: Root child: pet\nparent: pet child: dog\n"
    (tmp_path / "h").write_text(rows)
    with pytest.raises(FormatError) as of_tree:
        audit.load_hierarchy(tmp_path / "h")
    subprocess.run(of_tree.value.hint, shell=True, check=True, cwd=tmp_path)
    assert {"Root", "pet", "dog"} <= {*audit.load_hierarchy(tmp_path / "h.csv").nodes}

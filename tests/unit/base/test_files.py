"""Files are read whole, as far as a limit, and each fault is told with its place."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError, SchemaError
from audit.base.files import (
    files_in,
    name_among,
    read_bytes,
    read_json,
    read_lines,
    read_table,
    read_text,
    unpacked,
)
from audit.base.limits import EXPANSION, UNPACKED, limits


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


@given(st.binary(min_size=1, max_size=200).filter(bytes.strip))
def test_a_packed_file_is_read_up_to_the_limit(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = written(tmp_path_factory.mktemp("packed"), "a.gz", gzip.compress(content))

    with limits(unpacked=len(content)):
        assert read_bytes(path) == content
    if len(content) > 1:
        with limits(unpacked=len(content) - 1), pytest.raises(InputError, match="unpacked="):
            read_bytes(path)


def test_a_packed_file_may_hold_a_hundred_times_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.base.files.UNPACKED", replace(UNPACKED, most=1000))
    read = []
    for size in (1_000, 2_000, 3_000, 30_000, 300_000):
        path = written(tmp_path, "a.gz", gzip.compress(b"a" * size))
        if size <= EXPANSION * path.stat().st_size:
            assert len(read_bytes(path)) == size
            read.append(size)
        else:
            with pytest.raises(InputError, match="unpacked="):
                read_bytes(path)
    assert 1_000 < max(read) < 300_000


def test_what_unpacks_a_file_is_closed(tmp_path: Path) -> None:
    with unpacked(written(tmp_path, "a.gz", gzip.compress(b"a"))) as stream:
        assert stream.read() == b"a"

    assert stream.closed


def test_the_byte_that_is_no_text_is_told_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "id,label\n1,a\n2,café\n".encode("latin-1"))

    with pytest.raises(InputError) as caught:
        read_text(path)
    assert (caught.value.found, caught.value.where) == ("the byte 0xe9", f"{path}:3")
    assert "-f latin1" in caught.value.hint


def test_lines_have_their_numbers_in_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", b"\na\n \r\n\tb\r\n")

    assert list(read_lines(path)) == [(2, "a"), (4, "\tb")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[" * 100_000, ""),
        ("1" * 5000, "4300 digits"),
        ('{"a": 1, "a": 2}', "more than one value of the key 'a'"),
    ],
    ids=["deep", "long", "twice"],
)
def test_json_that_is_too_much_is_told(tmp_path: Path, text: str, found: str) -> None:
    with pytest.raises(InputError, match="of moderate depth") as caught:
        read_json(written(tmp_path, "a.json", text.encode()))
    assert found in caught.value.found


@pytest.mark.parametrize("read", [read_bytes, read_table])
@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_an_empty_file_is_told(tmp_path: Path, read: object, name: str) -> None:
    with pytest.raises(InputError, match="a file with content is required\nFound: an empty file"):
        read(written(tmp_path, name, b""))  # type: ignore[operator]


def test_what_is_no_folder_is_told_by_the_system(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a readable folder is required") as caught:
        files_in(written(tmp_path, "a", b"a"))
    assert caught.value.found == "Not a directory"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file of Linux")
def test_what_the_system_cannot_read_is_told() -> None:
    with pytest.raises(InputError, match="a readable file is required") as caught:
        read_bytes(Path("/proc/self/mem"))
    assert caught.value.found == "Input/output error"


@pytest.mark.parametrize("read", [read_table])
def test_a_parquet_file_is_looked_through_value_by_value(tmp_path: Path, read: object) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"a": ["dog", "cow"]})
    pq.write_table(table, path, use_dictionary=False, compression="none", write_statistics=False)
    read(path)  # type: ignore[operator]

    path.write_bytes(path.read_bytes().replace(b"cow", b"c\xffw", 1))
    with pytest.raises(InputError, match="a Parquet file is required"):
        read(path)  # type: ignore[operator]


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("before", ["1,,\n", "1,2,3\n4,5,6"])
@pytest.mark.parametrize("cut", ["1", "1,2", "1,2,3,4"])
def test_a_row_of_other_length_is_told_with_its_line(
    tmp_path: Path, header: bool, before: str, cut: str
) -> None:
    path = written(tmp_path, "a.csv", f"a,b,c\n{before}\n{cut}\n4,5,6\n".encode())

    with pytest.raises(SchemaError, match="the 3 fields of the first one") as caught:
        read_table(path, header=header)
    assert caught.value.where == f"{path}:4"
    assert caught.value.found == f"{cut.count(',') + 1} fields"


TEXTS = st.sampled_from([None, "", "a", "a\nb", "a\n\nb", 'say "a"', "a,b", " "])


@given(st.integers(1, 3), st.data())
def test_a_table_is_read_whatever_its_texts_hold(
    tmp_path_factory: pytest.TempPathFactory, width: int, data: st.DataObject
) -> None:
    """Whole rows are not taken for cut ones, whether texts have line ends or are missing."""
    names = ["a", "b", "c"][:width]
    drawn = data.draw(st.lists(st.tuples(*[TEXTS] * width), min_size=1, max_size=6))
    table = pl.DataFrame([*drawn, ("end",) * width], dict.fromkeys(names, pl.String), orient="row")
    path = tmp_path_factory.mktemp("tables") / "a.csv"
    table.write_csv(path)

    assert read_table(path).rows() == table.rows()


def test_a_text_may_be_longer_than_the_csv_module_lets_it(tmp_path: Path) -> None:
    note = "w" * 200_000 + "\nx\ny"
    path = written(tmp_path, "a.csv", f'a,b,c\n1,,\n2,,\n3,"{note}",4\n'.encode())

    assert read_table(path).rows() == [("1", None, None), ("2", None, None), ("3", note, "4")]


@pytest.mark.parametrize("sign", [*";\t|,", ""])
def test_a_header_that_was_not_split_is_told_what_separates_fields(sign: str) -> None:
    with pytest.raises(SchemaError) as caught:
        name_among([f"id{sign}label"], "label", "here", "another hint")
    assert ("separate fields by commas" if sign else "another hint") in caught.value.hint

    with pytest.raises(SchemaError, match="another hint"):
        name_among(["id;", "b"], "label", "here", "another hint")


@pytest.mark.parametrize("wanted", ["id", "ID"])
def test_a_column_that_is_there_twice_is_none_to_choose(tmp_path: Path, wanted: str) -> None:
    (path := tmp_path / "table.csv").write_text("id,label,id\n1,dog,2\n")
    with pytest.raises(SchemaError, match="one column named 'id' is required"):
        name_among(read_table(path).columns, wanted, path)

"""Files are read whole, as far as a limit, and each fault is told with its place."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.base.files import (
    open_bytes,
    read_bytes,
    read_json,
    read_lines,
    read_text,
    refuse_pickle,
)
from audit.base.limits import UNPACKED, limits


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
        with open_bytes(path) as stream:
            assert stream.read() == content
    if len(content) > 1:
        with limits(unpacked=len(content) - 1), pytest.raises(InputError, match="unpacked="):
            read_bytes(path)


def test_a_packed_file_may_hold_a_hundred_times_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.base.limits.UNPACKED", replace(UNPACKED, most=1000))
    read = []
    for size in (1_000, 2_000, 3_000, 30_000, 300_000):
        path = written(tmp_path, "a.gz", gzip.compress(b"a" * size))
        if size <= 100 * path.stat().st_size:
            assert len(read_bytes(path)) == size
            read.append(size)
        else:
            with pytest.raises(InputError, match="unpacked="):
                read_bytes(path)
    assert 1_000 < max(read) < 300_000


def test_the_byte_that_is_no_text_is_told_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "id,label\n1,a\n2,café\n".encode("latin-1"))

    with pytest.raises(InputError) as caught:
        read_text(path)
    assert (caught.value.found, caught.value.where) == ("the byte 0xe9", f"{path}:3")
    assert "cp1252" in caught.value.hint
    assert "'2,café'" in caught.value.hint


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


@pytest.mark.parametrize(("name", "head"), [("a.pt", b"text"), ("a.csv", b"\x80\x04.")])
def test_what_may_be_a_pickle_is_refused(name: str, head: bytes) -> None:
    with pytest.raises(InputError, match="could run code"):
        refuse_pickle(Path(name), head)
    refuse_pickle(Path("a.csv"), b"text")

"""Files are read whole, as far as a limit, each fault told before it takes all memory."""

from __future__ import annotations

import gzip
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from audit import Hierarchy, limits, load_labels
from audit.base.errors import HierarchyError, InputError
from audit.base.files import open_bytes, read_bytes, read_json, read_lines, read_text, refuse_pickle
from audit.base.limits import UNPACKED, refuse_pairs, stated_limits
from audit.base.tables import open_table


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


def test_json_that_is_too_much_is_told(tmp_path: Path) -> None:
    for text, found in [
        ("[" * 100_000, ""),
        ("1" * 5000, "4300 digits"),
        ('{"a": 1, "a": 2}', "more than one value of the key 'a'"),
    ]:
        with pytest.raises(InputError, match="of moderate depth") as caught:
            read_json(written(tmp_path, "a.json", text.encode()))
        assert found in caught.value.found


@pytest.mark.parametrize(("name", "head"), [("a.pt", b"text"), ("a.csv", b"\x80\x04.")])
def test_what_may_be_a_pickle_is_refused(name: str, head: bytes) -> None:
    with pytest.raises(InputError, match="could run code"):
        refuse_pickle(Path(name), head)
    refuse_pickle(Path("a.csv"), b"text")


def chain(length: int) -> Hierarchy:
    nodes = [f"n{number}" for number in range(length)]
    return Hierarchy.build(pl.DataFrame({"child": nodes[1:], "parent": nodes[:-1]}), name="chain")


def flat(nodes: int) -> Hierarchy:
    children = [f"n{number}" for number in range(nodes)]
    return Hierarchy.build(pl.DataFrame({"child": children, "parent": "top"}), name="flat")


@given(st.integers(1, 20), st.integers(0, 40))
def test_a_stated_limit_holds_instead_of_the_usual_one(most: int, found: int) -> None:
    def refused() -> bool:
        try:
            refuse_pairs(found, "here")
        except InputError:
            return True
        return False

    with limits(pairs=most):
        assert refused() == (found > most)
        with limits(unpacked=3):
            assert refused() == (found > most)
    assert not refused()


@given(st.integers(2 * 10**7 + 1, 10**9))
def test_the_message_names_the_limit_that_lets_it_pass(found: int) -> None:
    with pytest.raises(InputError, match="here: at most 20,000,000 pairs") as caught:
        refuse_pairs(found, "here")
    named = re.search(r"limits\(pairs=(\d+)\)", str(caught.value))
    assert named

    with limits(pairs=int(named[1])):
        refuse_pairs(found, "here")


def test_a_limit_holds_where_it_is_stated_alone() -> None:
    with limits(pairs=3), ThreadPoolExecutor(1) as threads:
        assert threads.submit(stated_limits).result() == {}
        assert stated_limits() == {"pairs": 3}


@pytest.mark.slow
def test_a_chain_of_very_many_nodes() -> None:
    with pytest.raises(InputError, match="4,999,950,000"):
        _ = chain(100_000).closure


def test_a_hierarchy_as_deep_as_the_limit() -> None:
    with limits(pairs=45):
        assert chain(10).closure.nnz == 55
        with pytest.raises(InputError, match="55 or more"):
            _ = chain(11).closure


@pytest.mark.slow
def test_a_cycle_of_very_many_nodes() -> None:
    around = [f"n{number}" for number in range(3_000)]
    edges = pl.DataFrame({"child": around, "parent": [*around[1:], around[0]]})
    with pytest.raises(HierarchyError, match=r"\(3,000 nodes\)") as caught:
        Hierarchy.build(edges, name="ring")
    assert len(str(caught.value)) < 1000


def bomb(path: Path) -> None:
    """A small file of the kind that its suffix names, which unpacks to ten megabytes or more."""
    table = pa.table({"id": ["a"] * 20, "label": ["n1" + "x" * 10**6] * 20})
    empty = pa.table({"id": pa.nulls(10**7, pa.int64()), "label": pa.nulls(10**7, pa.int64())})
    table = empty if path.stem == "empty" else table
    if path.suffix == ".parquet":
        pq.write_table(table, path, compression="zstd")
    elif path.suffix == ".xlsx":
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            sheet.write_row(0, 0, ["id", "label"])
            sheet.write_row(1, 0, [f"{number}{'x' * 30_000}" for number in range(400)])
    elif path.suffix == ".arrow":
        packed = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(str(path), table.schema, options=packed) as stream:
            stream.write_table(table)
    elif path.suffix == ".npz":
        np.savez_compressed(path, scores=np.zeros((1000, 1000)))
    else:
        line = b'{"id": "a", "labels": ["n1"]}\n' if ".jsonl" in path.name else b"a,b\n"
        path.write_bytes(gzip.compress(line * 1_000_000))


@pytest.mark.parametrize(
    "name", ["a.parquet", "empty.parquet", "a.xlsx", "a.arrow", "empty.arrow", "a.npz",
             "a.csv.gz", "a.jsonl.gz"],
)  # fmt: skip
def test_what_a_file_unpacks_to_is_limited(name: str, tmp_path: Path) -> None:
    bomb(tmp_path / name)
    with limits(unpacked=1_000_000), pytest.raises(InputError, match="unpacked="):
        open_table(tmp_path / name).frame()
    if name == "a.parquet":
        assert open_table(tmp_path / name).frame().height == 20


def test_pairs_of_instances_of_very_many_labels(tmp_path: Path) -> None:
    path, known = tmp_path / "labels.csv", flat(3_000)
    for instances, refused in ((1, False), (2, True)):
        rows = "".join(f"{i},n{n + i * 1_500}\n" for i in range(instances) for n in range(1_500))
        path.write_text(f"instance,label\n{rows}")
        with limits(pairs=1_500_000):
            if refused:
                with pytest.raises(InputError, match="2,248,500"):
                    load_labels(path, known)
            else:
                load_labels(path, known)

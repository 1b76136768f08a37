"""Sums of pairs in a file are read back, all of them or those of some keys."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.counting.storage import LAST, SumsFile, packed_sums, unpacked_sums, write_sums
from audit.engine.pairs.sums import NOTHING, Sums
from fixtures.examples import examples

Row = tuple[int, int, float]


def sums_of(keys: Sequence[int]) -> Sums:
    found = np.array(keys, np.int64)
    return Sums(found, found % 7 + 1, found / 3)


def rows_of(sums: Sums) -> list[Row]:
    columns = (sums.keys, sums.joint, sums.confusion)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(
    st.sets(st.integers(0, 40)),
    st.lists(st.integers(0, 41), max_size=3),
    st.integers(0, 41),
    st.integers(0, 41),
    st.integers(1, 9),
    st.booleans(),
)
@examples(40)
def test_what_was_written_is_read_back(
    keys: set[int], ends: list[int], first: int, stop: int, at_once: int, confusion: bool
) -> None:
    ends = sorted([0, *ends, 41])
    parts = [
        sums_of([key for key in sorted(keys) if begin <= key < end])
        for begin, end in pairwise(ends)
    ]
    whole = sums_of(sorted(keys))
    wanted = rows_of(whole if confusion else Sums(whole.keys, whole.joint, np.zeros(len(whole))))
    with (
        tempfile.TemporaryDirectory() as folder,
        patch("audit.counting.storage.ROWS_PER_GROUP", at_once),
    ):
        path = Path(folder) / "sums.parquet"
        write_sums(parts, path, confusion=confusion)
        file = SumsFile(path)

        assert rows_of(file.between(0, LAST)) == wanted
        assert rows_of(file.between(first, stop)) == [r for r in wanted if first <= r[0] < stop]


def test_some_keys_begin_and_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.counting.storage.ROWS_PER_GROUP", 2)
    monkeypatch.setattr("audit.counting.storage.GROUPS_AT_ONCE", 2)
    keys = range(1, 14, 3)
    write_sums([sums_of(keys)], tmp_path / "sums")
    file = SumsFile(tmp_path / "sums")

    for first, stop in product(range(16), range(16)):
        wanted = [key for key in keys if first <= key < stop]
        blocks = list(file.blocks(first, stop))
        assert file.between(first, stop).keys.tolist() == wanted
        assert [key for block in blocks for key in block.keys.tolist()] == wanted
        assert all(len(block) <= 4 for block in blocks)


@pytest.mark.parametrize("parts", [[], [NOTHING], [NOTHING, NOTHING]])
def test_no_sum_at_all(tmp_path: Path, parts: list[Sums]) -> None:
    write_sums(parts, tmp_path / "sums")

    assert len(SumsFile(tmp_path / "sums").between(0, LAST)) == 0
    assert len(SumsFile(tmp_path / "sums").between(3, 9)) == 0


def test_the_same_sums_have_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        write_sums([sums_of(range(50))], tmp_path / name)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"x" * 60 + b"PAR1", None])
def test_what_is_no_such_file_is_told(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "sums").write_bytes(content)

    with pytest.raises(InputError, match="a whole file of counts is required"):
        SumsFile(tmp_path / "sums").between(0, LAST)


@given(
    st.dictionaries(
        st.integers(0, 2**63 - 2),
        st.tuples(st.integers(1, 2**40), st.floats(0, 1e9, allow_nan=False)),
        max_size=30,
    ),
    st.booleans(),
)
def test_what_was_packed_is_unpacked(met: dict[int, tuple[int, float]], confusion: bool) -> None:
    keys = sorted(met)
    joint, bits = (np.array([met[key][place] for key in keys]) for place in (0, 1))
    sums = Sums(np.array(keys, np.int64), joint.astype(np.int64), bits * confusion)

    assert rows_of(unpacked_sums(packed_sums(sums))) == rows_of(sums)


def test_counts_alone_are_packed_without_entropies() -> None:
    sums = sums_of(range(10_000))
    alone = Sums(sums.keys, sums.joint, np.zeros(len(sums)))

    assert len(packed_sums(alone)) < len(packed_sums(sums)) / 2

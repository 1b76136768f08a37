"""Sums of pairs in a file are read back, all of them or those of some keys."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.counting.storage import LAST, SumsFile, packed_sums, unpacked_sums, write_sums
from audit.engine.pairs.sums import Sums
from fixtures.examples import examples

Row = tuple[int, int, float]


def sums_of(keys: Sequence[int]) -> Sums:
    found = np.array(keys, np.int64)
    return Sums(found, found % 7 + 1, found / 3)


def rows_of(sums: Sums) -> list[Row]:
    columns = (sums.keys, sums.joint, sums.confusion)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(
    st.sets(st.integers(0, 40), min_size=1),
    st.integers(0, 41),
    st.integers(0, 41),
    st.integers(1, 9),
)
@examples(40)
def test_what_was_written_is_read_back(keys: set[int], first: int, stop: int, at_once: int) -> None:
    whole = sums_of(sorted(keys))
    wanted = rows_of(whole)
    with (
        tempfile.TemporaryDirectory() as folder,
        patch("audit.counting.storage.ROWS_PER_GROUP", at_once),
    ):
        path = Path(folder) / "sums.parquet"
        write_sums(whole, path)
        file = SumsFile(path)

        assert rows_of(file.between(0, LAST)) == wanted
        assert rows_of(file.between(first, stop)) == [r for r in wanted if first <= r[0] < stop]


def test_some_keys_begin_and_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.counting.storage.ROWS_PER_GROUP", 2)
    keys = range(1, 14, 3)
    write_sums(sums_of(keys), tmp_path / "sums")
    file = SumsFile(tmp_path / "sums")

    for first, stop in product(range(16), range(16)):
        wanted = [key for key in keys if first <= key < stop]
        assert file.between(first, stop).keys.tolist() == wanted


def test_the_same_sums_have_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        write_sums(sums_of(range(50)), tmp_path / name)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


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

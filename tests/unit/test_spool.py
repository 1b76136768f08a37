"""What is put on the disk comes back, also where a count goes on; what is gone is told."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.dag import Sparse
from audit.errors import InputError, OutputError
from audit.spool import Spool

N_NODES = 9
LENGTHS = range(1, N_NODES + 1)

Labels = frozenset[int]
batches_of_labels = st.lists(
    st.lists(st.frozensets(st.integers(0, N_NODES - 1), max_size=4), max_size=5), max_size=5
)


def direct(instances: Sequence[Labels]) -> Sparse:
    rows = np.zeros((len(instances), N_NODES), np.int64)
    for number, labels in enumerate(instances):
        rows[number, sorted(labels)] = 1
    return csr_array(rows)


def labels_of(batch: Sparse) -> list[Labels]:
    assert batch.has_canonical_format
    assert set(batch.data.tolist()) <= {1}
    ends = zip(batch.indptr, batch.indptr[1:], strict=False)
    return [frozenset(batch.indices[slice(*end)].tolist()) for end in ends]


def filled(folder: Path, batches: Iterable[Sequence[Labels]]) -> Spool:
    spool = Spool(folder, N_NODES)
    for batch in batches:
        spool.add(direct(batch))
    return spool


def read(spool: Spool, lengths: Sequence[int] = LENGTHS, at_once: int = 5) -> list[Labels]:
    return [labels for batch in spool.batches(lengths, at_once) for labels in labels_of(batch)]


@given(batches_of_labels, st.integers(1, 12))
def test_what_was_added_comes_back_by_number_of_labels(
    batches: list[list[Labels]], at_once: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spool = filled(Path(folder), batches)
        added = [labels for batch in batches for labels in batch if labels]

        for length in LENGTHS:
            found = read(spool, [length], at_once)
            assert Counter(found) == Counter(own for own in added if len(own) == length)
        assert read(spool, [3, 1], at_once) == read(spool, [3]) + read(spool, [1])
        assert spool.instances == Counter(map(len, added))


@given(batches_of_labels, st.integers(1, 12), st.integers(0, 9))
def test_every_reading_has_the_same_batches_and_may_begin_later(
    batches: list[list[Labels]], at_once: int, done: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spool = filled(Path(folder), batches)
        whole = [labels_of(batch) for batch in spool.batches(LENGTHS, at_once)]

        again = [labels_of(batch) for batch in spool.batches(LENGTHS, at_once, done)]

        assert again == whole[done:]
        assert all(sum(map(len, batch)) <= max(at_once, len(batch[0])) for batch in whole)


@given(batches_of_labels, batches_of_labels, batches_of_labels)
def test_a_count_that_goes_on_has_what_it_recorded_and_nothing_after_it(
    before: list[list[Labels]], lost: list[list[Labels]], after: list[list[Labels]]
) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        spool = filled(Path(one), before)
        recorded = dict(spool.instances)
        for batch in lost:
            spool.add(direct(batch))

        resumed, whole = Spool(Path(one), N_NODES, recorded), filled(Path(other), before)
        assert read(resumed) == read(whole)
        for length in recorded:
            assert contents(one)[name_of(length)] == contents(other)[name_of(length)]
        for batch in after:
            resumed.add(direct(batch))
        assert read(resumed) == read(filled(Path(other), [*before, *after]))


def contents(folder: str | Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def name_of(length: int) -> str:
    return f"labels-{length:05d}"


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    spool = filled(tmp_path, [[frozenset({1, 2}), frozenset({3, 4})]])
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])

    with pytest.raises(
        InputError, match=r"(?s)less than the checkpoint counts on.*remove the checkpoint"
    ):
        Spool(tmp_path, N_NODES, spool.instances)


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    spool = filled(tmp_path, [[frozenset({1, 2})]])
    (file,) = tmp_path.iterdir()
    file.unlink()

    with pytest.raises(InputError, match="nothing there"):
        Spool(tmp_path, N_NODES, spool.instances)


def test_files_of_an_earlier_count_are_not_added_to(tmp_path: Path) -> None:
    filled(tmp_path, [[frozenset({1, 2}), frozenset({3, 4})]])

    assert read(filled(tmp_path, [[frozenset({5, 6})]])) == [frozenset({5, 6})]
    filled(tmp_path / "new", [[frozenset({5, 6})]])
    assert (tmp_path / name_of(2)).read_bytes() == contents(tmp_path / "new")[name_of(2)]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "labels").write_text("a file")

    with pytest.raises(OutputError, match="writable folder"):
        filled(tmp_path / "labels", [[frozenset({1})]])


def test_nothing_added_leaves_no_file(tmp_path: Path) -> None:
    spool = filled(tmp_path, [[], [frozenset()]])

    assert read(spool) == []
    assert list(tmp_path.iterdir()) == []

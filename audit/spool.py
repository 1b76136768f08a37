"""Direct labels of instances on the disk, those of equally many labels together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from audit.dag import IntArray, Sparse
from audit.disk import on_disk
from audit.errors import InputError

LABEL = np.dtype("<i4")
"""What a label takes in a file: the node's index."""


class Spool:
    """Instances with labels, a file for each number of labels: as many numbers one after another.

    Args:
        folder: Where the files are.
        n_nodes: Nodes of the hierarchy.
        kept: Instances in each file by number of labels, of a count that goes on; what was written
            after them is cut off.

    Raises:
        InputError: If a file of a count that goes on is gone or too short.
    """

    def __init__(self, folder: Path, n_nodes: int, kept: Mapping[int, int] | None = None) -> None:
        self.folder, self.n_nodes, self.instances = folder, n_nodes, dict(kept or {})
        for length, instances in self.instances.items():
            _cut(self._file(length), instances * length * LABEL.itemsize)

    def add(self, direct: Sparse) -> None:
        """Write instances, those without labels left out.

        Args:
            direct: Direct labels, 0/1, shape (n, n_nodes), canonical CSR.

        Raises:
            OutputError: If the disk takes no more.
        """
        lengths = np.diff(direct.indptr)
        for length in np.unique(lengths[lengths > 0]).tolist():
            self._append(length, _labels_of(direct, np.flatnonzero(lengths == length), length))

    def batches(self, lengths: Sequence[int], at_once: int, done: int = 0) -> Iterator[Sparse]:
        """The instances with so many labels, batch by batch.

        Args:
            lengths: Numbers of labels, read in this order.
            at_once: Labels of a batch, about.
            done: Batches to pass over.
        """
        for length in lengths:
            size = max(at_once // length, 1)
            for first in range(0, self.instances.get(length, 0), size):
                if done:
                    done -= 1
                    continue
                yield self._read(length, first, min(size, self.instances[length] - first))

    def _append(self, length: int, labels: IntArray) -> None:
        with on_disk(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._file(length).open("r+b" if length in self.instances else "wb") as stream:
                stream.seek(self.instances.get(length, 0) * length * LABEL.itemsize)
                stream.write(labels.astype(LABEL).tobytes())
        self.instances[length] = self.instances.get(length, 0) + len(labels) // length

    def _read(self, length: int, first: int, count: int) -> Sparse:
        place = first * length * LABEL.itemsize
        labels = np.fromfile(self._file(length), LABEL, count * length, offset=place)
        indptr = np.arange(0, count * length + 1, length, dtype=np.int64)
        ones = np.ones(len(labels), np.int64)
        return csr_array((ones, labels.astype(np.int64), indptr), shape=(count, self.n_nodes))

    def _file(self, length: int) -> Path:
        return self.folder / f"labels-{length:05d}"


def _labels_of(direct: Sparse, rows: IntArray, length: int) -> IntArray:
    """Labels of rows that all have so many, one row after the other."""
    places = direct.indptr[rows].astype(np.int64)[:, None] + np.arange(length)
    return np.asarray(direct.indices[places.ravel()], np.int64)


def _cut(file: Path, size: int) -> None:
    if not file.exists() or file.stat().st_size < size:
        raise InputError(
            "the files beside a checkpoint are required",
            found="less than the checkpoint counts on" if file.exists() else "nothing there",
            where=file,
            hint="remove the checkpoint to count anew",
        )
    with file.open("r+b") as stream:
        stream.truncate(size)

"""Changes in an array of NumPy: only the bytes of changed entries differ."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np

from audit.base.errors import InputError, first_cases
from audit.data.label_format import Layout
from audit.runs.fixes.changes import Ledger
from audit.runs.fixes.edits import Edit
from audit.runs.fixes.plan import Planner


def array_edits(data: bytes, layout: Layout, ledger: Ledger) -> list[Edit]:
    """What the changes of a ledger make of a file of class numbers, or of 0 and 1.

    Raises:
        InputError: If an instance would have no class, or one that has no number.
    """
    stream = io.BytesIO(data)
    array = np.load(stream, allow_pickle=False)
    start, names = len(data) - array.nbytes, layout.labels
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    places = np.arange(array.size).reshape(array.shape, order=order)  # type: ignore[call-overload]
    if array.ndim == 1:
        layout = replace(layout, labels=("class",))
    plan = Planner(_Entries(array, names), layout, ledger).plan()
    lacking = [new for new in plan.cells.values() if array.ndim == 1 and new not in names]
    if lacking or plan.further:
        raise InputError(
            "one class for each instance, of those that have numbers, is required",
            found=first_cases([*lacking, *(label for _, label in plan.further)]) or "none",
            hint="an array of class numbers holds one for each row; of 0 and 1 it holds any",
        )
    size, found = array.itemsize, list[Edit]()
    for (row, place), value in plan.cells.items():
        new = names.index(value) if array.ndim == 1 else int(value or 0)
        at = start + size * int(places[(row, place)[: array.ndim]])
        found.append(Edit(at, at + size, np.array(new, array.dtype).tobytes()))
    return found


class _Entries:
    """The entries of an array, class numbers as their names."""

    def __init__(self, array: Any, names: tuple[str, ...]) -> None:
        self._array, self._classes = array, names
        self.names = names if array.ndim == 2 else ("class",)
        self.height = len(array)

    def cell(self, row: int, place: int) -> Any:
        entry = self._array[row]
        return entry[place].item() if self._array.ndim == 2 else self._classes[entry]

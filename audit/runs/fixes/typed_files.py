"""Changes in Parquet and in arrays of NumPy: values keep their types, and all else stays."""

from __future__ import annotations

import io
import zipfile
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from audit.base.errors import InputError, first_cases
from audit.data.label_format import Layout
from audit.runs.fixes.changes import Edit, Ledger, edited
from audit.runs.fixes.plan import Cells, Planner


def changed_parquet(path: Path, into: Path, planned: Callable[[Cells], Planner]) -> bool:
    """Write a Parquet file with changed labels; types, other columns and metadata stay.

    Returns:
        Whether anything changes; else nothing is written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        whole, meta = file.read(), file.metadata
        sizes = [meta.row_group(n).num_rows for n in range(meta.num_row_groups)]
        packed = _compression(meta)
    columns = _Columns(whole)
    planner = planned(columns)
    plan = planner.plan()
    if not plan:
        return False
    kept = [(row, 0, "") for row in range(whole.num_rows) if row not in plan.gone]
    order = sorted([*kept, *((row, n, label) for n, (row, label) in enumerate(plan.further, 1))])
    made = whole.take([row for row, *_ in order])
    changed = {place for _, place in plan.cells} | {*planner.places}
    for place in changed | (planner.varying if plan.further else set()):
        values, field = columns.values(place), whole.schema.field(place)
        became = [
            (label if place in planner.places else None)
            if new
            else plan.cells.get((row, place), values[row])
            for row, new, label in order
        ]
        typed = pa.array([_typed(one, field.type) for one in became], type=field.type)
        made = made.set_column(place, field, typed)
    ends = [bisect_left(order, (end, 0, "")) for end in accumulate(sizes, initial=0)]
    with pq.ParquetWriter(into, whole.schema, compression=packed) as writer:
        for start, end in pairwise(ends):
            writer.write_table(made.slice(start, end - start))
    return True


def _compression(meta: Any) -> dict[str, str] | str:
    if not meta.num_row_groups:
        return "snappy"
    group = meta.row_group(0)
    columns = (group.column(n) for n in range(group.num_columns))
    return {
        one.path_in_schema: one.compression.lower().replace("uncompressed", "none")
        for one in columns
    }


def _typed(value: Any, kind: Any) -> Any:
    """A value as a column of a type takes it; a blank text is null."""
    import pyarrow.types as types

    if not isinstance(value, str):
        return value
    if types.is_boolean(kind):
        return value == "1"
    if types.is_integer(kind) or types.is_floating(kind):
        return int(value or "0")
    return value or None


class _Columns:
    """The cells of an Arrow table, whose columns are made Python's when they are asked for."""

    def __init__(self, whole: Any) -> None:
        self._whole, self._made = whole, dict[int, list[Any]]()
        self.names: list[str] = whole.column_names
        self.height: int = whole.num_rows

    def values(self, place: int) -> list[Any]:
        if place not in self._made:
            self._made[place] = self._whole[place].to_pylist()
        return self._made[place]

    def cell(self, row: int, place: int) -> Any:
        return self.values(place)[row]


def array_edits(data: bytes, layout: Layout, ledger: Ledger) -> list[Edit]:
    """What the changes of a ledger make of a file of class numbers, or of 0 and 1."""
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
            "one class with a number is required for each instance",
            found=first_cases([*lacking, *(label for _, label in plan.further)]) or "none",
            hint="an array of class numbers holds one for each row; of 0 and 1 it holds any",
        )
    size, found = array.itemsize, list[Edit]()
    for (row, place), value in plan.cells.items():
        new = names.index(value) if array.ndim == 1 else int(value or 0)
        at = start + size * int(places[(row, place)[: array.ndim]])
        found.append(Edit(at, at + size, np.array(new, array.dtype).tobytes()))
    return found


def changed_archive(path: Path, into: Path, layout: Layout, ledger: Ledger) -> bool:
    """Write an archive of one array with changed entries; raises InputError as `array_edits` does.

    Returns:
        Whether anything changes; else nothing is written.
    """
    with zipfile.ZipFile(path) as archive:
        (part,) = archive.namelist()
        edits = array_edits(archive.read(part), layout, ledger)
        if edits:
            write_archive(archive, into, part, edits)
    return bool(edits)


def write_archive(archive: zipfile.ZipFile, into: Path, part: str, edits: Sequence[Edit]) -> None:
    """Write an archive with one part edited; all others, names, dates and comments stay."""
    with zipfile.ZipFile(into, "w") as copy:
        copy.comment = archive.comment
        for one in archive.infolist():
            data = archive.read(one)
            copy.writestr(one, edited(data, edits) if one.filename == part else data)


class _Entries:
    """The entries of an array, class numbers as their names."""

    def __init__(self, array: Any, names: tuple[str, ...]) -> None:
        self._array, self._classes = array, names
        self.names = names if array.ndim == 2 else ("class",)
        self.height = len(array)

    def cell(self, row: int, place: int) -> Any:
        entry = self._array[row]
        return entry[place].item() if self._array.ndim == 2 else self._classes[entry]

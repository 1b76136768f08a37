"""Changes in Parquet: only the column of the labels is written anew, in the same row groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from audit.data.label_format import Layout
from audit.runs.fixes.changes import Ledger, Record, changed_cell, with_added


def changed_parquet(
    path: Path, into: Path, layout: Layout, ledger: Ledger, table: str = ""
) -> None:
    """Write a Parquet file with changed labels; types, other columns and metadata stay.

    Args:
        path: The file.
        into: The file to write.
        layout: Where ids and labels stand.
        ledger: The changes; those that are made are counted there.
        table: The code set of all its labels; empty where that is not known.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        whole, meta = file.read(), file.metadata
        sizes = [meta.row_group(n).num_rows for n in range(meta.num_row_groups)]
        packed = _compression(meta)
    rows = _Rows(whole, layout, ledger, table)
    for name, values in rows.changed().items():
        place = whole.schema.get_field_index(name)
        field = whole.schema.field(place)
        whole = whole.set_column(place, field, pa.array(values, type=field.type))
    gone = rows.gone
    with pq.ParquetWriter(into, whole.schema, compression=packed) as writer:
        at = 0
        for size in sizes:
            keep = [n for n in range(at, at + size) if n not in gone]
            writer.write_table(whole.take(keep) if len(keep) < size else whole.slice(at, size))
            at += size


def _compression(meta: Any) -> dict[str, str] | str:
    if not meta.num_row_groups:
        return "snappy"
    group = meta.row_group(0)
    columns = (group.column(n) for n in range(group.num_columns))
    return {
        one.path_in_schema: one.compression.lower().replace("uncompressed", "none")
        for one in columns
    }


class _Rows:
    """The rows of instances that change.

    Args:
        whole: The Arrow table.
        layout, ledger, table: As of `changed_parquet`.
    """

    def __init__(self, whole: Any, layout: Layout, ledger: Ledger, table: str) -> None:
        self._layout, self.gone = layout, set[int]()
        self._names = {name.lower(): name for name in whole.column_names}
        self._columns = {one: whole[self._name(one)].to_pylist() for one in layout.labels}
        self._records = {one: Record(ledger, one, table) for one in ledger.of}
        self._of = defaultdict[str, list[int]](list)
        for number, instance in enumerate(self._ids(whole)):
            if instance in ledger.of:
                self._of[instance].append(number)

    def _name(self, wanted: str) -> str:
        return str(self._names[wanted.lower()])

    def _ids(self, whole: Any) -> Iterator[str]:
        if self._layout.id is None:
            return map(str, range(whole.num_rows))
        return map(_text, whole[self._name(self._layout.id)].to_pylist())

    def changed(self) -> dict[str, list[Any]]:
        """The columns of labels after all changes, by name."""
        for instance, rows in self._of.items():
            record, left = self._records[instance], len(rows)
            for row in rows:
                cells = {one: values[row] for one, values in self._columns.items()}
                became = {one: self._cell(cell, record) for one, cell in cells.items()}
                if not self._layout.of_instances and None in became.values() and left > 1:
                    left -= 1
                    self.gone.add(row)
                if row == rows[-1]:
                    self._add(record, became)
                for one, cell in became.items():
                    self._columns[one][row] = cell
        return {self._name(one): values for one, values in self._columns.items()}

    def _cell(self, cell: Any, record: Record) -> Any:
        if cell is None:
            return None
        if isinstance(cell, list):
            became = [one if one is None else record.becomes(_text(one)) for one in cell]
            return [
                new for new, old in zip(became, cell, strict=True) if new is not None or old is None
            ]
        if not self._layout.of_instances:
            return record.becomes(_text(cell))
        return changed_cell(str(cell), record, self._layout.sign) or None

    def _add(self, record: Record, cells: dict[str, Any]) -> None:
        for one, cell in cells.items():
            if isinstance(cell, list):
                cell.extend(record.added())
            elif self._layout.sign is not None:
                added = [*record.added()]
                cells[one] = with_added(cell or "", self._layout.sign, added) or None
            elif cell is None and self._layout.of_instances:
                cells[one] = next(record.added(), None)


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value).strip()

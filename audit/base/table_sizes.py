"""How many rows tables have, about, without reading them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from audit.base.errors import AuditError
from audit.base.files import files_in, first_bytes
from audit.base.streams import SUFFIXES

PACKED = 5
"""How many times as long packed text is taken to be as its file."""


def estimated_rows(dataset: str | Path) -> int:
    """Rows of a file, or of the parts of one table in a folder; 0 where that cannot be said.

    Parquet says how many values it has, those in lists included. Text has as many rows as its
    length allows, if all lines are as long as the first ones. Texts in a folder are parts of one
    table if they begin with the same line.
    """
    place, rows, first = Path(dataset), 0, None
    with suppress(AuditError, OSError, ValueError):  # the reader of the data refuses them
        for file in files_in(place) if place.is_dir() else [place]:
            if file.suffix.lower() == ".parquet":
                rows += _values_in(file)
                continue
            head = first_bytes(file)
            line = head.partition(b"\n")[0]
            if b"\0" in head or first not in (None, line):
                return 0
            first = line
            length = file.stat().st_size * (PACKED if file.suffix.lower() in SUFFIXES else 1)
            rows += length * head.count(b"\n") // max(len(head), 1)
        return rows
    return 0


def _values_in(file: Path) -> int:
    import pyarrow.parquet as pq

    found = pq.read_metadata(file)
    groups = (found.row_group(number) for number in range(found.num_row_groups))
    return sum(
        max(group.column(number).num_values for number in range(group.num_columns))
        for group in groups
    )

"""First lines of a table: whether they are a record, and the table where they are one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from audit.base.table import Table, TextLines
from audit.data.asking.seen import HALF, Seen


def is_record(seen: Seen) -> bool:
    """Whether the names of columns are a record: one is a node, or a value of its own column."""
    for name in seen.frame.columns:
        text = name.strip()
        if text and not seen.is_flag(name):
            complete = seen.nodes.is_complete(text) and seen.share(name).of_complete >= HALF
            if complete or text in {*seen.cells(name)["cell"]}:
                return True
    return False


def without_header(table: Table) -> Table:
    """The table whose first line is a record, not the names of its columns."""
    names = {f"column_{n}": name for n, name in enumerate(table.schema, start=1)}

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({one: [names[one]] for one in columns})
        for frame in table.frames([names[one] for one in columns], at_once):
            yield frame.rename(dict(zip(frame.columns, columns, strict=True)))

    schema = dict.fromkeys(names, pl.String())
    return replace(table, schema=schema, scan=scan, text=TextLines(header=False))

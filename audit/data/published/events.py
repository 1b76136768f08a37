"""What is published and no plain table, each read as one: FHIR, MEDS, OMOP, COCO, bare lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from audit.base.table import Table
from audit.data.published.coco import coco_of
from audit.data.published.fhir import fhir_of
from audit.data.published.lines import lines_of
from audit.data.published.meds import meds_of
from audit.data.published.omop import omop_of
from audit.data.published.wanted import Wanted


def events_of(data: Path | str, wanted: Wanted, encoding: str) -> Table | None:
    """The table that data are of which no reader of plain tables knows; None of others.

    Its columns are those of the layout that it names; there are ``table`` and ``refused`` where
    rows know their code set, or why they do not count.

    Args:
        data: A file, a folder or the address of a database.
        wanted: What is stated.
        encoding: That of a text; of none, UTF-8 or UTF-16 by its mark.

    Raises:
        InputError: If it is damaged, or lacks what is stated.
        AskedError: If it must be stated which codes are labels.
    """
    readers: tuple[Callable[[Path, Wanted], Table | None], ...]
    readers = (omop_of, meds_of, fhir_of, coco_of, partial(lines_of, encoding=encoding))
    if isinstance(data, str):
        table = omop_of(data, wanted)
    else:
        table = next((one for read in readers if (one := read(data, wanted))), None)
    return table and replace(table, ordered=lambda by: _together(table, by))


def _together(table: Table, by: Sequence[str]) -> Table:
    """The rows of a table in parts, each of which holds all rows of the same values in order; it
    is read once for each part."""

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        rows = sum(frame.height for frame in table.frames(by, at_once))
        parts, wanted = -(-rows // at_once), [*dict.fromkeys((*columns, *by))]
        for part in range(parts):
            some = [
                frame.filter(frame.select(by).hash_rows() % parts == part)
                for frame in table.frames(wanted, at_once)
            ]
            yield pl.concat(some).sort(by, maintain_order=True).select(columns)

    return replace(table, scan=scan)

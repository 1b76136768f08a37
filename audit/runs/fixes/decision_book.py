"""Workbooks to fill in: decisions with a sheet for each finding, and verdicts of a blind sample."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.stored_tables import writing_workbook
from audit.runs.fixes.judgements import VERDICTS

_WIDTHS = {
    "instance": 14, "label": 10, "title": 34, "change": 9, "proposed": 10, "proposed_title": 34,
    "candidates": 50, "certainty": 9, "reason": 50, "others": 60,
    "decision": 16, "note": 30, "labels": 50, "verdict": 10,
}  # fmt: skip
_HIDDEN = ("finding", "table", "run", "row", "drawn")
_CHOICE = {
    "validate": "list",
    "source": ["accept", "reject", "remove"],
    "error_type": "information",
    "error_title": "Another label?",
    "error_message": "Write it as: other: LABEL",
}


def write_decision_book(sheet: pl.DataFrame, file: Path) -> None:
    """Write a sheet of `Proposals.sheet` as a workbook; the same sheet gives the same bytes.

    A decision is chosen from a list, or written as ``other: LABEL``.
    """
    parts = sheet.partition_by("finding", maintain_order=True)
    plain = (re.sub(r"[\[\]:*?/\\']", " ", str(one["finding"][0])) for one in parts)
    names = (f"{number} {name}"[:31].rstrip() for number, name in enumerate(plain, start=1))
    _write(dict(zip(names, parts, strict=True)), file, "decision", _CHOICE)


def write_blind_book(sheet: pl.DataFrame, file: Path) -> None:
    """Write a sheet of `Sample.sheet` as a workbook, with a list of verdicts to choose from."""
    _write({"sample": sheet}, file, "verdict", {"validate": "list", "source": list(VERDICTS)})


def _write(
    pages: Mapping[str, pl.DataFrame], file: Path, asked: str, choice: Mapping[str, Any]
) -> None:
    with writing_workbook(file) as book:
        heading = book.add_format({"bold": True, "bg_color": "#eef1f5", "border": 1})
        wrapped = {"text_wrap": True, "valign": "top"}
        styles = book.add_format(wrapped), book.add_format({**wrapped, "bg_color": "#fff7da"})
        for name, part in pages.items():
            page = book.add_worksheet(name)
            page.freeze_panes(1, 3)
            page.write_row(0, 0, part.columns, heading)
            for column, one in enumerate(part.columns):
                hidden = {"hidden": True} if one in _HIDDEN else {}
                page.set_column(column, column, _WIDTHS.get(one, 8), None, hidden)
                for row, text in enumerate(part[one], start=1):
                    page.write_string(row, column, text, styles[one in (asked, "note")])
            page.autofilter(0, 0, len(part), len(part.columns) - 1)
            place = part.columns.index(asked)
            page.data_validation(1, place, len(part), place, dict(choice))

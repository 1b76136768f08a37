"""A workbook to decide on: a sheet for each finding, with drop-downs in the column of decisions."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.base.spreadsheets import sheet_names, writing_workbook

_WIDTHS = {
    "instance": 14, "label": 10, "title": 34, "change": 9, "proposed": 10, "proposed_title": 34,
    "candidates": 50, "certainty": 9, "probability": 10, "reason": 50, "others": 60,
    "decision": 16, "note": 30,
}  # fmt: skip
_HIDDEN = ("finding", "table", "run")
_TO_FILL = ("decision", "note")
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

    Raises:
        InputError: If the package that writes workbooks is not installed.
    """
    parts = sheet.partition_by("finding", maintain_order=True)
    names = sheet_names(str(one["finding"][0]) for one in parts)
    with writing_workbook(file) as book:
        heading = book.add_format({"bold": True, "bg_color": "#eef1f5", "border": 1})
        wrapped = {"text_wrap": True, "valign": "top"}
        styles = book.add_format(wrapped), book.add_format({**wrapped, "bg_color": "#fff7da"})
        for name, part in zip(names, parts, strict=True):
            page = book.add_worksheet(name)
            page.freeze_panes(1, 3)
            page.write_row(0, 0, part.columns, heading)
            for column, one in enumerate(part.columns):
                hidden = {"hidden": True} if one in _HIDDEN else {}
                page.set_column(column, column, _WIDTHS.get(one, 8), None, hidden)
                for row, text in enumerate(part[one], start=1):
                    page.write_string(row, column, text, styles[one in _TO_FILL])
            page.autofilter(0, 0, len(part), len(part.columns) - 1)
            place = part.columns.index("decision")
            page.data_validation(1, place, len(part), place, _CHOICE)

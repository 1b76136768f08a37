"""The chapter of any analysis, of a plugin too: what it found, its tables, and what it read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from audit.base.declared import Columns, Table
from audit.results.parts import OTHERS
from reports.render import Chapter, ShownTable, chapter, facts, table
from reports.words import Row

READ = "What was read"
"""Title of the table of an analysis's facts."""
_COUNTED = ("text", "whole", "setting", "exact", "count")
"""Kinds that say what a row is and how much it is of, and not what was measured."""


def analyses(view: Row) -> list[Chapter]:
    """The chapters of each analysis, in the view's order: the seen one, then the folded one."""
    parts = {**view, **view.get(OTHERS, {})}
    every = view.get("tables", {}).items()
    return [chapter for name, one in every for chapter in _analysis(name, parts[name], one, view)]


def _analysis(name: str, part: Row, declared: Mapping[str, Any], view: Row) -> Iterator[Chapter]:
    title, rounding = declared["title"], view["rounding"]
    made = {False: list[ShownTable | None](), True: list[ShownTable | None]()}
    for one, stored in declared["tables"].items():
        of = Table.read(stored)
        shown = table(of, _telling(of, part[one]), rounding)
        made[of.fold].append(shown and _numbers_below(shown))
    stated = facts(Columns.read(declared["facts"]), part["facts"], rounding, READ)
    seen = chapter(title, made[False], anchor=name, lead=declared["sentence"])
    rest = chapter(
        f"{title}: further tables", [*made[True], stated], anchor=f"{name}-further", folded=True
    )
    yield from filter(None, [seen, rest])


def _telling(declared: Table, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows that tell what was measured, where the table shows more than counts."""
    shown = (one for one in declared.columns.values() if one.heading)
    measured = [one.name for one in shown if one.kind not in _COUNTED]
    told = [row for row in rows if any(row[name] is not None for name in measured)]
    return told if measured else rows


def _numbers_below(shown: ShownTable) -> ShownTable:
    """A table of which something is drawn, folded below its figures."""
    if not shown.figures:
        return shown
    first, *others = shown.figures
    said = ": ".join(filter(None, [shown.title, first.title]))
    figures = (replace(first, title=said), *others)
    return replace(shown, title="The numbers", figures=figures, folded=True)

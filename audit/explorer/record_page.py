"""The page of a record: the tree of its labels and answers, its marked text, all tables on it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import polars as pl
from starlette.responses import Response

from audit.explorer.opened import OpenedRun, nodes_named
from audit.explorer.rows import Stored
from audit.explorer.sheets import address, few
from audit.explorer.site import Parameters, page
from audit.explorer.tables import NotThereError
from audit.runs.instances import at_or_below
from reports.words import Row, printable

DEEPEST = 100
"""Levels of a tree that are drawn inside each other; browsers flatten what is nested deeper."""
TONES = {"hit": "pass", "miss": "error", "false": "warning"}
STEPS = (0.1, 0.25, 0.5, 0.75)
"""Boundaries between the shades: size of a score over the largest of its text."""
MOST_TOKENS, MOST_SCORES = 10_000, 50
CHOICES = {"target": "Label", "model": "Model", "method": "Method", "seed": "Seed"}
"""What an attribution is chosen by, each choice among those that the earlier ones leave."""


def show_record(run: OpenedRun, asked: Parameters) -> Response:
    """A record: its labels and answers as a tree, its marked text, and its rows in all tables."""
    wanted, finding = asked.get("id", ""), run.findings.get(asked.get("finding", ""))
    sheets = [
        few(run, table, **{column: wanted})
        for table in run.tables.values()
        for column in ("instance", "id")
        if column in table.columns and isinstance(table.rows, Stored) and table.name != "findings"
    ]
    sheets = [one for one in sheets if one.total]
    found = run.records.view(wanted) if run.records is not None else None
    if found is None and not sheets:
        raise NotThereError(f"The run keeps no labels and no predictions of a record {wanted}.")
    explained = run.attributions_of(wanted) if run.records is not None else ()
    tree = None if found is None else printable(_tree(run, found, finding))
    behind = next((one for one in sheets if one.table.name == "cases"), None)
    return page(
        run,
        "record",
        f"Record {wanted}",
        finding=finding and printable(finding),
        behind=[] if behind is None else behind.rows,
        view=tree,
        branches=[] if tree is None else branches(tree["lines"]),
        deepest=DEEPEST,
        tones=TONES,
        marked=_marks(explained, asked) if explained else None,
        sheets=sheets,
        ways=_neighbours(run, wanted, finding),
    )


def _neighbours(run: OpenedRun, record: str, finding: Row | None) -> dict[str, str]:
    """Addresses of the records before and after one behind a finding, or among all."""
    if run.records is None:
        return {}
    asked = {"finding": finding["id"]} if finding else {}
    there = run.records.ids.filter(pl.Series(run.records.chosen(asked))).to_list()
    at = there.index(record) if record in there else len(there)
    ways = {"prev": there[:at][-1:] if at < len(there) else [], "next": there[at + 1 :][:1]}
    return {
        way: address("/record", id=one, **asked) for way, found in ways.items() for one in found
    }


def _tree(run: OpenedRun, view: Row, finding: Row | None) -> Row:
    """The tree, ``behind`` true on lines that a finding names, or that are used below these."""
    named = nodes_named(finding) if finding else []
    below = at_or_below(named, run.hierarchy)
    lines = [
        {
            **line,
            "behind": line["node"] in named
            or bool((line["own_label"] or line["own_score"]) and line["node"] in below),
        }
        for line in view["lines"]
    ]
    return {**view, "lines": lines}


def branches(lines: Sequence[Row]) -> list[tuple[Row, bool, int]]:
    """The lines down to the deepest level that is drawn, each with whether there are lines below
    it, and how many branches end behind it."""
    kept = [line for line in lines if line["level"] <= DEEPEST]
    levels = [*(line["level"] for line in kept), 0]
    return [
        (line, below > level, max(level - below, 0))
        for line, (level, below) in zip(kept, pairwise(levels), strict=True)
    ]


def _marks(rows: Sequence[Row], asked: Parameters) -> Row:
    """The attribution that an address asks for, on its text, and links to the others."""
    switches = []
    for one, words in CHOICES.items():
        values = list(dict.fromkeys(row[one] for row in rows))
        chosen = asked[one] if asked.get(one) in values else values[0]
        rows = [row for row in rows if row[one] == chosen]
        to = [(value, address("/record", **{**asked, one: value}) * (value != chosen))
              for value in values]  # fmt: skip
        switches += [(words, to)] * (len(values) > 1)
    scored = [*zip(rows[0]["tokens"], rows[0]["scores"], strict=True)]
    largest = max((abs(score) for _, score in scored), default=0.0)
    return {
        "shown": rows[0],
        "switches": switches,
        "tokens": [(one, shade(score, largest), score < 0) for one, score in scored[:MOST_TOKENS]],
        "further": max(len(scored) - MOST_TOKENS, 0),
        "scores": sorted(scored, key=lambda row: -abs(row[1]))[:MOST_SCORES],
    }


def shade(size: float, largest: float) -> int:
    """The shade of a score, from 0 to 4.

    >>> [shade(size, 2.0) for size in (0.0, -0.3, 2.0)]
    [0, 1, 4]
    """
    return sum(abs(size) >= step * largest for step in STEPS) if largest > 0 else 0

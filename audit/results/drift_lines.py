"""The lines of drift: nodes whose share differs in a value, and what of them may be told alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from audit.disclosure import WITHOUT, Value, is_small
from audit.results.findings import Finding
from audit.results.parts import DriftPart, ValueCells
from audit.results.reference_changes import Remembered
from audit.results.value_cells import ELSEWHERE, WITH, Cells

NODES_A_VALUE = 5
"""Number of nodes shown for each value of a drift column."""


def kept_values(
    shown: Sequence[Mapping[str, Any]], drift: DriftPart | None, part: ValueCells | None
) -> dict[str, Any]:
    """What a release counts and tells of drift, as later ones remember it."""
    if drift is None or part is None:
        return {"values": [], "nodes": [], "others": []}
    counts, told = drift.values.to_dicts(), list[dict[str, Any]]()
    cells, others = Cells(part.cells.filter(pl.col("parent").is_null())), list[dict[str, Any]]()
    for own, row in zip(counts, shown, strict=True):
        value = own["column"], own["value"]
        own["instances_shown"] = row["instances"]
        own["labels_shown"] = None if row["labels_per_instance"] is None else own["labels"]
        own["without"] = cells.counted((*value, WITHOUT))
        named = [one["node"] for one in row["nodes"] if one["share"] is not None]
        tested = drift.nodes.filter(column=row["column"], value=row["value"])
        told += tested.filter(pl.col("node").is_in(named)).select(_TESTED).to_dicts()
        for node in sorted(cells.nodes.difference(named)) if cells.whole else ():
            both = {kind: cells.counted((*value, kind, node)) for kind in (WITH, ELSEWHERE)}
            others.append({"column": value[0], "value": value[1], "node": node, **both})
    return {"values": counts, "nodes": told, "others": others}


_TESTED = ("column", "value", "node", "instances", "of", "elsewhere", "of_elsewhere")


def differing(drift: DriftPart, min_cell: int) -> pl.DataFrame:
    """The nodes that differ, those first whose shares differ most, as far as these may be told."""
    withheld = pl.col("smallest").is_between(1, min_cell - 1)
    size = pl.when(~withheld).then(pl.col("difference").abs()).otherwise(-1.0)
    return drift.nodes.filter("differs").sort([size, "node"], descending=[True, False])


def named_nodes(drift: DriftPart | None, findings: Sequence[Finding], min_cell: int) -> set[str]:
    """The nodes that lines of drift, and findings on values, name."""
    nodes = {node for finding in findings for node in finding.nodes}
    return nodes if drift is None else nodes | {*_first(drift, min_cell)["node"]}


def _first(drift: DriftPart, min_cell: int) -> pl.DataFrame:
    """The lines of nodes of each value."""
    each = differing(drift, min_cell).group_by("column", "value", maintain_order=True)
    return each.head(NODES_A_VALUE)


def lines_of(
    drift: DriftPart, min_cell: int, earlier: Sequence[Remembered]
) -> dict[Value, int | None]:
    """Counts of the nodes that drift names; None where one is small, or changed little."""
    changed = _changed(drift, earlier, min_cell)
    found = dict[Value, int | None]()
    for row in _first(drift, min_cell).iter_rows(named=True):
        of = row["column"], row["value"]
        told = (of[0], row["node"]) not in changed and not is_small(row["smallest"], min_cell)
        found[*of, WITH, row["node"]] = row["instances"] if told else None
        found[*of, ELSEWHERE, row["node"]] = row["elsewhere"] if told else None
    return found


def _changed(
    drift: DriftPart, earlier: Sequence[Remembered], min_cell: int
) -> frozenset[tuple[str, str]]:
    """Columns and nodes of which a value, or all that no line tells, has changed little.

    What a line tells are the instances with and without the node, of the value and of all others.
    """
    now = {tuple(row[:3]): row[3:] for row in drift.nodes.select(_TESTED).iter_rows()}
    found = set[tuple[str, str]]()
    for one in earlier:
        lines: dict[tuple[str, str], list[tuple[Sequence[int], Sequence[int] | None]]] = {}
        for row in one["drift"]["nodes"]:
            names, then = [row[name] for name in _TESTED[:3]], [row[name] for name in _TESTED[3:]]
            lines.setdefault((row["column"], row["node"]), []).append((then, now.get((*names,))))
        found |= {place for place, own in lines.items() if _little(own, min_cell)}
    return frozenset(found)


def _little(lines: Sequence[tuple[Sequence[int], Sequence[int] | None]], min_cell: int) -> bool:
    came = [
        [new - old for old, new in zip(then, now, strict=True)]
        for then, now in lines
        if now is not None
    ]
    if len(came) < len(lines):
        return True
    k, of, elsewhere, of_elsewhere = came[0]
    rest = [
        k + elsewhere - sum(one[0] for one in came),
        of + of_elsewhere - sum(one[1] for one in came),
    ]
    pairs = [*((one[0], one[1]) for one in came), *((one[2], one[3]) for one in came), rest]
    pairs.append((k + elsewhere, of + of_elsewhere))
    return any(is_small(abs(n), min_cell) for own, all_ in pairs for n in (own, all_ - own))

"""Tables of measurements as they may be shared: counts in steps, numbers without telling digits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from audit.disclosure import Shown, in_digits, least, less_precise, shown_in_steps
from audit.engine.statistics.intervals import wilson

Row: TypeAlias = Mapping[str, Any]
VERDICTS = frozenset(("verdict", "interval_verdict"))
"""Keys that say on which side of a limit a number is; withheld with it."""


class SharedTable(NamedTuple):
    """What is shared of a table.

    Args:
        keys: Columns that say what a row is about.
        values: Columns of numbers, withheld where the first of ``counts`` is small; without counts,
            where the total is.
        counts: Columns that count instances or examples; the first is the least.
        most: Number of rows that are shared, the first ones; None for all.
        each: The column of whose values so many rows are shared each; empty for the whole table.
        apart: Those of ``values`` that compare the row's instances with all others.
        exempt: Those that are withheld with the others, and computed from no count of instances.
        records: Whether rows are single records, shared only where a count of one is shown.
        order: The column that rows are listed by: the largest of ``counts`` first, or the least of
            ``values``. Where counts are withheld they are listed by what is told of it, then by
            keys.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    most: int | None = None
    each: str = ""
    apart: tuple[str, ...] = ()
    exempt: tuple[str, ...] = ()
    records: bool = False
    order: str = ""

    @property
    def of_nodes(self) -> bool:
        """Whether rows count the instances that carry a node."""
        return "node" in self.keys and self.counts[:1] == ("instances",)

    def rows_of(self, frame: pl.DataFrame, min_cell: int) -> pl.DataFrame:
        """The rows that may be shared, with all their columns."""
        most = 0 if self.records and min_cell > 1 else self.most
        if most is None or not self.each:
            return frame.head(len(frame) if most is None else most)
        return frame.filter(pl.int_range(pl.len()).over(self.each) < most)


def columns(
    keys: str,
    values: str = "",
    counts: str = "",
    *,
    apart: str = "",
    exempt: str = "",
    most: int | None = None,
    each: str = "",
    order: str = "",
) -> SharedTable:
    """What is shared of a table, its columns named in texts; ``apart, exempt`` are values too.

    >>> columns("model split", counts="n").keys
    ('model', 'split')
    """
    told = tuple(f"{values} {apart} {exempt}".split())
    of_rows = tuple(keys.split()), told, tuple(counts.split())
    return SharedTable(
        *of_rows, most, each, tuple(apart.split()), tuple(exempt.split()), order=order
    )


def shared_rows(
    frame: pl.DataFrame,
    rule: SharedTable,
    totals: Mapping[str, int],
    min_cell: int,
    nodes: Mapping[str, Shown] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """The rows of a table in which no count below ``min_cell`` can be read.

    Neither their order nor, of nodes with enough instances to be judged, that they are there tells
    one.

    Args:
        nodes: Of each node the instances that carry it, as they may be shown beside each other.
    """
    rows = rule.rows_of(frame, min_cell).to_dicts()
    shared = [_row(row, rule, totals, min_cell, nodes) for row in rows]
    if min_cell > 1 and rule.of_nodes:
        shared = [row for row in shared if least(row["instances"]) >= min_cell]
    if min_cell > 1 and rule.order:
        shared.sort(key=lambda row: _place(row, rule))
    return shared


def _place(row: Row, rule: SharedTable) -> tuple[Any, ...]:
    """Where a row stands by what it tells; one that tells nothing last."""
    told, names = row[rule.order], [str(row[key]) for key in rule.keys]
    one = row[rule.each] if rule.each else ""
    if rule.order in rule.counts:
        return one, -least(told), names
    return one, told is None, told or 0, names


def _row(
    row: Mapping[str, Any],
    rule: SharedTable,
    totals: Mapping[str, int],
    min_cell: int,
    nodes: Mapping[str, Shown],
) -> dict[str, Any]:
    whole = totals["instances"]
    counted = [(row[name], totals.get(name, whole)) for name in rule.counts]
    counts = [(int(n), total) for n, total in counted if n is not None]
    size = (row[rule.counts[0]] or 0) if rule.counts else whole
    steps = [None if n is None else shown_in_steps(n, total, min_cell) for n, total in counted]
    if rule.of_nodes and min_cell > 1:
        steps = _beside(list(zip(rule.counts, steps, strict=True)), row, nodes)
        size = size if steps[0] is None else min(size, least(steps[0]))
    small = size < min_cell
    values = {name: row[name] for name in rule.values if name in row}
    exempt = {name: values[name] for name in rule.exempt if name in values}
    told = in_digits(
        {name: value for name, value in values.items() if name not in exempt},
        counts or [(whole, whole)],
        min_cell,
        rule.apart,
        wilson,
        size if rule.of_nodes else None,
    )
    return {
        **{
            key: None if (small and key in VERDICTS) or row[key] != row[key] else row[key]
            for key in rule.keys
            if key in row
        },
        **{name: None if small else (told | exempt)[name] for name in values},
        **dict(zip(rule.counts, steps, strict=True)),
    }


_NODE_OF = {"instances": "node", "sibling_instances": "sibling"}
"""The key with the node that a count is of."""


def _beside(
    steps: Sequence[tuple[str, Shown]], row: Row, nodes: Mapping[str, Shown]
) -> list[Shown]:
    """Counts in steps as they may be told beside what is told of each node.

    Labels add up over nodes: they are told to be at least as many as the instances.
    """
    told: list[Shown] = []
    for name, own in steps:
        bound = nodes.get(str(row.get(_NODE_OF.get(name, ""))), 0)
        if name == "examples":
            n = told[0]
            bound = f">{n - 1}" if isinstance(n, int) and isinstance(own, str) else n
        told.append(own if isinstance(bound, int) else less_precise(own, bound))
    return told


@dataclass(frozen=True, slots=True)
class SharedNode:
    """A node as a shared view describes it. Every value in it is in ``result.json``.

    Args:
        under: The nearest title above it, where it has none; None if that is not shown.
        picture: Its row of ``overview.tree``; None if it is not pictured.
        branch: Its row of ``overview.branches``; None if no such branch is shown.
        coverage: Its row of ``overview.coverage.branches``; None likewise.
        residual: Its row of ``overview.residuals``; None if its catch-all labels are not shown.
        above: Rows of ``overview.tree`` above it, those nearest the root first.
        below: Rows of ``overview.tree`` right below it.
        pairs: Rows of ``overview.pairs`` and ``overview.branch_pairs`` with it at either end, each
            with the other end as ``node, title``.
        beside_model: The same of ``overview.data_beside_model``.
    """

    node: str
    title: str | None
    under: str | None
    picture: Row | None
    branch: Row | None
    coverage: Row | None
    residual: Row | None
    above: Sequence[Row]
    below: Sequence[Row]
    pairs: Sequence[Row]
    beside_model: Sequence[Row]
    metrics: Sequence[Row]


def shared_titles(shared: Mapping[str, Any]) -> Mapping[str, str | None]:
    """The nodes that a shared view speaks of, with their titles: pictured ones first.

    Codes that findings name and the hierarchy lacks are not among them.
    """
    titles: dict[str, str | None] = {}
    for node, title in _titled(shared["overview"]):
        titles.setdefault(node, title)
    placed = {line["node"] for line in shared["overview"]["lineage"]}
    for check in shared["checks"]:
        for finding in check["findings"]:
            for one in finding["nodes"]:
                if one["id"] in placed:
                    titles.setdefault(one["id"], one["title"])
    return titles


def _titled(overview: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    coverage = overview["coverage"]["branches"]
    for rows in (overview["tree"], overview["branches"], coverage, overview["residuals"]):
        yield from ((row["node"], row["title"]) for row in rows)
    yield from ((row["node"], row["title"]) for row in overview["scopes"])
    for rows in (overview["pairs"], overview["data_beside_model"]):
        for row in rows:
            yield from ((row[end], row[f"title_{end}"]) for end in ("a", "b"))


def shared_node(shared: Mapping[str, Any], node: str) -> SharedNode | None:
    """What a shared view says of a node; None if that is nothing."""
    titles, overview = shared_titles(shared), shared["overview"]
    if node not in titles:
        return None
    tree = overview["tree"]
    line = _row_of(overview["lineage"], node)
    up = set(_upwards(tree, node) if line is None else line["above"]) - {node}
    return SharedNode(
        node=node,
        title=titles[node],
        under=None if line is None else line["below"],
        picture=_row_of(tree, node),
        branch=_row_of(overview["branches"], node),
        coverage=_row_of(overview["coverage"]["branches"], node),
        residual=_row_of(overview["residuals"], node),
        above=[row for row in tree if row["node"] in up],
        below=[row for row in tree if row["parent"] == node],
        pairs=[*_seen((*overview["pairs"], *overview["branch_pairs"]), node, titles)],
        beside_model=[*_seen(overview["data_beside_model"], node, titles)],
        metrics=[row for row in shared["metrics"] if row["scope"] == node],
    )


def _row_of(rows: Sequence[Row], node: str) -> Row | None:
    return next((row for row in rows if row["node"] == node), None)


def _upwards(tree: Sequence[Row], node: str) -> Iterator[str]:
    """The nodes of the picture above one of them."""
    parents = {row["node"]: row["parent"] for row in tree}
    above = parents.get(node)
    while above is not None:
        yield above
        above = parents.get(above)


def _seen(
    rows: Sequence[Row], node: str, titles: Mapping[str, str | None]
) -> Iterator[dict[str, Any]]:
    """Rows of pairs with a node at either end, seen from it."""
    for row in rows:
        if node in (row["a"], row["b"]):
            other = row["b"] if row["a"] == node else row["a"]
            yield {**row, "node": other, "title": titles.get(other)}


def lineage(
    checks: Sequence[Mapping[str, Any]],
    tree: Sequence[Mapping[str, Any]],
    edges: pl.DataFrame,
    titles: Mapping[str, str | None],
) -> list[dict[str, Any]]:
    """What is above each node that a shown finding names.

    Args:
        tree: The overview's tree: the nodes that are pictured.
        edges: ``child, parent`` of the nodes in use.

    Returns:
        ``node, above, below`` in the order of the nodes: the pictured nodes that are it or lie
        above it, and the nearest title above one that has none of its own. A node that the
        hierarchy lacks has no line. It says something of the hierarchy alone, and of no count.
    """
    parents: dict[str, list[str]] = {}
    for child, parent in edges.select("child", "parent").sort("child", "parent").iter_rows():
        parents.setdefault(child, []).append(parent)
    pictured = {row["node"] for row in tree}
    named = {node["id"] for check in checks for one in check["findings"] for node in one["nodes"]}
    return [
        {
            "node": node,
            "above": sorted(pictured.intersection(_all_above(node, parents))),
            "below": None
            if titles.get(node)
            else next(filter(None, map(titles.get, _all_above(node, parents))), None),
        }
        for node in sorted(named)
        if node in parents or node in pictured
    ]


def _all_above(node: str, parents: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A node and all above it, the nearest first, each once."""
    seen, level = {node}, [node]
    while level:
        yield from level
        above = dict.fromkeys(parent for one in level for parent in parents.get(one, ()))
        level = [one for one in above if one not in seen]
        seen.update(level)

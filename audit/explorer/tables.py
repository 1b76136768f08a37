"""Any table of a run: which of its rows an address asks for, a page of them, or all as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from audit.base.declared import Column, Columns, estimate, flag, key, text, texts, whole
from audit.base.errors import first_cases
from audit.base.stored_tables import defused
from audit.explorer.pairs import Pairs
from audit.explorer.rows import Query, Stored
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import RELATIONS
from audit.runs.instances import at_or_below
from reports.words import name as in_words

MOST_CHOICES = 24
"""Different texts of a column that can be chosen from."""
NODES = ("node", "a", "b", "other", "parent", "child", "lca", "scope", "answer", "sibling", "label")
"""Columns of ids of nodes, beside those that are declared with a title."""
WORDS = ("check", "severity", "relation")
"""Columns of names from a fixed list, in which ``_`` is written as a blank."""
HEADINGS = {
    "a": "First node",
    "b": "Second node",
    "support_a": "With the first",
    "support_b": "With the second",
    "lca": "Common ancestor",
    "joint": "Instances with both",
    "joint_entailed": "Both by one label",
    "co_predicted": "Answered with both",
    "expected": "Expected (independent)",
    "expected_length": "Expected",
    "ratio": "Times expected",
    "direct": "Used directly",
    "residual": "Catch-all",
    "k": "Count",
    "n": "Of",
    "n_effective": "Effective",
    "support": "Instances",
}
"""Headings of columns that are declared without one."""


class NotThereError(Exception):
    """What an address asks for that the run does not have, as its page says it."""


@dataclass(frozen=True, eq=False)
class Shown:
    """A table of a run: what its columns are, and its rows."""

    name: str
    columns: Columns
    rows: Stored | Pairs
    title: str = ""
    row: str = ""

    @property
    def heading(self) -> str:
        """What stands above it."""
        return self.title or in_words(self.name).capitalize()

    @property
    def node_columns(self) -> list[str]:
        """Columns of ids of nodes."""
        return [one.name for one in self.columns.values() if is_node(one)]

    @property
    def parameters(self) -> Iterator[str]:
        """Names of the parameters that its address may have."""
        for name, column in self.columns.items():
            yield from (name,) if column.kind == "text" else (name, f"{name}.least", f"{name}.most")
        yield from ("holding", "below", "depth", "order", "start", "csv")

    @cached_property
    def choices(self) -> Mapping[str, list[str]]:
        """Texts of each column but those of nodes, in code-point order; none if they are many."""
        return {
            one.name: self._texts(one.name) for one in self.columns.values() if not is_node(one)
        }

    def _texts(self, column: str) -> list[str]:
        """What a column may be filtered by: its different texts, or none if they are many."""
        if self.columns[column].type == "boolean":
            return ["yes", "no"]
        if column == "relation" and not isinstance(self.rows, Stored):
            return list(RELATIONS)
        own = self.columns[column]
        if own.kind != "text" or own.type == "array" or not isinstance(self.rows, Stored):
            return []
        of = self.rows.frame.select(pl.col(column).cast(pl.String))
        for rows in (of.head(2_000), of):
            found = rows.unique().head(MOST_CHOICES + 2).collect()[column].drop_nulls()
            if len(found) > MOST_CHOICES:
                return []
        return sorted(found)

    def only(self, names: str) -> Shown:
        """The same with these columns alone (names with blanks), and those that belong to them."""
        kept = [self.columns[name] for name in names.split() if name in self.columns]
        beside = {name for one in kept for name in (one.title, one.among, *one.ends)}
        others = [self.columns[name] for name in self.columns if name in beside]
        return replace(self, columns=Columns(kept, others))

    def query(self, asked: Mapping[str, str], hierarchy: Hierarchy) -> Query:
        """What an address asks for.

        Raises:
            NotThereError: If a number, a node, a column or an order is none.
        """
        order = asked.get("order", "")
        if order.lstrip("-") not in ("", *self.columns):
            raise NotThereError(f"The table has no column {order.lstrip('-')} to order by.")
        start = asked.get("start", "")
        where = [*self._conditions(asked)]
        nodes = [*self._of_nodes(asked, hierarchy)] if self.ends else []
        return Query(
            where=tuple(where if self.rows.numbered else [*where, *nodes]),
            nodes=tuple(nodes if self.rows.numbered else ()),
            order=order.lstrip("-"),
            falling=order.startswith("-"),
            start=int(start) if start.isascii() and start.isdigit() and len(start) < 12 else 0,
        )

    def _conditions(self, asked: Mapping[str, str]) -> Iterator[pl.Expr]:
        """What the columns are asked to hold."""
        plain = [one.name for one in self.columns.values() if one.kind == "text" and not one.type]
        for name, one in self.columns.items():
            value = "" if self.rows.numbered and name in self.ends else asked.get(name, "")
            if value and one.type == "array":
                yield pl.col(name).list.contains(value)
            elif value:
                words = {"yes": "true", "no": "false"} if one.type == "boolean" else {}
                said = pl.col(name).cast(pl.String)
                wanted = value.removeprefix("!")
                equal = said.eq_missing(pl.lit(words.get(wanted, wanted)))
                yield ~equal if value.startswith("!") else equal
            for end, compared in (("least", pl.Expr.ge), ("most", pl.Expr.le)):
                if asked.get(f"{name}.{end}"):
                    yield compared(pl.col(name), number_of(asked[f"{name}.{end}"]))
        if asked.get("holding") and plain:
            held = pl.col(plain).cast(pl.String).str
            yield pl.any_horizontal(
                held.contains_any([asked["holding"]], ascii_case_insensitive=True)
            )

    def _of_nodes(self, asked: Mapping[str, str], hierarchy: Hierarchy) -> Iterator[pl.Expr]:
        """What holds of its nodes: one is at or below another, or all are at a depth."""
        numbered = self.rows.numbered
        for end in self.ends if numbered else ():
            if asked.get(end):
                yield pl.col(end) == hierarchy.index(node_named(asked[end], hierarchy))
        if below := asked.get("below"):
            within = at_or_below([node_named(below, hierarchy)], hierarchy)
            wanted = [hierarchy.index(one) for one in within] if numbered else list(within)
            yield pl.any_horizontal(pl.col(self.ends).is_in(wanted))
        if depth := asked.get("depth"):
            there = hierarchy.depth == number_of(depth)
            places = [*map(int, there.nonzero()[0])]
            wanted = places if numbered else [hierarchy.nodes[one] for one in places]
            yield pl.all_horizontal(pl.col(self.ends).is_in(wanted))

    @property
    def ends(self) -> list[str]:
        """The columns of nodes that a place in the hierarchy is asked of: both ends of a pair."""
        named = [name for name in self.node_columns if name != "lca"]
        return ["a", "b"] if {"a", "b"} <= {*named} else named

    def csv(self, query: Query) -> Iterator[str]:
        """The rows of a query as CSV, texts that would be formulas defused, lists joined."""
        names = [name for name, kind in self.rows.schema.items() if is_flat(kind)]
        lists = [name for name in names if self.rows.schema[name] == pl.List(pl.String)]
        joined = pl.col(lists).list.join("; ", ignore_nulls=True)
        yield pl.DataFrame(schema=names).write_csv()
        for rows in self.rows.batches(query):
            yield defused(rows.select(names).with_columns(joined)).write_csv(include_header=False)


def is_node(column: Column) -> bool:
    """Whether a column holds ids of nodes."""
    return column.name in NODES or bool(column.title and column.title != "sentence")


def is_flat(kind: pl.DataType) -> bool:
    """Whether a value of a type fits into one cell: a plain value, or a list of texts."""
    return kind == pl.List(pl.String) or not kind.is_nested()


def index_of(node: str, hierarchy: Hierarchy) -> int:
    """The number of a node that an address names; NotThereError if the hierarchy lacks it."""
    if node not in hierarchy:
        raise NotThereError(f"The hierarchy has no node {node}; the search above knows names too.")
    return hierarchy.index(node)


def node_named(words: str, hierarchy: Hierarchy) -> str:
    """The node of an id, or the one whose title holds these words; NotThereError names a few."""
    if words in hierarchy:
        return words
    titles = enumerate(hierarchy.titles)
    found = [i for i, one in titles if one and words.lower() in one.lower()]
    if len(found) == 1:
        return hierarchy.nodes[found[0]]
    few = first_cases(hierarchy.describe(one) for one in found)
    named = f"; {len(found):,} have these words in their titles: {few}" if found else ""
    raise NotThereError(f"The hierarchy has no node {words}{named}. State a code.")


def number_of(said: str) -> float:
    """The number that an address states; NotThereError if it is none."""
    try:
        return float(said)
    except ValueError:
        raise NotThereError(f"A number is required; found {said}.") from None


def shown_columns(schema: Mapping[str, pl.DataType], declared: Columns) -> Columns:
    """The columns of a frame as they are declared, or else by their types; each has a heading."""
    made = [_shown(name, kind, declared) for name, kind in schema.items() if is_flat(kind)]
    if "title" in schema:
        made = [replace(one, title="title") if one.name == "node" else one for one in made]
    headings = {one.name: one.heading or HEADINGS.get(one.name) for one in made}
    return Columns(
        replace(one, heading=headings[one.name] or in_words(one.name).capitalize()) for one in made
    )


def _shown(name: str, kind: pl.DataType, declared: Columns) -> Column:
    """A column as it is declared; one of texts that holds flags or lists in the frame says so."""
    if name not in declared:
        return _column_by_type(name, kind)
    of_kind = {pl.Boolean: "boolean", pl.List: "array"}.get(kind.base_type(), "")
    own = declared[name]
    return replace(own, type=of_kind, words=name in WORDS) if own.kind == "text" else own


def _column_by_type(name: str, kind: pl.DataType) -> Column:
    of: Iterable[Column]
    if kind == pl.Boolean:
        of = flag(name)
    elif kind == pl.List(pl.String):
        of = texts(name)
    elif kind.is_integer():
        of = whole(name)
    elif kind.is_float():
        of = estimate(name, reason="of the window alone")
    else:
        of = key(name) if name in WORDS else text(name)
    return next(iter(of))

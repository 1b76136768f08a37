"""Labels as written: those in a cell, and which of them are nodes of a hierarchy."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from audit.base.errors import InputError
from audit.data.columns import Columns
from audit.hierarchies.hierarchy import Hierarchy

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ITEM = rf"(?:{_QUOTED}|-?[0-9][0-9.eE+-]*|null|None|true|false|True|False)"
_LIST = rf"(?s)^\[\s*(?:{_ITEM}(?:\s*,\s*{_ITEM})*)?\s*,?\s*\]$"
"""A list as JSON or Python writes it."""
_TOKENS = {
    "icd9": r"(?:[0-9V][0-9]{1,2}|E[0-9]{3}),[0-9]{1,2}\b|[0-9A-Za-z.]+",
    "icd10": r"[A-Za-z][0-9][0-9A-Za-z],(?:[0-9][0-9A-Za-z]{0,3}|XX[0-9A-Za-z]{1,2})\b"
    r"|[0-9A-Za-z.]+",
}
"""What stands between signs that are in no code; a decimal comma is in one."""
_SHAPES = {
    "icd9": r"(?i)^(?:[0-9]{3,5}|[0-9]{2,3}[.,][0-9]{1,2}"
    r"|V[0-9]{2}(?:[.,]?[0-9]{1,2})?|E[0-9]{3}(?:[.,]?[0-9])?)$",
    "icd10": r"(?i)^[A-Z][0-9][0-9A-Z](?:[.,]?[0-9A-Z]{1,4})?$",
}
"""What a code looks like, with or without its dot."""


def labels_in(cells: pl.Series, columns: Columns) -> pl.Series:
    """The labels in each cell, a list of text; empty where a cell is blank.

    A cell is a list, or text: a list as JSON or Python writes it, what ``columns.take`` finds in
    it, what ``columns.sep`` joins, else one label.

    Raises:
        InputError: If ``columns.take`` is no regular expression.
    """
    if isinstance(cells.dtype, pl.List | pl.Array):
        found = pl.col("cell").cast(pl.List(cells.dtype.inner)).list.eval(_text(pl.element()))
    else:
        text = _text(pl.col("cell"))
        listed = text.str.contains(_LIST)
        found = (
            pl.when(listed & text.str.contains(r"\\"))
            .then(text.map_elements(_parsed_list, pl.List(pl.String), skip_nulls=True))
            .when(listed)
            .then(text.str.extract_all(_ITEM).list.eval(_unquoted(pl.element())))
            .otherwise(_found_in_text(text, columns))
        )
    labels = found.fill_null([]).list.drop_nulls().alias(cells.name)
    return cells.to_frame("cell").select(labels).to_series()


def _text(cell: pl.Expr) -> pl.Expr:
    """Trimmed text; null where it is blank."""
    text = cell.cast(pl.String).str.strip_chars()
    return pl.when(text != "").then(text)


def _found_in_text(text: pl.Expr, columns: Columns) -> pl.Expr:
    """The labels in a text: what ``take`` finds, else what ``sep`` joins, else all of it."""
    if columns.take in _SHAPES:
        tokens = text.str.extract_all(_TOKENS[columns.take])
        code = pl.element().str.strip_chars(".")
        kept = pl.when(code.str.contains(_SHAPES[columns.take])).then(code.str.replace(",", "."))
        return tokens.list.eval(kept)
    if columns.take:
        group = int(_number_of_groups(columns.take) > 0)
        every = text.str.extract_all(columns.take)
        return every.list.eval(_text(pl.element().str.extract(columns.take, group)))
    if columns.sep:
        sep = columns.sep if columns.sep.isspace() else columns.sep.strip()
        return text.str.split(sep).list.eval(_text(pl.element()))
    return pl.when(text.is_not_null()).then(pl.concat_list(text))


def _number_of_groups(take: str) -> int:
    try:
        return re.compile(take).groups
    except re.error as error:
        raise InputError(
            "--take names icd9, icd10 or a regular expression", found=f"{take!r}: {error}"
        ) from error


def _unquoted(item: pl.Expr) -> pl.Expr:
    bare = pl.when(item.str.contains("^['\"]")).then(item.str.slice(1, item.str.len_chars() - 2))
    return _text(bare.otherwise(pl.when(~item.is_in(["null", "None"])).then(item)))


def _parsed_list(text: str) -> list[str | None]:
    for read in (json.loads, ast.literal_eval):
        try:
            return [str(item).strip() or None for item in read(text) if item is not None]
        except (ValueError, SyntaxError):
            continue
    return [text]


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some values, counted as often as they occur, are nodes.

    Args:
        n: Number of values.
        nodes: Number of those that are nodes.
        complete: Number of those that are complete codes; all nodes where nodes are no codes.
    """

    n: int = 0
    nodes: int = 0
    complete: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.n + other.n, self.nodes + other.nodes, self.complete + other.complete)

    @property
    def of_complete(self) -> float:
        """Share of complete codes, by which columns are known; 0 of no values."""
        return self.complete / self.n if self.n else 0.0


class Nodes:
    """The nodes of a hierarchy, asked of by texts as they are written.

    Of the built-in classifications nearly every number from 10 to 999 is a heading, so that columns
    are known by complete codes: those that are assignable, or were in an earlier edition.
    """

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.coded = hierarchy.integrity is not None
        self.tables = hierarchy.integrity.tables if hierarchy.integrity else ()
        self._known: dict[tuple[str, str | None], tuple[str | None, bool]] = {}

    def node(self, text: str, table: str | None = None) -> str | None:
        """The node that a text is, of a code set if one is named; None if it is none."""
        return self._looked_up(text, table)[0]

    def is_node(self, text: str, table: str | None = None) -> bool:
        """Whether a text is a node, of a code set if one is named."""
        return self._looked_up(text, table)[0] is not None

    def is_complete(self, text: str, table: str | None = None) -> bool:
        """Whether a text is a complete code; where nodes are no codes, a node."""
        return self._looked_up(text, table)[1]

    def share(self, values: Mapping[str, int], table: str | None = None) -> Share:
        """Of values with the number of times that each occurs, those that are nodes.

        Codes without dots count in the code set, if none is named, of which most are: a number may
        be one of each.
        """
        sets = self.sets(values) if table is None else dict.fromkeys(values, table)
        nodes = sum(n for text, n in values.items() if self.is_node(text, sets[text]))
        complete = sum(n for text, n in values.items() if self.is_complete(text, sets[text]))
        return Share(sum(values.values()), nodes, complete)

    def sets(self, values: Mapping[str, int]) -> Mapping[str, str | None]:
        """The code set in which each value counts: None, which is any, of those with dots; of
        others the one in which most of their occurrences are codes."""
        if len(self.tables) < 2:
            return dict.fromkeys(values)
        others = [text for text in values if "." not in text.rstrip(".")]

        def n_complete(table: str) -> int:
            return sum(values[text] for text in others if self.is_complete(text, table))

        best = max(self.tables, key=n_complete)
        return {**dict.fromkeys(values), **dict.fromkeys(others, best)}

    @cached_property
    def have_digits(self) -> bool:
        """Whether nine in ten nodes have a digit, so that a word without one is hardly a node."""
        nodes = self.hierarchy.nodes
        return 10 * sum(any(map(str.isdigit, one)) for one in nodes) >= 9 * len(nodes)

    def _looked_up(self, text: str, table: str | None) -> tuple[str | None, bool]:
        """The node that a text is, and whether it is a complete code."""
        if (text, table) not in self._known:
            own, integrity = self.hierarchy, self.hierarchy.integrity
            bare = text.rstrip(".") if self.coded else text
            placed = own.place(bare, table)
            node = placed.node if placed.listed else None
            codes = integrity.readings(bare, table) if integrity else ()
            years = (integrity.years if integrity else None) or {}
            complete = node is not None and not self.coded
            for one in codes:
                complete |= one in years or (one in own and bool(own.assignable[own.index(one)]))
            self._known[text, table] = node, complete
        return self._known[text, table]

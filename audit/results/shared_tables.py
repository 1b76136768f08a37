"""Tables of a model and of analyses, and facts of analyses, as they are told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from audit.base.declared import Columns, Table
from audit.base.plurals import filled
from audit.sharing.told import Rounding, told_frame, told_rows
from audit.sharing.words import said

FACTS = "facts"
TOLD = 3
"""Number of rows that are told in sentences."""


class Sentence(NamedTuple):
    """What an analysis found, told first.

    Args:
        text: A sentence with placeholders, as `audit.base.plurals.filled` takes them.
        table: The table whose first rows are told, a sentence each; empty for the facts.
        where: Values of columns that a row must have, as `rows_where` takes them.
    """

    text: str
    table: str = ""
    where: Mapping[str, list[Any]] = {}

    def said(
        self,
        shared: Mapping[str, Any],
        facts: Columns,
        tables: Mapping[str, Table],
        rounding: Rounding,
    ) -> str:
        """This sentence, filled with each of the first `TOLD` rows that fit, or with the facts."""
        rows = shared.get(self.table, ()) if self.table else [shared[FACTS]]
        columns = tables[self.table].columns if self.table else facts

        def sentence(row: Mapping[str, Any]) -> str:
            told = {k: one for k, one in row.items() if not isinstance(one, Mapping | list)}
            return filled(self.text, told, said(told, columns, rounding))

        found = map(sentence, rows_where(rows, self.where))
        return " ".join(islice(filter(None, found), TOLD))


def rows_where(
    rows: Iterable[Mapping[str, Any]], where: Mapping[str, list[Any]]
) -> Iterator[Mapping[str, Any]]:
    """The rows that have one of the values named for each of some columns."""
    return (row for row in rows if all(row[name] in values for name, values in where.items()))


def shared_rows(frame: pl.DataFrame, rule: Table, rounding: Rounding) -> list[dict[str, Any]]:
    """The rows of a table as they are told, at most ``rule.most`` (of each ``rule.each``).

    In bins neither order nor choice tells more, and a table of records has none.

    >>> from audit.base.declared import count, text
    >>> rule = Table(Columns(text("node"), count("instances")), order="instances")
    >>> frame = pl.DataFrame({"node": ["c", "b", "a"], "instances": [39, 38, 4]})
    >>> shared_rows(frame, rule, Rounding(10))
    [{'node': 'b', 'instances': 35}, {'node': 'c', 'instances': 35}]
    """
    if rule.records and rounding.width:
        return []
    own = frame.select(name for name in rule.columns if name in frame.columns)
    told = told_frame(own, rule.columns, rounding)
    if rounding.width:
        told = _listed(told, rule, rounding)
    if rule.most is not None:
        place = pl.int_range(pl.len())
        told = told.filter((place.over(rule.each) if rule.each else place) < rule.most)
    numbers = pl.selectors.float()
    return told.with_columns(pl.when(numbers.is_finite()).then(numbers)).to_dicts()


def _listed(told: pl.DataFrame, rule: Table, rounding: Rounding) -> pl.DataFrame:
    """The rows that are not there for few, by what they tell; those that tell nothing last."""
    if rule.listed:
        told = told.filter(pl.col(rule.listed) > rounding.width)
    if not rule.order:
        return told
    texts = [name for name, kind in told.schema.items()
             if rule.columns[name].kind == "text" and not kind.is_nested()]  # fmt: skip
    by = [*filter(None, [rule.each]), rule.order, *texts]
    falling = [name == rule.order and rule.columns[name].kind == "count" for name in by]
    return told.sort(by, descending=falling, nulls_last=True)


def shared_facts(facts: Mapping[str, Any], columns: Columns, rounding: Rounding) -> dict[str, Any]:
    """Facts as they are told; those within a fact are of its kind."""
    (told,) = told_rows([facts], columns, rounding)
    for name, one in facts.items():
        if isinstance(one, Mapping):
            kinds = {inner: replace(columns[name], name=inner) for inner in one}
            (told[name],) = told_rows([one], kinds, rounding)
    return told

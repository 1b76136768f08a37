"""The part of a result that an analysis adds: facts, and tables of which some may be shared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.results.parts.part import ReadTable, Tables
from audit.results.shared_tables import SharedTable, shared_rows

OTHERS = "analyses"
"""Entry of ``result.json`` that holds those of analyses without one of their own."""

FACTS = "facts"
_TABLE = re.compile(f"(?!{FACTS}$)[a-z]+(_[a-z]+)*")


class Headline(NamedTuple):
    """Rows of a shared table that ``metrics`` tells again, and the columns with what it tells.

    Args:
        table: The table; besides these columns it has ``low`` and ``high``.
        value: The number.
        n: What the number is of.
        parameters: Name and column of each parameter; the first column of a name that is not null.
        name: The metric; empty if the column ``called`` says it.
        called: Column with the metric.
        scope: Column with the scope; empty for all.
        where: Values of columns that a row must have.
    """

    table: str
    value: str
    n: str
    parameters: tuple[tuple[str, str], ...]
    name: str = ""
    called: str = ""
    scope: str = ""
    where: Mapping[str, list[Any]] = {}

    def metric(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row in the form of metrics: what is withheld in the table is withheld."""
        parameters: dict[str, Any] = {}
        for name, column in self.parameters:
            if row[column] is not None:
                parameters.setdefault(name, row[column])
        return {
            "name": self.name or row[self.called],
            "scope": row[self.scope] if self.scope else "all",
            "value": row[self.value],
            "low": row["low"],
            "high": row["high"],
            "n": row[self.n],
            "parameters": parameters,
        }


@dataclass(frozen=True, eq=False)
class AnalysisPart:
    """What was measured by an analysis.

    Args:
        name: The analysis.
        facts: What was measured and how.
        totals: What the counts of tables are part of: ``instances``, and the totals of counts of
            other names.
        frames: The tables that are shared, by name.
        rules: What is shared of each of them.
        restricted: Tables that are never shared, by name.
        headlines: What of the tables is told in ``metrics`` too.
        called: What instances are called where they are those of the analysis.
        listed: Whether ``result.json`` has an entry of the analysis's own, else it is in `OTHERS`.
    """

    name: str
    facts: Mapping[str, Any]
    totals: Mapping[str, int]
    frames: Mapping[str, pl.DataFrame]
    rules: Mapping[str, SharedTable]
    restricted: Tables
    headlines: tuple[Headline, ...] = ()
    called: str = "instances"
    listed: bool = False

    def __post_init__(self) -> None:
        """Refuse tables that could not be stored, or are shared without a rule."""
        names = [*self.frames, *self.restricted]
        wrong = [name for name in names if not _TABLE.fullmatch(name) or names.count(name) > 1]
        wrong += [name for name in self.frames if name not in self.rules]
        if wrong:
            raise InputError(
                "each table of an analysis needs a name of its own, of letters a to z and"
                " underscores, and a rule if it is shared",
                found=first_cases(wrong),
                where=self.name,
            )

    def tables(self) -> Tables:
        """Each table, and the facts as one row of JSON."""
        facts = pl.DataFrame({FACTS: [json.dumps(self.facts)]})
        kept = {**self.frames, **self.restricted, FACTS: facts}
        return {self.file_of(name): frame for name, frame in kept.items()}

    def layout(self) -> dict[str, Any]:
        """All but facts and tables, as JSON: what `read_analyses` reads them by."""
        return {
            "totals": dict(self.totals),
            "rules": {name: self.rules[name] for name in self.frames},
            "restricted": list(self.restricted),
            "headlines": self.headlines,
            "called": self.called,
            "listed": self.listed,
        }

    def file_of(self, table: str) -> str:
        """Name of the file of a table among the restricted ones of a run."""
        return table_file(self.name, table, listed=self.listed)

    def shared(self, min_cell: int) -> Mapping[str, Any]:
        """The facts and every table, in which no count below ``min_cell`` can be read."""
        rows = {
            name: shared_rows(frame, self.rules[name], self.totals, min_cell)
            for name, frame in self.frames.items()
        }
        return {"facts": dict(self.facts), **rows}

    def metrics(self, shared: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The headline numbers of the shared tables."""
        for one in self.headlines:
            for row in shared.get(one.table, ()):
                if all(row[column] in values for column, values in one.where.items()):
                    yield one.metric(row)


def table_file(name: str, table: str, *, listed: bool) -> str:
    """Name of the file of a table of an analysis; it is not that of another table of a run."""
    return f"{name}_{table}" if listed else f"analysis_{name}_{table}"


def read_analyses(
    table: ReadTable, layouts: Mapping[str, Mapping[str, Any]]
) -> Iterator[AnalysisPart]:
    """The parts of a run that analyses added, whether or not these are known here."""
    for name, layout in layouts.items():

        def own(one: str, name: str = name, listed: bool = layout["listed"]) -> pl.LazyFrame:
            return table(table_file(name, one, listed=listed))

        rules = {one: SharedTable(*rule) for one, rule in layout["rules"].items()}
        yield AnalysisPart(
            name=name,
            facts=json.loads(own(FACTS).collect().item()),
            totals=layout["totals"],
            frames={one: own(one).collect() for one in rules},
            rules=rules,
            restricted={one: own(one) for one in layout["restricted"]},
            headlines=tuple(Headline(*one) for one in layout["headlines"]),
            called=layout["called"],
            listed=layout["listed"],
        )

"""Parts of a result beside the counts: of a model's predictions, of drift, of an analysis."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeAlias

import polars as pl

from audit.base.declared import Columns, Table, schema
from audit.base.errors import InputError, first_cases
from audit.results.shared_tables import FACTS, Sentence, rows_where, shared_facts, shared_rows
from audit.results.tables import MODEL
from audit.sharing.told import Rounding

if TYPE_CHECKING:
    from audit.counting.pair_table import PairTable
    from audit.counting.pair_verdicts import ReadTable

Metric: TypeAlias = Mapping[str, Any]
"""``name, scope, value, low, high, n, parameters`` of a metric."""
Tables: TypeAlias = Mapping[str, pl.DataFrame | pl.LazyFrame]
"""Restricted tables by the name of their Parquet file."""


class ResultPart(Protocol):
    """What was measured beside the counts, with tables of its own in a run."""

    def tables(self) -> Tables:
        """The tables that a run keeps in ``restricted/``."""
        ...


@dataclass(frozen=True, eq=False)
class DriftPart:
    """Use of nodes by the values of drift columns; its overview is in ``coverage``."""

    values: pl.DataFrame
    nodes: pl.DataFrame

    def tables(self) -> Tables:
        """``drift_values`` and ``drift_nodes``."""
        return {"drift_values": self.values, "drift_nodes": self.nodes}

    @classmethod
    def read(cls, table: ReadTable, record: Mapping[str, Any]) -> Self | None:
        """The part of a run with drift columns; None without."""
        if not record["drift"]:
            return None
        return cls(table("drift_values").collect(), table("drift_nodes").collect())


_METRICS = schema(
    ("part name scope", pl.String),
    ("value low high", pl.Float64),
    ("n", pl.Int64),
    ("parameters", pl.String),
)


@dataclass(frozen=True, eq=False)
class ModelPart:
    """What was measured of a model.

    Args:
        pair_table: The pairs of the predictions, with ``co_predicted``.
        metrics: ``name, scope, value, low, high, n, parameters`` of each metric.
        absent_metrics: ``name, reason`` of each metric that these predictions do not allow.
        beside: Rows as in ``metrics``: tied answers (``ties``), and mass under no node of a cut.
        frames: Further tables by name, of which `audit.results.tables.MODEL` says what is told.
            ``answered`` has a single row, as `audit.alignment.answers.answered` counts it;
            ``behaviours`` the ``instances`` that show each. ``exchanged_pairs`` are the labels
            exchanged most beyond what is expected: ``observed`` exchanges, ``forth`` with a as
            label, ``back`` with b, ``counted`` once in a group; instances ``labelled`` with just
            one of them, and with each; of those counted ``expected``, which grows with a
            ``margin``, ``excess, q_value`` and ``passes``, whether the two are tested to be
            exchanged too often; ``exchanged_in_line`` are the same of a label and one above it,
            never tested. ``answers`` are labels given falsely more often than missed: instances on
            which one is given so (``falsely``) and ``missed`` for another, rightly given
            (``hits``), given in all (``answers``), ``labelled``; ``falsely`` as a ``share`` of
            answers, ``q_value``, and the labels in whose place it is given ``most``. ``suspects``
            are the labels that scores contradict most.
    """

    pair_table: PairTable
    metrics: tuple[Metric, ...] = ()
    absent_metrics: tuple[Mapping[str, str], ...] = ()
    beside: tuple[Metric, ...] = ()
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def pairs(self) -> pl.LazyFrame:
        """The pair table of the predictions."""
        return self.pair_table.frame

    def __repr__(self) -> str:
        """Numbers of rows; the rows are many."""
        return f"ModelPart({len(self.metrics):,} metrics, {len(self.frames):,} tables)"

    def tables(self) -> Tables:
        """Pairs, supports, metrics with those beside (``parameters`` as JSON), further tables."""
        rows = [
            {**metric, "part": part, "parameters": json.dumps(metric["parameters"])}
            for part, own in (("metrics", self.metrics), ("beside", self.beside))
            for metric in own
        ]
        return {
            "model_pairs": self.pair_table.lean(),
            "model_support": pl.DataFrame({"support": self.pair_table.support}),
            "metrics": pl.DataFrame(rows, schema=_METRICS),
            **self.frames,
        }

    @classmethod
    def read(cls, table: ReadTable, record: Mapping[str, Any]) -> Self | None:
        """The part of a run with predictions; None without."""
        from audit.counting.pair_table import PairTable, graph_of

        if record["ledger"]["predictions"] is None:
            return None
        rows: dict[str, list[Metric]] = {"metrics": [], "beside": []}
        for row in table("metrics").collect().iter_rows(named=True):
            row["parameters"] = json.loads(row["parameters"])
            rows[row.pop("part")].append(row)
        return cls(
            pair_table=PairTable(
                counted=table("model_pairs"),
                graph=lambda: graph_of(table, record),
                support=table("model_support").collect()["support"].to_numpy(),
                instances=int(record["ledger"]["predictions"]["instances_matched"]),
            ),
            metrics=tuple(rows["metrics"]),
            absent_metrics=tuple(record["metrics_absent"]),
            beside=tuple(rows["beside"]),
            frames={name: table(name).collect() for name in MODEL},
        )


OTHERS = "analyses"
"""Entry of ``result.json`` that holds those of analyses without one of their own."""

_TABLE = re.compile(f"(?!{FACTS}$)[a-z]+(_[a-z]+)*")


class Headline(NamedTuple):
    """Rows of a shared table that ``metrics`` repeats, and the columns that hold their numbers.

    Args:
        parameters: Name and column of each parameter; the first column of a name that is not null.
        name: The metric; empty if the column ``called`` says it.
        called: Column with the metric.
        where: Values of columns that a row must have, as `rows_where` takes them.
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
        """A row as one of metrics, whose scope is all data unless a column tells it."""
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
            "beyond": None,
            "n": row[self.n],
            "parameters": parameters,
        }


@dataclass(frozen=True, eq=False)
class AnalysisPart:
    """What was measured by an analysis.

    Args:
        facts: Numbers, words and lists of these by name, some by name once more.
        facts_columns: What each fact is; those within a fact are of its kind.
        frames: The tables that are shared, by name.
        rules: What each of them is, in the order of reports; of others too.
        restricted: Tables that are never shared, by name.
        headlines: What of the tables is told in ``metrics`` too.
        listed: Whether ``result.json`` has an entry of the analysis's own, else it is in `OTHERS`.
        says: What the chapter says first, a sentence for each of some rows.
    """

    name: str
    facts: Mapping[str, Any]
    facts_columns: Columns
    frames: Mapping[str, pl.DataFrame]
    rules: Mapping[str, Table]
    restricted: Tables
    headlines: tuple[Headline, ...] = ()
    listed: bool = False
    says: tuple[Sentence, ...] = ()

    def __post_init__(self) -> None:
        """Refuse tables that could not be stored, and what would be shared without a kind."""
        names = [*self.frames, *self.restricted]
        wrong = [name for name in names if not _TABLE.fullmatch(name) or names.count(name) > 1]
        wrong += [name for name in self.frames if name not in self.rules]
        if wrong or (unknown := [one for one in self.facts if one not in self.facts_columns]):
            raise InputError(
                "each table of an analysis needs a name of its own, of letters a to z and"
                " underscores, and a rule if it is shared"
                if wrong
                else "each fact of an analysis needs a kind",
                found=first_cases(wrong or unknown),
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
            "facts": self.facts_columns.stored(),
            "rules": {name: rule.stored() for name, rule in self._measured()},
            "restricted": list(self.restricted),
            "headlines": self.headlines,
            "listed": self.listed,
            "says": self.says,
        }

    def file_of(self, table: str) -> str:
        """Name of the file of a table among the restricted ones of a run."""
        return table_file(self.name, table, listed=self.listed)

    def shared(self, rounding: Rounding) -> Mapping[str, Any]:
        """The facts and every table, as they are told."""
        rows = {
            name: shared_rows(self.frames[name], rule, rounding) for name, rule in self._measured()
        }
        return {FACTS: shared_facts(self.facts, self.facts_columns, rounding), **rows}

    def declared(self, shared: Mapping[str, Any], rounding: Rounding) -> dict[str, Any]:
        """How what is ``shared`` is shown: ``title, sentence, facts, tables``.

        What has no heading is left out: it is in the window and in exports alone.
        """
        shown = Columns(one for one in self.facts_columns.values() if one.heading)
        said = (one.said(shared, self.facts_columns, self.rules, rounding) for one in self.says)
        return {
            "title": self.name.capitalize(),
            "sentence": " ".join(filter(None, said)),
            "facts": shown.stored(),
            "tables": {name: rule.stored() for name, rule in self._measured() if rule.title},
        }

    def _measured(self) -> Iterator[tuple[str, Table]]:
        """The tables that there are, in the order in which they are declared."""
        return ((name, rule) for name, rule in self.rules.items() if name in self.frames)

    def metrics(self, shared: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The headline numbers of the shared tables."""
        for one in self.headlines:
            yield from map(one.metric, rows_where(shared.get(one.table, ()), one.where))


def table_file(name: str, table: str, *, listed: bool) -> str:
    """Name, less its suffix, of the file of a table of an analysis, unlike others of a run."""
    return f"{name}_{table}" if listed else f"analysis_{name}_{table}"


def read_analyses(
    table: ReadTable, layouts: Mapping[str, Mapping[str, Any]]
) -> Iterator[AnalysisPart]:
    """The parts of a run that analyses added, whether or not these are known here."""
    for name, layout in layouts.items():

        def own(one: str, name: str = name, listed: bool = layout["listed"]) -> pl.LazyFrame:
            return table(table_file(name, one, listed=listed))

        rules = {one: Table.read(rule) for one, rule in layout["rules"].items()}
        yield AnalysisPart(
            name=name,
            facts=json.loads(own(FACTS).collect().item()),
            facts_columns=Columns.read(layout["facts"]),
            frames={one: own(one).collect() for one in rules},
            rules=rules,
            restricted={one: own(one) for one in layout["restricted"]},
            headlines=tuple(Headline(*one) for one in layout["headlines"]),
            listed=layout["listed"],
            says=tuple(Sentence(*one) for one in layout["says"]),
        )

"""What checks of an entailment graph are made of: what they read, and how rows become findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from audit.analyses.entailment.declared import ALL
from audit.base.dag import IntArray
from audit.base.declared import Column, Columns
from audit.checks.check import Check
from audit.checks.rows import Row, Rows, check_of_rows
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements

Case: TypeAlias = Mapping[str, Any]
Evidence: TypeAlias = dict[str, Any]
LONGEST = 90
"""Characters of a text that a sentence quotes."""


class Measured(NamedTuple):
    """What checks read: the tables, the tuples, the generation set, and the instances."""

    frames: Mapping[str, pl.DataFrame]
    tuples: pl.DataFrame
    positives: pl.DataFrame | None
    of: Measurements

    def of_relations(self, table: str) -> pl.DataFrame:
        """A table by its name, without the rows of all relations together."""
        return self.frames[table].filter(pl.col("relation") != ALL)

    def row(self, tuples: pl.DataFrame, evidence: Evidence, *key: str, **said: Any) -> Row:
        """A finding on a relation, the first part of its key, with the tuples behind it.

        Its strength is its share, if it has one, where nothing else is said.
        """

        def cases() -> IntArray:
            ids = self.of.loaded.dataset.instances["instance"]
            return np.flatnonzero(ids.is_in(tuples["id"].implode()).to_numpy()).astype(np.int64)

        own = {"key": key, "nodes": key[:1], "strength": evidence.get("share", 1.0)}
        evidence = {"instances": tuples.height, **evidence}
        return Row(cases=cases, evidence=evidence, **own | said)


def check(
    title: str,
    of: tuple[str, str, str, str],
    denominator: Literal["instances", "whole", "untold"],
    *evidence: Iterable[Column],
) -> Callable[[Callable[[Measured], Iterable[Row]]], Check]:
    """Make a check of a function that yields findings: it has its name and its docstring.

    Args:
        of: What is examined: a table, its column that counts it, or none where each row is one;
            the unit; and why there may be none.
    """

    def checked(found: Callable[[Measured], Iterable[Row]]) -> Check:
        @wraps(found)
        def table(measured: Measurements) -> Rows:
            given, (name, column, unit, why) = measured.of("entailment"), of
            own = Measured(given.frames, given.behind[0], given.behind[1], measured)
            total = int(own.of_relations(name)[column].sum()) if column else len(own.frames[name])
            rows = [*found(own)]
            return Rows(total, unit, rows, "" if total or rows else why)

        return check_of_rows(
            found.__name__,
            title,
            table,
            reads="entailment",
            nodes="Relation",
            evidence=Columns(*evidence),
            denominator=denominator,
        )

    return checked


def quoted(text: str) -> str:
    """A text in quotation marks, cut if long, without characters that have a meaning in templates.

    >>> quoted("a {wild}  animal")
    '“a (wild) animal”'
    """
    plain = " ".join(text.translate(str.maketrans("{}[]", "()()")).split())
    return f"“{plain if len(plain) <= LONGEST else plain[: LONGEST - 1].rstrip() + '…'}”"


def arrows(*texts: str) -> str:
    """Texts along edges: ``“a” → “b”``."""
    return " → ".join(map(quoted, texts))


def first_of(rows: pl.DataFrame, said: Callable[[Case], str]) -> str:
    """The first three rows in the words that ``said`` finds for each, between semicolons."""
    return "; ".join(said(row) for row in rows.head(3).iter_rows(named=True))


def edge(row: Case) -> str:
    """The edge of a row: ``“instance” → “concept”``."""
    return arrows(row["instance"], row["concept"])


def bounds(name: str, k: int, n: int) -> Evidence:
    """``k`` of ``n`` as evidence ``name`` and ``of``, with the share and its Wilson interval."""
    low, high = wilson(k, n)
    return {name: k, "of": n, "share": k / n if n else 0.0, "low": low, "high": high}

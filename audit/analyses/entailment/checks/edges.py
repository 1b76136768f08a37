"""What checks of an entailment graph have in common: tuples as cases, texts in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np
import polars as pl

from audit.analyses.entailment.graph.text_graph import ONE
from audit.analyses.entailment.measure import EntailmentMeasurements, entailed_in
from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, Mark, count, share
from audit.checks.check import Check, Outcome
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements
from audit.results.findings import Evidence, Finding


def entailment_check(
    name: str,
    title: str,
    run: Callable[[Measurements], Outcome],
    tuples: Callable[[EntailmentMeasurements, Finding], pl.DataFrame],
    evidence: Columns,
    denominator: Literal["instances", "whole", "untold"],
) -> Check:
    """A check whose cases are the tuples behind a finding."""

    def cases(measured: Measurements, finding: Finding) -> IntArray:
        own = tuples(entailed_in(measured), finding)
        ids = measured.loaded.dataset.instances["instance"]
        return np.flatnonzero(ids.is_in(own["id"].implode()).to_numpy()).astype(np.int64)

    return Check(
        name,
        title,
        run,
        reads="entailment",
        cases=cases,
        nodes="Relation",
        evidence=evidence,
        denominator=denominator,
    )


OF_TUPLES = (
    *share("share", "Share", of="tuples of", ends="low high", mark=Mark()),
    *count("tuples", "Tuples", among="of"),
    *count("instances of"),
)
"""Evidence on the tuples of a relation."""
OF_EDGES = (
    *share("share", "Share", of="edges of", ends="low high", mark=Mark()),
    *count("edges", "Edges", of=NONE, among="of"),
    *count("of", of=NONE),
    *count("instances", "Tuples"),
)
"""Evidence on its edges, and the tuples that state them."""


def with_bounds(name: str, k: int, n: int) -> Evidence:
    """So many of n as evidence, with the share and its Wilson interval."""
    low, high = wilson(k, n)
    return {name: k, "of": n, "share": k / n, "low": low, "high": high}


EDGE = ("relation", "instance", "concept")
LONGEST = 60
"""Characters of a text that a sentence quotes."""
BEFORE = 15
"""Characters that are quoted before the first difference of two long texts, and the word there."""
QUOTED = 3
"""Cases that a sentence quotes."""
_PLAIN = str.maketrans("{}[]", "()()")


def quoted(text: str) -> str:
    """A text in quotation marks, cut if long, without characters that have a meaning in templates.

    >>> quoted("a {wild}  animal")
    '“a (wild) animal”'
    """
    plain = " ".join(text.translate(_PLAIN).split())
    return f"“{plain if len(plain) <= LONGEST else plain[: LONGEST - 1].rstrip() + '…'}”"


def quoted_apart(one: str, other: str) -> tuple[str, str]:
    """Two texts in quotation marks, cut if long so that their first difference is still there.

    Case is no difference.

    >>> quoted_apart("a very long text " * 4 + "ends", "a very long text " * 4 + "begins")
    ('“…very long text ends”', '“…very long text begins”')
    """
    one, other = (" ".join(text.split()) for text in (one, other))
    start = 0
    if max(len(one), len(other)) > LONGEST:
        pairs = enumerate(zip(one.lower(), other.lower(), strict=False))
        first = next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
        start = one.rfind(" ", 0, max(first - BEFORE, 0)) + 1
    cut = "…" if start else ""
    return quoted(cut + one[start:]), quoted(cut + other[start:])


def quoted_cases(cases: pl.DataFrame, said: Callable[[Mapping[str, Any]], str]) -> str:
    """The first cases in words."""
    return "; ".join(said(case) for case in cases.head(QUOTED).iter_rows(named=True))


def arrows(texts: Iterable[str]) -> str:
    """Texts along edges: ``“a” → “b”``."""
    return " → ".join(map(quoted, texts))


def edge_of(row: Mapping[str, Any]) -> str:
    """The edge of a row, in words."""
    return arrows((row["instance"], row["concept"]))


def under(head: str | None) -> str:
    """The head that a case was judged under, in brackets; nothing where that is the instance."""
    return "" if head is None else f" (under {quoted(head)})"


def where_judged(row: Mapping[str, Any]) -> str:
    """Whether the edges of a finding were judged under one head, as the end of a clause."""
    if not row["one_context"]:
        return " under different heads, where a text may mean different things"
    return "" if row["head"] is None else " under the same head"


def tuples_of(entailed: EntailmentMeasurements, edges: pl.DataFrame) -> pl.DataFrame:
    """The tuples that state some edges, given by the columns `EDGE`."""
    return entailed.dataset.tuples.join(edges.select(EDGE), on=EDGE, how="semi")


def of_key(table: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """The rows of a finding whose key is a relation and whether one context is enough."""
    return table.filter((pl.col("relation") == key[0]) & (pl.col("one_context") == (key[1] == ONE)))

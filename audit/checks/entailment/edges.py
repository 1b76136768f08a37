"""What checks of the graph's edges have in common: their tuples as cases, texts in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.engine.statistics.intervals import wilson
from audit.entailment.graph.neighbourhoods import ONE
from audit.measure.measure import Measurements
from audit.results.disclosure import Quantity, count, derived

EDGE = ("relation", "instance", "concept")
LONGEST = 60
"""Characters of a text that a sentence quotes."""
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


def arrows(texts: Iterable[str]) -> str:
    """Texts along edges: ``“a” → “b”``."""
    return " → ".join(map(quoted, texts))


def under(head: str | None) -> str:
    """The head that a case was judged under, in brackets; nothing where that is the instance."""
    return "" if head is None else f" (under {quoted(head)})"


def where_judged(row: Mapping[str, Any]) -> str:
    """Whether the edges of a finding were judged under one head, as the end of a clause."""
    if not row["one_context"]:
        return " under different heads, where a text may mean different things"
    return "" if row["head"] is None else " under the same head"


def edges_of(k: int, n: int) -> dict[str, Quantity]:
    """So many of n edges as evidence, with the share and its Wilson interval."""
    low, high = wilson(k, n)
    values = {"share": k / n, "low": low, "high": high}
    shares = {name: derived(value, "edges") for name, value in values.items()}
    return {"edges": count(k, n), "of": Quantity(n), **shares}


def tuples_of(measured: Measurements, edges: pl.DataFrame) -> pl.DataFrame:
    """The tuples that state some edges, given by the columns `EDGE`."""
    return measured.entailed.dataset.tuples.join(edges.select(EDGE), on=EDGE, how="semi")


def cases_of(measured: Measurements, tuples: pl.DataFrame) -> IntArray:
    """The instances of the audit that some tuples are, ascending."""
    ids = measured.loaded.dataset.instances["instance"]
    return np.flatnonzero(ids.is_in(tuples["id"].implode()).to_numpy()).astype(np.int64)


def of_key(table: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """The rows of a finding whose key is a relation and whether one context is enough."""
    return table.filter((pl.col("relation") == key[0]) & (pl.col("one_context") == (key[1] == ONE)))

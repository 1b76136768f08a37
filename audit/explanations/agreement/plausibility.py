"""Whether scores of tokens point to what people point to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.cores import cores
from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.base.errors import InputError
from audit.engine.statistics.instance_means import clusters_by, instance_means
from audit.explanations.agreement.agreement import MAIN_K
from audit.explanations.agreement.blocks import equal_lengths, matrix
from audit.explanations.agreement.chosen_sets import expected_agreement
from audit.explanations.agreement.evidence_measures import (
    chance_of_precision_at,
    kendall,
    mass_inside,
    precision_at,
    ranking_measures,
    set_measures,
    span_f1,
)
from audit.explanations.agreement.top_tokens import Ranking, peaks, ranking, row_keys
from audit.explanations.attributions import Attributions

MARKED = 0.5
"""Share of annotators from which on a token counts as evidence."""
RULES = ("fixed", "dynamic", "evidence")
"""How many tokens are chosen: k; the peaks; as many as there are tokens of evidence."""
PLAIN = (
    "average_precision",
    "average_precision_at_k",
    "auprc",
    "kendall",
    "mass_absolute",
    "mass_positive",
)
SETS = ("jaccard", "token_f1", "span_f1")
METRICS = (*PLAIN, *(f"{metric}_{rule}" for rule in RULES for metric in SETS))
"""All measures, in the order of tables."""
WITH_CHANCE = tuple(m for m in METRICS if m != "auprc" and "span" not in m)
"""Measures whose mean over random rankings or random sets has a closed form here."""


@dataclass(frozen=True, eq=False)
class Plausibility:
    """Scores of tokens against human evidence.

    Args:
        rows: One row per judged row of the attributions: ``row``, ``tokens``, ``evidence`` (number
            of tokens that count as evidence), one column per measure of `METRICS`, null where
            undefined, and ``chance_*`` for those of `WITH_CHANCE`.
        means: By ``model``, ``method`` and ``metric``: ``value, low, high`` (mean over instances,
            95 % interval), ``n`` (instances), ``rows``, ``undefined`` (rows without a value),
            ``chance`` (null if it has no closed form).
        ledger: ``rows``, and how many of them were left out: ``borrowed`` and ``no_evidence``; and
            ``nothing_marked``, the rows that stay but whose evidence is empty.
    """

    rows: pl.DataFrame
    means: pl.DataFrame
    ledger: Mapping[str, int]


def measure_plausibility(
    attributions: Attributions,
    *,
    k: int = MAIN_K,
    marked: float = MARKED,
    seed: int = 0,
) -> Plausibility:
    """Measure how well each row of scores matches its human evidence.

    Args:
        attributions: Scores with evidence.
        k: The fixed k, at least 1.
        marked: Share of annotators from which on a token counts as evidence, above 0.
        seed: Seed that decides between equal scores where the first k are judged.

    Raises:
        InputError: k is below 1, or the share is not above 0 and at most 1.
    """
    if k < 1:
        raise InputError("k must be at least 1", found=str(k))
    if not 0 < marked <= 1:
        raise InputError("the share of annotators must be above 0 and at most 1", found=str(marked))
    every = attributions.rows.with_row_index("row")
    own = every.filter(~pl.col("borrowed").fill_null(False))
    judged = own.filter(pl.col("item").is_not_null())
    values = _Judge(attributions, judged, k, marked, row_keys(judged, seed)).values()
    table = judged.select("row").with_columns(
        *(pl.Series(name, of).fill_nan(None) for name, of in values.items())
    )
    ledger = {
        "rows": len(every),
        "borrowed": len(every) - len(own),
        "no_evidence": len(own) - len(judged),
        "nothing_marked": int((table["evidence"] == 0).sum()),
    }
    return Plausibility(table, _means(judged, values), ledger)


@dataclass(frozen=True, eq=False)
class _Judge:
    attributions: Attributions
    judged: pl.DataFrame
    k: int
    marked: float
    keys: UIntArray

    def values(self) -> dict[str, FloatArray]:
        """Every column of the rows' table."""
        rows = self.judged["row"].to_numpy().astype(np.int64)
        lengths = self.attributions.scores.lengths[rows]
        names = (*METRICS, *(f"chance_{metric}" for metric in WITH_CHANCE))
        values: dict[str, FloatArray] = {name: np.full(len(rows), np.nan) for name in names}
        columns = {"tokens": lengths, "evidence": np.zeros(len(rows), np.int64), **values}
        evidence = self.attributions.evidence
        if evidence is None:
            return columns
        items = self.judged["item"].to_numpy().astype(np.int64)

        def measure(places: IntArray) -> None:
            n = int(lengths[places[0]])
            scores = matrix(self.attributions.scores, rows[places], n)
            marks = matrix(evidence.marks, items[places], n)
            for name, of in self._block(scores, marks, self.keys[places]):
                columns[name][places] = of

        with ThreadPoolExecutor(cores()) as threads:
            list(threads.map(measure, equal_lengths(lengths)))
        return columns

    def _block(
        self, scores: FloatArray, marks: FloatArray, keys: UIntArray
    ) -> Iterator[tuple[str, FloatArray | IntArray]]:
        """Columns of rows of one length."""
        n = scores.shape[1]
        evidence, order = marks >= self.marked, ranking(scores, keys)
        total = evidence.sum(axis=1)
        yield "evidence", total
        average, area = ranking_measures(order, evidence)
        yield "average_precision", average
        yield "auprc", area
        yield "average_precision_at_k", precision_at(order, evidence, self.k)
        yield "kendall", kendall(order, marks)
        absolute, positive = np.abs(scores), np.maximum(scores, 0.0)
        yield "mass_absolute", mass_inside(absolute, evidence)
        yield "mass_positive", mass_inside(positive, evidence)
        yield "chance_average_precision", chance_of_precision_at(total, n, n)
        yield "chance_average_precision_at_k", chance_of_precision_at(total, n, self.k)
        share = np.where(total > 0, total / n, np.nan)
        yield "chance_mass_absolute", share
        yield "chance_mass_positive", share
        yield "chance_kendall", np.zeros(len(scores))
        for rule, chosen in self._chosen(scores, order, total):
            yield from _set_columns(rule, chosen, evidence)

    def _chosen(
        self, scores: FloatArray, order: Ranking, total: IntArray
    ) -> Iterator[tuple[str, BoolArray]]:
        ranks = order.ranks
        yield "fixed", ranks < self.k
        yield "dynamic", peaks(scores)
        yield "evidence", ranks < total[:, None]


def _set_columns(
    rule: str, chosen: BoolArray, evidence: BoolArray
) -> Iterator[tuple[str, FloatArray]]:
    n = chosen.shape[1]
    size, total = chosen.sum(axis=1), evidence.sum(axis=1)
    jaccard, f1 = set_measures(chosen, evidence)
    yield f"jaccard_{rule}", jaccard
    yield f"token_f1_{rule}", f1
    yield f"span_f1_{rule}", span_f1(chosen, evidence)
    pairs = np.column_stack([size, total])
    chance = 2 * expected_agreement(pairs, np.full(len(pairs), n)) - 1
    yield f"chance_jaccard_{rule}", np.where(total > 0, chance, np.nan)
    both = np.where(total > 0, size * total / n, np.nan)
    yield f"chance_token_f1_{rule}", 2 * both / np.maximum(size + total, 1)


def _means(judged: pl.DataFrame, values: Mapping[str, FloatArray]) -> pl.DataFrame:
    """Means by model, method and metric."""
    names, grouped = clusters_by(judged, ["model", "method"])
    metrics = pl.DataFrame({"metric": METRICS})
    crossed = names.join(metrics, how="cross", maintain_order="left_right")
    mean = instance_means(np.column_stack([values[name] for name in METRICS]), grouped)
    blank = np.full(len(judged), np.nan)
    columns = [values.get(f"chance_{name}", blank) for name in METRICS]
    chance = instance_means(np.column_stack(columns), grouped)
    return crossed.with_columns(
        **mean.interval("value", "low", "high"),
        **mean.counts("n", "rows", "undefined"),
        chance=pl.Series(chance.value.ravel()).fill_nan(None),
    )

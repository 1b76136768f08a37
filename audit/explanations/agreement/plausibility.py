"""Whether scores of tokens point to what people point to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.base.errors import InputError
from audit.base.machine import cores
from audit.engine.statistics.association import ratio
from audit.engine.statistics.means import clusters_by, instance_means
from audit.explanations.agreement.agreement import MAIN_K
from audit.explanations.agreement.span_matches import (
    COUNTED,
    matched_spans,
    span_scores,
    spans_of,
)
from audit.explanations.agreement.top_tokens import (
    Ranking,
    expected_agreement,
    peaks,
    ranking,
    row_keys,
)
from audit.explanations.attributions import Attributions
from audit.explanations.lists import equal_lengths, matrix

MATCH = 0.5
"""Least intersection over union at which a chosen span counts as a span of the evidence."""


def ranking_measures(order: Ranking, evidence: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Average precision, and the area under the curve of precision and recall.

    With the different scores as thresholds, ``P_g`` and ``R_g`` are precision and recall of the
    tokens with the g highest scores, ``P_0 = 1`` and ``R_0 = 0``: average precision is
    ``sum (R_g - R_(g-1)) P_g``; the area is ``sum (R_g - R_(g-1)) (P_g + P_(g-1)) / 2``, as in
    *ERASER: A Benchmark to Evaluate Rationalized NLP Models*.

    Returns:
        Each of shape (n_rows,), NaN without evidence.
    """
    relevant = np.take_along_axis(evidence, order.order, axis=1)
    hits = np.cumsum(relevant, axis=1)
    first, last = order.bounds
    precision = hits / np.arange(1, evidence.shape[1] + 1)
    at_end = np.take_along_axis(precision, last, axis=1)
    before = np.take_along_axis(precision, np.maximum(first - 1, 0), axis=1)
    before[first == 0] = 1.0
    total = hits[:, -1]
    average = ratio((relevant * at_end).sum(axis=1), total)
    return average, ratio((relevant * (at_end + before)).sum(axis=1) / 2, total)


def precision_at(order: Ranking, evidence: BoolArray, k: int) -> FloatArray:
    """Average precision of the first k: precision at each hit among them, over ``min(k, hits)``.

    Returns:
        Shape (n_rows,), NaN without evidence.
    """
    relevant = np.take_along_axis(evidence, order.order[:, :k], axis=1)
    places = np.arange(1, relevant.shape[1] + 1)
    gained = (relevant * np.cumsum(relevant, axis=1) / places).sum(axis=1)
    return ratio(gained, np.minimum(evidence.sum(axis=1), k))


def chance_of_precision_at(total: IntArray, n: int, k: int) -> FloatArray:
    """Expected average precision of the first k of a random ranking, without ties; k = n: of all.

    ``sum over i = 1..min(k, n) of (1 / i) (R / n) (1 + (i - 1) (R - 1) / (n - 1)) / min(k, R)`` for
    R tokens of evidence among n.
    """
    i = np.arange(1, min(k, n) + 1)
    harmonic, places = float((1 / i).sum()), len(i)
    more = (total - 1) / max(n - 1, 1)
    gained = total / n * (harmonic + more * (places - harmonic))
    return ratio(gained, np.minimum(total, k))


def kendall(order: Ranking, marks: FloatArray) -> FloatArray:
    """Kendall's tau-b of scores and marks, shape (n_rows,); NaN where either is constant.

    For every token the tokens with a lower score are counted, those with a lower mark less those
    with a higher one, one value of the marks after the other. Time grows with the number of
    different marks, not with the square of the length.
    """
    n = marks.shape[1]
    ordered = np.take_along_axis(marks, order.order, axis=1)
    first, last = order.bounds
    excess, tied_marks = np.zeros((2, len(marks)))
    for mark in np.unique(marks):
        own = ordered == mark
        sign = np.cumsum((ordered < mark).astype(np.int64) - (ordered > mark), axis=1)
        below = sign[:, -1:] - np.take_along_axis(sign, last, axis=1)
        excess += (own * below).sum(axis=1)
        count = own.sum(axis=1)
        tied_marks += count * (count - 1) / 2
    pairs = n * (n - 1) / 2
    tied_scores = (last - first).sum(axis=1) / 2
    return ratio(excess, np.sqrt((pairs - tied_scores) * (pairs - tied_marks)))


def spearman(scores: FloatArray, marks: FloatArray) -> FloatArray:
    """Spearman's correlation of scores and marks, shape (n_rows,); NaN where either is constant."""
    from scipy.stats import rankdata

    first, second = (
        ranks - ranks.mean(axis=1, keepdims=True)
        for ranks in (rankdata(scores, axis=1), rankdata(marks, axis=1))
    )
    lengths = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    return ratio((first * second).sum(axis=1), lengths)


def mass_inside(weights: FloatArray, evidence: BoolArray) -> FloatArray:
    """Share of the weights that lies on the evidence; NaN without weight or without evidence."""
    share = ratio((weights * evidence).sum(axis=1), weights.sum(axis=1))
    return np.where(evidence.any(axis=1), share, np.nan)


def set_measures(chosen: BoolArray, evidence: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Jaccard index and F1 of the chosen tokens and the evidence; NaN without evidence."""
    both = (chosen & evidence).sum(axis=1)
    sizes = chosen.sum(axis=1) + evidence.sum(axis=1)
    defined = evidence.any(axis=1)
    jaccard, f1 = ratio(both, sizes - both), ratio(2 * both, sizes)
    return np.where(defined, jaccard, np.nan), np.where(defined, f1, np.nan)


def span_f1(chosen: BoolArray, evidence: BoolArray) -> FloatArray:
    """F1 of spans, where a chosen span is right if it overlaps a span of the evidence enough.

    A span is a run of neighbouring tokens. It is right if its intersection with a span of the
    evidence is at least half (`MATCH`) of their union; since runs are apart, no span is matched
    twice. Precision is right over chosen spans, recall right over spans of the evidence. From
    *ERASER: A Benchmark to Evaluate Rationalized NLP Models*, section 4.2, for each row.

    Returns:
        Shape (n_rows,), NaN without evidence.
    """
    starts, number, lengths = spans_of(chosen)
    starts_there, number_there, lengths_there = spans_of(evidence)
    starts_both, _, shared = spans_of(chosen & evidence)
    places = np.flatnonzero(starts_both)
    united = lengths[number[places]] + lengths_there[number_there[places]] - shared
    right = np.zeros(chosen.shape, np.bool_)
    right.reshape(-1)[places] = shared >= MATCH * united
    spans, spans_there = starts.sum(axis=1), starts_there.sum(axis=1)
    f1 = ratio(2 * right.sum(axis=1), spans + spans_there)
    return np.where(spans_there > 0, f1, np.nan)


MARKED = 0.5
"""Share of annotators from which on a token counts as evidence."""
RULES = ("fixed", "dynamic", "evidence")
"""How many tokens are chosen: k; the peaks; as many as there are tokens of evidence."""
PLAIN = (
    "average_precision",
    "average_precision_at_k",
    "auprc",
    "kendall",
    "spearman",
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
        spans: Micro and macro F1 of spans, columns of `span_scores`; empty where the evidence is
            free text.
        ledger: ``rows``, and how many of them were left out: ``borrowed`` and ``no_evidence``; and
            ``nothing_marked``, the rows that stay but whose evidence is empty.
    """

    rows: pl.DataFrame
    means: pl.DataFrame
    spans: pl.DataFrame
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
    counts = {name: values.pop(name).astype(np.int64) for name in COUNTED}
    evidence = attributions.evidence
    with_spans = judged if evidence is not None and evidence.kind != "text" else judged.clear()
    table = judged.select("row").with_columns(
        *(pl.Series(name, of).fill_nan(None) for name, of in values.items())
    )
    ledger = {
        "rows": len(every),
        "borrowed": len(every) - len(own),
        "no_evidence": len(own) - len(judged),
        "nothing_marked": int((table["evidence"] == 0).sum()),
    }
    return Plausibility(table, _means(judged, values), span_scores(with_spans, counts), ledger)


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
        zeros = {name: np.zeros(len(rows), np.int64) for name in ("evidence", *COUNTED)}
        columns = {"tokens": lengths, **zeros, **values}
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
        yield "spearman", spearman(scores, marks)
        absolute, positive = np.abs(scores), np.maximum(scores, 0.0)
        yield "mass_absolute", mass_inside(absolute, evidence)
        yield "mass_positive", mass_inside(positive, evidence)
        yield "chance_average_precision", chance_of_precision_at(total, n, n)
        yield "chance_average_precision_at_k", chance_of_precision_at(total, n, self.k)
        share = np.where(total > 0, total / n, np.nan)
        yield "chance_mass_absolute", share
        yield "chance_mass_positive", share
        yield "chance_kendall", np.zeros(len(scores))
        yield "chance_spearman", np.zeros(len(scores))
        yield "spans", spans_of(evidence)[0].sum(axis=1)
        for rule, chosen in self._chosen(scores, order, total):
            yield from _set_columns(rule, chosen, evidence)
            yield from matched_spans(rule, chosen, evidence)
        yield from matched_spans("positive", scores > 0, evidence)

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

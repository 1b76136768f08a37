"""Whether scores of tokens point to what people point to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from audit.analyses.explanations.agreement import MAIN_K
from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.lists import batches, equal_lengths, matrix, pearson, ranks
from audit.analyses.explanations.span_matches import COUNTED, matched_spans, span_f1, spans_of
from audit.analyses.explanations.top_tokens import (
    Ranking,
    expected_agreement,
    peaks,
    ranking,
    row_keys,
)
from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.engine.statistics.association import ratio
from audit.engine.statistics.means import clusters_by, instance_means

MARKED = 0.5
"""Share of annotators from which on a token counts as evidence."""
RULES = ("fixed", "dynamic", "evidence")
"""How many tokens are chosen: k; the peaks; as many as there are tokens of evidence."""
PLAIN = (
    *("average_precision", "average_precision_at_k", "auprc", "kendall", "spearman"),
    *("mass_absolute", "mass_positive"),
)
SETS = ("jaccard", "token_f1", "span_f1")
METRICS = (*PLAIN, *(f"{metric}_{rule}" for rule in RULES for metric in SETS))
"""All measures, in the order of tables."""
WITH_CHANCE = tuple(m for m in METRICS if m != "auprc" and "span" not in m)
"""Measures whose mean over random rankings or random sets has a closed form here."""
CHANCES = tuple(f"chance_{metric}" for metric in WITH_CHANCE)


def judged_rows(attributions: Attributions, *, seed: int = 0) -> pl.DataFrame:
    """Scores of rows against their human evidence.

    Args:
        attributions: Scores with evidence.
        seed: Seed that decides between equal scores where the first k are judged.

    Returns:
        One row per row that has evidence and borrowed none: ``id, target, model, method``, its
        place as ``row``, ``tokens``, ``evidence`` (number of tokens that count as evidence),
        `METRICS`, null where undefined, ``chance_*`` for those of `WITH_CHANCE`, and `COUNTED`.
    """
    assert attributions.evidence is not None
    judged = attributions.own_rows().drop_nulls("item")
    keys, marks = row_keys(judged, seed), attributions.evidence.marks
    rows, items = (judged[name].to_numpy() for name in ("row", "item"))
    lengths = attributions.scores.lengths[rows]
    counts = ("evidence", *COUNTED)
    sizes = [f"size_{rule}" for rule in RULES]
    columns = {name: np.full(len(rows), np.nan) for name in (*counts, *METRICS, *CHANCES, *sizes)}
    for places in equal_lengths(lengths):
        n = int(lengths[places[0]])
        scores = matrix(attributions.scores, rows[places], n)
        for name, of in _measures(scores, matrix(marks, items[places], n), keys[places]):
            columns[name][places] = of
    for part in batches(lengths):
        both = attributions.scores.take(rows[part]), marks.take(items[part])
        columns["spearman"][part] = pearson(*map(ranks, both))
    total = np.nan_to_num(columns["evidence"]).astype(np.int64)
    for rule, size in zip(RULES, map(columns.pop, sizes), strict=True):
        pairs = np.column_stack([np.nan_to_num(size).astype(np.int64), total])
        chance = np.where(total > 0, 2 * expected_agreement(pairs, lengths) - 1, np.nan)
        columns[f"chance_jaccard_{rule}"] = chance
    named = judged.select("id", "target", "model", "method", "row", tokens=lengths)
    table = named.with_columns(pl.Series(name, of) for name, of in columns.items())
    return table.with_columns(
        pl.col(counts).fill_nan(0).cast(pl.Int64), pl.col(*METRICS, *CHANCES).fill_nan(None)
    )


def plausibility(judged: pl.DataFrame) -> pl.DataFrame:
    """The table ``plausibility``: means over instances by model, method and metric.

    Beside their 95 % intervals stands ``chance``, null if it has no closed form.

    Args:
        judged: From `judged_rows`.
    """
    names, grouped = clusters_by(judged, ["model", "method"])
    of = judged.select(*METRICS, *CHANCES).fill_null(np.nan).to_numpy()
    mean = instance_means(of[:, : len(METRICS)], grouped)
    chance = np.full(mean.value.shape, np.nan)
    places = [METRICS.index(metric) for metric in WITH_CHANCE]
    chance[:, places] = instance_means(of[:, len(METRICS) :], grouped).value
    crossed = names.join(
        pl.DataFrame({"metric": METRICS}), how="cross", maintain_order="left_right"
    )
    return crossed.with_columns(
        **mean.interval("value", "low", "high"),
        **mean.counts("n", "rows", "undefined"),
        chance=pl.Series(chance.ravel()).fill_nan(None),
    )


def _measures(
    scores: FloatArray, marks: FloatArray, keys: UIntArray
) -> Iterator[tuple[str, FloatArray | IntArray]]:
    """Columns of rows of one length."""
    n = scores.shape[1]
    evidence, order = marks >= MARKED, ranking(scores, keys)
    total = evidence.sum(axis=1)
    share = np.where(total > 0, total / n, np.nan)
    yield "evidence", total
    average, area = _ranking_measures(order, evidence)
    yield "average_precision", average
    yield "auprc", area
    yield "average_precision_at_k", _precision_at(order, evidence, MAIN_K)
    yield "kendall", _kendall(order, marks)
    for name, weights in (("absolute", np.abs(scores)), ("positive", np.maximum(scores, 0.0))):
        inside = ratio((weights * evidence).sum(axis=1), weights.sum(axis=1))
        yield f"mass_{name}", np.where(total > 0, inside, np.nan)
        yield f"chance_mass_{name}", share
    yield "chance_average_precision", _chance_of_precision_at(total, n, n)
    yield "chance_average_precision_at_k", _chance_of_precision_at(total, n, MAIN_K)
    yield "chance_kendall", np.zeros(len(scores))
    yield "chance_spearman", np.zeros(len(scores))
    yield "spans", spans_of(evidence)[0].sum(axis=1)
    place = order.ranks
    chosen = (place < MAIN_K, peaks(scores), place < total[:, None])
    for rule, own in zip(RULES, chosen, strict=True):
        yield from _set_measures(rule, own, evidence)
        yield from matched_spans(rule, own, evidence)
    yield from matched_spans("positive", scores > 0, evidence)


def _set_measures(
    rule: str, chosen: BoolArray, evidence: BoolArray
) -> Iterator[tuple[str, FloatArray]]:
    """Jaccard index and F1 of the chosen tokens and the evidence, NaN without evidence."""
    n = chosen.shape[1]
    size, total = chosen.sum(axis=1), evidence.sum(axis=1)
    both, marked = (chosen & evidence).sum(axis=1), total > 0
    jaccard, f1 = ratio(both, size + total - both), ratio(2 * both, size + total)
    yield f"size_{rule}", size
    yield f"jaccard_{rule}", np.where(marked, jaccard, np.nan)
    yield f"token_f1_{rule}", np.where(marked, f1, np.nan)
    yield f"span_f1_{rule}", span_f1(chosen, evidence)
    expected = np.where(marked, size * total / n, np.nan)
    yield f"chance_token_f1_{rule}", 2 * expected / np.maximum(size + total, 1)


def _ranking_measures(order: Ranking, evidence: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Average precision, and the area under the curve of precision and recall (ERASER)."""
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


def _precision_at(order: Ranking, evidence: BoolArray, k: int) -> FloatArray:
    """Precision at each hit among the first k, over ``min(k, hits)``; NaN without evidence."""
    relevant = np.take_along_axis(evidence, order.order[:, :k], axis=1)
    places = np.arange(1, relevant.shape[1] + 1)
    gained = (relevant * np.cumsum(relevant, axis=1) / places).sum(axis=1)
    return ratio(gained, np.minimum(evidence.sum(axis=1), k))


def _chance_of_precision_at(total: IntArray, n: int, k: int) -> FloatArray:
    """Expected average precision of the first k of a random ranking, without ties."""
    i = np.arange(1, min(k, n) + 1)
    harmonic, places = float((1 / i).sum()), len(i)
    more = (total - 1) / max(n - 1, 1)
    gained = total / n * (harmonic + more * (places - harmonic))
    return ratio(gained, np.minimum(total, k))


def _kendall(order: Ranking, marks: FloatArray) -> FloatArray:
    """Kendall's tau-b of scores and marks; time grows with the number of different marks."""
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

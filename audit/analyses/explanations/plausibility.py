"""Whether scores of tokens point to what people point to: tokens, and spans of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from audit.analyses.explanations.agreement import expected_agreement, peaks
from audit.analyses.explanations.declared import MAIN_K, TABLES
from audit.analyses.explanations.rows import Ranking, by_row, means, pearson, ranking, row_keys
from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import LEVEL

MARKED = 0.5
"""Share of annotators from which on a token counts as evidence."""
RULES = ("fixed", "dynamic", "evidence")
"""How many tokens are chosen: k; the peaks; as many as there are tokens of evidence."""
METRICS = (
    *("average_precision", "spearman", "mass_absolute", "mass_positive"),
    *(f"{metric}_{rule}" for rule in RULES for metric in ("jaccard", "token_f1")),
)
"""All measures, in the order of tables."""
SPAN_RULES = (*RULES, "positive")
"""Those by which spans are chosen: scores above 0 too, which is what a model chooses that says
spans itself, with scores of 0 and 1."""
MATCHES = {"exact": "exact", "overlapping": "overlapped"}
"""By match the count of spans of the evidence that are matched."""


def judged_rows(rows: pl.DataFrame, *, seed: int = 0) -> pl.DataFrame:
    """Scores of rows that have evidence, and borrowed none, against it; a seed decides ties.

    `METRICS`, null where undefined; ``chance_`` of each, its mean over random rankings or sets of
    the same size; and counts of ``spans`` of the evidence and, for each of `SPAN_RULES`, of
    ``chosen_`` spans, ``exact_`` ones, those ``overlapping_`` the evidence, and those
    ``overlapped_`` there.
    """
    own = rows.filter(~pl.col("borrowed")).drop_nulls("marks")
    keyed = own.select(
        "id", "target", "model", "method", "scores", "marks", key=row_keys(own, seed)
    )
    return by_row(keyed, ["scores", "marks"], _measures, "key").drop("key")


def _measures(scores: FloatArray, marks: FloatArray, keys: UIntArray) -> dict[str, Any]:
    """The columns of `judged_rows`, of arrays of shape (rows, tokens) and a key a row."""
    n = scores.shape[1]
    evidence, order = marks >= MARKED, ranking(scores, keys)
    total = evidence.sum(axis=1)
    share = np.where(total > 0, total / n, np.nan)
    told = {
        "average_precision": _average_precision(order, evidence),
        "chance_average_precision": _chance_of_precision(total, n),
        "spearman": pearson(order.ranks, ranking(marks).ranks),
        "chance_spearman": np.zeros(len(scores)),
        "spans": np.bincount(_runs(evidence)[0], minlength=len(scores)),
    }
    for name, weights in (("absolute", np.abs(scores)), ("positive", np.maximum(scores, 0.0))):
        inside = ratio((weights * evidence).sum(axis=1), weights.sum(axis=1))
        told |= {f"mass_{name}": np.where(total > 0, inside, np.nan), f"chance_mass_{name}": share}
    place = order.places
    chosen = (place < MAIN_K, peaks(scores), place < total[:, None], scores > 0)
    for rule, own in zip(SPAN_RULES, chosen, strict=True):
        told |= _of_spans(rule, own, evidence)
        if rule in RULES:
            told |= _of_sets(rule, own, evidence)
    return told


def _of_sets(rule: str, chosen: BoolArray, evidence: BoolArray) -> dict[str, FloatArray]:
    """Jaccard index and F1 of the chosen tokens and the evidence, NaN without evidence."""
    n, size, total = chosen.shape[1], chosen.sum(axis=1), evidence.sum(axis=1)
    both, marked = (chosen & evidence).sum(axis=1), np.where(total > 0, 1.0, np.nan)
    chance = 2 * expected_agreement(np.column_stack([size, total]), n) - 1
    return {
        f"jaccard_{rule}": marked * ratio(both, size + total - both),
        f"chance_jaccard_{rule}": marked * chance,
        f"token_f1_{rule}": marked * ratio(2 * both, size + total),
        f"chance_token_f1_{rule}": marked * 2 * size * total / n / np.maximum(size + total, 1),
    }


def _average_precision(order: Ranking, evidence: BoolArray) -> FloatArray:
    """Average precision, with the different scores as thresholds; NaN without evidence."""
    relevant = np.take_along_axis(evidence, order.order, axis=1)
    hits = np.cumsum(relevant, axis=1)
    precision = hits / np.arange(1, evidence.shape[1] + 1)
    at_end = np.take_along_axis(precision, order.last, axis=1)
    return ratio((relevant * at_end).sum(axis=1), hits[:, -1])


def _chance_of_precision(total: IntArray, n: int) -> FloatArray:
    """Expected average precision of a random ranking, without ties; NaN without evidence."""
    harmonic = float((1 / np.arange(1, n + 1)).sum())
    gained = total / n * (harmonic + (total - 1) / max(n - 1, 1) * (n - harmonic))
    return ratio(gained, total)


def _runs(marked: BoolArray) -> tuple[IntArray, ...]:
    """The row of each run of marked tokens, its first token, and the one after its last."""
    edges = np.diff(np.pad(marked.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    return (*np.nonzero(edges == 1), np.nonzero(edges == -1)[1])


def _of_spans(rule: str, chosen: BoolArray, evidence: BoolArray) -> dict[str, IntArray]:
    """Counts of chosen runs of tokens, and of those that are or share a token with the evidence."""
    rows, n = chosen.shape
    runs, there = _runs(chosen), _runs(evidence)
    same = np.isin(*((row * (n + 1) + first) * (n + 1) + end for row, first, end in (runs, there)))
    both = np.pad(np.cumsum(chosen & evidence, axis=1), ((0, 0), (1, 0)))
    touched, touched_there = (
        both[row, end] > both[row, first] for row, first, end in (runs, there)
    )
    return {
        f"chosen_{rule}": np.bincount(runs[0], minlength=rows),
        f"exact_{rule}": np.bincount(runs[0][same], minlength=rows),
        f"overlapping_{rule}": np.bincount(runs[0][touched], minlength=rows),
        f"overlapped_{rule}": np.bincount(there[0][touched_there], minlength=rows),
    }


def plausibility(judged: pl.DataFrame) -> pl.DataFrame:
    """The table ``plausibility``, of `judged_rows`: means by model, method and metric."""
    keys = ["model", "method", "metric"]
    each = pl.concat(
        judged.select(
            "id", "model", "method", metric=pl.lit(name), value=name, chance=f"chance_{name}"
        )
        for name in METRICS
    ).with_columns(pl.col("metric").cast(pl.Enum(METRICS)))
    told = means(each, keys, "value", "chance")
    ends = {"value_low": "low", "value_high": "high", "value_n": "n"}
    return TABLES["plausibility"].cast(told.rename(ends))


def span_scores(judged: pl.DataFrame) -> pl.DataFrame:
    """The table ``spans``, of `judged_rows`: F1 by model, method, rule and match.

    No row where no span is in the evidence; no interval where the F1 has no spread.
    """
    by, named = ["model", "method", "rule", "match"], ["id", "target", "model", "method"]
    each = pl.concat(
        judged.select(
            *named, rule=pl.lit(rule), match=pl.lit(match), a=f"{match}_{rule}", b=f"{met}_{rule}",
            c=f"chosen_{rule}", t="spans",
        )
        for rule in SPAN_RULES
        for match, met in MATCHES.items()
    ).with_columns(pl.col("rule").cast(pl.Enum(SPAN_RULES)))  # fmt: skip
    micro, macro = _f1(by), _f1([*by, "target"])
    asked = pl.col("target").filter(macro["f1"].is_not_null()).n_unique().over(by)
    each = each.with_columns(
        micro=micro["f1"],
        of_label=macro["f1"],
        micro_part=micro["part"],
        labels=asked,
        macro_part=macro["part"] / asked,
    )
    of_labels = each.unique([*by, "target"], keep="first", maintain_order=True)
    of_labels = of_labels.group_by(by, maintain_order=True).agg(macro=pl.col("of_label").mean())
    parts = each.group_by(*by, "id", maintain_order=True).agg(
        pl.col("a", "b", "c", "t", "micro_part", "macro_part").sum(),
        pl.col("micro", "labels").first(),
    )
    total, n = {one: pl.col(one).sum() for one in "abct"}, pl.len()
    spread = (pl.col(f"{one}_part") for one in ("micro", "macro"))
    told = (
        parts.group_by(by, maintain_order=True)
        .agg(
            pl.col("micro", "labels").first(),
            *(
                pl.when(n > 1, (of != 0).any()).then(((of**2).sum() * n / (n - 1)).sqrt())
                for of in spread
            ),
            precision=pl.when(total["c"] > 0).then(total["a"] / total["c"]),
            recall=pl.when(total["t"] > 0).then(total["b"] / total["t"]),
            n=n.cast(pl.Int64),
        )
        .join(of_labels, on=by, maintain_order="left")
    )
    reach = pl.Series(stdtrit(np.maximum(told["n"].to_numpy() - 1, 1), (1 + LEVEL) / 2))
    ends = {
        f"{one}_{end}": (pl.col(one) + side * reach * pl.col(f"{one}_part")).clip(0, 1)
        for one in ("micro", "macro")
        for end, side in (("low", -1), ("high", 1))
    }
    kept = (
        told.with_columns(**ends)
        .filter(pl.col("labels") > 0)
        .sort("model", "method", "rule", "match")
    )
    return TABLES["spans"].cast(kept)


def _f1(by: list[str]) -> dict[str, pl.Expr]:
    """F1 of sums ``A, B, C, T`` of groups, null without a span of the evidence, and the linear part
    of each row: its counts times the slopes of the F1."""
    a, b, c, t = (pl.col(one).sum().over(by).cast(pl.Float64) for one in "abct")
    below = a * t + b * c
    f1 = pl.when(below > 0).then(2 * a * b / below).otherwise(0.0)
    slopes = {"a": 2 * b - f1 * t, "b": 2 * a - f1 * c, "c": -f1 * b, "t": -f1 * a}
    part = pl.sum_horizontal(pl.col(name) * slope for name, slope in slopes.items()) / below
    return {
        "f1": pl.when(t > 0).then(f1),
        "part": pl.when(t > 0, below > 0).then(part).otherwise(0.0),
    }

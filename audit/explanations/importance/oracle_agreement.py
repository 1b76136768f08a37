"""How far oracles agree on the tokens that matter (*Importance Alignment*, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.schemas import schema
from audit.explanations.attributions import Attributions, Evidence
from audit.explanations.importance.correlations import LEAST_TOKENS, pearson
from audit.explanations.importance.delta_a import Clustering
from audit.explanations.importance.examples import codes, examples_of, pairs_of
from audit.explanations.importance.oracles import (
    HumanOracle,
    Informed,
    SoftOracle,
    beginnings,
    human_oracle,
    judged_rows,
    soft_oracle,
)
from audit.explanations.lists import Lists

AGREEMENT = schema(
    ("method oracle other", pl.String),
    ("texts tokens", pl.Int64),
    ("spearman pearson", pl.Float64),
    ("examples", pl.Int64),
    ("mean_spearman low high", pl.Float64),
)


def ranks(lists: Lists[np.float64]) -> Lists[np.float64]:
    """The rank of each value within its list, from 1; equal values share their mean rank."""
    owner = lists.owner
    order = np.lexsort((lists.values, owner))
    ordered, whose = lists.values[order], owner[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]) | (whose[1:] != whose[:-1])
    run = np.cumsum(new) - 1
    start = np.flatnonzero(new)
    end = np.append(start[1:], len(order))
    mean = (start + end + 1) / 2
    result = np.empty(len(order))
    result[order] = mean[run] - lists.starts[whose]
    return Lists(result, lists.starts)


def oracle_agreement(
    attributions: Attributions,
    *,
    evidence: Sequence[Evidence] = (),
    informed: Informed | None = None,
) -> pl.DataFrame:
    """Correlation over tokens of what each two oracles say.

    Args:
        attributions: Rows; their own evidence makes the first oracle.
        evidence: Further evidence on the same texts.
        informed: Per model the explanation-informed models that make its soft oracle. Each row of
            such a model, method by method, is compared with the others; models are pooled.

    Returns:
        A line per pair of oracles, and method where one is soft: ``method``; ``oracle``,
        ``other``; ``texts`` and ``tokens``, ``spearman`` and ``pearson`` over all tokens together,
        as the paper has them; ``examples``, in which both oracles vary over 4 tokens or more, and
        the mean over them of Spearman's correlation in each, ``mean_spearman``, with ``low`` and
        ``high``. Null where a correlation is undefined; no line for fewer than two oracles.
    """
    rows = attributions.rows
    row = judged_rows(attributions, informed or {})
    examples = examples_of(rows)
    given = [one for one in (attributions.evidence, *evidence) if one is not None]
    people = [human_oracle(attributions, one) for one in given]
    texts = row[_first_of_each(codes(rows, ("text", "target"))[row])]
    lines: list[dict[str, object]] = []
    for one, other in combinations(people, 2):
        both = texts[(one.item[texts] >= 0) & (other.item[texts] >= 0)]
        pair = (_marks(one, both), _marks(other, both))
        lines.append({"method": None, "oracle": one.name, "other": other.name})
        lines[-1] |= _correlations(*pair, examples.of_row[both], examples.cluster)
    if informed:
        soft = _different_texts(attributions, soft_oracle(attributions, informed))
        method = rows["method"].to_numpy()[soft.informed]
        for one in people:
            for name in np.unique(method):
                pairs = soft.only((method == name) & (one.item[soft.row] >= 0))
                marks = _marks(one, pairs.row)
                scores = beginnings(attributions.scores, pairs.informed, marks.lengths)
                size = Lists(np.abs(scores.values), scores.starts)
                lines.append({"method": name, "oracle": one.name, "other": "soft"})
                lines[-1] |= _correlations(
                    marks, size, examples.of_row[pairs.row], examples.cluster
                )
    return pl.DataFrame(lines, schema=AGREEMENT).with_columns(pl.col(pl.Float64).fill_nan(None))


def _first_of_each(code: IntArray) -> IntArray:
    return np.unique(code, return_index=True)[1]


def _marks(oracle: HumanOracle, row: IntArray) -> Lists[np.float64]:
    return oracle.evidence.marks.take(oracle.item[row])


def _different_texts(attributions: Attributions, oracle: SoftOracle) -> SoftOracle:
    """One pair for each text, target and row of an informed model that read its own explanation."""
    own = oracle.only(~oracle.borrowed)
    text = codes(attributions.rows, ("text", "target"))[own.row]
    return own.only(_first_of_each(pairs_of(text, own.informed).of_row))


def _correlations(
    left: Lists[np.float64], right: Lists[np.float64], example: IntArray, cluster: IntArray
) -> dict[str, float | int]:
    """What a line says of two lists of tokens for each of some texts."""
    together = [Lists(one.values, one.starts[[0, -1]]) for one in (left, right)]
    within = pearson(ranks(left), ranks(right))
    within[left.lengths < LEAST_TOKENS] = np.nan
    one_cell = np.zeros(len(left), np.int64)
    mean = Clustering(one_cell, example, cluster[example], 1).means(within)
    low, high = mean.interval()
    return {
        "texts": len(left),
        "tokens": len(left.values),
        "spearman": float(pearson(*map(ranks, together))[0]),
        "pearson": float(pearson(*together)[0]),
        "examples": int(mean.n[0]),
        "mean_spearman": float(mean.mean[0]),
        "low": float(low[0]),
        "high": float(high[0]),
    }

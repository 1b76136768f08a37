"""model_confuses: pairs of labels that the data keeps apart and the model takes for each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.special import gammainc

from audit.checks.check import Check, Limit
from audit.dag import FloatArray, IntArray, Sparse
from audit.disclosure import Quantity, count, derived
from audit.engine.decisions import exchanged
from audit.engine.intervals import wilson
from audit.engine.pairs import support
from audit.hierarchy import RELATIONS
from audit.measure import Measurements
from audit.measure_model import ModelMeasurements
from audit.result import CheckResult, Finding

_NAME = "model_confuses"
_RELATION = {
    "sibling": "siblings",
    "same_branch": "of one branch",
    "cross_branch": "of different branches",
}
_TITLE = "Does the model take for each other what the data keeps apart?"
_RELATED = (RELATIONS.index("ancestor"), RELATIONS.index("overlap"))


def run(measured: Measurements) -> CheckResult:
    """Report pairs that are exchanged more often than chance would have them.

    A pair is judged where the data co-labels it no more than independence has it, and where label
    and prediction would meet by chance at least once.
    """
    model = measured.model
    family = None if model is None else _family(measured, model)
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=0 if family is None else len(family),
        denominator_unit="pairs of labels that chance lets meet",
        findings=() if family is None else tuple(_findings(measured, family)),
        not_applicable=_why_not(family),
    )


def _why_not(family: pl.DataFrame | None) -> str:
    if family is None:
        return "no predictions were given"
    return "" if len(family) else "no two labels are frequent enough to meet by chance"


def _family(measured: Measurements, model: ModelMeasurements) -> pl.DataFrame:
    """The pairs that are judged: ``a, b`` (indices), counts, expectation, p and q."""
    from scipy.stats import false_discovery_control

    n = max(model.gold.shape[0], 1)
    labels, predicted = support(model.gold), support(model.decided)
    a, b = _meeting_by_chance(labels, predicted, n)
    expected = _expected(model, a, b)
    together = _at(csr_array(model.gold.T @ model.gold), a, b)
    relation, _ = measured.hierarchy.relate(a, b)
    apart = (together <= labels[a] * labels[b] / n) & ~np.isin(relation, _RELATED)
    swapped = _at(exchanged(model.gold, model.decided), a, b)
    p = np.where(swapped > 0, gammainc(np.maximum(swapped, 1), expected), 1.0)
    frame = pl.DataFrame(
        {
            "a": a,
            "b": b,
            "relation": relation,
            "exchanged": swapped,
            "of": labels[a] + labels[b] - 2 * together,
            "expected": expected,
            "p": p,
        }
    ).filter(pl.Series(apart, dtype=pl.Boolean))
    q = false_discovery_control(frame["p"].to_numpy()) if len(frame) else np.empty(0)
    return frame.with_columns(pl.Series("q", q, pl.Float64))


def _expected(model: ModelMeasurements, a: IntArray, b: IntArray) -> FloatArray:
    """Exchanges to expect by chance, shape (n_pairs,).

    With several answers an instance, a miss and a false answer meet where they fall on one
    instance. With one answer each mistake is both, and falls on another node as often as the model
    gives that answer.
    """
    labels, predicted = support(model.gold), support(model.decided)
    n, hits = max(model.gold.shape[0], 1), csr_array(model.gold.multiply(model.decided))
    if model.predictions.single_label:
        mistaken = support(csr_array(model.gold[np.diff(hits.indptr) == 0]))
        others = np.maximum(n - predicted, 1)
        return mistaken[a] * predicted[b] / others[a] + mistaken[b] * predicted[a] / others[b]
    missed, false = labels - support(hits), predicted - support(hits)
    return (missed[a] * false[b] + missed[b] * false[a]) / n


def _meeting_by_chance(labels: IntArray, predicted: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Pairs a < b of labels where label and prediction are expected on one instance at least once.

    The margins alone decide, so that the size of the family does not depend on what is tested.
    """
    used = np.flatnonzero(labels)
    reach = np.maximum(labels[used] * predicted.max(initial=0), predicted[used] * labels.max())
    used = used[2 * reach >= n] if len(used) else used
    together = np.outer(labels[used], predicted[used])
    first, second = np.nonzero(np.triu(together + together.T >= n, k=1))
    return used[first], used[second]


def _at(matrix: Sparse, a: IntArray, b: IntArray) -> IntArray:
    """The stored numbers at some places of a matrix, shape (n_pairs,)."""
    if len(a) == 0:
        return np.empty(0, np.int64)
    return np.asarray(matrix[a, b]).ravel().astype(np.int64)


def _findings(measured: Measurements, family: pl.DataFrame) -> Iterator[Finding]:
    policy = measured.policy
    enough = pl.col("exchanged") >= policy.exchanged_ratio.value * pl.col("expected")
    many = family.filter(enough & (pl.col("q") <= policy.false_discovery_rate.value))
    for row in many.iter_rows(named=True):
        low, high = wilson(row["exchanged"], row["of"])
        if low > policy.exchanged_share.value:
            yield _finding(measured, row, low, high, len(family))


def _finding(
    measured: Measurements, row: dict[str, float], low: float, high: float, family: int
) -> Finding:
    hierarchy = measured.hierarchy
    a, b = int(row["a"]), int(row["b"])
    first, second = hierarchy.describe(a), hierarchy.describe(b)
    exchanged_, of = int(row["exchanged"]), int(row["of"])
    relation = RELATIONS[int(row["relation"])]
    return Finding(
        check=_NAME,
        severity="warning" if relation == "cross_branch" else "note",
        nodes=(hierarchy.nodes[a], hierarchy.nodes[b]),
        statement=f"{first} and {second} ({_RELATION[relation]}) are taken for each other on "
        "{instances} of {of} instances ({share}) labelled with one of them[, {ratio} times as "
        "often as by chance].",
        evidence={
            "instances": count(exchanged_, of),
            "of": count(of, len(measured.dataset)),
            "share": derived(exchanged_ / of, "instances", "of"),
            "low": derived(low, "instances", "of"),
            "high": derived(high, "instances", "of"),
            "limit": Quantity(measured.policy.exchanged_share.value),
            "ratio": derived(exchanged_ / row["expected"], "instances", "of"),
            "q_value": derived(row["q"], "instances", "of"),
            "family": Quantity(family),
        },
        curator="Look whether the labels of these two nodes can be told apart from the input; if "
        "not, say so in the release notes.",
        data_user="Report the two together, at their common ancestor, or add what tells them "
        "apart.",
        touched=exchanged_,
    )


CHECK = Check(
    _NAME,
    _TITLE,
    run,
    limits=(
        Limit("low", ">", "exchanged_share", told_as="limit"),
        Limit("ratio", ">=", "exchanged_ratio"),
        Limit("q_value", "<=", "false_discovery_rate"),
    ),
)

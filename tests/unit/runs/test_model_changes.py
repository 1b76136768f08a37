"""Two models side by side: nothing from nothing, and what a loop over instances finds as well."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from audit.policy.policy import Policy
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import Comparison, compare_runs
from audit.runs.instances import instance_frame
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted

Scores = Mapping[str, Mapping[str, float]]

BODY = ("lung heart < body", "asthma cough < lung", "attack angina < heart")
LEAVES = ("asthma", "cough", "attack", "angina")


def drawn(
    n: int, seed: int, skill: float
) -> tuple[dict[str, list[str]], dict[str, dict[str, float]]]:
    """Labels, which no seed changes, and scores of a model that is right with a probability."""
    labels = np.random.default_rng(0).choice(LEAVES, n)
    random = np.random.default_rng(seed)
    scores = {}
    for i, label in enumerate(labels):
        best = label if random.random() < skill else random.choice(LEAVES)
        rest = random.dirichlet(np.ones(len(LEAVES))) * 0.4
        scores[f"i{i:04}"] = {
            leaf: float(part) + 0.6 * (leaf == best)
            for leaf, part in zip(LEAVES, rest, strict=True)
        }
    return {f"i{i:04}": [str(label)] for i, label in enumerate(labels)}, scores


def audited(
    labels: Mapping[str, Sequence[str]],
    scores: Scores | None,
    *,
    kept: bool = True,
    groups: Mapping[str, str] | None = None,
    **options: Any,
) -> AuditResult:
    dataset = labelled(tree(*BODY), labels)
    if groups is not None:
        ids = dataset.instances["instance"].to_list()
        group = pl.Series("group", [groups[one] for one in ids])
        dataset = replace(dataset, instances=dataset.instances.with_columns(group))
    predictions = None if scores is None else predicted(dataset, scores, **options)
    result = run_audit(dataset, predictions=predictions)
    if not kept:
        return result
    return replace(result, instances=instance_frame(dataset, predictions).lazy())


@pytest.fixture(scope="module")
def old() -> AuditResult:
    return audited(*drawn(120, 1, 0.4))


@pytest.fixture(scope="module")
def new() -> AuditResult:
    return audited(*drawn(120, 2, 0.9))


def metric(comparison: Comparison, name: str, **parameters: object) -> dict[str, Any]:
    assert comparison.model is not None
    found: list[dict[str, Any]] = [
        row
        for row in comparison.model.metrics.filter(scope="all", name=name).iter_rows(named=True)
        if all(f'"{key}": {value}' in row["parameters"] for key, value in parameters.items())
    ]
    return found[0]


def test_swapping_the_runs_negates_every_difference(old: AuditResult, new: AuditResult) -> None:
    there, back = compare_runs(old, new).model, compare_runs(new, old).model
    assert there is not None
    assert back is not None
    key = ["scope", "name", "parameters"]
    both = there.metrics.join(back.metrics, on=key).drop_nulls("difference")

    assert len(both) > 10
    for row in both.iter_rows(named=True):
        assert row["difference"] == pytest.approx(-row["difference_right"], abs=1e-12)
        assert (row["low"], row["high"]) == pytest.approx(
            (-row["high_right"], -row["low_right"]), abs=1e-12
        )
    pairs = there.confusions.join(back.confusions, on=["a", "b"])
    assert len(pairs) == len(there.confusions)
    for row in pairs.iter_rows(named=True):
        assert row["p_value"] == pytest.approx(row["p_value_right"])
        assert row["difference"] == pytest.approx(-row["difference_right"])


# --- a loop over instances, without the code that it judges ---------------------------------------


def test_changed_confusions_are_those_of_a_paired_test(old: AuditResult, new: AuditResult) -> None:
    comparison = compare_runs(old, new)
    assert comparison.model is not None
    table = comparison.model.confusions
    p_values = {}
    for row in table.iter_rows(named=True):
        before, after = (
            [
                _entropy(scores.get(row["a"], 0.0), scores.get(row["b"], 0.0))
                for _, scores in sorted(_by_instance(run).items())
            ]
            for run in (old, new)
        )
        apart = [b - a for a, b in zip(before, after, strict=True)]
        mean, n = sum(apart) / len(apart), len(apart)
        raw = math.sqrt(sum(x * x for x in apart) / n / (n - 1))
        centred = math.sqrt(sum((x - mean) ** 2 for x in apart) / n / (n - 1))
        reach = stats.t.ppf(0.975, n - 1) * centred
        p_values[row["a"], row["b"]] = 2 * stats.t.sf(abs(mean) / raw, n - 1)
        assert row["difference"] == pytest.approx(mean)
        assert (row["low"], row["high"]) == pytest.approx((mean - reach, mean + reach))
    assert len(table) == 6
    adjusted = stats.false_discovery_control(list(p_values.values()))
    expected = dict(zip(p_values, adjusted, strict=True))
    for row in table.iter_rows(named=True):
        assert row["q_value"] == pytest.approx(expected[row["a"], row["b"]])
        assert row["changed"] == (row["q_value"] <= 0.05)


def _by_instance(run: AuditResult) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    assert run.instances is not None
    for row in run.instances.collect().iter_rows(named=True):
        found[row["instance"]][row["node"]] = row["score"]
    return found


def _entropy(u: float, v: float) -> float:
    if min(u, v) < 1e-5:
        return 0.0
    p, q = u / (u + v), v / (u + v)
    return -p * math.log2(p) - q * math.log2(q)


def test_confusions_are_those_that_the_run_counted_whatever_it_adds_up() -> None:
    diamond = tree("b c < a", "d < b", "d < c", "e f < d", "g < a")
    scores = {f"i{i}": {"e": 0.5, "f": 0.1 + i / 40, "g": 0.3, "d": 0.05} for i in range(12)}
    dataset = labelled(diamond, {one: ["d", "g"] for one in scores})
    predictions = predicted(dataset, scores)
    run = run_audit(dataset, predictions=predictions, policy=Policy(aggregation="mimic"))
    kept = replace(run, instances=instance_frame(dataset, predictions).lazy())
    compared = compare_runs(kept, kept).model
    assert compared is not None
    assert run.model is not None
    counted = {(row["a"], row["b"]): row["confusion"]
               for row in run.model.pairs.collect().iter_rows(named=True)}  # fmt: skip

    assert len(compared.confusions) == 1
    for row in compared.confusions.iter_rows(named=True):
        assert row["old"] == pytest.approx(counted[row["a"], row["b"]])


# --- what is said of the predictions --------------------------------------------------------------


def test_one_score_that_differs_is_told_and_never_unchanged(new: AuditResult) -> None:
    labels, scores = drawn(120, 2, 0.9)
    scores["i0007"]["cough"] += 1e-9
    other = audited(labels, scores, single_label=True)
    comparison = compare_runs(new, other)

    assert comparison.model is not None
    assert comparison.model.predictions == "differ"
    assert (comparison.model.scores_differ, comparison.model.answers_differ) == (1, 0)
    assert comparison.changed
    assert repr(comparison).startswith("Comparison(other predictions")


def test_without_kept_instances_no_confused_pair_is_tested(
    old: AuditResult, new: AuditResult
) -> None:
    kept = compare_runs(old, new).model
    without = compare_runs(replace(old, instances=None), new).model
    assert kept is not None
    assert without is not None

    assert without.predictions == "differ"
    assert without.common is None
    assert without.confusions["p_value"].null_count() == len(without.confusions)
    assert without.metrics.equals(kept.metrics)


def test_an_interval_is_made_of_the_intervals_of_both(old: AuditResult, new: AuditResult) -> None:
    found = metric(compare_runs(old, new), "hierarchical_f1", average='"macro"')
    (a,), (b,) = (
        [m for m in run.metric_rows if m["scope"] == "all" and m["name"] == "hierarchical_f1"
         and m["parameters"]["average"] == "macro"]
        for run in (old, new)
    )  # fmt: skip
    apart = b["value"] - a["value"]

    assert found["low"] == pytest.approx(
        apart - math.sqrt((b["value"] - b["low"]) ** 2 + (a["high"] - a["value"]) ** 2)
    )
    assert found["high"] == pytest.approx(
        apart + math.sqrt((b["high"] - b["value"]) ** 2 + (a["value"] - a["low"]) ** 2)
    )


def test_files_that_differ_without_another_number_are_not_the_same(new: AuditResult) -> None:
    one, other = (
        replace(
            new,
            instances=None,
            inputs=({"role": "predictions", "path": name, "sha256": name},),
        )
        for name in ("a", "b")
    )
    comparison = compare_runs(one, other)

    assert comparison.model is not None
    assert comparison.model.predictions == "differ"
    assert comparison.changed


def test_instances_that_one_run_lacks_leave_the_others(new: AuditResult) -> None:
    labels, scores = drawn(120, 2, 0.9)
    part = {one: labels[one] for one in list(labels)[:90]}
    comparison = compare_runs(new, audited(part, {one: scores[one] for one in part}))

    assert comparison.model is not None
    assert comparison.model.common == 90
    assert comparison.model.predictions == "differ"
    assert comparison.model.scores_differ == 0


# --- what may be shared ---------------------------------------------------------------------------


def of_persons(run: AuditResult) -> AuditResult:
    return replace(run, policy={**run.policy, "min_cell": 11})


def test_the_shared_view_tells_the_metrics_of_all_instances(
    old: AuditResult, new: AuditResult
) -> None:
    comparison = compare_runs(old, new)
    assert comparison.model is not None
    view = comparison.shared()["model"]

    assert view["predictions"] == "differ"
    assert view["metrics"]["total"] == len(view["metrics"]["rows"])
    assert view["metrics"]["changed"] == comparison.shared()["totals"]["metrics"] > 0
    assert view["confusions"]["changed"] == len(comparison.model.confusions_changed)


def test_values_and_differences_are_made_of_what_both_runs_tell() -> None:
    runs = [of_persons(audited(*drawn(1200, seed, skill))) for seed, skill in ((1, 0.4), (2, 0.9))]
    view = compare_runs(*runs).shared()["model"]
    told = [{(m["name"], str(m["parameters"])): m for m in run.shared()["metrics"]
             if m["scope"] == "all"} for run in runs]  # fmt: skip
    rows = view["metrics"]["rows"]

    assert len(rows) == len(told[0])
    assert any(row["difference"] is not None for row in rows)
    for row in rows:
        for side, own in zip(("old", "new"), told, strict=True):
            metric = own[row["name"], str(row["parameters"])]
            assert (row[side], row[f"n_{side}"]) == (metric["value"], metric["n"])
            assert row[f"beyond_{side}"] == metric["beyond"]
        both = row["old"] is not None and row["new"] is not None
        assert (row["difference"] is not None) == (
            both and row["beyond_old"] is row["beyond_new"] is None
        )
    assert (view["common"], view["scores_differ"]) == (1195, 1195)
    assert view["confusions"]["family"] is None

"""label_suspects: what cleanlab ranks, kinds by the hierarchy, and what is proposed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from cleanlab.filter import find_label_issues
from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class
from cleanlab.rank import get_label_quality_scores
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import softmax

from audit import LabelDataset, Policy
from audit.checks.shared.suspects import judged
from audit.engine.scores.label_quality import of_one_answer, of_several_answers
from audit.measure.measure import Measurements, measure
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted
from fixtures.scored import scored_alone
from fixtures.suspect_worlds import drawn

CHECK = CHECK_OF["label_suspects"]

ZOO = tree("animal thing < top", "cat dog < animal", "kitten < cat", "saw car < thing")
Scored = Sequence[tuple[int, Sequence[str], Mapping[str, float]]]


@given(st.integers(0, 10_000), st.integers(2, 7), st.booleans())
def test_of_one_answer_each_the_suspects_and_their_order_are_those_of_cleanlab(
    seed: int, classes: int, sparse: bool
) -> None:
    rng = np.random.default_rng(seed)
    label = np.append(np.arange(classes), rng.integers(0, classes, 80))
    scores = softmax(rng.normal(0, 2, (len(label), classes)) + np.eye(classes)[label], axis=1)
    if sparse:
        scores[rng.random(scores.shape) < 0.3] = 0
        scores[scores.sum(axis=1) == 0, 0] = 1
        scores /= scores.sum(axis=1, keepdims=True)
    found = of_one_answer(label, csr_array(scores), np.arange(len(label)).astype(np.uint64))
    ranked = find_label_issues(
        label,
        scores,
        return_indices_ranked_by="normalized_margin",
        filter_by="confident_learning",
        n_jobs=1,
    )
    quality = get_label_quality_scores(label, scores, method="normalized_margin")

    assert sorted(found.rows.tolist()) == sorted(ranked.tolist())
    assert np.sort(found.margin) == pytest.approx(quality[ranked], abs=1e-12)
    assert found.margin == pytest.approx(quality[found.rows], abs=1e-12)
    assert ((found.probability >= 0) & (found.probability <= 1)).all()


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_of_several_answers_each_the_suspects_are_those_of_cleanlab(
    seed: int, classes: int
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.random((90, classes)) ** 2
    scores[rng.random(scores.shape) < 0.2] = 0
    held = rng.random(scores.shape) < 0.8 * scores + 0.1
    held[0], held[1], scores[0] = True, False, 0.5
    above = csr_array((classes, classes), dtype=np.int64)
    wrong, missing = of_several_answers(csr_array(held.astype(np.int64)), csr_array(scores), above)
    found = np.zeros(held.shape, np.bool_)
    for suspects in (wrong, missing):
        found[suspects.rows, suspects.nodes] = True
    labels = [np.flatnonzero(row).tolist() for row in held]
    issues = find_multilabel_issues_per_class(
        labels, scores, filter_by="confident_learning", n_jobs=1
    )

    assert (found == issues).all()
    assert wrong.margin == pytest.approx(scores[wrong.rows, wrong.nodes])
    assert missing.margin == pytest.approx(1 - scores[missing.rows, missing.nodes])


def scored(said: Scored, *, single_label: bool | None = None) -> Measurements:
    each = [(labels, scores) for times, labels, scores in said for _ in range(times)]
    dataset = labelled(ZOO, {f"i{n:03}": labels for n, (labels, _) in enumerate(each)})
    scores = {f"i{n:03}": given for n, (_, given) in enumerate(each)}
    return scored_alone(
        measure(dataset, Policy()), predicted(dataset, scores, single_label=single_label)
    )


LEAVES = ("cat", "dog", "kitten", "saw", "car")


def sure(node: str) -> dict[str, float]:
    return {one: 0.96 if one == node else 0.01 for one in LEAVES}


RIGHT: Scored = [(30, [one], sure(one)) for one in LEAVES]


@pytest.mark.parametrize(
    ("label", "other", "kind"),
    [
        ("cat", "dog", "sibling"),
        ("cat", "kitten", "too general"),
        ("kitten", "cat", "too specific"),
        ("kitten", "dog", "same branch"),
        ("cat", "saw", "other branch"),
    ],
)
def test_the_hierarchy_says_what_kind_of_error_a_label_is(
    label: str, other: str, kind: str
) -> None:
    measured = scored([*RIGHT, (6, [label], sure(other))])
    (finding,) = CHECK.run(measured).findings
    proposed = CHECK.proposes(measured, finding)

    assert judged(measured).table["kind"].unique().to_list() == [kind]
    assert (finding.nodes, finding.evidence["instances"]) == ((label,), 6)
    assert [part.nodes for part in finding.parts] == [(label, other)]
    assert proposed.select("change", "label", "proposed", "certainty").unique().rows() == [
        ("replace", label, other, "likely")
    ]
    assert CHECK.cases(measured, finding).tolist() == [*range(150, 156)]


LOW = dict.fromkeys(LEAVES, 0.03)
SEVERAL: Scored = [
    *((40, ["saw", one], LOW | {one: 0.9, "saw": 0.9}) for one in LEAVES[:3]),
    *((40, [one], LOW | {one: 0.9}) for one in LEAVES),
]


def test_of_several_labels_one_may_be_missing_or_too_general() -> None:
    said: Scored = [
        *SEVERAL,
        (9, ["cat"], LOW | {"cat": 0.9, "kitten": 0.95}),
        (9, ["car"], LOW | {"car": 0.9, "dog": 0.95}),
    ]
    measured = scored(said)
    found = {one.key: CHECK.proposes(measured, one) for one in CHECK.run(measured).findings}

    assert set(found) == {("kitten", "missing"), ("dog", "missing")}
    assert set(judged(measured).table["kind"]) == {"too general", "missing"}
    for node in ("kitten", "dog"):
        proposed = found[node, "missing"]
        assert proposed.select("label", "change").unique().rows() == [(None, "add")]
        named = [proposed["proposed"], proposed["candidates"].list.first()]
        assert {*named[0], *named[1]} - {None} == {node}
        assert len(proposed) == 9


def test_a_label_above_one_that_is_given_does_not_lack() -> None:
    high = LOW | {"cat": 0.95, "kitten": 0.9}
    measured = scored([*SEVERAL, (20, ["kitten"], high)])

    assert measured.predicted.predictions.single_label is False
    assert "cat" not in {one.nodes[0] for one in CHECK.run(measured).findings}


@pytest.mark.slow
def test_proposals_stand_in_the_order_of_margins() -> None:
    measured = drawn("one label, wrong ones", 0)
    for finding in CHECK.run(measured).findings:
        for certainty in ("likely", "review"):
            told = CHECK.proposes(measured, finding).filter(pl.col("certainty") == certainty)
            margins = told["reason"].str.extract(r"margin ([\d.e-]+)").cast(pl.Float64)
            assert margins.is_sorted()


NO_SCORE = {"cat": 1.0}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([(5, ["cat"], NO_SCORE), (5, ["dog"], {"dog": 1.0})], "no scores between 0 and 1"),
        ([(5, ["cat"], {"cat": 0.4}), (5, ["dog"], {"cat": 0.2})], "one node alone has scores"),
    ],
)
def test_scores_that_cannot_be_judged_are_told(said: Scored, why: str) -> None:
    assert why in CHECK.run(scored(said)).not_applicable


@pytest.mark.parametrize(
    ("said", "more", "left_out"),
    [
        ([(5, ["saw"], {"cat": 0.4, "dog": 0.3})], {}, "nodes without scores"),
        ([(5, ["cat", "dog"], sure("cat"))], {}, "without exactly one label"),
        (
            [(5, ["cat"], {"cat": 0.9, "dog": 0.8}), (5, ["dog"], {"dog": 0.2, "cat": 0.1})],
            {"single_label": True},
            "scores that sum to one",
        ),
    ],
)
def test_where_every_instance_is_left_out_it_passes(said: Scored, more: Any, left_out: str) -> None:
    result = CHECK.run(scored(said, **more))

    assert (result.status, result.denominator) == ("pass", 0)
    assert left_out in result.denominator_unit


def test_labels_without_scores_and_unfit_instances_are_counted() -> None:
    unscored = {one: share for one, share in sure("cat").items() if one != "car"}
    said: Scored = [
        *((30, [one], sure(one) | {"car": 0.0, one: 0.97}) for one in LEAVES[:4]),
        (6, ["cat"], sure("dog") | {"car": 0.0, "dog": 0.97}),
        (3, ["cat", "dog"], unscored | {"cat": 0.97}),
        (2, ["car"], unscored | {"cat": 0.97}),
    ]
    result = CHECK.run(scored(said))

    assert "; nodes without scores left out" in result.denominator_unit
    assert "scores that sum to one left out" in result.denominator_unit
    assert result.findings[0].evidence["unfit"] == 3


def test_wrong_labels_of_one_group_count_once() -> None:
    names = [*LEAVES] * 30
    rows = {f"i{n:03}": [one] for n, one in enumerate(names)} | {f"w{n}": ["cat"] for n in range(4)}
    scores = {f"i{n:03}": sure(one) for n, one in enumerate(names)}
    scores |= {f"w{n}": sure("dog") for n in range(4)}

    def p_value(groups: Mapping[str, str]) -> float:
        dataset: LabelDataset = labelled(ZOO, rows, groups=groups)
        measured = scored_alone(measure(dataset, Policy()), predicted(dataset, scores))
        return float(judged(measured).tests["p_value"][0])

    assert p_value({f"w{n}": "p" for n in range(4)}) > 10 * p_value({})

"""Labels that scores contradict: cleanlab's margins of weighted scores, and kinds of errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from cleanlab.rank import get_label_quality_scores
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import softmax

from audit import Policy
from audit.checks.shared.suspects import MOST_SUSPECTS, first_suspects, suspects
from audit.engine.scores.label_quality import (
    balanced,
    balanced_apart,
    of_one_answer,
    of_several_answers,
)
from audit.measure.measure import Measurements, measure
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted
from fixtures.scored import scored_alone

ZOO = tree("animal thing < top", "cat dog < animal", "kitten < cat", "saw car < thing")
LEAVES = ("cat", "dog", "kitten", "saw", "car")
Scored = Sequence[tuple[int, Sequence[str], Mapping[str, float]]]


@given(st.integers(0, 10_000), st.integers(2, 7))
def test_of_one_answer_each_the_margins_are_those_of_cleanlab(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    label = np.append(np.arange(classes), rng.integers(0, classes, 80))
    scores = softmax(rng.normal(0, 2, (len(label), classes)) + np.eye(classes)[label], axis=1)
    weighed = balanced(csr_array(scores), label)
    found = of_one_answer(label, weighed)
    quality = get_label_quality_scores(label, weighed.toarray(), method="normalized_margin")

    assert weighed.sum(axis=1) == pytest.approx(np.ones(len(label)))
    assert weighed.sum(axis=0) == pytest.approx(np.bincount(label), rel=1e-5)
    assert found.rows.tolist() == np.flatnonzero(quality < 0.5).tolist()
    assert found.margin == pytest.approx(quality[found.rows], abs=1e-9)
    assert (weighed.toarray()[found.rows, found.instead] > 0).all()


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_of_several_answers_each_class_has_the_share_of_its_label(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0.01, 0.99, (90, classes))
    held = rng.random(scores.shape) < 0.8 * scores + 0.1
    gold = csr_array(held.astype(np.int64))
    weighed = balanced_apart(csr_array(scores), gold).toarray()
    found = of_several_answers(gold, csr_array(weighed), csr_array((classes, classes)))
    margin = np.where(held, weighed, 1 - weighed)

    assert weighed.sum(axis=0) == pytest.approx(held.sum(axis=0), rel=1e-6)
    assert {*zip(found.rows.tolist(), found.nodes.tolist(), strict=True)} == {
        *zip(*(one.tolist() for one in np.nonzero(margin < 0.5)), strict=True)
    }
    assert found.margin == pytest.approx(margin[found.rows, found.nodes])
    assert (found.lacks == ~held[found.rows, found.nodes]).all()


def scored(said: Scored) -> Measurements:
    each = [(labels, scores) for times, labels, scores in said for _ in range(times)]
    dataset = labelled(ZOO, {f"i{n:03}": labels for n, (labels, _) in enumerate(each)})
    scores = {f"i{n:03}": given for n, (_, given) in enumerate(each)}
    return scored_alone(measure(dataset, Policy()), predicted(dataset, scores))


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
    lines = first_suspects(scored([*RIGHT, (6, [label], sure(other))])).to_dicts()

    assert [line["instance"] for line in lines] == [f"i{n}" for n in range(150, 156)]
    assert {(line["node"], line["other"], line["kind"]) for line in lines} == {(label, other, kind)}


LOW = dict.fromkeys(LEAVES, 0.03)


def test_of_several_labels_one_may_be_missing_or_too_general() -> None:
    high = {"cat": 0.95, "kitten": 0.9}
    said: Scored = [
        *((40, ["saw", one], LOW | {one: 0.9, "saw": 0.9}) for one in LEAVES[:3]),
        *((40, [one], LOW | {one: 0.9}) for one in LEAVES),
        (9, ["cat"], LOW | {"cat": 0.9, "kitten": 0.95}),
        (9, ["car"], LOW | {"car": 0.9, "dog": 0.95}),
        (20, ["kitten"], LOW | high),
    ]
    found = suspects(scored(said)).group_by("kind").len().sort("kind")

    assert found.rows() == [("missing", 9), ("too general", 9)]


def test_the_first_stand_in_the_order_of_margins() -> None:
    sides = [("cat", "dog"), ("dog", "cat")]
    lines = first_suspects(
        scored(
            [
                *RIGHT,
                *(
                    (1, [label], dict.fromkeys(LEAVES, 0.01) | {other: p, label: 0.97 - p})
                    for label, other in sides
                    for p in np.linspace(0.5, 0.9, 40).tolist()
                ),
            ]
        )
    ).to_dicts()

    assert len(lines) == MOST_SUSPECTS
    assert [line["margin"] for line in lines] == sorted(line["margin"] for line in lines)


@pytest.mark.parametrize(
    "said",
    [
        [(5, ["cat"], {"cat": 1.0}), (5, ["dog"], {"dog": 1.0})],
        [(5, ["cat"], {"cat": 0.4}), (5, ["dog"], {"cat": 0.2})],
        [(5, ["cat", "dog"], sure("cat"))],
        [(5, ["saw"], {"cat": 0.4, "dog": 0.3})],
    ],
    ids=["certain", "one node", "two labels", "without scores"],
)
def test_what_cannot_be_judged_is_left_out(said: Scored) -> None:
    assert first_suspects(scored(said)).is_empty()


def test_a_model_trained_with_balanced_classes_does_not_accuse_the_frequent_label() -> None:
    """Its scores are those of equal shares; unweighed, each tenth of the frequent is suspect."""
    rng = np.random.default_rng(0)
    label = rng.choice(2, 4000, p=[0.95, 0.05])
    seen = rng.normal(label * 2.5, 1.0)
    odds = np.exp(2.5 * seen - 2.5**2 / 2)
    scores = csr_array(np.column_stack([1 / (1 + odds), odds / (1 + odds)]))
    plain, weighed = of_one_answer(label, scores), of_one_answer(label, balanced(scores, label))

    assert np.count_nonzero(plain.nodes == 0) > 10 * np.count_nonzero(weighed.nodes == 0)

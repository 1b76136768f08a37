"""model_habit: habits of the data that the model has learned or made stronger, worked by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from audit.alignment.measure import measure_model
from audit.checks.rules.model_habit import CHECK, cases
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.findings import CheckResult, Finding
from audit.results.shared_findings import shared_finding
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted

BODY = tree(
    "lung heart < body",
    "tool body < top",
    "asthma cough other_lung < lung",
    "attack < heart",
    "saw < tool",
    titles={"other_lung": "Other {things}"},
)
Said = Sequence[tuple[int, Sequence[str], Sequence[str] | None]]


MEASURED: dict[str, Measurements] = {}
"""What was measured of the release that was checked last."""


def checked(said: Said, policy: Policy | None = None) -> CheckResult:
    """The check of instances labelled and predicted so; None: without a prediction."""
    each = [(labels, answers) for times, labels, answers in said for _ in range(times)]
    dataset = labelled(BODY, {f"i{n:05}": labels for n, (labels, _) in enumerate(each)})
    scores = {
        f"i{n:05}": dict.fromkeys(answers, 1.0)
        for n, (_, answers) in enumerate(each)
        if answers is not None
    }
    model, stated = predicted(dataset, scores, set_valued=True), policy or Policy()
    measured = measure(dataset, stated)
    MEASURED["last"] = replace(measured, model=measure_model(dataset, model, stated, seed=0))
    return CHECK.run(MEASURED["last"])


def alone(found: CheckResult) -> Finding:
    """The one finding that no other explains."""
    (finding,) = found.standing
    return finding


def values(finding: Finding) -> dict[str, object]:
    return {name: quantity.value for name, quantity in finding.evidence.items()}


RESIDUAL: Said = [
    (90, ["other_lung"], ["other_lung"]),
    (10, ["asthma"], ["other_lung"]),
    (100, ["attack"], ["attack"]),
]
STRONGER: Said = [
    (40, ["saw", "attack"], ["saw", "attack"]),
    (40, ["attack"], ["saw", "attack"]),
    (100, ["asthma"], ["asthma"]),
]


def test_a_learned_catch_all_is_found_with_data_and_model_side_by_side() -> None:
    found = checked(RESIDUAL)
    (finding,) = found.findings
    evidence = values(finding)

    assert (found.status, found.denominator) == ("note", 1)
    assert finding.nodes == ("lung",)
    assert (evidence["instances"], evidence["of"], evidence["share"]) == (100, 100, 1.0)
    assert (evidence["data_instances"], evidence["data_of"]) == (90, 100)
    assert evidence["data_share"] == 0.9


@pytest.mark.parametrize(
    ("said", "status", "denominator"),
    [
        # a catch-all that the model does not repeat, and one of the model alone
        ([(90, ["other_lung"], ["asthma"]), (30, ["asthma"], ["other_lung"])], "pass", 1),
        ([(90, ["asthma"], ["other_lung"]), (90, ["attack"], ["attack"])], "not_applicable", 0),
        # a pair copied as it is, and one within a branch
        ([(40, ["saw", "attack"], ["saw", "attack"]), (60, ["saw"], ["saw"])], "pass", 5),
        ([(40, ["attack", "asthma"], ["attack", "asthma"]),
          (90, ["attack"], ["attack", "asthma"])], "not_applicable", 0),
        # as written, heart and saw are predicted together on 70 and labelled on 30
        ([(40, ["saw", "attack"], ["saw", "attack", "heart"]),
          (30, ["saw", "heart"], ["saw", "heart"])], "pass", 5),
    ],
)  # fmt: skip
def test_what_is_no_habit_of_the_data_that_the_model_amplifies(
    said: Said, status: str, denominator: int
) -> None:
    found = checked(said)

    assert (found.status, found.denominator, found.findings) == (status, denominator, ())


def test_too_few_predictions_below_the_parent_are_not_judged() -> None:
    few: Said = [(29, ["other_lung"], ["other_lung"]), (60, ["other_lung"], ["attack"])]

    assert checked(few).findings == ()
    assert len(checked([*few, (1, ["other_lung"], ["other_lung"])]).findings) == 1


def test_a_pair_made_stronger_is_found_with_its_numbers() -> None:
    finding = alone(checked(STRONGER))
    evidence = values(finding)

    assert finding.nodes == ("attack", "saw")
    assert (evidence["instances"], evidence["of"], evidence["data_instances"]) == (80, 180, 40)
    assert (evidence["share"], evidence["data_share"]) == (80 / 180, 40 / 180)
    assert evidence["ratio"] == 2
    assert float(str(evidence["q_value"])) == pytest.approx(0.5**40)
    assert finding.touched * finding.strength == pytest.approx(40 * math.log(2))


def test_pairs_above_a_stronger_pair_are_folded_into_it_and_are_its_parts() -> None:
    found = checked(STRONGER)
    finding = alone(found)

    assert (found.denominator, found.folded) == (5, 4)
    assert {part.nodes for part in finding.parts} == {
        ("heart", "saw"), ("attack", "tool"), ("heart", "tool"), ("body", "saw"),
    }  # fmt: skip
    assert {f.folded_into for f in found.findings} == {(), (finding.id,)}


def test_nodes_above_the_labels_are_judged_too() -> None:
    """No two labels are together on 30 instances of the data, their parents are."""
    said: Said = [
        (n, ["saw", label], ["saw", label]) if same else (n, ["saw"], ["saw", label])
        for n, label in ((20, "asthma"), (20, "cough"))
        for same in (True, False)
    ]

    assert alone(checked(said)).nodes == ("lung", "saw")


def test_the_cases_are_the_instances_predicted_with_both_nodes() -> None:
    finding = alone(checked(STRONGER))

    assert cases(MEASURED["last"], finding).tolist() == list(range(80))


def test_a_pair_moved_to_other_instances_is_not_stronger() -> None:
    moved: Said = [
        (40, ["saw", "attack"], ["saw"]),
        (65, ["saw"], ["saw", "attack"]),
    ]
    kept = [(40, ["saw", "attack"], ["saw", "attack"]), (25, ["saw"], ["saw", "attack"])]
    sure = Policy(false_discovery_rate=Threshold(value=0.001, reason="So."))

    assert checked(moved, sure).findings == ()
    assert len(checked(kept, sure).standing) == 1


def test_a_pair_too_rare_in_the_data_is_not_judged() -> None:
    rare: Said = [(29, ["saw", "attack"], ["saw", "attack"]), (90, ["saw"], ["saw", "attack"])]

    assert checked(rare).status == "not_applicable"
    assert len(checked([*rare, (1, ["saw", "attack"], ["saw"])]).standing) == 1


def test_instances_without_predictions_do_not_count() -> None:
    unseen = alone(checked([*STRONGER, (500, ["saw", "attack"], None)]))
    renamed = {"matched_instances": "data_instances"}

    told = {renamed.get(name, name): value for name, value in values(unseen).items()}
    assert told == values(alone(checked(STRONGER)))


@pytest.mark.slow
def test_chance_is_found_no_oftener_than_stated() -> None:
    loose = Policy(habit_ratio=Threshold(value=1.0, reason="The test alone."))
    found = 0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        said = [
            (1, ["saw", "attack"] if a else ["saw"], ["saw", "attack"] if b else ["saw"])
            for a, b in zip(draw.random(300) < 0.3, draw.random(300) < 0.3, strict=True)
        ]
        found += bool(checked(said, loose).findings)

    # at a rate of 5 %, more come up in 3 of 1,000 sets of seeds
    assert found <= 4


def test_without_predictions_it_does_not_apply() -> None:
    found = CHECK.run(measure(labelled(BODY, {"a": ["saw"]}), Policy()))

    assert found.not_applicable == "no predictions were given"


def test_small_counts_and_what_is_derived_are_withheld() -> None:
    few = Policy(residual_instances=Threshold(value=5, reason="So."))
    said: Said = [(6, ["saw", "attack"], ["saw", "attack"]), (12, ["saw"], ["saw", "attack"])]
    finding = alone(checked([*said, (40, ["asthma"], ["asthma"])], few))
    shown = shared_finding(finding, 11, {})["evidence"]

    assert (shown["instances"], shown["data_instances"]) == (18, "<11")
    assert shown["data_share"] is shown["ratio"] is shown["q_value"] is None

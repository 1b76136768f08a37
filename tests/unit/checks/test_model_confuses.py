"""model_confuses: planted exchanges are found, chance is not, worked by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from audit.checks.model_confuses import CHECK
from audit.hierarchy import Hierarchy
from audit.measure import measure
from audit.measure_model import measure_model
from audit.policy import Policy, Threshold
from audit.result import CheckResult, shared_finding
from fixtures.brute_force_scores import exchanged
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted

ZOO = tree("animal thing < top", "cat dog cow hen < animal", "saw car cup pen < thing")
LEAVES = ("cat", "dog", "cow", "hen", "saw", "car", "cup", "pen")
BY_CHANCE = 4
"""Of 20 audits without effects, at a rate of 5 %, more have findings in 3 of 1,000 cases."""
Said = Sequence[tuple[int, Sequence[str], Sequence[str]]]


def checked(
    said: Said, policy: Policy | None = None, hierarchy: Hierarchy = ZOO, **options: bool
) -> CheckResult:
    """The check of instances that are labelled and predicted so, each so many times."""
    each = [(labels, answers) for times, labels, answers in said for _ in range(times)]
    labels = {f"i{n:05}": given for n, (given, _) in enumerate(each)}
    scores = {f"i{n:05}": dict.fromkeys(answers, 1.0) for n, (_, answers) in enumerate(each)}
    dataset = labelled(hierarchy, labels)
    model = predicted(dataset, scores, **options)
    stated = policy or Policy()
    found = replace(measure(dataset, stated), model=measure_model(dataset, model, stated, seed=0))
    return CHECK.run(found)


def right(times: int, leaves: Sequence[str] = LEAVES) -> Said:
    return [(times, [leaf], [leaf]) for leaf in leaves]


def pairs(found: CheckResult) -> set[tuple[str, ...]]:
    return {finding.nodes for finding in found.findings}


SWAPPED: Said = [*right(100), (30, ["cat"], ["saw"]), (20, ["saw"], ["cat"])]


def test_a_planted_exchange_is_found_with_its_numbers() -> None:
    found = checked(SWAPPED)
    (finding,) = found.findings
    evidence: Mapping[str, object] = {n: q.value for n, q in finding.evidence.items()}

    assert found.status == "warn"
    assert finding.id == "model_confuses:cat:saw"
    assert (evidence["instances"], evidence["of"]) == (50, 250)
    assert evidence["share"] == 50 / 250
    assert finding.touched == 50
    # cat is answered 120 and saw 130 times of 850: each mistake falls on the other so often
    by_chance = 30 * 130 / (850 - 120) + 20 * 120 / (850 - 130)
    assert evidence["ratio"] == pytest.approx(50 / by_chance)


def test_within_a_branch_it_is_a_note() -> None:
    (finding,) = checked([*right(100), (40, ["cat"], ["dog"])]).findings

    assert finding.severity == "note"
    assert "(siblings)" in finding.statement


def test_several_answers_are_judged_by_misses_and_false_answers() -> None:
    both: Said = [(200, ["cow", "cup"], ["cow", "cup"])]
    (finding,) = checked([*SWAPPED, *both]).findings
    evidence = {name: quantity.value for name, quantity in finding.evidence.items()}

    assert finding.nodes == ("cat", "saw")
    assert evidence["ratio"] == pytest.approx(50 / ((30 * 30 + 20 * 20) / 1050))


def test_the_exchanges_are_those_of_plain_python() -> None:
    said = [(set(labels), set(answers)) for n, labels, answers in SWAPPED for _ in range(n)]
    found = checked(SWAPPED).findings[0].evidence["instances"].value
    numbered = [[{LEAVES.index(x) for x in part} for part in pair] for pair in said]

    assert found == exchanged([p[0] for p in numbered], [p[1] for p in numbered], 0, 4)


def test_a_perfect_model_confuses_nothing() -> None:
    found = checked(right(100))

    assert (found.status, found.denominator) == ("pass", 28)


def test_what_the_data_has_together_is_not_judged() -> None:
    together: Said = [(60, ["cat", "saw"], ["cat", "saw"])]
    found = checked([*SWAPPED, *together])

    assert ("cat", "saw") not in pairs(found)


def test_a_node_and_its_ancestor_are_not_judged() -> None:
    found = checked([*right(100), (60, ["cat"], ["animal"]), (60, ["animal"], ["cat"])])

    assert ("animal", "cat") not in pairs(found)


def test_nodes_that_share_a_descendant_are_not_judged() -> None:
    shared = tree("a b c < top", "x < a", "x < b", "y < c")
    found = checked([(100, ["a"], ["b"]), (100, ["b"], ["b"]), (50, ["y"], ["y"])], None, shared)

    assert pairs(found) == set()


def test_a_small_share_is_not_reported() -> None:
    rare: Said = [*right(1000), (25, ["cat"], ["saw"])]
    strict = Policy(exchanged_share=Threshold(value=0.001, reason="So."))

    assert pairs(checked(rare)) == set()
    assert pairs(checked(rare, strict)) == {("cat", "saw")}


def test_the_ratio_of_the_policy_is_kept() -> None:
    stated = Policy(exchanged_ratio=Threshold(value=6.0, reason="So."))

    assert pairs(checked(SWAPPED)) == {("cat", "saw")}
    assert pairs(checked(SWAPPED, stated)) == set()


def at_random(seed: int, error: float, n: int = 1500) -> Said:
    """One label and one answer an instance; a wrong answer is any other leaf, equally often."""
    draw = np.random.default_rng(seed)
    label = draw.integers(0, len(LEAVES), n)
    wrong = (label + draw.integers(1, len(LEAVES), n)) % len(LEAVES)
    answer = np.where(draw.random(n) < error, wrong, label)
    return [(1, [LEAVES[a]], [LEAVES[b]]) for a, b in zip(label, answer, strict=True)]


def several_at_random(seed: int, n: int = 1500) -> Said:
    """Each node is a label, missed and falsely predicted on its own."""
    draw = np.random.default_rng(seed)
    labels = draw.random((n, len(LEAVES))) < 0.2
    answers = np.where(labels, draw.random(labels.shape) > 0.3, draw.random(labels.shape) < 0.1)
    return [
        (1, [LEAVES[i] for i in np.flatnonzero(a)], [LEAVES[i] for i in np.flatnonzero(b)])
        for a, b in zip(labels, answers, strict=True)
    ]


@pytest.mark.parametrize("error", [0.1, 0.4])
def test_mistakes_at_random_are_found_no_oftener_than_stated(error: float) -> None:
    loose = Policy(
        exchanged_ratio=Threshold(value=1.0, reason="The test alone."),
        exchanged_share=Threshold(value=0.0, reason="The test alone."),
    )
    found = [bool(checked(at_random(seed, error), loose).findings) for seed in range(20)]

    assert sum(found) <= BY_CHANCE


def test_misses_and_false_answers_at_random_are_found_no_oftener_than_stated() -> None:
    loose = Policy(
        exchanged_ratio=Threshold(value=1.0, reason="The test alone."),
        exchanged_share=Threshold(value=0.0, reason="The test alone."),
    )
    found = [bool(checked(several_at_random(seed), loose).findings) for seed in range(20)]

    assert sum(found) <= BY_CHANCE


def test_by_the_usual_policy_mistakes_at_random_are_found_no_oftener_than_stated() -> None:
    found = [bool(checked(at_random(seed, 0.4)).findings) for seed in range(20)]

    assert sum(found) <= BY_CHANCE


def test_three_leaves_at_random_are_never_found() -> None:
    few = [
        (times, [a], [b])
        for a in LEAVES[:3] for b in LEAVES[:3] for times in [300 if a == b else 60]
    ]  # fmt: skip

    assert pairs(checked(few)) == set()


def test_without_predictions_it_does_not_apply() -> None:
    found = CHECK.run(measure(labelled(ZOO, {"a": ["cat"]}), Policy()))

    assert (found.status, found.not_applicable) == ("not_applicable", "no predictions were given")


def test_with_rare_labels_it_does_not_apply() -> None:
    found = checked([(1, [leaf], [leaf]) for leaf in LEAVES])

    assert found.not_applicable == "no two labels are frequent enough to meet by chance"


def test_predictions_of_instances_without_labels_do_not_apply() -> None:
    assert checked([(20, [], ["cat"])]).status == "not_applicable"


def test_small_counts_and_what_is_derived_are_withheld() -> None:
    found = checked([*right(10), (8, ["cat"], ["saw"])])
    (finding,) = found.findings
    shown = shared_finding(finding, 11, {})

    assert shown["evidence"]["instances"] == "<11"
    for name in ("share", "low", "high", "ratio", "q_value"):
        assert shown["evidence"][name] is None
    assert "<11 of" in shown["statement"]
    assert not re.search(r"[{}]", shown["statement"])


def test_a_remainder_that_is_a_small_cell_is_withheld() -> None:
    mixed: Said = [(5, ["cat"], ["cat"]), (60, ["cat"], ["saw"]), (60, ["saw"], ["cat"])]
    found = checked([*mixed, (5, ["saw"], ["saw"]), *right(100, LEAVES[1:4] + LEAVES[5:])])
    (finding,) = found.findings

    assert shared_finding(finding, 11, {})["evidence"]["instances"] == ">119"


def test_every_placeholder_is_filled() -> None:
    (finding,) = checked(SWAPPED).findings
    statement = shared_finding(finding, 1, {})["statement"]

    assert "50 of 250 instances (20.0%)" in statement
    assert not re.search(r"[{}]", statement)


def test_the_order_of_instances_changes_nothing() -> None:
    assert checked(SWAPPED[::-1]) == checked(SWAPPED)

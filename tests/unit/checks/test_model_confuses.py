"""model_confuses: planted exchanges are found and stand first, chance is not, worked by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from audit.alignment.measure import measure_model
from audit.checks.rules.model_confuses import CHECK, cases
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.findings import CheckResult, Finding, Judgement
from audit.results.shared_findings import shared_finding
from fixtures.brute_force_scores import exchanged, exchanges_expected
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted

ZOO = tree("animal thing < top", "cat dog cow hen < animal", "saw car cup pen < thing")
LEAVES = ("cat", "dog", "cow", "hen", "saw", "car", "cup", "pen")
BY_CHANCE = 4
"""Of 20 audits without effects, at a rate of 5 %, more have findings in 3 of 1,000 cases."""
PAGE = Path(__file__).parents[3] / "docs" / "checks" / "model_confuses.md"
Said = Sequence[tuple[int, Sequence[str], Sequence[str]]]


def measured(
    said: Said, policy: Policy | None = None, hierarchy: Hierarchy = ZOO, **options: bool
) -> Measurements:
    """Instances that are labelled and predicted so, each so many times."""
    each = [(labels, answers) for times, labels, answers in said for _ in range(times)]
    labels = {f"i{n:05}": given for n, (given, _) in enumerate(each)}
    scores = {f"i{n:05}": dict.fromkeys(answers, 1.0) for n, (_, answers) in enumerate(each)}
    dataset = labelled(hierarchy, labels)
    model = predicted(dataset, scores, **options)
    stated = policy or Policy()
    return replace(measure(dataset, stated), model=measure_model(dataset, model, stated, seed=0))


def checked(said: Said, policy: Policy | None = None, hierarchy: Hierarchy = ZOO) -> CheckResult:
    return CHECK.run(measured(said, policy, hierarchy))


def right(times: int, leaves: Sequence[str] = LEAVES) -> Said:
    return [(times, [leaf], [leaf]) for leaf in leaves]


def stray(times: int = 1, leaves: Sequence[str] = LEAVES) -> Said:
    """Every leaf is taken for every other equally often."""
    return [(times, [a], [b]) for a in leaves for b in leaves if a != b]


def pairs(found: CheckResult) -> list[tuple[str, ...]]:
    return [finding.nodes for finding in found.in_order()]


def numbers(found: CheckResult) -> Mapping[str, object]:
    (finding,) = found.findings
    return {name: quantity.value for name, quantity in finding.evidence.items()}


SWAPPED: Said = [*right(100), *stray(2), (30, ["cat"], ["saw"]), (20, ["saw"], ["cat"])]


def test_a_planted_exchange_is_found_with_its_numbers() -> None:
    found = checked(SWAPPED)
    evidence = numbers(found)

    assert found.status == "warn"
    assert (found.findings[0].id, found.findings[0].touched) == ("model_confuses:cat:saw", 54)
    assert (evidence["first_as_second"], evidence["second_as_first"]) == (32, 22)
    assert (evidence["instances"], evidence["of"]) == (54, 100 + 44 + 100 + 34)
    assert evidence["share"] == 54 / 278
    assert (found.denominator, evidence["family"]) == (28, 28)


def test_the_numbers_are_those_of_plain_python() -> None:
    said = [(set(labels), set(answers)) for n, labels, answers in SWAPPED for _ in range(n)]
    numbered = [[{LEAVES.index(x) for x in part} for part in pair] for pair in said]
    labels, answers = [p[0] for p in numbered], [p[1] for p in numbered]
    expected = exchanges_expected(labels, answers, len(LEAVES))
    found = checked(SWAPPED)
    observed = exchanged(labels, answers, 0, 4) + exchanged(labels, answers, 4, 0)
    by_chance = expected[0, 4] + expected[4, 0]

    assert numbers(found)["instances"] == observed
    assert numbers(found)["expected_exchanges"] == pytest.approx(by_chance, rel=1e-6)
    least = chi2.ppf(0.025, 2 * observed) / 2 - by_chance
    assert found.findings[0].strength == pytest.approx(least / observed)


def test_within_a_branch_it_is_a_note() -> None:
    (finding,) = checked([*right(100), *stray(2), (40, ["cat"], ["dog"])]).findings

    assert finding.severity == "note"
    assert ", siblings: the model answers" in finding.statement


def test_across_branches_it_is_a_warning_where_no_instance_has_two_labels_or_two_answers() -> None:
    two_labels: Said = [(1, ["cat", "saw"], ["cat"])]
    two_answers: Said = [(1, ["cat"], ["cat", "saw"])]

    for more, severity in (([], "warning"), (two_labels, "note"), (two_answers, "note")):
        assert {f.severity for f in checked([*SWAPPED, *more]).findings} == {severity}


def test_how_often_two_labels_meet_in_the_data_does_not_matter() -> None:
    together: Said = [(60, ["cat", "saw"], ["cat", "saw"])]

    assert pairs(checked([*SWAPPED, *together])) == [("cat", "saw")]


def test_right_answers_change_nothing() -> None:
    few, many = (
        checked([*right(times), *SWAPPED[len(LEAVES) :]]).findings[0] for times in (1, 999)
    )

    assert few.evidence["expected_exchanges"] == many.evidence["expected_exchanges"]
    assert few.strength == many.strength


def test_a_node_and_its_ancestor_are_not_judged() -> None:
    found = checked(
        [*right(100), *stray(), (60, ["cat"], ["animal"]), (60, ["animal"], ["cat"])],
    )

    assert ("animal", "cat") not in pairs(found)
    assert found.denominator == 28 + 4


def test_the_order_is_that_of_the_excess() -> None:
    """Frequent labels meet often without an excess; two rare ones have the largest ratio."""
    said: Said = [
        *right(100),
        *stray(60, LEAVES[:4]),
        *stray(1, LEAVES[4:]),
        (45, ["cat"], ["dog"]),
        (25, ["hen"], ["saw"]),
        (12, ["cup"], ["pen"]),
    ]
    found = {f.nodes: f for f in checked(said).findings}
    ratio = {
        n: f.touched / float(f.evidence["expected_exchanges"].value or 0) for n, f in found.items()
    }

    assert pairs(checked(said))[0] == ("hen", "saw")
    assert max(found, key=lambda n: ratio[n]) != ("hen", "saw")
    for f in found.values():
        excess = float(f.evidence["excess_at_least"].value or 0)
        assert f.touched * f.strength == pytest.approx(excess)
        # the 2.5 % quantile of a Gamma is half of one of chi-squared at twice the freedom
        least = chi2.ppf(0.025, 2 * f.touched) / 2
        assert excess == pytest.approx(least - float(f.evidence["expected_exchanges"].value or 0))


def test_a_thousand_labels_with_planted_exchanges_have_them_first() -> None:
    draw = np.random.default_rng(3)
    names = [f"n{place:04}" for place in range(1000)]
    flat = tree(f"{' '.join(names)} < top")
    often = draw.permutation(1 / np.arange(1, 1001))
    often /= often.sum()
    label, answer = (draw.choice(1000, 4000, p=often) for _ in range(2))
    wrong = label != answer
    planted = [(17, 400), (600, 3), (981, 982)]
    swaps = [(a, b) for a, b in planted for _ in range(30)]
    drawn = list(zip(label[wrong].tolist(), answer[wrong].tolist(), strict=True)) + swaps
    found = checked([(1, [names[a]], [names[b]]) for a, b in drawn], hierarchy=flat)

    assert {frozenset(nodes) for nodes in pairs(found)[:3]} == {
        frozenset((names[a], names[b])) for a, b in planted
    }
    assert len(found.findings) < 10


def at_random(seed: int, error: float, n: int = 1500) -> Said:
    """One label and one answer an instance; a wrong answer is any other leaf, equally often."""
    draw = np.random.default_rng(seed)
    label = draw.integers(0, len(LEAVES), n)
    wrong = (label + draw.integers(1, len(LEAVES), n)) % len(LEAVES)
    answer = np.where(draw.random(n) < error, wrong, label)
    return [(1, [LEAVES[a]], [LEAVES[b]]) for a, b in zip(label, answer, strict=True)]


def several_at_random(seed: int, n: int = 6000) -> Said:
    """Each node is a label, missed and falsely predicted on its own."""
    draw = np.random.default_rng(seed)
    labels = draw.random((n, len(LEAVES))) < 0.2
    answers = np.where(labels, draw.random(labels.shape) > 0.3, draw.random(labels.shape) < 0.1)
    return [
        (1, [LEAVES[i] for i in np.flatnonzero(a)], [LEAVES[i] for i in np.flatnonzero(b)])
        for a, b in zip(labels, answers, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.1, 0.9])
def test_mistakes_at_random_are_found_no_oftener_than_stated(error: float) -> None:
    found = [bool(checked(at_random(seed, error)).findings) for seed in range(20)]

    assert sum(found) <= BY_CHANCE


@pytest.mark.slow
def test_misses_and_false_answers_at_random_are_found_no_oftener_than_stated() -> None:
    found = [bool(checked(several_at_random(seed)).findings) for seed in range(20)]

    assert sum(found) <= BY_CHANCE


def test_the_rate_of_the_policy_is_kept() -> None:
    strict = Policy(false_discovery_rate=Threshold(value=1e-60, reason="So."))

    assert pairs(checked(SWAPPED, strict)) == []


def test_without_predictions_it_does_not_apply() -> None:
    found = CHECK.run(measure(labelled(ZOO, {"a": ["cat"]}), Policy()))

    assert (found.status, found.not_applicable) == ("not_applicable", "no predictions were given")


@pytest.mark.parametrize(
    "said",
    [
        right(100),
        [(20, [], ["cat"])],
        [(20, ["cat"], []), (1, ["dog"], ["dog"])],
        [(20, ["cat"], ["animal"])],
    ],
    ids=["perfect", "no labels", "no answers", "only ancestors"],
)
def test_where_nothing_can_be_exchanged_there_is_no_power(said: Said) -> None:
    found = checked(said)

    assert (found.status, found.denominator) == ("not_applicable", 0)
    assert found.not_applicable.startswith("the check has no power here: no instance")


def test_two_labels_do_not_apply() -> None:
    found = checked([*right(50, LEAVES[:2]), *stray(30, LEAVES[:2])])

    assert found.not_applicable == "two labels are in use, and every exchange is one of the two"


def test_three_mistaken_labels_have_no_power() -> None:
    found = checked([*right(50), *stray(30, LEAVES[:3]), (90, ["cat"], ["dog"])])

    assert found.not_applicable.startswith(
        "the check has no power here: the mistakes are among 3 labels"
    )


def test_small_counts_and_what_is_derived_are_withheld() -> None:
    rest = LEAVES[1:4] + LEAVES[5:]
    found = checked([*right(10), *stray(1, rest), (8, ["cat"], ["saw"])])
    (finding,) = found.findings
    shown = shared_finding(finding, 11, {})
    evidence = shown["evidence"]

    assert (evidence["instances"], evidence["first_as_second"]) == ("<11", "<11")
    for name in ("share", "expected_exchanges", "excess_at_least", "q_value"):
        assert evidence[name] is None
    assert "<11 of" in shown["statement"]
    assert not re.search(r"[{}]", shown["statement"])


def test_a_small_direction_is_not_told_by_the_other() -> None:
    found = checked([*right(100), *stray(2), (48, ["cat"], ["saw"])])
    evidence = shared_finding(found.findings[0], 11, {})["evidence"]

    assert evidence["instances"] == 52
    assert (evidence["first_as_second"], evidence["second_as_first"]) == (">41", "<11")
    assert evidence["expected_exchanges"] is None


@given(forth=st.integers(0, 40), back=st.integers(0, 40), rest=st.integers(0, 40))
def test_nothing_shown_narrows_a_small_direction(forth: int, back: int, rest: int) -> None:
    """Where one direction is small, its bound is the only exact thing that is told of it."""
    swap: Said = [(60 + forth, ["cow"], ["cup"]), (forth, ["cat"], ["saw"])]
    found = checked([*right(rest), *swap, (back, ["saw"], ["cat"]), *stray()])
    chosen = [f for f in found.findings if f.nodes == ("cat", "saw")]
    for finding in chosen:
        told = shared_finding(finding, 11, {})["evidence"]
        counts = {n: finding.evidence[n].value for n in ("first_as_second", "second_as_first")}
        for name, other in (tuple(counts), tuple(counts)[::-1]):
            if 0 < int(counts[name] or 0) < 11:
                assert told[name] == "<11"
                assert not (isinstance(told["instances"], int) and isinstance(told[other], int))


def test_a_remainder_that_is_a_small_cell_is_withheld() -> None:
    mixed: Said = [(5, ["cat"], ["cat"]), (60, ["cat"], ["saw"]), (60, ["saw"], ["cat"])]
    rest = LEAVES[1:4] + LEAVES[5:]
    found = checked([*mixed, (5, ["saw"], ["saw"]), *right(100, rest), *stray(9, rest)])
    (finding,) = found.findings

    assert shared_finding(finding, 11, {})["evidence"]["instances"] == ">119"


def test_every_placeholder_is_filled() -> None:
    (finding,) = checked(SWAPPED).findings
    statement = shared_finding(finding, 1, {})["statement"]

    assert "on 54 of 278 instances (19.4%)" in statement
    assert "On 32 of them the first is the label" in statement
    assert not re.search(r"[{}]", statement)


def test_the_order_of_instances_changes_nothing() -> None:
    assert checked(SWAPPED[::-1]) == checked(SWAPPED)


def test_the_cases_are_the_instances_behind_a_finding() -> None:
    found = measured([(3, ["dog"], ["dog"]), *SWAPPED])
    (finding,) = CHECK.run(found).findings
    numbers_ = cases(found, finding)
    each = [(given, said) for n, given, said in [(3, ["dog"], ["dog"]), *SWAPPED] for _ in range(n)]

    assert numbers_.tolist() == sorted(numbers_.tolist())
    assert len(numbers_) == finding.touched
    assert {(*each[i][0], *each[i][1]) for i in numbers_} == {("cat", "saw"), ("saw", "cat")}
    assert cases(replace(found, model=None), finding).tolist() == []


def test_cases_are_numbered_as_in_the_dataset() -> None:
    """Of instances without a prediction, numbers are passed over."""
    each = [(labels, answers) for n, labels, answers in SWAPPED for _ in range(n)]
    dataset = labelled(ZOO, {f"i{n:05}": given for n, (given, _) in enumerate(each)})
    scores = {f"i{n:05}": dict.fromkeys(answers, 1.0) for n, (_, answers) in enumerate(each)}
    kept = {instance: one for n, (instance, one) in enumerate(scores.items()) if n % 10}
    model = measure_model(dataset, predicted(dataset, kept), Policy(), seed=0)
    found = replace(measure(dataset, Policy()), model=model)
    (finding,) = CHECK.run(found).findings

    assert all(n % 10 for n in cases(found, finding).tolist())
    assert {each[n][0][0] for n in cases(found, finding)} == {"cat", "saw"}


ANIMALS, THINGS = LEAVES[:4], LEAVES[5:]
LEANS: Said = [
    *right(200),
    *stray(3),
    *[(40, [leaf], ["saw"]) for leaf in ANIMALS],
    *stray(60, THINGS),
]
"""Animals are answered with a saw, and the other things are taken for each other."""


def leaning_of(found: CheckResult) -> Finding:
    (leaning,) = (finding for finding in found.standing if finding.key)
    return leaning


def test_pairs_of_an_answer_that_the_model_leans_to_are_one_finding() -> None:
    found = checked(LEANS)
    leaning = leaning_of(found)

    assert leaning.id == "model_confuses:saw:answer"
    assert [part.nodes[1] for part in leaning.parts] == ["saw"] * 4
    assert {part.nodes[0] for part in leaning.parts} == set(ANIMALS)
    assert {f.nodes for f in found.standing if not f.key} == {
        ("car", "cup"),
        ("car", "pen"),
        ("cup", "pen"),
    }
    assert found.folded == 4
    assert {f.nodes for f in found.findings if f.folded_into} == {(x, "saw") for x in ANIMALS}


def test_the_label_of_a_line_comes_before_the_answer() -> None:
    """Where the answer is the first of the two in node order too."""
    said: Said = [
        *right(200),
        *stray(3),
        *[(40, [leaf], ["car"]) for leaf in ("cat", "dog", "hen")],
    ]
    leaning = leaning_of(checked([*said, *stray(60, ("saw", "cup", "pen"))]))

    assert {part.nodes for part in leaning.parts} == {(x, "car") for x in ("cat", "dog", "hen")}
    assert all(part.evidence["answered"].value == 43 for part in leaning.parts)


def test_a_leaning_has_the_numbers_of_its_pair_of_largest_excess() -> None:
    found = checked([*LEANS, (9, ["cow"], ["saw"])])
    leaning = leaning_of(found)
    pair = next(f for f in found.findings if f.nodes == ("cow", "saw") and not f.key)
    (part,) = (p for p in leaning.parts if p.nodes == ("cow", "saw"))

    assert (leaning.nodes, leaning.touched, leaning.strength) == (
        pair.nodes,
        pair.touched,
        pair.strength,
    )
    assert leaning.evidence["instances"] == pair.evidence["instances"]
    assert leaning.evidence["labels"].value == 4
    assert {name: one.value for name, one in part.evidence.items()} == {
        "instances": 55,
        "answered": 52,
        "expected_exchanges": pair.evidence["expected_exchanges"].value,
    }
    assert leaning.statement.startswith("The model leans to the answer saw: ")
    assert leaning.statement.endswith(pair.statement)


def test_fewer_labels_or_exchanges_both_ways_are_no_leaning() -> None:
    others = [*right(200), *stray(3), *stray(60, THINGS)]
    two: Said = [(40, [leaf], ["saw"]) for leaf in ANIMALS[:2]]
    both_ways = [*two, (40, ["cow"], ["saw"]), *[(20, ["saw"], [leaf]) for leaf in ANIMALS[:3]]]

    for said in (two, both_ways):
        found = checked([*others, *said])
        assert sum("saw" in finding.nodes for finding in found.findings) >= len(said) / 2
        assert not any(finding.key for finding in found.findings)
        assert found.folded == 0


def test_a_leaning_stands_while_three_of_its_pairs_pass() -> None:
    found = checked([*LEANS, (15, ["cat"], ["saw"])])
    leaning = leaning_of(found)
    pairs_of_it = [f for f in found.findings if f.folded_into]
    q_values = sorted(float(f.evidence["q_value"].value or 0) for f in pairs_of_it)

    assert leaning.evidence["q_value"].value == q_values[2]
    assert len(pairs_of_it) == 4
    dropped = replace(
        found,
        findings=tuple(
            replace(f, judgement=Judgement(dropped=f.id == leaning.id)) for f in found.findings
        ),
    )
    assert {f.nodes for f in pairs_of_it} <= {f.nodes for f in dropped.standing}


def test_the_cases_of_a_leaning_are_those_of_its_first_pair() -> None:
    known = measured(LEANS)
    found = CHECK.run(known)
    leaning = leaning_of(found)
    pair = next(f for f in found.findings if f.nodes == leaning.nodes and not f.key)

    assert cases(known, leaning).tolist() == cases(known, pair).tolist()
    assert len(cases(known, leaning)) == leaning.touched


def test_a_leaning_reads_well_and_withholds_small_directions() -> None:
    found = checked([*LEANS, (4, ["saw"], ["dog"])])
    leaning = leaning_of(found)
    open_, closed = (shared_finding(leaning, m, {}) for m in (1, 11))

    assert "gives it in place of 4 labels more often than expected" in open_["statement"]
    assert not re.search(r"[{}]", open_["statement"] + closed["statement"])
    for part in closed["parts"]:
        assert part["evidence"]["answered"] in (">35", ">39")
        assert part["evidence"]["expected_exchanges"] is None


def test_the_worked_example_of_its_page() -> None:
    """The table of mistakes, the expectation and the finding are those that the page shows."""
    page = PAGE.read_text("utf-8")
    table = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    names, rows = table[0][1:5], table[1:5]
    said: Said = [
        (int(times), [row[0]], [answer])
        for row in rows
        for answer, times in zip(names, row[1:5], strict=True)
        if times != "–"
    ]
    zoo = tree("cat dog saw car < top")
    found = checked([*right(50, names), *said], hierarchy=zoo)
    (finding,) = found.findings
    evidence = {name: quantity.value for name, quantity in finding.evidence.items()}

    assert finding.nodes == ("car", "saw")
    for name, digits in (("instances", 0), ("expected_exchanges", 1), ("excess_at_least", 1)):
        assert f"{evidence[name]:.{digits}f}" in page, name
    assert f"{evidence['q_value']:.4f}" in page

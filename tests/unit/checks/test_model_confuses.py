"""model_confuses: planted exchanges are found and stand first, chance is not, worked by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from audit.alignment.measure import measure_model
from audit.checks.rules import model_confuses
from audit.checks.shared.exchanged_pairs import MOST_PAIRS, most_exchanged, most_uneven
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.findings import CheckResult
from fixtures.brute_force_scores import exchanged, exchanges_expected
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted

CHECK = CHECK_OF["model_confuses"]

ZOO = tree("animal thing < top", "cat dog cow hen < animal", "saw car cup pen < thing")
LEAVES = ("cat", "dog", "cow", "hen", "saw", "car", "cup", "pen")
BY_CHANCE = 4
"""Of 20 audits without effects, at a rate of 5 %, more have findings in 3 of 1,000 cases."""
PAGE = Path(__file__).parents[3] / "docs" / "checks" / "model_confuses.md"
Said = Sequence[tuple[int, Sequence[str], Sequence[str]]]


def measured(
    said: Said,
    policy: Policy | None = None,
    hierarchy: Hierarchy = ZOO,
    group: Callable[[int], str | None] = lambda _: None,
) -> Measurements:
    """Instances that are labelled and predicted so, each so many times, and of a group each."""
    each = [(labels, answers) for times, labels, answers in said for _ in range(times)]
    labels = {f"i{n:05}": given for n, (given, _) in enumerate(each)}
    scores = {f"i{n:05}": dict.fromkeys(answers, 1.0) for n, (_, answers) in enumerate(each)}
    named = {f"i{n:05}": name for n in range(len(each)) if (name := group(n)) is not None}
    dataset = labelled(hierarchy, labels, groups=named)
    model = predicted(dataset, scores, single_label=False)
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
    return [finding.nodes for finding in found.findings]


def numbers(found: CheckResult) -> Mapping[str, object]:
    (finding,) = found.findings
    return finding.evidence


SWAPPED: Said = [*right(100), *stray(2), (30, ["cat"], ["saw"]), (20, ["saw"], ["cat"])]


def test_a_planted_exchange_is_found_with_its_numbers() -> None:
    found = checked(SWAPPED)
    evidence = numbers(found)

    assert found.status == "note"
    assert (found.findings[0].id, found.findings[0].touched) == ("model_confuses:cat:saw", 54)
    assert (evidence["first_as_second"], evidence["second_as_first"]) == (32, 22)
    assert evidence["instances"] == 54
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
    excess = observed - by_chance
    assert found.findings[0].strength == pytest.approx(excess / observed, rel=1e-6)


def test_it_is_a_note_in_a_branch_and_across_branches() -> None:
    within: Said = [*right(100), *stray(2), (40, ["cat"], ["dog"])]

    for said, words in ((within, "siblings"), (SWAPPED, "of different branches")):
        (finding,) = checked(said).findings
        assert finding.severity == "note"
        assert f" ({words}): " in finding.statement


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
    ratio = {n: f.touched / float(f.evidence["expected_exchanges"] or 0) for n, f in found.items()}

    assert pairs(checked(said))[0] == ("hen", "saw")
    assert max(found, key=lambda n: ratio[n]) != ("hen", "saw")
    for f in found.values():
        excess = f.touched - float(f.evidence["expected_exchanges"] or 0)
        assert f.touched * f.strength == pytest.approx(excess)


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
        [*right(50, LEAVES[:2]), *stray(30, LEAVES[:2])],
        [*right(50), *stray(30, LEAVES[:3]), (90, ["cat"], ["dog"])],
    ],
    ids=["perfect", "no labels", "no answers", "only ancestors", "two labels", "three mistaken"],
)
def test_without_power_it_passes_and_judges_nothing(said: Said) -> None:
    found = checked(said)

    assert (found.status, found.denominator) == ("pass", 0)


def test_mistakes_are_told_apart_once_for_the_cases_of_all_findings() -> None:
    swaps = [(30, [a], [b]) for a, b in (("cat", "saw"), ("dog", "car"), ("cow", "cup"))]
    found = measured([*right(20), *swaps])
    findings = CHECK.run(found).findings
    with patch.object(model_confuses, "mistakes", wraps=model_confuses.mistakes) as told_apart:
        counts = [len(CHECK.cases(found, finding)) for finding in findings]

    assert (counts, told_apart.call_count) == ([30] * 3, 1)


def test_cases_are_numbered_as_in_the_dataset() -> None:
    """Of instances without a prediction, numbers are passed over."""
    each = [(labels, answers) for n, labels, answers in SWAPPED for _ in range(n)]
    dataset = labelled(ZOO, {f"i{n:05}": given for n, (given, _) in enumerate(each)})
    scores = {f"i{n:05}": dict.fromkeys(answers, 1.0) for n, (_, answers) in enumerate(each)}
    kept = {instance: one for n, (instance, one) in enumerate(scores.items()) if n % 10}
    model = measure_model(dataset, predicted(dataset, kept), Policy(), seed=0)
    found = replace(measure(dataset, Policy()), model=model)
    (finding,) = CHECK.run(found).findings

    assert all(n % 10 for n in CHECK.cases(found, finding).tolist())
    assert {each[n][0][0] for n in CHECK.cases(found, finding)} == {"cat", "saw"}


ANIMALS, THINGS = LEAVES[:4], LEAVES[5:]
LEANS: Said = [
    *right(200),
    *stray(3),
    *[(40, [leaf], ["saw"]) for leaf in ANIMALS],
    *stray(60, THINGS),
]
"""Animals are answered with a saw, and the other things are taken for each other."""


def test_an_answer_that_is_given_too_often_is_in_the_table_and_said_of_its_pairs() -> None:
    known = measured(LEANS)
    found = {f.nodes: f.statement for f in CHECK.run(known).findings}
    (line,) = most_uneven(known).to_dicts()

    assert {nodes for nodes, said in found.items() if ", mostly saw for " in said} == {
        (x, "saw") for x in ANIMALS
    }
    assert ("car", "cup") in found
    assert (line["node"], line["falsely"], line["missed"]) == ("saw", 4 * 43 + 3 * 3, 21)
    assert line["most"] == "cat, cow, dog"
    assert not any(one.folded_into or one.asks for one in CHECK.run(known).findings)


@pytest.mark.parametrize(
    ("group", "leans"),
    [
        (lambda n: None, True),
        (lambda n: f"g{n}", True),
        (lambda n: f"g{n // 2}", True),
        (lambda n: f"g{n % 100}" if n % 3 else None, True),
        (lambda n: "one", False),
        (lambda n: f"g{n % 3}", False),
    ],
    ids=["none", "own", "pairs", "hundred", "one", "three"],
)
def test_an_answer_is_tested_over_groups(
    group: Callable[[int], str | None], *, leans: bool
) -> None:
    """Three groups that all lean one way are as likely as one in eight."""
    assert most_uneven(measured(LEANS, group=group)).is_empty() is not leans


def test_a_model_that_answers_a_patient_always_alike_exchanges_nothing() -> None:
    """Each patient has one label and one wrong answer, at random, on ten stays."""
    draw = np.random.default_rng(2)
    patients: Said = [
        (10, [LEAVES[a]], [LEAVES[(a + by) % 8]])
        for a, by in zip(draw.integers(0, 8, 300), draw.integers(1, 8, 300), strict=True)
    ]
    stays, one = measured(patients), measured(patients, group=lambda n: f"g{n // 10}")
    found = CHECK.run(
        measured(
            [*patients, (90, ["cat"], ["saw"])], group=lambda n: f"g{n // 10 if n < 3000 else n}"
        )
    )
    (swap,) = (f for f in found.findings if f.nodes == ("cat", "saw"))

    assert len(CHECK.run(stays).findings) > 3
    assert CHECK.run(one).findings == ()
    assert swap.evidence["instances"] > swap.evidence["counted"] >= 90


def test_a_label_taken_for_one_above_it_is_in_a_table_of_its_own() -> None:
    said: Said = [(40, [leaf], ["animal"]) for leaf in ANIMALS]
    lines = most_exchanged(measured([*right(200), *stray(3), *said]), above=True).to_dicts()

    assert {(line["a"], line["b"]) for line in lines} == {
        tuple(sorted(("animal", leaf))) for leaf in ANIMALS
    }
    assert not any(line["passes"] for line in lines)


def test_the_tables_have_what_no_finding_tells() -> None:
    """An answer in place of any label has no pairs; one of 19 times is too few to look at.

    A pair as expected is listed, unmarked.
    """
    names = [f"n{place:02}" for place in range(30)]
    flat = tree(f"{' '.join(names)} < top")
    diffuse: Said = [(2, [label], [names[0]]) for label in names[1:]]
    few: Said = [(1, [label], ["n29"]) for label in names[1:20]]
    known = measured([*right(9, names), *stray(1, names[:20]), *diffuse, *few], None, flat)
    (line,) = most_uneven(known).to_dicts()

    assert not any(finding.key for finding in CHECK.run(known).findings)
    assert (line["node"], line["falsely"], line["missed"]) == ("n00", 58 + 19, 19)
    assert (line["hits"], line["answers"], line["labelled"]) == (9, 58 + 28, 28)
    assert line["share"] == 77 / 86
    pairs_told = most_exchanged(known).to_dicts()
    assert len(pairs_told) == MOST_PAIRS
    assert [row["excess"] for row in pairs_told] == sorted(
        (row["excess"] for row in pairs_told), reverse=True
    )
    assert not all(row["passes"] for row in pairs_told)


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
    evidence = dict(finding.evidence)
    evidence["excess"] = evidence["instances"] - evidence["expected_exchanges"]

    assert finding.nodes == ("car", "saw")
    for name, digits in (("instances", 0), ("expected_exchanges", 1), ("excess", 1)):
        assert f"{evidence[name]:.{digits}f}" in page, name
    assert f"{evidence['q_value']:.4f}" in page

"""model_confuses: planted exchanges are found and stand first, chance is not, worked by hand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import binom

from audit.alignment.measure import measure_model
from audit.base.plurals import filled
from audit.checks.check import TOP_PARTS
from audit.checks.rules import model_confuses
from audit.checks.shared.exchanged_pairs import MOST_PAIRS, most_exchanged, most_uneven
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.findings import CheckResult, Finding
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


def test_labels_of_a_branch_only_ask_unless_one_answer_is_most_of_it() -> None:
    """The hierarchy calls them alike; in one without branches all labels are as far apart."""
    both_ways: Said = [*right(100), *stray(2), (20, ["cat"], ["dog"]), (20, ["dog"], ["cat"])]
    one_way: Said = [*right(100), *stray(2), (40, ["cat"], ["dog"])]
    flat = tree(f"{' '.join(LEAVES)} < top")
    found = [checked(both_ways), checked(one_way), checked(SWAPPED), checked(both_ways, None, flat)]

    assert [one.asks for check in found for one in check.findings] == [True, False, False, False]


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


GIVEN = 4 * 43 + 3 * 3
"""Instances of these on which a saw is the answer in place of another label."""


def leaning_of(found: CheckResult) -> Finding:
    (leaning,) = (finding for finding in found.standing if finding.key)
    return leaning


def test_pairs_of_an_answer_that_the_model_leans_to_are_one_finding() -> None:
    found = checked(LEANS)
    leaning = leaning_of(found)

    assert (leaning.id, leaning.nodes) == ("model_confuses:saw:answer", ("saw",))
    assert {part.nodes for part in leaning.parts} == {(x, "saw") for x in ANIMALS}
    assert {f.nodes for f in found.standing if not f.key} == {
        ("car", "cup"),
        ("car", "pen"),
        ("cup", "pen"),
    }
    assert {f.nodes for f in found.findings if f.folded_into} == {(x, "saw") for x in ANIMALS}


def test_a_leaning_has_the_numbers_of_its_answer_and_the_excess_of_its_pairs() -> None:
    found = checked([*LEANS, (9, ["cow"], ["saw"])])
    leaning = leaning_of(found)
    pairs_of_it = [f for f in found.findings if f.folded_into]
    evidence = leaning.evidence
    (part,) = (p for p in leaning.parts if p.nodes == ("cow", "saw"))

    assert (evidence["falsely_given"], evidence["given_missed"]) == (GIVEN + 9, 21)
    assert (evidence["answers"], evidence["labels"]) == (200 + GIVEN + 9, 4)
    assert leaning.touched == GIVEN + 9
    assert leaning.touched * leaning.strength == pytest.approx(
        sum(f.touched * f.strength for f in pairs_of_it)
    )
    assert evidence["q_value"] == pytest.approx(8 * binom.sf(GIVEN + 8, GIVEN + 30, 0.5))
    assert (part.evidence["instances"], part.evidence["answered"]) == (55, 52)
    assert leaning.parts[0] == part


def test_few_labels_or_exchanges_both_ways_are_no_leaning() -> None:
    others = [*right(200), *stray(3), *stray(60, THINGS)]
    two: Said = [(40, [leaf], ["saw"]) for leaf in ANIMALS[:2]]
    both_ways = [*two, (40, ["cow"], ["saw"]), *[(30, ["saw"], [leaf]) for leaf in ANIMALS[:3]]]

    for said in (two, both_ways):
        found = checked([*others, *said])
        assert sum("saw" in finding.nodes for finding in found.findings) >= 2
        assert not any(finding.key for finding in found.findings)
        assert found.folded == 0


def test_pairs_that_mostly_miss_an_answer_are_no_parts_of_it() -> None:
    """It is given in place of any label, and missed for three of them above all."""
    names = [f"n{place:02}" for place in range(30)]
    flat = tree(f"{' '.join(names)} < top")
    diffuse: Said = [(6, [label], ["n00"]) for label in names[1:]]
    missed: Said = [(25, ["n00"], [label]) for label in names[1:4]]
    given: Said = [(10, [label], ["n00"]) for label in names[1:4]]
    found = checked([*stray(1, names), *diffuse, *missed, *given], hierarchy=flat)

    assert sum("n00" in finding.nodes for finding in found.findings) == 3
    assert not any(finding.key or "falsely" in finding.statement for finding in found.findings)


def test_a_pair_with_most_of_what_gives_an_answer_is_the_finding() -> None:
    found = checked([*LEANS, (160, ["cat"], ["saw"])])
    told = {f.nodes: f.statement for f in found.standing}
    sentence = "The model answers saw in place of any other label on {falsely_given} instances"

    assert not any(finding.key for finding in found.findings)
    assert sentence in told["cat", "saw"]
    assert [nodes for nodes, said in told.items() if sentence in said] == [("cat", "saw")]


def test_what_is_answered_above_or_below_the_label_leans_to_nothing() -> None:
    """The answer `animal` for animals is no exchange, however often it is given."""
    said: Said = [(40, [leaf], ["animal"]) for leaf in ANIMALS]
    other: Said = [(62, [leaf], ["animal"]) for leaf in THINGS]
    back: Said = [(58, ["animal"], [leaf]) for leaf in THINGS]
    found = checked([*right(200), *stray(3), *stray(40, ANIMALS), *said, *other, *back])

    assert sum("animal" in finding.nodes for finding in found.findings) == 3
    assert not any(finding.key for finding in found.findings)


@pytest.mark.parametrize(
    ("group", "leans"),
    [
        (lambda n: None, True),
        (lambda n: f"g{n}", True),
        (lambda n: f"g{n}" if n % 2 else None, True),
        (lambda n: f"g{n // 2}", True),
        (lambda n: f"g{n % 100}" if n % 3 else None, True),
        (lambda n: "one", False),
        (lambda n: f"g{n % 3}", False),
    ],
    ids=["none", "own", "some missing", "pairs", "hundred", "one", "three"],
)
def test_a_leaning_is_tested_over_groups(
    group: Callable[[int], str | None], *, leans: bool
) -> None:
    """Three groups that all lean one way are as likely as one in eight."""
    found = CHECK.run(measured(LEANS, group=group))

    assert any(finding.key for finding in found.findings) is leans
    assert len([f for f in found.findings if not f.key]) == 7


def test_the_cases_of_a_leaning_are_all_instances_that_give_it_falsely() -> None:
    known = measured([(9, ["saw"], ["saw"]), *LEANS])
    leaning = leaning_of(CHECK.run(known))
    each = [both for n, *both in [(9, ["saw"], ["saw"]), *LEANS] for _ in range(n)]
    numbers_ = CHECK.cases(known, leaning)

    assert len(numbers_) == leaning.touched == GIVEN
    assert numbers_.tolist() == sorted(numbers_.tolist())
    assert all(each[n][1] == ["saw"] != each[n][0] for n in numbers_)


def test_a_leaning_names_the_labels_missed_most_often_whether_or_not_they_are_pairs() -> None:
    """A car is answered with a saw more often than a cat is, and a saw with a car as often."""
    both_ways: Said = [(50, ["car"], ["saw"]), (50, ["saw"], ["car"])]
    counted = Counter[str]()
    for n, (label,), answers in [*LEANS, *both_ways]:
        counted[label] += n * (answers == ["saw"] != [label])
    leaning = leaning_of(checked([*LEANS, *both_ways]))

    assert "car" not in {node for part in leaning.parts for node in part.nodes}
    said = re.findall(r"(\w+) \((\d+)\)", filled(leaning.statement, leaning.evidence))
    assert [int(n) for _, n in said] == sorted(counted.values(), reverse=True)[:3]
    assert all(counted[label] == int(n) for label, n in said)


def test_a_leaning_reads_well() -> None:
    leaning = leaning_of(checked([*LEANS, (4, ["saw"], ["dog"])]))
    said = f"The model answers saw in place of another label on {GIVEN} instances, most often of "
    written = filled(leaning.statement, leaning.evidence)

    assert re.search(rf"^{said}\w+ \(43\), \w+ \(43\), \w+ \(43\)", written)
    assert "Either the labels leave it out" in written
    assert not re.search(r"[{}]", written)


def test_only_as_many_parts_are_lines_as_elsewhere() -> None:
    many = [f"n{place:02}" for place in range(20)]
    flat = tree(f"{' '.join(many)} < top")
    said: Said = [(20, [label], ["n00"]) for label in many[1:14]]
    leaning = leaning_of(checked([*said, *stray(60, many[14:])], hierarchy=flat))

    assert leaning.evidence["labels"] == 13
    assert len(leaning.parts) == TOP_PARTS


def test_the_tables_have_what_no_finding_tells() -> None:
    """An answer in place of any label has no pairs; one of 19 times is too few to look at.

    A pair as expected is listed, unmarked.
    """
    names = [f"n{place:02}" for place in range(30)]
    flat = tree(f"{' '.join(names)} < top")
    diffuse: Said = [(2, [label], [names[0]]) for label in names[1:]]
    few: Said = [(1, [label], ["n29"]) for label in names[1:20]]
    known = measured([*right(9, names), *stray(1, names[:20]), *diffuse, *few], None, flat)
    (line,) = most_uneven(known)

    assert not any(finding.key for finding in CHECK.run(known).findings)
    assert (line["node"], line["falsely"], line["missed"]) == ("n00", 58 + 19, 19)
    assert (line["hits"], line["answers"], line["labelled"]) == (9, 58 + 28, 28)
    assert line["share"] == 77 / 86
    pairs_told = most_exchanged(known)
    assert len(pairs_told) == MOST_PAIRS
    assert [row["excess"] for row in pairs_told] == sorted(
        (row["excess"] for row in pairs_told), reverse=True
    )
    assert not all(row["passes"] for row in pairs_told)
    assert most_exchanged(replace(known, model=None)) == ()
    assert most_uneven(replace(known, model=None)) == ()


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

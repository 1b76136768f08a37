"""model_confuses: planted exchanges are found and stand first, chance is not, worked by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from audit.alignment.measure import measure_model
from audit.checks.rules.model_confuses import MOST_PAIRS, most_exchanged, most_uneven
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted

CHECK = CHECK_OF["model_confuses"]

ZOO = tree("animal thing < top", "cat dog cow hen < animal", "saw car cup pen < thing")
LEAVES = ("cat", "dog", "cow", "hen", "saw", "car", "cup", "pen")
BY_CHANCE = 4
"""Of 20 audits without effects, at a rate of 5 %, more have findings in 3 of 1,000 cases."""
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

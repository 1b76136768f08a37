"""What a model takes for each other, in whole audits, against plain Python over its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import gammainc
from scipy.stats import binom

import audit
from fixtures import brute_force as plain
from fixtures import brute_force_answers as answers
from fixtures import brute_force_metrics as places
from fixtures import brute_force_scores as scored
from fixtures.brute_force_counts import in_line
from fixtures.examples import examples
from fixtures.plain_statistics import rates_of, wilson
from fixtures.small_worlds import World, score_worlds, tree_of

THRESHOLDS = st.sampled_from([1e-5, 1 / 64, 31 / 64, 0.5, 1.0])


def threshold(name: str, value: float) -> dict[str, Any]:
    return {f"{name}_threshold": {"value": value, "reason": "drawn"}}


def aggregated(world: World) -> list[list[float]]:
    """What reaches each node from itself and its descendants, each once, of each instance."""
    below = [plain.at_or_below(world.parents, node) for node in world.parents]
    return [
        [math.fsum(score for node, score in line.items() if node in own) for own in below]
        for line in world.predicted.values()
    ]


def pairs_of(result: audit.AuditResult) -> dict[tuple[str, str], dict[str, Any]]:
    assert result.model is not None
    rows = result.model.pairs.collect().to_dicts()
    found = {(row["a"], row["b"]): row for row in rows}
    assert list(found) == sorted(found)
    return found


def co_predicted(world: World, decided: Sequence[set[str]]) -> dict[tuple[str, str], int]:
    return plain.joints(world.parents, {str(n): own for n, own in enumerate(decided)})


def same_pairs(world: World, result: audit.AuditResult, at: float, decided: list[set[str]]) -> None:
    found, values, nodes = pairs_of(result), aggregated(world), list(world.parents)
    joint, bits = scored.joints(values, at), scored.confusion_sums(values, at)
    together, n = co_predicted(world, decided), len(values)
    assert set(found) == {(nodes[a], nodes[b]) for a, b in joint}
    for (a, b), both in joint.items():
        row = found[nodes[a], nodes[b]]
        support = [sum(line[node] >= at for line in values) for node in (a, b)]
        assert [row["support_a"], row["support_b"], row["joint"]] == [*support, both]
        assert row["co_predicted"] == together.get((nodes[a], nodes[b]), 0)
        assert row["rate"] == pytest.approx(both / n, rel=1e-12)
        assert row["confusion"] == pytest.approx(bits[a, b] / n, rel=1e-12, abs=1e-12)
        assert row["expected"] == pytest.approx(support[0] * support[1] / n, rel=1e-12)
        assert row["lift"] == pytest.approx(both * n / (support[0] * support[1]), rel=1e-12)
        assert row["lca"] == places.meeting(world.parents, nodes[a], nodes[b])
        assert row["p_value"] is row["expected_length"] is row["joint_entailed"] is None


@given(score_worlds(), THRESHOLDS, THRESHOLDS)
def test_pairs_of_scores_are_counted_from_one_threshold_and_decided_from_another(
    world: World, confusion: float, decision: float
) -> None:
    policy = audit.Policy(**threshold("confusion", confusion), **threshold("decision", decision))
    decided = [
        {node for node, score in line.items() if score >= decision}
        for line in world.predicted.values()
    ]
    same_pairs(world, world.audited(policy, single_label=False), confusion, decided)


@given(score_worlds(single=True))
def test_where_scores_sum_to_one_the_first_of_the_highest_is_the_answer(world: World) -> None:
    decided = [{places.best_node(line)} - {None} for line in world.predicted.values()]

    same_pairs(world, world.audited(), 1e-5, decided)  # type: ignore[arg-type]


@examples(25)
@given(score_worlds())
def test_pairs_of_sets_are_those_of_labels_that_say_the_same(world: World) -> None:
    sets = {name: set(own) for name, own in world.predicted.items()}
    rows = [(name, node) for name, own in sets.items() for node in sorted(own)]
    given_sets = {"id": [name for name, _ in rows], "label": [node for _, node in rows]}
    dataset = world.dataset
    result = audit.run_audit(dataset, predictions=audit.load_predictions(given_sets, dataset))
    labels = replace(
        world, rows={name: sorted(own) for name, own in sets.items() if own}, scores=None
    )
    wanted = {(row["a"], row["b"]): row for row in labels.audited().pairs.collect().to_dicts()}
    found = pairs_of(result)
    assert set(found) == set(wanted)
    for pair, row in found.items():
        for name in ("support_a", "support_b", "joint", "relation", "lca"):
            assert row[name] == wanted[pair][name]
        assert row["co_predicted"] == row["joint"]
        assert row["confusion"] == pytest.approx(wanted[pair]["confusion"], rel=1e-12)


@given(score_worlds(), st.sampled_from([1 / 64, 0.5]))
def test_each_wrong_answer_stands_in_the_first_place_that_fits(world: World, at: float) -> None:
    policy = audit.Policy(**threshold("decision", at))
    assume(not world.predictions(single_label=False).closed)  # else both are closed upwards first
    result = world.audited(policy, single_label=False)
    decided = [{n for n, s in line.items() if s >= at} for line in world.predicted.values()]
    wanted = answers.counted(world.parents, zip(world.golds, decided, strict=True))
    assert result.model is not None
    (found,) = result.model.frames["answered"].to_dicts()
    labels = [label for own in world.golds for label in own]
    highest = sorted(answers.branches(world.parents, labels))

    assert {name: found[name] for name in wanted} == wanted
    assert (
        sum(found[name] for name in ("related", "beside", "within", "elsewhere"))
        == (found["wrong"])
    )
    assert found["precision"] == (
        wanted["right"] / wanted["answers"] if wanted["answers"] else None
    )
    assert found["recall"] == (wanted["right"] / wanted["labels"] if wanted["labels"] else None)
    assert found["branches"] == (highest if len(highest) <= 6 else [])


@examples(25)
@given(score_worlds(single=True))
def test_one_label_each_without_scores_is_measured_as_the_highest_score(world: World) -> None:
    """Where each instance has one label too; else the labels are sets, as they were given."""
    one = {name: best for name, line in world.predicted.items()
           if (best := places.best_node(line)) is not None}  # fmt: skip
    rows = {name: [sorted(own)[0]] for name, own in world.labels.items() if own and name in one}
    if not rows:
        return
    alone = replace(world, rows=rows, scores={name: {one[name]: 1.0} for name in rows})
    dataset = alone.dataset
    named = {"id": [*rows], "label": [one[name] for name in rows]}
    sets = audit.load_predictions(named, dataset)
    scored_ = audit.load_predictions({**named, "score": [1.0] * len(rows)}, dataset,
                                     single_label=True)  # fmt: skip
    by_sets, by_scores = (audit.run_audit(dataset, predictions=one) for one in (sets, scored_))
    metrics = {row["name"] for row in by_sets.metric_rows}

    assert sets.set_valued
    assert "mistake_severity" in metrics
    assert [*by_sets.metric_rows] == [
        row for row in by_scores.metric_rows if row["name"] in metrics
    ]


TREE = tree_of("x0 x1 x2 < x", "y0 y1 < y", "w < x y", "x y z < all")


def drawn(seed: int, instances: int, groups: int = 0, several: bool = False) -> World:
    """A model that answers a label, its neighbour, often x0, or anything."""
    random, leaves = Random(seed), ["w", "x0", "x1", "x2", "y0", "y1", "z", "x"]
    rows, scores = dict[str, list[str]](), dict[str, dict[str, float]]()
    for n in range(instances):
        own = random.sample(leaves, random.choice((1, 1, 2)) if several else 1)
        kind = random.random()
        said = own if kind < 0.4 else ["x0"] if kind < 0.65 else ["y1" if "y0" in own else "x1"]
        if kind > 0.85:
            said = random.sample(leaves, 2 if several else 1)
        rows[f"i{n:03}"] = own
        scores[f"i{n:03}"] = dict.fromkeys(said, 1.0)
    group = {name: f"g{random.randrange(groups)}" for name in rows} if groups else None
    return World(*TREE, rows, groups=group, scores=scores)


def mistakes_of(world: World) -> tuple[list[set[int]], list[set[int]]]:
    place = {node: number for number, node in enumerate(world.parents)}
    labels = [{place[node] for node in own} for own in world.golds]
    said = [{place[n] for n, s in own.items() if s >= 0.5} for own in world.predicted.values()]
    return labels, said


@pytest.mark.parametrize(
    ("seed", "instances", "several"),
    [(5, 160, False), (5, 160, True), (1, 14, True), (2, 14, True), (3, 16, False), (4, 20, True)],
)
def test_exchanges_of_labels_are_counted_and_expected_as_in_plain_python(
    seed: int, instances: int, several: bool
) -> None:
    world = drawn(seed, instances, several=several)
    result = world.audited(single_label=not several)
    nodes, (labels, said) = list(world.parents), mistakes_of(world)
    expected = scored.exchanges_expected(labels, said, len(nodes), steps=150)
    missed, false = ([x for m in mistaken for x in m] for mistaken in zip(*(
        (own - answer, answer - own)
        for own, answer in zip(labels, said, strict=True)
        if own - answer and answer - own
    ), strict=True))  # fmt: skip
    p_values, rows = dict[Any, float](), dict[Any, tuple[int, int, float]]()
    for a, b in combinations(range(len(nodes)), 2):
        able = (a in missed and b in false) or (b in missed and a in false)
        if in_line(world.parents, nodes[a], nodes[b]) or not able:
            continue
        forth, back = (scored.exchanged(labels, said, *ends) for ends in ((a, b), (b, a)))
        by_chance = expected[a, b] + expected[b, a]
        p_values[a, b] = float(gammainc(forth + back, by_chance)) if forth + back else 1.0
        rows[a, b] = forth, back, by_chance
    q_values = rates_of(p_values)
    assert result.model is not None
    found = {(row["a"], row["b"]): row for row in result.model.frames["exchanged_pairs"].to_dicts()}
    assert set(found) == {(nodes[a], nodes[b]) for (a, b), row in rows.items() if row[0] + row[1]}
    excess = [row["excess"] for row in result.model.frames["exchanged_pairs"].to_dicts()]
    assert excess == sorted(excess, reverse=True)
    for (a, b), (forth, back, by_chance) in rows.items():
        if forth + back:
            row = found[nodes[a], nodes[b]]
            have = [{n for n, own in enumerate(labels) if end in own} for end in (a, b)]
            ways = [(missed.count(x), false.count(y)) for x, y in ((a, b), (b, a))]
            assert row["margin"] == min(min(way) for way in ways if min(way))
            assert (row["forth"], row["back"], row["observed"]) == (forth, back, forth + back)
            assert row["expected"] == pytest.approx(by_chance, rel=1e-6)
            assert row["excess"] == pytest.approx(forth + back - by_chance, rel=1e-5, abs=1e-6)
            assert row["q_value"] == pytest.approx(q_values[a, b], rel=1e-5)
            assert row["passes"] == (q_values[a, b] <= 0.05)
            assert (row["labelled_a"], row["labelled_b"]) == tuple(map(len, have))
            assert row["labelled"] == len(have[0] ^ have[1])
    check = next(one for one in result.checks if one.name == "model_confuses")
    assert check.denominator == len(rows)


@pytest.mark.parametrize("groups", [0, 40])
def test_answers_that_are_given_falsely_far_more_often_than_missed_are_those_of_a_plain_search(
    groups: int,
) -> None:
    world = drawn(8, 240, groups)
    result = world.audited()
    labels = world.golds
    answers = [set(own) for own in world.predicted.values()]
    group_of = world.groups or {name: name for name in world.predicted}
    falsely, missed = dict[str, list[str]](), dict[str, list[str]]()
    for name, own, said in zip(world.predicted, labels, answers, strict=True):
        for node in said - own:
            above, kin = plain.above(world.parents, node), plain.at_or_below(world.parents, node)
            if not own & kin and own - said - above:
                falsely.setdefault(node, []).append(group_of[name])
        for node in own - said:
            above, kin = plain.above(world.parents, node), plain.at_or_below(world.parents, node)
            if not said & kin and said - own - above:
                missed.setdefault(node, []).append(group_of[name])
    p_values = {}
    for node in {*falsely, *missed}:
        given_, lacking = falsely.get(node, []), missed.get(node, [])
        signs = [given_.count(g) - lacking.count(g) for g in {*given_, *lacking}]
        more, fewer = sum(s > 0 for s in signs), sum(s < 0 for s in signs)
        p_values[node, ""] = float(binom.sf(more - 1, more + fewer, 0.5)) if more else 1.0
    q_values = rates_of(p_values)
    wanted = {
        node: q for (node, _), q in q_values.items()
        if q <= 0.05 and len(falsely.get(node, [])) >= max(20, 3 * len(missed.get(node, [])))
    }  # fmt: skip
    assert result.model is not None
    found = {row["node"]: row for row in result.model.frames["answers"].to_dicts()}
    assert set(found) == set(wanted) >= {"x0"}
    for node, row in found.items():
        times = len(falsely[node])
        assert row["falsely"] == times
        assert row["missed"] == len(missed.get(node, []))
        assert row["hits"] == sum(
            node in own & said for own, said in zip(labels, answers, strict=True)
        )
        assert row["answers"] == sum(node in said for said in answers)
        assert row["labelled"] == sum(node in own for own in labels)
        assert row["share"] == pytest.approx(times / row["answers"])
        assert row["q_value"] == pytest.approx(wanted[node], rel=1e-9)


@pytest.mark.parametrize(("second", "told"), [(0, {"y1"}), (10, set())])
def test_a_pair_says_its_answer_that_is_given_falsely_far_more_often_than_missed(
    second: int, told: Any
) -> None:
    exchanged = {("y0", "y1"): 25, ("y1", "y0"): second, ("x0", "x1"): 25, ("x1", "x0"): 10}
    exchanged |= {(node, node): 40 for node in ("x0", "x1", "y0", "y1")}
    each = [ends for ends, times in exchanged.items() for _ in range(times)]
    rows = {f"i{n}": [own] for n, (own, _) in enumerate(each)}
    scores = {f"i{n}": {said: 1.0} for n, (_, said) in enumerate(each)}
    world = World(*TREE, rows, scores=scores)
    (check,) = (one for one in world.audited().checks if one.name == "model_confuses")
    (found,) = (one for one in check.findings if one.nodes == ("y0", "y1"))
    assert {one for one in found.nodes if f"gives {one} too often" in found.statement} == told


def suspected(world: World, single: bool) -> dict[tuple[str, str], float]:
    model = world.audited(single_label=single).model
    assert model is not None
    suspects = model.frames["suspects"].to_dicts()
    return {(row["instance"], row["node"]): row["margin"] for row in suspects}


def test_a_model_of_balanced_classes_is_weighed_before_it_contradicts_a_label() -> None:
    """A quarter is b, whose odds are given three times too high."""
    weighed = {"i": 0.02, "j": 0.08, "k": 0.3, "l": 0.6}
    given_ = {i: 3 * b / (1 + 2 * b) for i, b in weighed.items()}
    scores = {i: {"a": 1 - b, "b": b} for i, b in given_.items()}
    labels = {"i": ["b"], "j": ["a"], "k": ["a"], "l": ["a"]}
    world = World(*tree_of("a b < all"), labels, scores=scores)
    wanted = {("i", "b"): 0.02, ("l", "a"): 0.4}
    assert suspected(world, single=True) == pytest.approx(wanted, abs=1e-6)


def test_a_class_that_has_one_score_is_judged_by_it() -> None:
    scores = {"i": {"a": 0.9}, "j": {"a": 0.2}, "k": {"a": 0.9, "b": 0.6}}
    world = World(*tree_of("a b < all"), {"i": ["a"], "j": ["b"], "k": ["a"]}, scores=scores)
    assert suspected(world, single=False).keys() == {("j", "b"), ("k", "b")}


def same_behaviours(world: World, result: audit.AuditResult) -> None:
    """Leaves and children of the root count where they have a hundredth of the mass."""
    parents = world.parents
    leaves = [node for node in parents if not places.children(parents, node)]
    branches = [node for node in parents if places.depth(parents, node) == 1]
    showing: dict[str, list[str]] = {}
    for name, line in world.predicted.items():
        total = math.fsum(line.values()) or 1.0
        own = [line.get(node, 0) / total for node in leaves]
        above = [
            math.fsum(line.get(low, 0) for low in plain.at_or_below(parents, node)) / total
            for node in branches
        ]
        own, above = ([part for part in parts if part >= 0.01] for parts in (own, above))
        halves = all(0.45 <= max(parts, default=0) <= 0.55 for parts in (own, above))
        matching = {
            "confident": len(own) == 1,
            "split": len(own) == len(above) == 2 and halves,
            "contained": len(own) > 1 and len(above) == 1,
            "spread": len(above) > 3,
        }
        for kind, holds in matching.items():
            showing.setdefault(kind, []).extend([name] * holds)
    assert result.model is not None
    found = {row["name"]: row for row in result.model.frames["behaviours"].to_dicts()}
    assert set(found) == set(showing)
    for kind, names in showing.items():
        row, n = found[kind], len(world.predicted)
        assert (row["instances"], row["of"]) == (len(names), n)
        assert (row["low"], row["high"]) == pytest.approx(wilson(len(names), n), abs=1e-12)


@given(score_worlds(single=True))
def test_kinds_of_behaviour_are_those_of_a_plain_search(world: World) -> None:
    same_behaviours(world, world.audited(single_label=True))


FOUR = tree_of("x0 x1 < x", "y0 < y", "w < x y", "x y z v < all")
SHARED: Mapping[str, Mapping[str, float]] = {
    "one leaf": {"x0": 1.0},
    "another at the limit": {"x0": 0.99, "y0": 0.01},
    "another below it": {"x0": 0.9921875, "y0": 0.0078125},
    "two of one branch": {"x0": 0.5, "x1": 0.5},
    "halves at their limit": {"x0": 0.55, "y0": 0.45},
    "halves beyond it": {"x0": 0.5625, "y0": 0.4375},
    "three leaves of two branches": {"x0": 0.25, "x1": 0.25, "y0": 0.5},
    "a leaf of both branches": {"w": 0.5, "x0": 0.25, "y0": 0.25},
    "four branches": {"x0": 0.25, "y0": 0.25, "z": 0.25, "v": 0.25},
    "one of them just below": {"x0": 0.4921875, "y0": 0.25, "z": 0.25, "v": 0.0078125},
    "a branch without a leaf": {"x": 0.5, "y0": 0.5},
    "the root alone": {"all": 1.0},
}


def test_shares_just_at_a_limit_show_the_behaviour() -> None:
    world = World(*FOUR, {name: ["x0"] for name in SHARED}, scores=SHARED)

    same_behaviours(world, world.audited(single_label=True))


STATED: Any = [
    {"name": "one leaf", "leaves": 1, "at_least": 0.25},
    {"name": "two deep", "nodes": (2, 3), "depth": 2, "largest_node": (0.25, 0.5)},
    {"name": "large", "largest_leaf": (0.5, 0.625)},
]


def test_queries_of_the_policy_count_what_reaches_their_share_and_lies_between_their_ends() -> None:
    world = World(*FOUR, {name: ["x0"] for name in SHARED}, scores=SHARED)
    result = world.audited(audit.Policy(queries=STATED), single_label=True)
    assert result.model is not None
    found = {row["name"]: row["instances"] for row in result.model.frames["behaviours"].to_dicts()}
    parents = world.parents
    leaves = [node for node in parents if not places.children(parents, node)]
    deep = [node for node in parents if places.depth(parents, node) == 2]
    counts = dict.fromkeys(("one leaf", "two deep", "large"), 0)
    for line in world.predicted.values():
        total = math.fsum(line.values())
        own = [line.get(node, 0) / total for node in leaves]
        above = [
            math.fsum(line.get(low, 0) for low in plain.at_or_below(parents, node)) / total
            for node in deep
        ]
        largest = max([part for part in above if part >= 0.01], default=0)
        counts["one leaf"] += sum(part >= 0.25 for part in own) == 1
        among = sum(part >= 0.01 for part in above)
        counts["two deep"] += 2 <= among <= 3 and 0.25 <= largest <= 0.5
        counts["large"] += 0.5 <= max(own) <= 0.625
    assert {name: found[name] for name in counts} == counts


def test_the_most_confused_pairs_of_labels_alone_have_intervals() -> None:
    leaves = [f"{x}{n}" for x in "abcd" for n in range(5)]
    edges = [(leaf, leaf[0]) for leaf in leaves]
    random = Random(2)
    rows = {f"i{n:03}": [random.choice(leaves[:8])] for n in range(60)}
    scores = {
        name: {
            own[0]: 0.5,
            **{leaf: random.randint(1, 9) / 20 for leaf in random.sample(leaves, 4)},
        }
        for name, own in rows.items()
    }
    world = World([*"abcd", *leaves], edges, rows, scores=scores)
    labels = {own[0] for own in rows.values()}
    found = pairs_of(world.audited(single_label=False))
    able = [p for p, row in found.items() if row["relation"] != "ancestor" and {*p} <= labels]
    able.sort(key=lambda pair: (-found[pair]["confusion"], pair))

    told = [pair for pair, row in found.items() if row["confusion_low"] is not None]
    assert sorted(told) == sorted(able[:15])
    for pair in told:
        row = found[pair]
        assert row["confusion_low"] < row["confusion"] < row["confusion_high"]
        error = math.sqrt(row["confusion"] * (1 - row["confusion"]) / len(rows))
        assert row["confusion_high"] - row["confusion_low"] < 4.5 * error

"""The metrics of a model as rows of a run, against plain Python."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import audit
from fixtures import brute_force as plain
from fixtures import brute_force_metrics as oracle
from fixtures.brute_force_metrics import Share
from fixtures.small_worlds import World, score_worlds, tree_of

Rows = dict[tuple[str, str, str], Share]
THRESHOLD = 0.5


def key(name: str, scope: str = "all", **parameters: object) -> tuple[str, str, str]:
    return name, scope, json.dumps(parameters, sort_keys=True)


def rows_of(result: audit.AuditResult) -> dict[tuple[str, str, str], Mapping[str, Any]]:
    assert result.model is not None
    rows = [*result.model.metrics, *result.model.beside]
    return {key(row["name"], row["scope"], **row["parameters"]): row for row in rows}


def moves(parents: plain.Parents, paper: bool) -> tuple[dict[int, set[str]], list[tuple[int, int]]]:
    """Cuts by number, and which two are compared, the fine one first."""
    top = oracle.root(parents)
    if paper:
        highest = max((oracle.level(parents, n) for n in parents if n != top), default=0)
        below = {n: own - {top} for n, own in parents.items() if n != top}
        cuts = {at: oracle.level_cut(below, at) for at in range(1, highest + 1)}
        return cuts, [(a, b) for a in cuts for b in cuts if a == 1 < b or b == a + 1]
    deepest = max(oracle.depth(parents, node) for node in parents)
    cuts = {at: oracle.depth_cut(parents, at) for at in range(1, deepest + 1)}
    return cuts, [(a, b) for a in cuts for b in cuts if b < a in (b + 1, deepest)]


def wanted_rows(world: World, single: bool, paper: bool, scope: str = "all") -> Rows:
    """Every metric of scores, of the instances with a label at or below the scope."""
    parents, kind = world.parents, "level" if paper else "depth"
    chosen = set(parents) if scope == "all" else plain.at_or_below(parents, scope)
    lines = list(zip(world.golds, world.predicted.values(), strict=True))
    lines = [(gold, line) for gold, line in lines if scope == "all" or gold & chosen]
    golds, scores = [gold for gold, _ in lines], [line for _, line in lines]
    cuts, compared = moves(parents, paper)
    found: Rows = {}

    def put(shares: Mapping[str, Share], **parameters: object) -> None:
        found.update({key(name, scope, **parameters): share for name, share in shares.items()})

    usual = {"aggregation": "descendants"}
    for at, cut in cuts.items() if single else ():
        put(oracle.accuracy(parents, cut, golds, scores), **usual, **{f"{kind}_to": at})
    for fine, coarse in compared:
        given = {**usual, f"{kind}_from": fine, f"{kind}_to": coarse}
        both = cuts[fine], cuts[coarse]
        put(oracle.uncertainty_alignment(parents, *both, scores), **given)
        if single:
            put(oracle.accuracy_alignment(parents, *both, golds, scores), **given)
    threshold: Any = {} if single else {"threshold": THRESHOLD}
    decided = [decided_of(line, single) for line in scores]
    for average in ("micro", "macro"):
        put(oracle.hierarchical(parents, golds, decided, average), average=average, **threshold)
    if single:
        put(oracle.mistake_severity(parents, golds, scores))
    elif scope == "all":
        deep = max(oracle.depth(parents, node) for node in parents) > 1
        ups: list[tuple[int | None, Any]] = [(0, {"up": 0})]
        ups += [(1, {"up": 1}), (None, {"depth_to": 1})] if deep else []
        for up, said in ups:
            put(oracle.set_f1(parents, golds, decided, up), **said, **threshold)
    return found


def decided_of(line: Mapping[str, float], single: bool) -> set[str]:
    best = oracle.best_node(line)
    if single:
        return set() if best is None else {best}
    return {node for node, score in line.items() if score >= THRESHOLD}


def same(found: Mapping[tuple[str, str, str], Mapping[str, Any]], wanted: Rows) -> None:
    assert set(found) == set(wanted)
    for name, (value, n) in wanted.items():
        row = found[name]
        assert row["n"] == n, name
        assert row["value"] == (
            None if value is None else pytest.approx(value, rel=1e-12, abs=1e-12)
        ), name
        if None not in (row["low"], row["high"]):
            assert row["low"] <= row["high"]


@pytest.mark.parametrize("levels", ["depth", "paper"])
@given(world=score_worlds(single=True))
def test_metrics_of_one_answer_an_instance_equal_plain_python(
    levels: Literal["depth", "paper"], world: World
) -> None:
    result = world.audited(audit.Policy(levels=levels), single_label=True)

    same(rows_of(result), wanted_rows(world, True, levels == "paper"))


@pytest.mark.slow
@given(score_worlds())
def test_metrics_of_any_number_of_answers_equal_plain_python(world: World) -> None:
    assume(not world.predictions(single_label=False).closed)  # else both are closed upwards first
    result = world.audited(single_label=False)

    same(rows_of(result), wanted_rows(world, False, False))
    assert result.model is not None
    assert {one["name"] for one in result.model.absent_metrics} >= {"accuracy", "mistake_severity"}


TWO_PARENTS = tree_of("x y < a", "z < b", "u v < a b", "a b < all", "w < all")


def beside_a_threshold(instances: int) -> World:
    """So many instances below a, one more below b, two at a leaf of its own, one without labels."""
    nodes, edges = TWO_PARENTS
    rows: dict[str, list[str]] = {f"a{n:02}": ["x", "y"][n % 2 :][:1] for n in range(instances)}
    rows |= {f"b{n:02}": ["z"] for n in range(instances + 1)}
    rows |= {"c1": ["w"], "c2": ["w"], "none": []}
    answers = ("x", "u", "z", "w", "y")
    scores = {
        name: {answers[n % 5]: 0.5 + n % 3 / 8, answers[(n + 2) % 5]: 0.5 - n % 3 / 8}
        for n, name in enumerate(rows)
    }
    return World(nodes, edges, rows, scores=scores)


@pytest.mark.parametrize("instances", [29, 30])
def test_an_inner_node_is_a_scope_from_thirty_instances_and_its_metrics_are_of_these(
    instances: int,
) -> None:
    world = beside_a_threshold(instances)
    wanted = wanted_rows(world, True, False)
    for scope in ["a"] * (instances > 29) + ["b"]:
        wanted |= wanted_rows(world, True, False, scope)

    same(rows_of(world.audited()), wanted)


def test_of_many_scopes_the_fifty_of_most_instances_are_measured() -> None:
    tops = [f"t{n:02}" for n in range(52)]
    nodes = [*tops, *(f"{top}.1" for top in tops)]
    rows = {
        f"{top}-{n}": [f"{top}.1"] for place, top in enumerate(tops) for n in range(30 + place % 3)
    }
    world = World(nodes, [(f"{top}.1", top) for top in tops], rows)
    few = replace(world, scores={name: {own[0]: 1.0} for name, own in rows.items()})
    scopes = {scope for _, scope, _ in rows_of(few.audited(single_label=True))} - {"all"}

    assert scopes == set(tops) - {"t48", "t51"}


PARTS: Any = [
    {"name": "left", "nodes": ["a"]},
    {"name": "right", "nodes": ["b"], "below": False},
    {"name": "both", "nodes": ["b", "w"]},
]


@given(st.lists(st.dictionaries(st.sampled_from("abuvwxyz"), st.sampled_from((0.0, 0.25, 0.5)),
                                min_size=1), min_size=1, max_size=6))  # fmt: skip
def test_preference_between_every_two_subgraphs_is_that_of_plain_python(
    lines: list[dict[str, float]],
) -> None:
    lines[0] |= {"x": 0.5}
    named = {f"i{n}": line for n, line in enumerate(lines)}
    world = World(*TWO_PARENTS, {name: ["x"] for name in named}, scores=named)
    found = rows_of(world.audited(audit.Policy(subgraphs=PARTS), single_label=False))
    parents = world.parents
    members = {"left": plain.at_or_below(parents, "a"), "right": {"b"}}
    members["both"] = plain.at_or_below(parents, "b") | {"w"}
    for one, first in members.items():
        for other, second in members.items():
            if one != other:
                shares = oracle.subgraph_preference(
                    parents, list(world.predicted.values()), first, second, False
                )
                own = {key(name, subgraphs=[[one], [other]]): s for name, s in shares.items()}
                same({name: found[name] for name in own}, own)


@pytest.mark.parametrize("reading", ["paths", "mimic"])
@given(world=score_worlds(single=True))
def test_in_other_readings_answers_and_entropies_at_a_cut_are_of_the_aggregated_values(
    reading: Literal["paths", "mimic"], world: World
) -> None:
    found = rows_of(world.audited(audit.Policy(aggregation=reading), single_label=True))
    parents, (cuts, compared) = world.parents, moves(world.parents, False)
    lines = [(line, plain.reaching(parents, line, reading)) for line in world.predicted.values()]
    for at, cut in cuts.items():
        right = ties = n = 0
        for gold, (_, values) in zip(world.golds, lines, strict=True):
            if oracle.expected(parents, cut, gold):
                best = max(values[node] for node in cut)
                first = min((node for node in cut if values[node] == best > 0), default="")
                n += 1
                right += first in set().union(*({x} | plain.above(parents, x) for x in gold))
                ties += best > 0 and [values[node] for node in cut].count(best) > 1
        own: Any = {"aggregation": reading, "depth_to": at}
        same(
            {name: found[name] for name in (key("accuracy", **own), key("ties", **own))},
            {key("accuracy", **own): oracle.mean(right, n), key("ties", **own): (ties, n)},
        )
    for fine, coarse in compared:
        massive = [one for one in lines if one[0]]
        below, up = (
            [split_of(parents, cuts[at], *one) for one in massive] for at in (fine, coarse)
        )
        sums = [math.fsum(h for h, _ in side) for side in (below, up)]
        given = {"aggregation": reading, "depth_from": fine, "depth_to": coarse}
        n, rest = len(massive), [math.fsum(r for _, r in side) for side in (below, up)]
        wanted = {
            "uncertainty_alignment": oracle.mean(sums[1] - sums[0], n),
            "abstraction_match": ((sums[0] - sums[1]) / sums[0] if sums[0] else None, n),
            "residual_from": oracle.mean(rest[0], n),
            "residual_to": oracle.mean(rest[1], n),
        }
        own_rows = {key(name, **given): share for name, share in wanted.items()}
        same({name: found[name] for name in own_rows}, own_rows)


def split_of(
    parents: plain.Parents, cut: set[str], line: Mapping[str, float], values: Mapping[str, float]
) -> tuple[float, float]:
    """Entropy over the nodes of a cut and what is under none of them, and the share of that."""
    under = set().union(*(plain.at_or_below(parents, node) for node in cut))
    rest = math.fsum(score for node, score in line.items() if node not in under)
    parts = [*(values[node] for node in cut), rest]
    total = math.fsum(parts)
    shares = [part / total for part in parts if part]
    return math.fsum(-share * math.log2(share) for share in shares), rest / total


def test_sets_without_scores_have_no_metric_that_needs_them_and_the_reason_is_told() -> None:
    nodes, edges = TWO_PARENTS
    world = World(nodes, edges, {"i": ["x"], "j": ["z", "w"]})
    sets = {"id": ["i", "i", "j"], "label": ["x", "u", "b"]}
    result = audit.run_audit(world.dataset, predictions=audit.load_predictions(sets, world.dataset))
    assert result.model is not None
    absent = {one["name"]: one["reason"] for one in result.model.absent_metrics}
    scored = replace(world, scores={"i": {"x": 1.0, "u": 1.0}, "j": {"b": 1.0}})
    wanted = wanted_rows(scored, False, False)

    assert set(absent) == {
        "accuracy", "accuracy_alignment", "recovered", "lost", "uncertainty_alignment",
        "abstraction_match", "subgraph_preference", "mistake_severity",
    }  # fmt: skip
    assert all(absent.values())
    same(rows_of(result), {k: v for k, v in wanted.items() if "depth_from" not in k[2]})
    assert result.model.frames["behaviours"].to_dicts() == []


def units(times: int, grouped: bool) -> World:
    """Twenty units with one instance each, or several that are alike."""
    nodes, edges = TWO_PARENTS
    rows = dict[str, list[str]]()
    scores, groups = dict[str, dict[str, float]](), dict[str, str]()
    for unit in range(20):
        for copy in range(times):
            name = f"u{unit:02}" if times == 1 else f"u{unit:02}-{copy}"
            rows[name] = ["x" if unit % 3 else "z"]
            scores[name] = {"x": 0.625, "z": 0.375} if unit % 7 else {"y": 0.25, "z": 0.75}
            groups[name] = f"u{unit:02}"
    return World(nodes, edges, rows, groups=groups if grouped else None, scores=scores)


def bounds(result: audit.AuditResult) -> dict[tuple[str, str, str], tuple[Any, ...]]:
    return {
        name: (row["value"], row["low"], row["high"])
        for name, row in rows_of(result).items()
        if name[0] not in ("ties", "mistake_severity")
    }


def test_what_is_resampled_is_the_group_whose_instances_count_as_one_where_they_are_alike() -> None:
    alone, alike, apart = (
        bounds(world.audited()) for world in (units(1, False), units(3, True), units(3, False))
    )
    for name, own in alone.items():
        assert alike[name] == pytest.approx(own, rel=1e-12, abs=1e-12)
    width = {name: high - low for name, (_, low, high) in apart.items() if low is not None}
    wider = [name for name in alone if alone[name][2] - alone[name][1] > 1.4 * width[name] > 0]
    assert len(wider) > 6


def test_a_seed_moves_intervals_alone_and_order_moves_nothing() -> None:
    world = units(1, False)
    turned = replace(
        world,
        rows=dict(reversed(world.rows.items())),
        scores=dict(reversed((world.scores or {}).items())),
    )
    first, other, order = (
        bounds(one.audited(seed=seed)) for one, seed in ((world, 0), (world, 1), (turned, 0))
    )
    assert order == first
    assert {name: own[0] for name, own in first.items()} == {
        name: own[0] for name, own in other.items()
    }
    assert sum(first[name][1:] != other[name][1:] for name in first) > 6


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_the_interval_of_a_share_is_about_two_standard_errors_wide(share: float) -> None:
    n = 400
    right = {f"i{place:03}": (place * 7) % n < share * n for place in range(n)}
    world = World(
        *tree_of("x y < all"),
        {name: ["x"] for name in right},
        scores={name: {"x" if hit else "y": 1.0} for name, hit in right.items()},
    )
    row = rows_of(world.audited(single_label=True))[
        key("accuracy", aggregation="descendants", depth_to=1)
    ]
    reach = 1.96 * math.sqrt(share * (1 - share) / n)

    assert (row["value"], row["n"]) == (share, n)
    assert row["low"] == pytest.approx(share - reach, abs=reach / 4)
    assert row["high"] == pytest.approx(share + reach, abs=reach / 4)

"""Each check of records says what a plain search over the rows finds, and nothing else."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import audit
from fixtures.audited_worlds import MOST_CANDIDATES, audited, proposed, told
from fixtures.examples import named
from fixtures.searches import SEARCHES, Proposal, Record, Said, Told, World, proposals
from fixtures.searches_of_chance import (
    SEARCHES_OF_CHANCE,
    missing_stratum,
    redundant_nodes,
    unexpected_pair,
)

ALL = SEARCHES | SEARCHES_OF_CHANCE

STATUS = {"error": "fail", "warning": "warn", "note": "note"}
SEVERE = ("error", "warning", "note")


ERROR_SHARE = 0.001
"""Share of the rows or instances from which an error counts as one."""


def said(check: str, found: Told, few: int = 0) -> dict[str, Any]:
    """What a search found, in the form of what the product told.

    Args:
        few: The counts of persons that severity reads as 1.
    """
    ids = {one.id(check) for one in found.findings}
    counted = [counts_as(one, few) for one in found.findings if not ids & {*one.folded_into}]
    worst = min(counted, key=SEVERE.index, default="pass")
    return {
        "applies": found.applies,
        "status": ...
        if found.applies is ...
        else STATUS.get(worst, "pass")
        if found.applies
        else "not_applicable",
        "denominator": found.denominator,
        "findings": {one.id(check): _fields(one) for one in found.findings},
    }


def counts_as(one: Said, few: int) -> str:
    share = one.evidence.get("share", 1)
    if 0 < (k := one.evidence.get("rows", 0)) <= few:
        share /= k
    return "warning" if one.severity == "error" and share < ERROR_SHARE else one.severity


def _fields(one: Said) -> dict[str, Any]:
    return {
        "severity": one.severity,
        "nodes": one.nodes,
        "touched": len(one.cases) if one.touched is None else one.touched,
        "strength": one.strength,
        "beyond": one.beyond,
        "aside": one.aside,
        "asks": one.asks,
        "folded_into": one.folded_into,
        "evidence": dict(one.evidence),
        "parts": [(nodes, dict(evidence)) for nodes, evidence in one.parts],
        "cases": set(one.cases),
    }


def alike(found: Any, wanted: Any) -> bool:
    """Whether both are the same, numbers to nine digits; an ellipsis is like anything."""
    if wanted is ...:
        return True
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(alike(found[k], wanted[k]) for k in wanted)
    if isinstance(wanted, list | tuple):
        return len(found) == len(wanted) and all(map(alike, found, wanted))
    if isinstance(wanted, float) and isinstance(found, int | float):
        return bool(found == pytest.approx(wanted, rel=1e-9, abs=1e-12))
    return bool(found == wanted)


def searched(world: World, result: audit.AuditResult) -> Iterator[tuple[str, Told]]:
    """What the search of each check finds."""
    yield from ((check, search(world)) for check, search in ALL.items())
    pairs = result.pairs.collect().to_dicts()
    yield "unexpected_pair", unexpected_pair(world, pairs)
    yield "redundant_nodes", redundant_nodes(world, pairs)
    yield "missing_stratum", missing_stratum(world, pairs, lambda names: _within(world, names))


def _within(world: World, names: tuple[str, ...]) -> Any:
    strata = [*world.policy.get("strata", ()), *names]
    return (
        audited(replace(world, policy=dict(world.policy) | {"strata": strata}))
        .pairs.collect()
        .to_dicts()
    )


def holds(world: World, **further: Any) -> audit.AuditResult:
    """Assert that every check says what its search finds."""
    result = audited(world, **further)
    for check, search in searched(world, result):
        found, wanted = told(result, check), said(check, search)
        assert alike(found, wanted), (check, found, wanted)
    mends(result, proposals(world))
    return result


WARD = (
    *((branch, "ward") for branch in "ABCD"),
    *((f"{branch}{n}", branch) for branch in "ABC" for n in "123"),
    *((f"{branch}1{n}", f"{branch}1") for branch in "AB" for n in "xyz"),
    *((f"D{n}", "D") for n in "1234"),
    ("C3", "D"),
)
CATCH_ALLS = {
    "A1z": "other",
    "A3": "other",
    "B1z": "unspecified",
    "B3": "unspecified",
    "D4": "other",
}
TITLES = {"A": "Lung", "A1": "Airway", "B": "Heart", "B1": "Valve"}
TITLES |= dict.fromkeys(("B1z", "B3"), "Unspecified")
WARD_POLICY = {
    "labelled_ancestors": "allowed",
    "residual_nodes": ["A1z", "A3", "D4"],
    "strata": ["site"],
    "drift": ["period"],
    "coding_columns": ["coder"],
    "day": "day",
    "lifelong": [{"condition": "asthma", "nodes": "A1x", "still": ["A1y"]}],
    "person": {"sex": "sex", "female": "F", "male": "M"},
    "person_rules": [{"nodes": "C1", "sex": "female", "source": "A book."}],
    "exclusive": [{"nodes": ["A2", ["B2", "C2"]], "reason": "By rule.", "severity": "error"}],
    "branch_rules": [
        {"branches": ["D", "*"], "rule": "watch", "reason": "R", "alone_or_first": ["D1"]},
        {"branches": ["A", "B"], "rule": "disjoint", "reason": "R", "break_down_depth": 2},
    ],
}


COMPANIONS = [
    {"if": "A2", "needs": ["C1", "C2"], "unless": "D1", "position": "before", "source": "B."},
    {"if": ["B2", "B1x"], "needs": "C3", "position": "after", "source": "B.", "severity": "error"}
    | {"valid_from": date(2020, 3, 1), "valid_to": date(2020, 9, 15)},
]
NOTES = (
    ("A1", ("B1",), False),
    ("A", ("B", "C2"), True),
    ("A1x", ("B1x",), False),
    ("B1x", ("A1x",), False),
    ("D1", ("C1", "C3"), False),
    ("C1", (), False),
)


def ward(seed: int, n: int, persons: int = 0, ordered: bool = False, **policy: Any) -> World:
    """Records of two sites and three coders, who have habits of their own.

    Args:
        persons: How many there are, each with several records; 0: nobody is known.
    """
    drawn, records = random.Random(seed), list[Record]()
    for k in range(n):
        one = drawn.random
        site, period = ("north", "south")[one() < 0.4], ("1", "2", "3")[drawn.randrange(3)]
        coder = drawn.choice(["ann", "bob", "cy"])
        person = drawn.randrange(persons) if persons else k
        split = "train" if person % 4 else "test"
        weights = dict.fromkeys(
            ["A1x", "A1y", "A2", "B1x", "B1y", "B2", "C1", "C2", "C3", "D1", "D2", "D3"], 1.0
        )
        weights |= {
            "A1z": 4.0,
            "B1z": 4.0 if site == "north" else 0.5,
            "B3": 1.5,
            "A3": 2.0,
            "D4": 0.4,
            "A1w": 0.05,
        }
        weights |= {"A1x": 0.2, "A1y": 3.0} if coder == "bob" else {}
        weights |= {"C1": 2.5} if site == "south" else {"C2": 2.0}
        weights |= {"B1": 2.0, "A1": 2.0, "A": 1.0} if coder == "cy" else {"A1": 0.3}
        weights |= {"B1y": 0.0} if site == "north" else {}
        weights |= {"ward": 0.2}
        weights |= {"C3": 0.0} if split == "train" else {"C3": 1.5}
        many = min(1 + int(drawn.expovariate(0.3)), 5 if period == "1" else 9)
        many = 0 if one() < 0.02 else many
        labels = drawn.choices([*weights], [*weights.values()], k=many)
        if persons and person % 3 == 0 and one() < 0.4:
            labels = [*labels, "A1x"]
        if records and one() < 0.04:
            labels = [*drawn.choice(records).labels]
        columns = {"site": site if one() < 0.97 else None, "period": period, "coder": coder}
        columns |= {
            "day": None
            if one() < 0.05
            else f"2020-{1 + drawn.randrange(12):02}-{1 + drawn.randrange(28):02}",
            "sex": "FM?"[person % 5 % 3],
        }
        group = f"p{person:03}" if persons else None
        records.append(Record(f"i{k:04}", tuple(labels), group, split, columns))
        if one() < 0.02:
            records.append(Record(f"i{k:04}", tuple(labels), group, "test", columns))
    return World(WARD, tuple(records), WARD_POLICY | policy, ordered, TITLES, CATCH_ALLS)


def mends(result: audit.AuditResult, wanted: Iterable[Proposal]) -> None:
    """Assert that a result proposes what a search would: of one label once, for certain if it can.

    Of several that are less certain the likely one counts for a label.
    """
    order, told = {id_: place for place, id_ in enumerate(result.findings["id"])}, proposed(result)
    asked = dict[Any, list[Proposal]]()
    for one in wanted:
        if one.finding in order:
            at = (one.instance, one.label) if one.label else (one.instance, one.finding)
            asked.setdefault(at, []).append(one)
    stated = {one.finding.split(":")[0] for some in asked.values() for one in some}
    for at, some in asked.items():
        made = [(key, own) for key, own in told.items() if at in (key[1:3], (key[1], key[0]))]
        assert len(made) == 1, (at, made, some)
        ((finding, _, _, change, certain, keep), own) = made[0]
        of_finding = [one for one in some if one.finding == finding]
        if not of_finding and finding.split(":")[0] not in stated:
            continue
        sure = [one for one in some if one.certain]
        first = min(sure, key=lambda one: order[one.finding], default=None)
        assert certain == bool(first), (at, made, some)
        assert first is None or first.finding == finding, (at, made, some)
        for one in of_finding:
            every = frozenset[str]().union(*(other.candidates for other in some))
            assert (one.change, one.keep) == (change, keep), (at, made, some)
            assert own <= every, (at, own, every)
            assert len(own) >= min(MOST_CANDIDATES, len(one.candidates)), (at, own, one)
    findings = {one.finding for some in asked.values() for one in some}
    labels = {(key[1], key[2]) for key in told if key[0] in findings and key[2]}
    assert labels <= asked.keys(), labels - asked.keys()


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A small hierarchy, records in two splits and groups, and rules of every kind."""
    ids = draw(st.permutations("abcdefgh"))[: draw(st.integers(3, 8))]
    edges = [
        (child, parent)
        for place, child in enumerate(ids[1:], 1)
        for parent in draw(st.sets(st.sampled_from(ids[:place]), min_size=1, max_size=2))
    ]
    written = st.lists(st.sampled_from([*ids, "no", "nor"]), max_size=7)
    groups, splits = (
        draw(st.sampled_from([(None,), given]))
        for given in (("p", "q", None), ("train", "test", None))
    )
    ordered = draw(st.booleans())
    records = draw(
        st.lists(
            st.builds(
                lambda i, labels, group, split: (i, tuple(labels), group, split),
                st.sampled_from("uvwxyz"), written, *map(st.sampled_from, (groups, splits)),
            ),
            min_size=1, max_size=9,
        )
    )  # fmt: skip
    nodes = [label in ids for _, labels, *_ in records for label in labels]
    assume(any(nodes) and 2 * sum(nodes) >= len(nodes))
    seen: dict[str, str | None] = {}
    first = records[0][0]
    sexes = {
        one: "F" if one == first else draw(st.sampled_from(["F", "M", "?"])) for one in "uvwxyz"
    }
    ages = {
        one: "18"
        if one == first
        else draw(st.sampled_from(["0", "17.9", "18", "124.5", "125", None]))
        for one in "uvwxyz"
    }
    rows = tuple(
        Record(i, labels, seen.setdefault(i, group), split, {"sex": sexes[i], "age": ages[i]})
        for i, labels, group, split in records
    )
    world = World(tuple(edges), rows, ordered=ordered)
    return World(world.edges, rows, draw(policies(world)), ordered)


@st.composite
def policies(draw: st.DrawFn, world: World) -> dict[str, Any]:
    """Rules that a record can keep, over nodes of which none is above another."""
    free = [
        (a, b)
        for a in world.nodes
        for b in world.nodes
        if a != b and a not in world.up[b] and b not in world.up[a]
    ]
    policy: dict[str, Any] = {"labelled_ancestors": draw(st.sampled_from(["fault", "allowed"]))}
    any_ = [*world.branches, "*"]
    named = [(a, b) for a, b in product(any_, any_) if a != b or a == "*"]
    policy["branch_rules"] = [
        {
            "branches": draw(st.sampled_from(named)),
            "rule": draw(st.sampled_from(["disjoint", "watch", "expected"])),
            "reason": "By rule.",
            "alone_or_first": draw(st.lists(st.sampled_from(world.nodes), max_size=2, unique=True)),
            "break_down_depth": draw(st.sampled_from([None, 1, 2])),
        }
        for _ in range(draw(st.integers(0, 2)))
    ]  # fmt: skip
    if free:
        a, b = draw(st.sampled_from(free))
        position = draw(st.sampled_from(["any", "before", "after"]))
        policy |= draw(
            st.sampled_from(
                [
                    {"exclusive": [{"nodes": (a, b), "reason": "By rule."}]},
                    {"companions": [{"if": a, "needs": b, "position": position, "source": "B."}]},
                ]
            )
        )
    policy["person"] = {"sex": "sex", "female": "F", "male": "M", "age": "age"}
    policy["person_rules"] = [
        {"nodes": draw(st.sampled_from(world.nodes)), "sex": "female", "source": "A book."},
        {"nodes": draw(st.sampled_from(world.nodes)), "age_from": 18, "source": "A book."},
        {"nodes": [draw(st.sampled_from(world.nodes))], "age_to": 124, "source": "B."},
    ]
    return policy


@given(worlds())
def test_every_check_of_rows_says_what_a_search_over_them_finds(world: World) -> None:
    holds(world)


SPELLS = (
    ("B1", None, date(2020, 4, 30)),
    ("B1x", date(2020, 5, 1), None),
    ("B1y", date(2020, 5, 1), date(2020, 8, 31)),
    ("A2", date(2020, 2, 1), date(2020, 3, 31)),
    ("A2", date(2020, 6, 1), date(2020, 6, 30)),
)
DATED = {
    "code_dates": {"column": "day", "file": "none.csv", "spells": SPELLS},
    "companions": COMPANIONS,
}
WARDS = [
    replace(ward(1, 400), excludes=NOTES),
    ward(2, 500, persons=120),
    ward(3, 300, ordered=True, **DATED),
    ward(4, 700, persons=250),
]


@pytest.mark.parametrize("world", WARDS)
def test_a_ward_with_habits_is_told_as_a_search_finds_it(world: World) -> None:
    holds(world)


STATED = {"residual_nodes": ["A1z", "A3", "D4"]}
LEAVES = ("A1x", "A2", "B1x", "B2", "C1", "C2", "D1", "D2", "D3", "A1y")
Some = tuple[int, Iterable[str], dict[str, Any]]


def of(*some: Some, **policy: Any) -> World:
    """So many records of the same labels and columns each."""
    records = [
        Record(f"i{place}-{k:03}", tuple(labels), beside.get("group"), beside.get("split"),
               {name: own for name, own in beside.items() if name not in ("group", "split")})
        for place, (times, labels, beside) in enumerate(some)
        for k in range(times)
    ]  # fmt: skip
    return World(WARD, tuple(records), STATED | policy, titles=TITLES, catch_alls=CATCH_ALLS)


def lengths(*times: int, **beside: Any) -> list[Some]:
    """Records of one label, two labels and so on."""
    return [(n, LEAVES[:length], beside) for length, n in enumerate(times, 1)]


AT_A_BOUNDARY = {
    "exactly the ratio of a cap": of(*lengths(80, 40, 40, 60)),
    "one below the ratio of a cap": of(*lengths(80, 40, 40, 59)),
    "no record one shorter than the cap": of(*lengths(80, 40, 0, 60)),
    "as few at the cap as are tested": of(*lengths(80, 5, 5, 20)),
    "one fewer at the cap": of(*lengths(80, 5, 5, 19)),
    "one longer among a hundred": of(*lengths(80, 20, 20, 100, 1)),
    "two longer among a hundred": of(*lengths(80, 20, 20, 100, 2)),
    "a cap at two labels is none": of(*lengths(5, 100)),
    "a cap at three labels": of(*lengths(5, 5, 100)),
    "all of one length": of(*lengths(0, 5, 95)),
    "a rise toward the cap": of(*lengths(10, 20, 40, 200)),
    "a cap of one period": of(*lengths(90, 40, 30, 90, period="1"), *lengths(90, 40, 30, 9, 2,
        period="2")),
    "the cap of the release in each period": of(*lengths(90, 40, 30, 90, period="1"), *lengths(90,
        40, 30, 80, period="2")),
    "five copies": of((6, LEAVES[:5], {}), (9, LEAVES[:2], {})),
    "four copies": of((5, LEAVES[:5], {}), (9, LEAVES[:2], {})),
    "copies and a pair that is near": of((9, LEAVES[:5], {}), (1, LEAVES[2:7], {}), (1, LEAVES[2:8],
        {})),
    "copies of a set that others nearly have": of((9, LEAVES[:5], {}), (3, LEAVES[:6], {}), (2,
        LEAVES[:4], {})),
    "copies that differ by a label each": of((9, LEAVES[:5], {}), (4, LEAVES[1:6], {})),
    "copies within groups": of(*((2, LEAVES[:5], {"group": g}) for g in "abcdefgh")),
    "eleven deeper": of((11, ["A1x"], {"period": "1"}), (40, ["A1"], {"period": "2"}),
        drift=["period"]),
    "ten deeper": of((10, ["A1x"], {"period": "1"}), (40, ["A1"], {"period": "2"}),
        drift=["period"]),
    "three periods of other depths": of((30, ["A1x"], {"period": "1"}), (30, ["A1"],
        {"period": "2"}), (30, ["A"], {"period": "3"}), (5, ["A1y"], {"period": "3"}), (9, ["B1x",
        "B2"], {"period": "1"}), drift=["period"]),
    "deeper within branches of other sizes": of((20, ["A1x"], {"period": "1"}), (8, ["B1"],
        {"period": "1"}), (20, ["A1"], {"period": "2"}), (8, ["B"], {"period": "2"}),
        drift=["period"]),
    "longer by a quarter": of(*((12, LEAVES[:5], {"period": "1"}), (12, LEAVES[:4],
        {"period": "2"})), drift=["period"]),
    "thirty catch-alls": of((30, ["A1z"], {}), (30, ["B1z"], {}), (2, ["A2"], {})),
    "twenty-nine catch-alls": of((29, ["A1z"], {}), (29, ["B1z"], {})),
    "catch-alls and what is specific": of((40, ["A1z"], {}), (4, ["A1x"], {}), (3, ["A1"], {}), (60,
        ["A3"], {}), (50, ["B1z"], {}), (3, ["B2"], {})),
    "catch-alls in groups": of(*((9, ["A1z"], {"group": g}) for g in "abcdefgh"), *((9, ["B1z"],
        {"group": g}) for g in "abc"), (9, ["A2"], {"group": "h"})),
    "a node of one site": of((11, ["B1x"], {"site": "n"}), (11, ["B1y"], {"site": "n"}), (40,
        ["B1y"], {"site": "s"}), (80, ["B2"], {"site": "s"}), strata=["site"]),
    "ten of one site": of((10, ["B1x"], {"site": "n"}), (11, ["B1y"], {"site": "n"}), (40, ["B1y"],
        {"site": "s"}), strata=["site"]),
    "a site that takes a sibling": of((15, ["A1x"], {"coder": "n"}), (9, ["A1y"], {"coder": "n"}),
        (5, ["A1x"], {"coder": "s"}), (16, ["A1y"], {"coder": "s"}), coding_columns=["coder"]),
    "twenty-nine below a parent": of((15, ["A1x"], {"coder": "n"}), (14, ["A1y"], {"coder": "s"}),
        coding_columns=["coder"]),
    "thirty below a parent": of((15, ["A1x"], {"coder": "n"}), (15, ["A1y"], {"coder": "s"}),
        coding_columns=["coder"]),
    "a parent beside half of its children": of((20, ["A1", "A1x"], {}), (20, ["A1x"], {}), (30,
        ["B1x", "B1"], {}), (30, ["B1y"], {})),
    "a parent beside one fewer": of((19, ["A1", "A1x"], {}), (21, ["A1x"], {})),
    "labels that training lacks": of((30, ["A1x"], {"split": "train"}), (10, ["A1y", "C1", "C2",
        "B2"], {"split": "test"}), (10, ["A1x"], {"split": "dev"})),
    "the largest split is trained on": of((30, ["A1x"], {"split": "a"}), (5, ["A1y", "C1"],
        {"split": "b"})),
    "hardly any record is labelled": of((5, [], {"split": "a"}), (2, ["no", "A1x"], {})),
}  # fmt: skip


@pytest.mark.parametrize("world", AT_A_BOUNDARY.values(), ids=AT_A_BOUNDARY)
def test_at_a_boundary_every_check_says_what_a_search_finds(world: World) -> None:
    holds(world)


@pytest.mark.parametrize("sure", [True, False])
def test_of_a_lifelong_condition_labelled_stays_count_and_how_sure_it_is_is_said(
    sure: bool,
) -> None:
    stays = [
        (1, labels, {"group": f"p{person:02}", "day": f"2020-01-0{day}"})
        for person in range(20)
        for day, labels in enumerate((["A1x"], ["A1x"], ["A1x"], ["A2"], []), 1)
    ]
    lifelong = {"condition": "asthma", "nodes": "A1x", "sure": sure}
    result = holds(of(*stays, day="day", lifelong=[lifelong]))
    told_of = {one.name: one.findings for one in result.checks}
    (found,) = told_of["chronic_gap"]
    assert ("less surely lifelong" in found.statement) is not sure


BODY_LEAVES = [f"{branch}{i}{j}" for branch in "ABC" for i in "123" for j in "1234"]
OTHERS = [f"D{k:02}" for k in range(30)]
BODY = (
    *((branch, "top") for branch in "ABCD"),
    *((other, "D") for other in OTHERS),
    *((f"{branch}{i}", branch) for branch in "ABC" for i in "123"),
    *((leaf, leaf[:2]) for leaf in BODY_LEAVES),
)
Planted = tuple[int, tuple[str, ...]]


def body(
    seed: int, n: int, *planted: Planted, aged: Iterable[str] = (), wards: int = 0, **policy: Any
) -> World:
    """Records of two to five labels drawn at random, so many of which have some labels together.

    Args:
        aged: Labels that the old have more often.
        wards: Groups that are no persons; 0: none.
    """
    drawn, leaves = random.Random(seed), [*BODY_LEAVES, *OTHERS]
    records = []
    for k in range(n):
        old = drawn.random() < 0.5
        weight = [(25.0 if old else 0.5) if leaf in aged else 1.0 for leaf in leaves]
        labels = list(dict.fromkeys(drawn.choices(leaves, weight, k=drawn.randrange(2, 6))))
        columns = {"age": str(old)} | ({"site": drawn.choice("xyz")} if aged else {})
        group = f"g{k * wards // n:03}" if wards else None
        records.append((labels, group, columns))
    for times, ends in planted:
        for labels, *_ in drawn.sample(records, times):
            labels[:2] = [*ends, *labels[:0]]
    rows = [Record(f"i{k:05}", tuple(labels), group, None, columns)
            for k, (labels, group, columns) in enumerate(records)]  # fmt: skip
    return World(BODY, tuple(rows), policy)


SIBLINGS = tuple((45, pair) for pair in combinations(("A11", "A12", "A13", "A14"), 2))
BODIES = {
    "two pairs": body(1, 900, (70, ("A11", "B11")), (60, ("C11", "C21")), (5, ("B12", "C12"))),
    "children of a parent": body(2, 900, *SIBLINGS),
    "pairs of many small pairs": body(
        3, 900, *((12, (a, b)) for a in ("A11", "A12", "A13") for b in ("B21", "B22", "B23"))
    ),
    "pairs that age brings about": body(4, 1000, aged=("A11", "B11", "C11", "A21")),
    "pairs of persons": body(5, 900, (70, ("A11", "B11")), wards=300),
    "a pair that is expected": body(
        6, 900, (70, ("A11", "B11")), expected=[{"nodes": ("A11", "B11"), "source": "A book."}]
    ),
    "nodes used as one": body(8, 500, *((40, ("A11", "B11")),) * 3, (60, ("D01", "D02"))),
}


LARGE = (
    "two pairs",
    "pairs of many small pairs",
    "pairs that age brings about",
    "pairs of persons",
)


@pytest.mark.parametrize("world", named(BODIES, *LARGE))
def test_pairs_are_told_as_a_search_finds_them(world: World) -> None:
    holds(world)


FLAT = tuple((node, "all") for node in ("a", "b", "c", "d", "e", "f", "g", "h"))


def together(both: int, first: int, second: int, edges: Any = FLAT, **policy: Any) -> World:
    """So many records with a and b, with a alone and with b alone, among others of two labels."""
    some = [(both, ("a", "b")), (first, ("a", "c")), (second, ("b", "d"))]
    some += [(both // 2 + 5, pair) for pair in combinations("cdefgh", 2)]
    records = [
        Record(f"i{place:02}-{k:03}", labels)
        for place, (times, labels) in enumerate(some)
        for k in range(times)
    ]
    return World(edges, tuple(records), policy)


TWO = (("x", "all"), ("y", "all"), ("a", "x"), ("b", "y"), *(e for e in FLAT if e[0] not in "ab"))
TWO = (*TWO, ("c", "x"), ("d", "y"))
KNOWN = {"expected": [{"nodes": ("a", "b"), "source": "A book."}]}
TOGETHER = {
    "always": together(40, 0, 0),
    "ten": together(10, 0, 0),
    "eleven": together(11, 0, 0),
    "beside": together(90, 0, 130),
    "beside with one alone": together(90, 1, 130),
    "just one label": together(40, 9, 9),
    "just none": together(40, 14, 14),
    "in two places": together(40, 0, 9, TWO),
    "beside in two places": together(90, 0, 130, TWO),
    "known": together(40, 0, 0, **KNOWN),
    "known beside": together(90, 0, 130, **KNOWN),
    "a higher limit": together(40, 4, 4, redundant_jaccard={"value": 0.75, "reason": "R."}),
}


@pytest.mark.parametrize("world", TOGETHER.values(), ids=TOGETHER)
def test_nodes_that_are_used_as_one_are_told_as_a_search_finds_them(world: World) -> None:
    holds(world)


@pytest.mark.parametrize(
    ("sexes", "ages"),
    [
        (("F", "M"), ("30", "old")),
        (("F", "M"), ("30", "-1")),
        (("F", "M"), ("30", "inf")),
        (("F", "M"), (None, None)),
        (("x", "y"), ("30", "40")),
        ((None, None), ("30", "40")),
    ],
)
def test_columns_of_persons_that_say_nothing_of_them_are_refused(sexes: Any, ages: Any) -> None:
    person = {"sex": "sex", "female": "F", "male": "M", "age": "age"}
    each = zip(sexes, ages, strict=True)
    some = [(1, ["A1x"], {"sex": sex, "age": age}) for sex, age in each]
    with pytest.raises(audit.AuditError):
        audited(of(*some, person=person))


RATED = {
    "record_cap": AT_A_BOUNDARY["exactly the ratio of a cap"],
    "drift": AT_A_BOUNDARY["thirty below a parent"],
    "group_confined": AT_A_BOUNDARY["a node of one site"],
    "residual_overuse": AT_A_BOUNDARY["twenty-nine catch-alls"],
}


@pytest.mark.parametrize(("check", "world"), RATED.items(), ids=RATED)
def test_what_is_just_at_the_false_discovery_rate_is_told(check: str, world: World) -> None:
    def found(rate: float) -> dict[str, float]:
        stated = {"false_discovery_rate": {"value": rate, "reason": "R."}}
        result = audited(replace(world, policy=dict(world.policy) | stated))
        return {
            id_: one["evidence"]["q_value"] for id_, one in told(result, check)["findings"].items()
        }

    first = found(0.05)
    q_value = max(first.values())
    assert found(q_value) == first
    below = found(math.nextafter(q_value, 0))
    assert below == {id_: q for id_, q in first.items() if q < q_value}


@pytest.mark.slow
def test_a_column_of_two_values_that_brings_pairs_about_is_told() -> None:
    draw = random.Random(5)
    leaves = [f"{branch}{n}" for branch in "abcd" for n in range(1, 6)]
    edges = (*((leaf, leaf[0]) for leaf in leaves), *((branch, "top") for branch in "abcd"))
    records = []
    for n in range(300):
        age, ward = ("young" if n % 5 == 0 else "old"), str(draw.randint(1, 3))
        own = [one for one in leaves if (one[0] in "ab") == (age == "young")]
        labels = tuple(one for one in own if draw.random() < 0.3)
        records.append(Record(f"i{n:03}", labels, columns={"age": age, "ward": ward}))
    result = holds(World(edges, tuple(records)))
    (found,) = (one for one in result.checks if one.name == "missing_stratum")
    assert [one.key for one in found.findings] == [("age",)]

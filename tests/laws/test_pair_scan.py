"""The scan over pairs in whole audits, against plain Python and in worlds that are known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gamma

import audit
from fixtures import brute_force_scan as oracle
from fixtures.brute_force import Pair, above
from fixtures.examples import examples
from fixtures.planted_pairs import COLUMNS, Planted, planted
from fixtures.small_worlds import shuffled

JUDGED = ("observed", "expected_length", "ratio", "p_value", "q_value", "explained", "effective")
TOLD = ("shrunk_ratio", "ratio_low", "ratio_high", "groups", "found_rank", "group_squares")
CHECK = "unexpected_pair"


def close(value: float | None) -> object:
    return None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)


def policy(limits: oracle.Limits, **further: Any) -> audit.Policy:
    stated = {
        "least_joint": limits.least_joint,
        "excess_ratio": limits.excess_ratio,
        "false_discovery_rate": limits.rate,
    }
    return audit.Policy(
        **{name: {"value": value, "reason": "drawn"} for name, value in stated.items()}, **further
    )


def audited(release: Planted, limits: oracle.Limits, **further: Any) -> audit.AuditResult:
    further |= {"strata": COLUMNS} if release.categories else {}
    return audit.run_audit(release.dataset(), policy(limits, **further))


def found_in(result: audit.AuditResult) -> list[Pair]:
    ranked = result.pairs.collect().drop_nulls("found_rank").sort("found_rank")
    assert ranked["found_rank"].to_list() == list(range(1, len(ranked) + 1))
    return ranked.select("a", "b").rows()


def check_of(result: audit.AuditResult, name: str = CHECK) -> audit.CheckResult:
    return next(check for check in result.checks if check.name == name)


def findings_of(result: audit.AuditResult) -> list[dict[str, Any]]:
    rows = result.findings.filter(pl.col("check") == CHECK).to_dicts()
    return sorted(rows, key=lambda row: int(row["evidence"]["rank"]))


def shrunk(own: oracle.Judged, explained: float) -> tuple[object, object, object]:
    """Observed over explained, drawn to 1, with its interval, in effective records."""
    each = own.scale or 1.0
    shape, rate = own.observed / each + 0.5, explained / each + 0.5
    low, high = (float(gamma.ppf(at, shape, scale=1 / rate)) for at in (0.025, 0.975))
    return close(shape / rate), pytest.approx(low, rel=1e-7), pytest.approx(high, rel=1e-7)


def scanned(
    release: Planted, limits: oracle.Limits
) -> tuple[oracle.Scanned, audit.AuditResult, bool]:
    """A release as both see it, and whether no last bit of a number decides."""
    given = oracle.Release(release.parents, release.labels, release.groups, release.categories)
    wanted = oracle.scan(given, limits)
    return wanted, audited(release, limits), wanted.narrowest > 1e-9


def same_pairs(wanted: oracle.Scanned, result: audit.AuditResult, decided: bool) -> None:
    grouped = result.ledger["groups"] is not None
    for row in result.pairs.collect().iter_rows(named=True):
        pair = row["a"], row["b"]
        own = wanted.family.get(pair)
        if own is None:
            assert all(row[name] is None for name in (*JUDGED, *TOLD))
            continue
        assert row["joint"] - row["joint_entailed"] == own.records
        assert row["observed"] == (close(own.observed) if grouped else None)
        assert row["expected_length"] == close(own.expected)
        assert row["ratio"] == (close(own.observed / own.expected) if own.expected else None)
        if not decided:
            continue
        for name in ("p_value", "q_value", "explained"):
            assert row[name] == close(getattr(own, name))
        ratios = [row[name] for name in ("shrunk_ratio", "ratio_low", "ratio_high")]
        none = own.explained is None
        assert ratios == ([None] * 3 if none else [*shrunk(own, own.explained or 0.0)])
        scaled = grouped and own.scale is not None
        assert row["groups"] == (own.groups if scaled else None)
        assert row["effective"] == (close(own.observed / (own.scale or 1)) if scaled else None)
        if scaled:
            squares = math.fsum(s**2 for s in wanted.release.shares_of_groups(*pair))
            assert row["group_squares"] == pytest.approx(squares, rel=1e-8)


def same_findings(wanted: oracle.Scanned, result: audit.AuditResult) -> None:
    reported = [one for one in wanted.found if one.reported]
    parents = wanted.together
    told = [
        one
        for place, one in enumerate(reported)
        if one.pair not in parents
        or parents[one.pair] not in {parents.get(other.pair) for other in reported[:place]}
    ]
    findings = findings_of(result)
    assert len(findings) == len(told)
    for row, one in zip(findings, told, strict=True):
        own, parent = wanted.family[one.pair], parents.get(one.pair)
        ratio, low, high = shrunk(own, one.explained)
        said = row["evidence"]
        assert row["nodes"] == ([] if parent is None else [parent]) + list(one.pair)
        assert (said["instances"], row["touched"]) == (own.records, own.records)
        assert said["expected_length"] == close(own.expected)
        assert said["explained"] == close(one.explained)
        assert [said[name] for name in ("ratio", "ratio_low", "ratio_high")] == [ratio, low, high]
        assert (said["p_value"], said["q_value"]) == (close(own.p_value), close(own.q_value))
        assert row["strength"] * own.records == pytest.approx(one.strength, rel=1e-8)
        if parent is not None:
            children = [other.pair for other in reported if parents.get(other.pair) == parent]
            assert sorted(map(tuple, (p["nodes"] for p in row["parts"]))) == sorted(children)
            assert said["pairs"] == len(children)


def compare(release: Planted, limits: oracle.Limits) -> oracle.Scanned:
    wanted, result, decided = scanned(release, limits)
    assert check_of(result).denominator == len(wanted.family)
    same_pairs(wanted, result, decided)
    if decided:
        assert found_in(result) == wanted.reported
        same_findings(wanted, result)
    return wanted


@st.composite
def releases(draw: st.DrawFn, tree: bool | None = None) -> Planted:
    """Releases in which pairs were planted, some of them with groups or further columns."""
    shape = draw(st.booleans()) if tree is None else tree
    grouped, crossed = draw(st.booleans()), draw(st.booleans())
    return planted(
        draw(st.integers(0, 2**32)), tree=shape, grouped=grouped, crossed=crossed, **SMALL
    )


limits = st.builds(
    oracle.Limits,
    least_joint=st.sampled_from([2, 3, 5]),
    excess_ratio=st.sampled_from([1.05, 1.5, 3.0]),
    rate=st.sampled_from([0.05, 0.3, 0.9]),
)


@given(releases(), limits)
def test_every_pair_is_judged_and_found_as_in_plain_python(
    release: Planted, stated: oracle.Limits
) -> None:
    compare(release, stated)


SMALL: Any = {"nodes": 26, "records": 200}
LARGE: Any = {"nodes": 30, "records": 1500}
GROUPED, CROSSED = {"grouped": True}, {"crossed": True}
RULES: Mapping[str, tuple[int, bool, Mapping[str, Any], tuple[int, float, float]]] = {
    "nodes meet where most records are": (400154, False, LARGE, (3, 1.5, 0.3)),
    "a tenth of the smaller support is entailed": (100117, False, {}, (2, 1.5, 0.9)),
    "the odds of a frequent node": (300097, False, LARGE, (2, 1.5, 0.9)),
    "what others explain is not reported": (300243, True, LARGE, (2, 3.0, 0.9)),
    "a stratum of one record": (11, False, CROSSED, (2, 3.0, 0.9)),
    "records of a group weigh less": (1, False, GROUPED | CROSSED, (2, 1.5, 0.9)),
    "groups say that it is no excess": (24, True, GROUPED, (2, 3.0, 0.9)),
    "children of one parent": (12, True, SMALL | CROSSED, (2, 1.5, 0.3)),
    "another is named than was taken": (172, False, SMALL | CROSSED, (2, 1.5, 0.3)),
    "finds in groups and strata": (280, True, SMALL | GROUPED | CROSSED, (2, 1.5, 0.3)),
    "few nodes in groups": (252, True, SMALL | GROUPED, (2, 1.5, 0.3)),
    "shared nodes in groups": (289, False, SMALL | GROUPED, (2, 1.5, 0.3)),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_release_on_which_one_rule_decides_is_scanned_as_in_plain_python(rule: str) -> None:
    seed, tree, drawn, stated = RULES[rule]
    compare(planted(seed, tree=tree, **drawn), oracle.Limits(*stated))


def same_but_for_names(before: Planted, after: Planted, node: Mapping[str, str]) -> None:
    limits = oracle.Limits(2, 1.5, 0.3)
    first, second = audited(before, limits), audited(after, limits)
    wanted = {frozenset((node[r["a"]], node[r["b"]])): r for r in first.pairs.collect().to_dicts()}
    found = second.pairs.collect().to_dicts()
    assert check_of(second).denominator == check_of(first).denominator
    assert len(found) == len(wanted)
    for row in found:
        own = wanted[frozenset((row["a"], row["b"]))]
        for name, value in row.items():
            if name not in ("a", "b", "support_a", "support_b", "lca"):
                assert value == (close(own[name]) if isinstance(own[name], float) else own[name])


@examples(25)
@given(releases(), st.randoms(use_true_random=False))
def test_names_in_the_same_order_and_another_order_of_records_change_nothing(
    release: Planted, random: Random
) -> None:
    node = {name: f"n{place:03}" for place, name in enumerate(release.nodes)}
    renamed = release.renamed(node, shuffled(random, release.labels))

    same_but_for_names(release, renamed, node)


@examples(25)
@given(st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_other_names_of_a_tree_permute_all_that_no_tie_decides(seed: int, random: Random) -> None:
    release = planted(seed, tree=True, **SMALL)
    if not oracle.scan(oracle.Release(release.parents, release.labels), oracle.Limits(2)).tied:
        node = shuffled(random, release.nodes)
        same_but_for_names(release, release.renamed(node, {r: r for r in release.labels}), node)


def test_a_pair_that_the_policy_expects_is_no_finding_and_is_counted() -> None:
    release = planted(300243, tree=True, **LARGE)
    wanted = oracle.scan(oracle.Release(release.parents, release.labels), oracle.Limits())
    first = wanted.reported[0]
    expected = {"nodes": first, "source": "a textbook"}
    result = audited(release, oracle.Limits(), expected=[expected])
    covered = [pair for pair in wanted.reported if at_or_below(release, pair, first)]

    assert found_in(result) == [pair for pair in wanted.reported if pair not in covered]
    assert result.policy["expected"][0]["pairs"] == len(covered) > 0


def at_or_below(release: Planted, pair: Pair, other: Pair) -> bool:
    def below(node: str, top: str) -> bool:
        return node == top or top in above(release.parents, node)

    return any(below(pair[0], x) and below(pair[1], y) for x, y in (other, other[::-1]))


def two_sides(*counts: tuple[int, str]) -> Planted:
    """Records of labels below two branches of three, written ``times, labels``."""
    edges = frozenset((f"{x}{y}", x) for x in "abc" for y in range(4))
    tops = frozenset((x, "root") for x in "abc")
    labels = [frozenset(own.split()) for times, own in counts for _ in range(times)]
    return Planted(edges | tops, {f"i{n:04}": own for n, own in enumerate(labels)})


BESIDE = [(13 + 2 * i, f"a{i} b{(i + 1) % 4} c{(i + 2) % 4}") for i in range(4)] + [
    (14 + 3 * i, f"a{i} b{(i + 2) % 4} c{(i + 3) % 4}") for i in range(4)
]


@pytest.mark.parametrize("times", [3, 4, 5])
def test_a_pair_is_judged_from_the_least_number_of_records_and_never_below(times: int) -> None:
    release = two_sides(*BESIDE, (times, "a0 b0"))
    compare(release, oracle.Limits(5, 1.5, 0.9))
    compare(replace(release, groups=dict.fromkeys(("i0000", "i0001"), "g")), oracle.Limits(5))


@pytest.mark.parametrize("groups", [1, 2, 17])
def test_a_pair_of_few_groups_is_no_excess_however_many_records_it_has(groups: int) -> None:
    release = two_sides(*BESIDE, (36, "a0 b0"))
    last = sorted(release.labels)[-36:]
    grouped = replace(release, groups={name: f"g{n % groups}" for n, name in enumerate(last)})
    own = compare(grouped, oracle.Limits(5, 1.5, 0.9)).family["a0", "b0"]

    assert (own.groups, own.p_value == 1) == (groups, groups < 3)


def test_nodes_of_few_of_many_strata_are_expected_in_these_alone() -> None:
    random = Random(4)
    labels, categories = dict[str, frozenset[str]](), dict[str, tuple[str | None, ...]]()
    edges = {(side, "root") for side in "ab"}
    for site in range(16):
        own = [f"{side}{site:02}.{n}" for side in "ab" for n in range(3)]
        edges |= {(leaf, leaf[0]) for leaf in own}
        for record in range(14):
            name = f"i{site:02}-{record:02}"
            some = random.sample(own, 2 + record % 2)
            labels[name] = frozenset({*some, *own[::3]} if record < 4 else some)
            categories[name] = f"site {site:02}", "1"
    release = Planted(frozenset(edges), labels, categories=categories)

    assert len(compare(release, oracle.Limits(3, 1.05, 0.9)).release.strata) == 16


def test_groups_of_one_record_each_change_nothing() -> None:
    release = two_sides(*BESIDE, (6, "a0 b0"))
    alone = replace(release, groups={record: f"g{record}" for record in release.labels})
    first, second = (audited(one, oracle.Limits()) for one in (release, alone))

    names = ("a", "b", "expected_length", "p_value", "q_value", "explained", "found_rank")
    assert second.pairs.select(names).collect().equals(first.pairs.select(names).collect())


@pytest.mark.parametrize("records", [1, 2, 79, 80, 120])
def test_strata_are_cut_by_the_number_of_labels_at_each_number_of_records(records: int) -> None:
    rows = [(1, " ".join(f"{'abc'[k % 3]}{(n + k) % 4}" for k in range(2 + n % 3)))
            for n in range(records)]  # fmt: skip
    compare(two_sides(*rows), oracle.Limits(2, 1.05, 0.9))


@pytest.mark.parametrize("labels", [{"i": frozenset[str]()}, {"i": frozenset({"a0"})}])
def test_where_no_record_has_two_labels_nothing_is_judged(
    labels: dict[str, frozenset[str]],
) -> None:
    release = replace(two_sides(), labels=labels | {"j": frozenset({"b0"})})
    result = audited(release, oracle.Limits())

    assert (check_of(result).status, check_of(result).denominator) == ("pass", 0)
    assert result.pairs.collect()["expected_length"].null_count() == result.pairs.collect().height


def test_what_is_all_in_one_label_below_both_is_not_judged_up_to_a_tenth_of_the_smaller() -> None:
    edges = frozenset({("x", "p"), ("x", "q"), ("p", "root"), ("q", "root"), ("o", "root")})
    for shared in (1, 2):
        labels = [{"x", "o"}] * shared + [{"p", "o"}] * (10 - shared) + [{"q", "o", "p"}] * 9
        release = Planted(edges, {f"i{n:02}": frozenset(own) for n, own in enumerate(labels)})
        compare(release, oracle.Limits(2, 1.05, 0.9))
    given = oracle.Release(release.parents, release.labels)
    judged = oracle.scan(given, oracle.Limits(2, 1.05, 0.9)).family
    assert ("p", "q") not in judged


def test_of_more_than_two_hundred_branches_the_smallest_are_one() -> None:
    rng = Random(3)
    branches = [f"b{n:03}" for n in range(203)]
    leaves = [f"{x}.{leaf}" for n, x in enumerate(branches) for leaf in range(2 + (n % 7 == 0))]
    edges = {(x, "root") for x in branches} | {(leaf, leaf[:4]) for leaf in leaves}
    records = [rng.sample(leaves, 5) for _ in range(260)] + [leaves[-3:]] * 6
    order = iter(leaves)
    records = [[*own, next(order, own[0]), next(order, own[0])] for own in records]
    release = Planted(frozenset(edges), {f"i{n:03}": frozenset(r) for n, r in enumerate(records)})
    given = oracle.Release(release.parents, release.labels)
    result = audited(release, oracle.Limits(5, 1.5, 0.9))

    assert oracle.REST in given.labels_of_branch
    rows = result.pairs.collect().filter(pl.col("expected_length").is_not_null()).to_dicts()
    kept = [row for row in rows if row["a"] in leaves and row["b"] in leaves]
    assert len(kept) > 20
    for row in [*kept[:60], *kept[-60:]]:
        if row["explained"] is None:
            assert row["expected_length"] == close(given.expected(row["a"], row["b"]))

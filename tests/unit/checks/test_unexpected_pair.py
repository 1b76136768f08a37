"""unexpected_pair: which pairs are told, at which depth, in which order and in which words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import gamma

from audit.base.plurals import filled
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.measure.rule_book import first_association
from audit.policy.policy import Policy
from audit.policy.rules import Companion, Expected
from audit.policy.statements import Threshold
from audit.results.findings import CheckResult, Finding
from audit.runs.audit import run_audit
from audit.sharing.told import Rounding, told_rows
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, repeated, tree

CHECK = CHECK_OF["unexpected_pair"]

Rows = dict[str, list[str]]

PAGE = Path(__file__).parents[3] / "docs" / "checks" / "unexpected_pair.md"
BRANCHES = "ABC"
LEAVES = [f"{branch}{i}{j}" for branch in BRANCHES for i in "123" for j in "1234"]
OTHERS = [f"D{k:02}" for k in range(60)]
BODY = tree(
    "A B C D < top",
    f"{' '.join(OTHERS)} < D",
    *(f"{branch}1 {branch}2 {branch}3 < {branch}" for branch in BRANCHES),
    *(f"{' '.join(f'{b}{i}{j}' for j in '1234')} < {b}{i}" for b in BRANCHES for i in "123"),
)


def independent(rng: np.random.Generator, n: int = 2000, often: Sequence[str] = ()) -> Rows:
    """Records of two to five labels drawn from all leaves; some leaves are four times as likely."""
    weight = np.array([4.0 if leaf in often else 1.0 for leaf in [*LEAVES, *OTHERS]])
    lengths, weight = rng.integers(2, 6, n).tolist(), weight / weight.sum()
    leaves = [*LEAVES, *OTHERS]
    return {
        f"i{k:05}": rng.choice(leaves, length, replace=False, p=weight).tolist()
        for k, length in enumerate(lengths)
    }


def planted(
    rng: np.random.Generator, rows: Rows, times: int, first: Sequence[str], second: Sequence[str]
) -> Rows:
    """Some records get a label of the first nodes and one of the second, for two that they had."""
    ends = [*first, *second]
    free = [name for name, labels in rows.items() if not {*labels} & {*ends}]
    chosen = rng.choice(free, times, replace=False)
    return rows | {
        name: [*rows[name][2:], str(rng.choice(list(first))), str(rng.choice(list(second)))]
        for name in chosen
    }


def below(node: str) -> list[str]:
    return [leaf for leaf in LEAVES if leaf.startswith(node)]


def measured(
    rows: Mapping[str, Sequence[str]],
    policy: Policy | None = None,
    hierarchy: Hierarchy = BODY,
    groups: Mapping[str, str] | None = None,
) -> Measurements:
    return measure(labelled(hierarchy, rows, groups=groups), policy or Policy())


def checked(rows: Mapping[str, Sequence[str]], policy: Policy | None = None) -> CheckResult:
    return CHECK.run(measured(rows, policy))


def told(found: CheckResult) -> list[tuple[str, ...]]:
    """Nodes of the findings, in the order of a report."""
    return [finding.nodes for finding in found.findings]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def test_a_planted_pair_is_told_as_itself_and_nothing_else(rng: np.random.Generator) -> None:
    found = checked(planted(rng, independent(rng), 90, ["A11"], ["B11"]))

    assert told(found) == [("A11", "B11")]
    (finding,) = found.findings
    assert (finding.severity, found.status) == ("note", "note")
    assert [part.nodes for part in finding.parts] == [("A11", "B11")]


def test_two_facets_of_a_record_are_no_association_of_their_labels(
    rng: np.random.Generator,
) -> None:
    rows = {
        f"i{k:05}": [str(rng.choice(below(branch))) for branch in BRANCHES] for k in range(2000)
    }
    found = checked(rows)

    assert found.denominator > 500
    assert told(found) == []


def test_siblings_are_told_as_one_for_their_parent(rng: np.random.Generator) -> None:
    rows = independent(rng)
    long = [name for name in rows if len(rows[name]) > 3 and not {*below("A1")} & {*rows[name]}]
    together = {name: [*rows[name][4:], *below("A1")] for name in long[:120]}
    found = checked(rows | together)
    (finding,) = found.findings

    assert (finding.nodes[0], finding.key) == ("A1", ("A1", "children"))
    assert finding.id == "unexpected_pair:A1:children"
    assert {part.nodes for part in finding.parts} == {
        (a, b) for a in below("A1") for b in below("A1") if a < b
    }
    assert finding.evidence["pairs"] == 6
    assert finding.statement.startswith("Most children of A1 occur together ({pairs} pairs); the")
    names = {"instances", "support_a", "support_b", "observed", "explained", "ratio"}
    assert all(set(part.evidence) == names for part in finding.parts)


def test_the_strongest_pairs_come_first_within_a_branch_or_across_two(
    rng: np.random.Generator,
) -> None:
    rows = planted(rng, independent(rng), 200, ["A11"], ["A22"])
    rows = planted(rng, rows, 70, ["A31"], ["C31"])
    found = checked(planted(rng, rows, 110, ["B11"], ["C11"]))

    assert told(found) == [("A11", "A22"), ("B11", "C11"), ("A31", "C31")]
    assert [finding.evidence["rank"] for finding in found.findings] == [1, 2, 3]


def test_parts_name_the_labels_that_carry_a_pair(rng: np.random.Generator) -> None:
    rows = planted(rng, independent(rng), 300, below("A1"), below("B1"))
    rows = planted(rng, rows, 80, ["A11"], ["B11"])
    findings = checked(rows).findings
    assert len(findings) > 1
    for finding in findings:
        a, b = finding.nodes[-2:]
        assert finding.parts
        for part in finding.parts:
            x, y = part.nodes
            both = sum({x, y} <= set(labels) for labels in rows.values())
            assert (x.startswith(a), y.startswith(b)) == (True, True)
            assert part.evidence["instances"] == both
            assert part.evidence["share"] == pytest.approx(both / finding.touched)
        counts = [int(part.evidence["instances"] or 0) for part in finding.parts]
        assert counts == sorted(counts, reverse=True)


def test_what_the_policy_expects_is_taken_out_and_counted(rng: np.random.Generator) -> None:
    rows = planted(rng, independent(rng), 90, ["A11"], ["B11"])
    rows = planted(rng, rows, 90, ["A21"], ["C11"])
    known = (
        Expected(nodes=("B1", "A"), source="A textbook."),
        Expected(nodes=("A11", "B11"), source="Named by the line above already."),
        Expected(nodes=("A2", "B2"), source="Nothing was found here."),
    )
    result = run_audit(labelled(BODY, rows), Policy(expected=known))
    (check,) = (check for check in result.checks if check.name == "unexpected_pair")

    assert told(check) == [("A21", "C11")]
    assert [one["pairs"] for one in result.shared()["policy"]["expected"]] == [1, 0, 0]
    assert [finding.evidence["rank"] for finding in check.findings] == [1]
    assert check.denominator == checked(rows).denominator


@pytest.mark.parametrize(
    ("related", "known"),
    [("A11 B11", True), ("A1 B11", True), ("B11 A11", True), ("A11 B1", False), ("C11 B11", False)],
)
def test_what_the_hierarchy_s_file_relates_is_taken_out_and_counted(
    related: str, known: bool, rng: np.random.Generator
) -> None:
    """What is below a part goes with its whole, and nothing is said of what is below that."""
    part, whole = related.split()
    file = replace(BODY, related=((part, whole),))
    found = CHECK.run(
        measured(planted(rng, independent(rng), 90, ["A11"], ["B11"]), hierarchy=file)
    )

    assert told(found) == ([] if known else [("A11", "B11")])


def test_what_is_above_a_whole_goes_with_its_part_too() -> None:
    file = replace(BODY, related=(("A1", "B11"),))
    a, b = (
        np.array([file.index(node) for node in nodes])
        for nodes in (["A11"] * 3, ["B11", "B1", "B12"])
    )
    in_use = np.ones(len(file), np.bool_)

    assert first_association(file, (), in_use, a, b).tolist() == [0, 0, -1]


def test_what_a_rule_asks_for_is_taken_out_and_counted(rng: np.random.Generator) -> None:
    rows = planted(rng, independent(rng), 90, ["A11"], ["B11"])
    rows = planted(rng, rows, 90, ["A21"], ["C11"])
    asked = {"if": "A11", "needs": ["B1", "B2"], "source": "A book."}
    rule = Companion.model_validate(asked)
    result = run_audit(labelled(BODY, rows), Policy(companions=(rule,)))
    (check,) = (check for check in result.checks if check.name == "unexpected_pair")

    assert told(check) == [("A21", "C11")]
    assert [one["pairs"] for one in result.shared()["policy"]["companions"]] == [1]


def test_the_floors_are_the_policy_s(rng: np.random.Generator) -> None:
    rows = planted(rng, independent(rng), 90, ["A11"], ["B11"])
    (finding,) = checked(rows).findings
    ratio = finding.touched / float(finding.evidence["explained"] or 0)
    high = Policy(excess_ratio=Threshold(value=1.01 * ratio, reason="ours"))
    many = Policy(least_joint=Threshold(value=1000, reason="ours"))
    sure = Policy(false_discovery_rate=Threshold(value=1e-60, reason="ours"))

    assert [told(checked(rows, policy)) for policy in (high, many, sure)] == [[], [], []]


def twice(rng: np.random.Generator) -> tuple[Rows, Rows, dict[str, str]]:
    """A release with a planted pair, each record of it twice, and the two as a group."""
    rows = planted(rng, independent(rng), 90, ["A11"], ["B11"])
    copies = {f"{name}-{copy}": own for name, own in rows.items() for copy in "12"}
    return rows, copies, {name: name[:-2] for name in copies}


def test_each_record_copied_within_a_group_changes_no_number(rng: np.random.Generator) -> None:
    rows, copies, groups = twice(rng)
    once = measured(rows).excess.found.row(0, named=True)
    copied = measured(copies, groups=groups).excess.found.row(0, named=True)

    assert copied["instances"] == 2 * once["instances"] == 2 * copied["groups"]
    same = ("observed", "effective", "expected_length", "shrunk_ratio", "ratio_low", "strength")
    assert [copied[name] for name in same] == pytest.approx([once[name] for name in same])
    assert copied["p_value"] == pytest.approx(once["p_value"], rel=1e-6)


def test_with_groups_a_sentence_tells_instances_and_groups_and_no_weights(
    rng: np.random.Generator,
) -> None:
    _, copies, groups = twice(rng)
    (finding,) = CHECK.run(measured(copies, groups=groups)).findings
    both = finding.touched
    statement = filled(finding.statement, finding.evidence)

    assert statement.startswith(
        f"{both} of 4,000 instances in {both // 2} groups have both A11 and B11, about "
    )
    assert statement.endswith(", 95% interval).")


@pytest.mark.parametrize(
    "counts", [[(50, ["A11"]), (50, ["B11"])], [(1, ["A11", "B11"]), (40, [])]]
)
def test_it_passes_without_two_labels_or_frequent_nodes(
    counts: list[tuple[int, list[str]]],
) -> None:
    found = checked(repeated(counts))

    assert (found.status, found.denominator) == ("pass", 0)


LUNG = [f"l{k}" for k in range(9)]
HEART = [f"h{k}" for k in range(9)]
CHEST = tree(
    "lung heart < body", f"asthma {' '.join(LUNG)} < lung", f"attack {' '.join(HEART)} < heart"
)


def worked_example() -> Finding:
    """Of 1,000 records with one label below lung and one below heart, 100 have asthma, 100 an
    attack, and 50 both."""
    rows = [["asthma", "attack"]] * 50
    rows += [["asthma", HEART[k % 9]] for k in range(50)]
    rows += [[LUNG[k % 9], "attack"] for k in range(50)]
    rows += [[LUNG[k % 9], HEART[k // 9 % 9]] for k in range(850)]
    named = {f"i{k:04}": labels for k, labels in enumerate(rows)}
    (finding,) = CHECK.run(measured(named, hierarchy=CHEST)).findings
    return finding


def test_the_worked_example_of_the_page_holds() -> None:
    finding = worked_example()
    values = dict(finding.evidence)
    # each record has one label in either branch; twenty labels of about a tenth each
    h = 1 - 1 / (20 * 0.1 * 0.9)
    drawn = 1000 * 0.1 * 0.1
    before = drawn * (1 - (1 - (1000 + 20 * h) / (1000 + 20)) * 0.9 * 0.9)
    found = drawn * (50 - before) / before
    c = (1000 + 20 * h) / (1000 + found + 20)
    expected = drawn * (1 - (1 - c) * 0.9 * 0.9)
    low, high = gamma.ppf([0.025, 0.975], 50.5) / (expected + 0.5)

    assert finding.nodes == ("asthma", "attack")
    assert (values["instances"], values["support_a"], values["support_b"]) == (50, 100, 100)
    assert values["expected_length"] == pytest.approx(expected, rel=1e-3)
    assert values["ratio"] == pytest.approx(50.5 / (expected + 0.5), rel=1e-3)
    assert (values["ratio_low"], values["ratio_high"]) == pytest.approx((low, high), rel=1e-3)
    page = re.sub(r"\s+", " ", PAGE.read_text("utf-8"))
    for number in (before, found, expected, 50.5 / (expected + 0.5), low, high):
        assert f"{number:.2f}" in page


def test_the_sentence_says_what_is_expected() -> None:
    finding = worked_example()
    names = ("ratio", "ratio_low", "ratio_high")
    ratio, low, high = (finding.evidence[name] for name in names)

    assert filled(finding.statement, finding.evidence) == (
        f"50 of 1,000 instances have both asthma and attack, about {ratio:.0f} times as many as "
        f"chance would bring together in records with as many labels ({low:.2f} to {high:.2f}, "
        "95% interval)."
    )


def test_that_one_of_a_pair_never_stands_without_the_other_is_said(
    rng: np.random.Generator,
) -> None:
    rows = planted(rng, independent(rng), 90, ["A11"], ["B11"])
    alone = {name: [one for one in labels if one != "B11"] for name, labels in rows.items()}
    always = {name: labels if "A11" in labels else alone[name] for name, labels in rows.items()}
    (finding,) = CHECK.run(measured(always)).findings
    n, rounding = finding.touched, Rounding(10, {"instances": len(always)})
    (told,) = told_rows([finding.evidence], CHECK.evidence, rounding)

    assert filled(finding.statement, finding.evidence).endswith(
        f"; {n} of {n} instances with B11 have A11: the first may imply the second."
    )
    assert "imply" not in filled(finding.statement, told)

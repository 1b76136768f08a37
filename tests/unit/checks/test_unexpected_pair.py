"""unexpected_pair: which pairs are told, at which depth, in which order and in which words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import gamma

from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult, Finding
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree

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

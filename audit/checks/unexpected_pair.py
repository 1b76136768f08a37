"""unexpected_pair: nodes that meet more often than parents, or the records' length, explain."""

from __future__ import annotations

from typing import Any

import polars as pl

from audit.checks.check import Check, Limit
from audit.disclosure import Quantity, count, derived
from audit.measure import Counted
from audit.result import CheckResult, Finding, finding_id

_NAME = "unexpected_pair"
_TITLE = "Which pairs of nodes meet more often than their parents explain?"
_EXPLAINS = {
    "parents": "an association stronger than its parents explain",
    "length": "an association stronger than the length of the records explains",
}


def run(measured: Counted) -> CheckResult:
    """Report pairs whose excess over the fair expectation is large and no chance."""
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=measured.excess.family,
        denominator_unit="pairs of nodes, neither above the other, frequent enough to be judged",
        findings=_findings(measured),
        not_applicable="" if measured.excess.family else _why_not(measured),
    )


def _why_not(measured: Counted) -> str:
    return measured.excess.why_not or "no two nodes are frequent enough to be judged"


def _findings(measured: Counted) -> tuple[Finding, ...]:
    """One finding for all pairs of the same chains, a standing one if there is one."""
    nodes, found = measured.hierarchy.nodes, measured.excess.found
    ids = {
        line: finding_id(_NAME, nodes[a], nodes[b])
        for line, a, b in found.select("line", "a", "b").iter_rows()
    }
    standing_first = found.sort(pl.col("folded_into").list.len() > 0, maintain_order=True)
    findings: dict[str, Finding] = {}
    for row in standing_first.iter_rows(named=True):
        into = sorted({ids[line] for line in row["folded_into"]} - {ids[row["line"]]})
        findings.setdefault(ids[row["line"]], _finding(measured, row, tuple(into)))
    return tuple(findings.values())


def _finding(measured: Counted, row: dict[str, Any], into: tuple[str, ...]) -> Finding:
    hierarchy, n = measured.hierarchy, measured.instances
    a, b = hierarchy.describe(row["a"]), hierarchy.describe(row["b"])
    given = "length" if row["siblings"] else "parents"
    support_a, support_b = (int(measured.support[row[end]]) for end in ("a", "b"))
    margins = ("instances", "support_a", "support_b")
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(hierarchy.nodes[row["a"]], hierarchy.nodes[row["b"]]),
        statement=f"{{instances}} of {{of}} instances carry both {a} and {b}[, where "
        f"{{expected_given}} are expected: {{ratio}} times as many], {_EXPLAINS[given]}.",
        evidence={
            "instances": count(row["observed"], n, support_a, support_b),
            "of": Quantity(n),
            "support_a": count(support_a, n),
            "support_b": count(support_b, n),
            "given": Quantity(given),
            **{
                name: derived(row[name], *margins)
                for name in ("expected_given", "ratio", "ratio_low", "ratio_high")
            },
            "interval_level": Quantity(measured.excess.level),
            "p_value": derived(row["p_value"], *margins),
            "q_value": derived(row["q_value"], *margins),
            "pairs_judged": Quantity(measured.excess.family),
        },
        curator="Look at a sample of these records: is the association known in the field, or is "
        "it a habit of labelling, such as a template? Say in the release notes which it is.",
        data_user="Do not read the two nodes as independent evidence: a model can tell one from "
        "the other.",
        touched=row["observed"],
        folded_into=into,
    )


CHECK = Check(
    _NAME,
    _TITLE,
    run,
    limits=(
        Limit("ratio", ">=", "excess_ratio"),
        Limit("q_value", "<=", "false_discovery_rate"),
    ),
    counts_with=("expected_support",),
    on_counts=run,
)

"""residual_overuse: parents below which instances carry mostly catch-alls and nothing specific."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, IntArray, row
from audit.checks.check import TOP_PARTS, Check, Limit, Outcome, first_unmet
from audit.checks.shared.proposals import siblings_of_residual
from audit.disclosure import Quantity, count, derived
from audit.engine.statistics.fdr import benjamini_hochberg, threshold
from audit.engine.statistics.shrinkage import SharePrior
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import relate_two
from audit.measure.measure import Measurements
from audit.measure.residual_differences import (
    REFERENCE,
    remaining_difference,
    residual_differences,
)
from audit.measure.residual_use import Share, alone, residual_share
from audit.policy.policy import Policy
from audit.results.findings import (
    INSTANCES,
    CheckResult,
    Column,
    Finding,
    Part,
    finding_id,
    times_limit,
)


def differing(measured: Measurements) -> tuple[Finding, ...]:
    """A note for each share that differs between column values or from the reference."""
    policy = measured.policy
    found = residual_differences(measured).filter(
        (pl.col("q_value") <= policy.false_discovery_rate.value)
        & (pl.col("difference").abs() > policy.residual_difference.value)
    )
    rows = list(found.iter_rows(named=True))
    into = _differences_explained(measured, rows)
    return tuple(_difference(measured, row, into[_key(row)]) for row in rows)


def instances_compared(measured: Measurements, finding: Finding) -> BoolArray:
    """Whether each instance has the value of a difference, of the reference all; (n_instances,)."""
    _, column, value = finding.key
    if column == REFERENCE:
        return np.ones(measured.n_instances, np.bool_)
    inside, _ = measured.loaded.dataset.having(column, value)
    return inside


_Key = tuple[str, str, str]


def _key(row: dict[str, Any]) -> _Key:
    return row["parent"], row["column"], row["value"]


def _differences_explained(
    measured: Measurements, rows: list[dict[str, Any]]
) -> dict[_Key, tuple[str, ...]]:
    """The findings that explain each difference, the deepest parents first; none: it stands.

    Of the values of a column that differ below one parent the surest stands. A parent that no
    longer differs without the instances below standing parents of the column is folded into them;
    of a reference, less their counts, since there are no instances to leave out.
    """
    hierarchy, explained = measured.hierarchy, dict[_Key, tuple[str, ...]]()
    floor, by_key = measured.policy.residual_difference.value, {_key(row): row for row in rows}

    def order(row: dict[str, Any]) -> tuple[int, int, float, str]:
        parent = hierarchy.index(row["parent"])
        return int(hierarchy.height[parent]), parent, row["p_value"], row["value"]

    for line in sorted(rows, key=order):
        parent, column, _ = _key(line)
        index = hierarchy.index(parent)
        standing = [key for key, by in explained.items() if not by and key[1] == column]
        same = [key for key in standing if key[0] == parent]
        below = [
            key
            for key in standing
            if relate_two(hierarchy, hierarchy.index(key[0]), index)[0] == "ancestor"
        ]
        if not same and below:
            remaining = remaining_difference(measured, line, [by_key[key] for key in below])
            same = below if abs(remaining) <= floor else []
        explained[_key(line)] = tuple(finding_id(_NAME, *key) for key in same)
    return explained


_DIFFERENCE = {
    "difference": "difference",
    "difference_low": "low",
    "difference_high": "high",
    "q_value": "q_value",
}
"""Column of a difference for each name of evidence."""


def _difference(measured: Measurements, row: dict[str, Any], into: tuple[str, ...]) -> Finding:
    total = measured.n_instances
    parent = measured.hierarchy.describe(measured.hierarchy.index(row["parent"]))
    to_reference = row["column"] == REFERENCE
    here = "" if to_reference else f" where {row['column']} is {row['value']}"
    there = "in the reference" if to_reference else "elsewhere"
    n = count(row["n"], total)
    nearest = max(row["low"], -row["high"], 0.0)
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(row["parent"],),
        statement=f"{parent}: {{instances}} of {{of}} instances ({{share}}) "
        '{instances|has|have} nothing more specific than "other" or "unspecified"'
        f"{here}; {there} {{elsewhere}} of {{of_elsewhere}} ({{elsewhere_share}}).",
        evidence={
            "instances": count(row["k"], row["n"]),
            "of": n,
            "share": derived(row["k"] / row["n"], "instances", "of"),
            "elsewhere": count(row["k_elsewhere"], row["n_elsewhere"]),
            "of_elsewhere": count(row["n_elsewhere"], *([] if to_reference else [total])),
            "elsewhere_share": derived(
                row["k_elsewhere"] / row["n_elsewhere"], "elsewhere", "of_elsewhere"
            ),
            **{
                name: derived(row[column], "instances", "of", "elsewhere", "of_elsewhere")
                for name, column in _DIFFERENCE.items()
            },
        },
        curator="Find out who coded, and by which rules: assume that the coding differs until the "
        "instances are shown to differ.",
        data_user="Do not compare the specific nodes below this parent between the two.",
        touched=row["n"],
        beyond=times_limit(nearest, measured.policy.residual_difference.value),
        key=_key(row),
        folded_into=into,
    )


_NAME = "residual_overuse"


def run(measured: Measurements) -> Outcome:
    """Report parents with a high or differing residual share, deepest first.

    A parent is reported if the lower bound of its share is above the limit and its test is
    significant after Benjamini-Hochberg over all tested parents. A parent that fails once the
    instances of its reported descendants are removed is folded into these. A share that differs
    between the values of a column, or from the reference, is a note.

    With counts only, parents are folded by counts, and no differences are reported.
    """
    differences = () if measured.instances is None else differing(measured)
    judged = _judged(measured)
    high = judged.high
    explained = _explained(measured, judged)
    return Outcome(
        denominator=len(judged.table),
        denominator_unit="parents with residual and specific nodes below and enough instances",
        findings=(
            *(
                _finding(measured, counted, explained[measured.hierarchy.index(counted["parent"])])
                for counted in high.iter_rows(named=True)
            ),
            *differences,
        ),
        not_applicable=first_unmet(
            (measured.residual, "no assignable node of this hierarchy is residual"),
            (
                len(judged.table),
                "no parent with residual and specific nodes below has enough instances",
            ),
        ),
    )


@dataclass(frozen=True, eq=False)
class _Judged:
    """The parents with enough instances; p and q values are of being above the limit."""

    policy: Policy
    prior: SharePrior | None
    table: pl.DataFrame

    @property
    def high(self) -> pl.DataFrame:
        """The parents that are above the limit."""
        return self.table.filter(
            (pl.col("low") > self.policy.residual_share.value)
            & (pl.col("q_value") <= self.policy.false_discovery_rate.value)
        )

    def is_high(self, share: Share) -> bool:
        """Whether a share of one of the parents without some instances is above the limit still."""
        if share.n < self.policy.residual_instances.value:
            return False
        p_values, rate = self.table["p_value"].to_numpy(), self.policy.false_discovery_rate.value
        limit, (low, _) = self.policy.residual_share.value, share.interval(self.prior)
        return low > limit and share.p_above(limit) <= threshold(p_values, len(p_values), rate)


def _judged(measured: Measurements) -> _Judged:
    tested = _tested(measured.residuals, measured.policy)
    return _Judged(measured.policy, measured.residual_use.prior, tested)


def _tested(residuals: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """The parents of a residual table with enough instances, each tested against the limit."""
    enough = pl.col("n") >= policy.residual_instances.value
    table = residuals.filter((pl.col("residual") == "all") & enough)
    shares = table.select("k", "n", "n_effective", "groups").iter_rows()
    p_values = np.array([Share(*s).p_above(policy.residual_share.value) for s in shares], float)
    q_values = benjamini_hochberg(p_values, len(p_values))
    return table.with_columns(p_value=pl.Series(p_values), q_value=pl.Series(q_values))


def retested(check: CheckResult, residuals: pl.DataFrame, policy: Policy) -> CheckResult:
    """Recompute the q values of the findings on high shares for the policy's limit."""
    q_values = dict(_tested(residuals, policy).select("parent", "q_value").iter_rows())

    def again(finding: Finding) -> Finding:
        q_value = replace(finding.evidence["q_value"], value=q_values[finding.nodes[0]])
        return replace(finding, evidence={**finding.evidence, "q_value": q_value})

    findings = (one if one.key else again(one) for one in check.findings)
    return replace(check, findings=tuple(findings))


def _explained(measured: Measurements, judged: _Judged) -> dict[int, list[int]]:
    """The standing descendants that explain each high parent, deepest first; none: it stands."""
    hierarchy, explained = measured.hierarchy, dict[int, list[int]]()
    parents = [measured.hierarchy.index(parent) for parent in judged.high["parent"]]
    for parent in sorted(parents, key=lambda i: (hierarchy.height[i], i)):
        below = set(row(hierarchy.below, parent).tolist())
        flagged = [i for i, by in explained.items() if not by and i in below]
        stands = not flagged or judged.is_high(_without(measured, judged, parent, flagged))
        explained[parent] = [] if stands else flagged
    return explained


def _without(measured: Measurements, judged: _Judged, parent: int, flagged: list[int]) -> Share:
    """The share of a parent without the instances labelled below some descendants of it."""
    if measured.instances is None:
        return _without_counts(measured.hierarchy, judged.table, parent, flagged)
    below, left_out = measured.instances.below, np.zeros(measured.n_instances, np.bool_)
    for i in flagged:
        left_out[below.labelled(i)] = True
    labelled, only = below.labelled(parent), below.only_residual(parent)
    groups = measured.instances.group_of
    return residual_share(labelled[~left_out[labelled]], only[~left_out[only]], groups)


def _without_counts(
    hierarchy: Hierarchy, table: pl.DataFrame, parent: int, flagged: list[int]
) -> Share:
    """As if no instance labelled below a (topmost) descendant had a label elsewhere below."""
    above, among = hierarchy.strict_closure, set(flagged)
    top = [i for i in flagged if among.isdisjoint(row(above, i).tolist())]
    k, n = (dict(table.select("parent", column).iter_rows()) for column in ("k", "n"))
    own, others = hierarchy.nodes[parent], [hierarchy.nodes[i] for i in top]
    left_k, left_n = (max(m[own] - sum(m[node] for node in others), 0) for m in (k, n))
    return alone(min(left_k, left_n), left_n)


_UNREVIEWED = (
    " Of some only a word in the title says that they are catch-alls ({words}): name them in "
    "residual_nodes or specific_nodes of the policy."
)

_USUAL = 'no instance has a more specific label below it, so "other" may be the usual case here.'


def _finding(measured: Measurements, counted: dict[str, Any], explained_by: list[int]) -> Finding:
    node = counted["parent"]
    parent = measured.hierarchy.index(node)
    k, n, at_parent = (int(counted[name]) for name in ("k", "n", "at_parent"))
    share, low = float(counted["share"]), float(counted["low"])
    drawn = {"shrunk_share": float(counted["shrunk"]), "low": low, "high": float(counted["high"])}
    used = [measured.residual[i] for i in _used(measured, parent)]
    words = sorted({found.word for found in used} - {""})
    never = k == n and not any(found.leaves_open for found in used)
    reasons = sorted({found.why_usual for found in used})
    by_rule = "" if "" in reasons else " ".join(reasons)
    usual = never or bool(by_rule)
    limit = "the limit is {limit}."
    return Finding(
        check=_NAME,
        severity="note" if words or usual else "warning",
        nodes=(node,),
        statement=f"{measured.hierarchy.describe(parent)}: {{instances}} of {{of}} instances "
        '({share}) {instances|has|have} nothing more specific than "other" or "unspecified"[, '
        f"{{mostly}}]; {_USUAL if never else f'this is usual. {by_rule}' if by_rule else limit}"
        + _UNREVIEWED
        * bool(words),
        evidence={
            "instances": count(k, n),
            "of": count(n, measured.n_instances),
            "share": derived(share, "instances", "of"),
            **{
                name: Quantity(value, "digits", (n, n), ("instances", "of"))
                for name, value in drawn.items()
            },
            "q_value": derived(float(counted["q_value"]), "instances", "of"),
            "limit": Quantity(measured.policy.residual_share.value),
            "labelled_at_parent": count(at_parent, measured.n_instances),
            **({"words": Quantity(", ".join(words))} if words else {}),
        },
        curator="Review a sample of these records: was a specific node known and not used? Say in "
        "the release notes that this part of the hierarchy is coded coarsely.",
        data_user="Do not read the absence of the specific nodes as their absence in the "
        "instance; consider using the parent as the label.",
        touched=k,
        beyond=times_limit(low, measured.policy.residual_share.value),
        parts=_parts(measured, parent, n),
        folded_into=tuple(finding_id(_NAME, measured.hierarchy.nodes[i]) for i in explained_by),
        asks=usual,
    )


def _used(measured: Measurements, parent: int) -> list[int]:
    """The residual nodes below a parent that some instance is labelled with."""
    below = row(measured.hierarchy.below, parent).tolist()
    used = (i for i in below if i in measured.residual and measured.direct_support[i])
    return [i for i in used if i != parent]


def _parts(measured: Measurements, parent: int, labelled: int) -> tuple[Part, ...]:
    """The residual nodes below a parent, most used first."""
    hierarchy, total = measured.hierarchy, measured.n_instances
    used = [
        (int(measured.direct_support[i]), hierarchy.nodes[i], measured.residual[i].kind)
        for i in _used(measured, parent)
    ]
    used.sort(key=lambda found: (-found[0], found[1]))
    return tuple(
        Part((node,), {"labelled": count(n, total, labelled), "kind": Quantity(kind)})
        for n, node, kind in used[:TOP_PARTS]
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances that carry only residual labels below the parent, with the value reported."""
    (parent,) = finding.nodes
    only = measured.loaded.below.only_residual(measured.hierarchy.index(parent))
    return only[instances_compared(measured, finding)[only]] if finding.key else only


def proposes(measured: Measurements, finding: Finding) -> pl.DataFrame:
    """A look at each catch-all, with the specific siblings that such records carry elsewhere."""
    (parent,) = finding.nodes
    return siblings_of_residual(measured, cases(measured, finding), parent)


CHECK = Check(
    _NAME,
    'Are "other" and "unspecified" used where specific labels exist?',
    run,
    limits=(
        Limit("low", ">", "residual_share", shown_as="limit"),
        Limit("q_value", "<=", "false_discovery_rate"),
    ),
    counts_with=("residual_instances", "residual_difference"),
    retest=retested,
    cases=cases,
    proposes=proposes,
    columns=(
        Column("Below", "node"),
        Column(
            "Share of catch-alls, adjusted for small numbers",
            "shrunk_share share",
            low="low",
            high="high",
            limit="limit",
        ),
        INSTANCES,
        Column("Elsewhere", "elsewhere", of="of_elsewhere"),
        Column("Difference", "difference"),
    ),
)

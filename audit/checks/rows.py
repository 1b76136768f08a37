"""Checks that are rows of a table: one function makes their findings, cases and proposals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import Columns, Mark, count, difference, exact, share
from audit.checks.check import Check, Outcome
from audit.checks.shared.proposals import PROPOSED
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.measure.measure import Measurements, once
from audit.results.findings import Evidence, Finding, finding_id

_Tested = TypeVar("_Tested")

_SHARE = share("share", "Share", of="instances of", mark=Mark())
ALL = exact("of", reason="all instances audited")
OF_ALL = (*_SHARE, *count("instances", "Instances", among="of"), *ALL)
"""`share_evidence` of all instances audited."""
OF_SOME = (*_SHARE, *count("instances", "Instances", among="of"), *count("of"))
"""`share_evidence` of some of them, such as those with labels."""
OF_GROUPS = (
    *count("groups", of="groups", under="instances"),
    *exact("of_groups", of="groups", reason="all groups audited"),
)
"""Groups of these instances, of all."""
BESIDE_ELSEWHERE = (
    *share(
        "elsewhere_share",
        "Elsewhere",
        of="elsewhere of_elsewhere",
        effective="effective_elsewhere",
    ),
    *difference(
        "difference",
        "Difference",
        of="share elsewhere_share",
        ends="difference_low difference_high",
    ),
)
"""The share elsewhere, by effective numbers, and the difference of a finding's share from it."""
PARTS = Columns(count("instances"))
"""Parts made by `label_part`."""
_NOTHING = pl.DataFrame(schema=PROPOSED)


class Row:
    """A row of a check's table that is a finding, and the instances behind it.

    Args:
        sentence: The finding's statement.
        cases: The instances behind it, ascending, or what finds them.
        proposes: Finds what would mend it; None if nothing in the labels would.
        folded_into: Keys of the rows that explain it.
        said: Further fields of `Finding`. It is a note on the root, and touches as many instances,
            or rows, as it counts, unless said otherwise; ``nodes`` of None are none.
    """

    def __init__(
        self,
        *,
        sentence: str,
        evidence: Evidence,
        cases: IntArray | Callable[[], IntArray],
        proposes: Callable[[], pl.DataFrame] | None = None,
        folded_into: Iterable[Sequence[str]] = (),
        **said: Any,
    ) -> None:
        counted = evidence.get("instances", evidence.get("rows"))
        usual = {"severity": "note", "nodes": (), "touched": int(counted or 0)}
        self.said = {**usual, "statement": sentence, "evidence": evidence, **said}
        self.cases, self.proposes, self.folded_into = cases, proposes, folded_into

    @property
    def key(self) -> tuple[str, ...]:
        """What distinguishes its finding from others of the check."""
        return tuple(self.said.get("key") or self.said["nodes"])

    def finding(self, check: str, root: str) -> Finding:
        """The row as a finding, without its instances; on ``root`` where it names no nodes."""
        folded = tuple(finding_id(check, *key) for key in self.folded_into)
        nodes = () if self.said["nodes"] is None else self.said["nodes"] or (root,)
        return Finding(**self.said | {"check": check, "nodes": nodes, "folded_into": folded})


class Rows:
    """The rows that are findings.

    Args:
        of: Number of things examined.
        unit: Their unit.
        rows: Each finding once.
        why_not: Why the check does not apply; empty if it does.
    """

    def __init__(self, of: int, unit: str, rows: Iterable[Row] = (), why_not: str = "") -> None:
        self.of, self.unit, self.why_not = of, unit, why_not
        self.by_key = {one.key: one for one in rows}


def significant(
    measured: Measurements, tested: Sequence[_Tested], p_values: Iterable[float], family: int
) -> list[tuple[_Tested, float]]:
    """What is within the policy's false discovery rate of a family, each with its q value."""
    q_values = benjamini_hochberg(np.array([*p_values], np.float64), family).tolist()
    rate = measured.policy.false_discovery_rate.value
    return [(one, q) for one, q in zip(tested, q_values, strict=True) if q <= rate]


def check_of_rows(
    name: str, title: str, table: Callable[[Measurements], Rows], **declared: Any
) -> Check:
    """A check whose findings are rows of a table, which is made once.

    Args:
        declared: Further fields of `Check`.
    """
    made = once(table)

    @wraps(table)
    def rule(measured: Measurements) -> Outcome:
        found, root = made(measured), measured.hierarchy.nodes[measured.hierarchy.root]
        findings = tuple(one.finding(name, root) for one in found.by_key.values())
        return Outcome(found.of, found.unit, findings, found.why_not)

    def row_of(measured: Measurements, finding: Finding) -> Row:
        return made(measured).by_key[finding.key or finding.nodes]

    def cases(measured: Measurements, finding: Finding) -> IntArray:
        found = row_of(measured, finding).cases
        return found() if callable(found) else found

    def proposed(measured: Measurements, finding: Finding) -> pl.DataFrame:
        own = row_of(measured, finding).proposes
        return _NOTHING if own is None else own()

    return Check(name, title, rule, **{"cases": cases, "proposes": proposed, **declared})

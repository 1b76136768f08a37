"""Protect an audit together with other audits of the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from audit.base.errors import InputError, first_cases
from audit.disclosure import Known
from audit.results.result import AuditResult

_READ_ALIKE = ("instances", "instances_without_labels", "groups")
"""Totals of the ledger that audits of the same data have in common."""


def refuse_other_data(runs: Sequence[AuditResult], data: str, hierarchy: str) -> None:
    """Raise InputError if a run is of other data or of another hierarchy.

    Args:
        runs: The runs that a new one is to be protected with.
        data: SHA-256 digest of the data of the new run.
        hierarchy: SHA-256 digest of its hierarchy.
    """
    for run in runs:
        theirs = {"data": run.data_sha256, "hierarchy": run.identity["hierarchy"]["sha256"]}
        own = {"data": data, "hierarchy": hierarchy}
        if other := [what for what in own if theirs[what] != own[what]]:
            raise InputError(
                "a run of the same data and hierarchy is required to protect an audit with",
                found=f"other {' and '.join(other)}",
                hint="--reference compares with an earlier release",
            )


def protected_beside(result: AuditResult, runs: Sequence[AuditResult]) -> AuditResult:
    """A result that its shared view protects together with those of other runs.

    Args:
        result: The result.
        runs: Runs of the same data and hierarchy; those that they are protected with count too.

    Raises:
        InputError: If a run read the data in another way, or has other residual nodes.
    """
    if not runs:
        return result
    for run in runs:
        _refuse_other_reading(result, run)
    views = (run.view.as_other_view() for run in runs)
    return replace(result, known=reduce(Known.beside, views, result.known))


def _refuse_other_reading(result: AuditResult, run: AuditResult) -> None:
    totals = [name for name in _READ_ALIKE if result.ledger[name] != run.ledger[name]]
    counts = ["node", "support", "direct"]
    if totals or not result.nodes.select(counts).equals(run.nodes.select(counts)):
        raise InputError(
            "a run that read the data in the same way is required to protect an audit with",
            found=f"other {' and '.join(totals)}" if totals else "other counts of nodes",
            hint="give both audits the same columns, titles and --unlisted",
        )
    residual = [
        node
        for node, own, theirs in zip(
            result.nodes["node"],
            result.nodes["residual"].is_not_null(),
            run.nodes["residual"].is_not_null(),
            strict=True,
        )
        if own != theirs
    ]
    if residual:
        raise InputError(
            "a run with the same residual nodes is required to protect an audit with",
            found=f"{len(residual):,} that are residual in one of the two: {first_cases(residual)}",
            hint="give both policies the same residual_nodes and specific_nodes",
        )

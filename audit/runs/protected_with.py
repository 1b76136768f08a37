"""Protect an audit together with others, of the same data and of earlier releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from audit.base.errors import InputError, first_cases
from audit.base.plurals import counted
from audit.checks.earlier import beside_earlier
from audit.disclosure import Known
from audit.results.result import AuditResult

_READ_ALIKE = ("instances", "instances_without_labels", "groups")
"""Totals of the ledger that audits of the same data have in common."""


def refuse_other_data(runs: Sequence[AuditResult], data: str, hierarchy: str) -> None:
    """Raise InputError if a run is of other data or of another hierarchy."""
    for run in runs:
        theirs = {"data": run.data_sha256, "hierarchy": run.identity["hierarchy"]["sha256"]}
        own = {"data": data, "hierarchy": hierarchy}
        if other := [what for what in own if theirs[what] != own[what]]:
            raise InputError(
                "--protected-with needs a run of the same data and hierarchy",
                found=f"other {' and '.join(other)}",
                hint="--reference compares with an earlier release",
            )


def protected_beside(result: AuditResult, runs: Sequence[AuditResult]) -> AuditResult:
    """A result that its shared view protects together with those of other runs."""
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
            "--protected-with needs a run that read the data in the same way",
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
            "--protected-with needs a run with the same residual nodes",
            found=f"{len(residual):,} that are residual in one of the two: {first_cases(residual)}",
            hint="give both policies the same residual_nodes and specific_nodes",
        )


def refuse_told_together(runs: Mapping[str, AuditResult]) -> None:
    """Raise InputError if runs together tell small counts that one of them withholds.

    What a run would withhold further, were it made again beside those before it, is what all of
    them tell. Runs that were made so are not looked at again, nor those that withhold nothing.
    """
    found = list(_told_together(runs))
    if found:
        raise InputError(
            "runs that together reveal no small count are required",
            found="; ".join(found),
            hint="audit the later data again with --reference for each earlier release, or with "
            "--protected-with for another run of the same data; --force continues",
        )


def _told_together(runs: Mapping[str, AuditResult]) -> Iterator[str]:
    before: dict[str, AuditResult] = {}
    for name, run in runs.items():
        others = {one: its for one, its in before.items() if not _made_beside(run, its)}
        if others and (told := _further_withheld(run, [*others.values()])):
            beside = " and ".join(others)
            yield f"{counted(told, 'counts')} of {name} that must be withheld beside {beside}"
        before[name] = run


def _made_beside(run: AuditResult, other: AuditResult) -> bool:
    """Whether one of two runs was protected with the other, or withholds nothing anyway."""
    digests = ({one["sha256"] for one in its.inputs} for its in (run, other))
    named = any(its.sha256 in found for its, found in zip((other, run), digests, strict=True))
    return named or min(run.min_cell, other.min_cell) <= 1


def _further_withheld(run: AuditResult, others: Sequence[AuditResult]) -> int:
    """Number of counts that a run would withhold further, were it made beside others."""
    again = run
    for one in others:
        same = one.data_sha256 == run.data_sha256
        try:
            again = protected_beside(again, [one]) if same else beside_earlier(again, [one])
        except InputError:
            again = beside_earlier(again, [one])
    if again.known == run.known and again.before == run.before:
        return 0
    own, beside = run.view.tells(), again.view.tells()
    return sum(beside.get(place, shown) != shown for place, shown in own.items())

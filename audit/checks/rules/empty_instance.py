"""empty_instance: instances without a label, by whether they ever had one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import TOP_PARTS, Check
from audit.checks.shared.carriers import distinct
from audit.data.dataset import REASONS
from audit.measure.measure import Counted, Measurements
from audit.results.disclosure import Quantity, count, derived
from audit.results.result import CheckResult, Finding, Part

_NAME = "empty_instance"
_TITLE = "Does every instance have a label?"
_REFUSED = ("refused",)
"""Key of the finding on instances whose labels were all refused."""


@dataclass(frozen=True)
class _Refused:
    """Instances whose labels were all refused; one refused for several reasons is in each."""

    instances: int
    by_reason: list[tuple[str, int]]


def run(measured: Measurements) -> CheckResult:
    """Report instances whose labels were all refused, and apart from them those without any row."""
    rows = _all_refused(measured)
    by_reason = rows.group_by("reason").len()
    return _result(measured, _Refused(rows["instance"].n_unique(), list(by_reason.iter_rows())))


def _empty(measured: Measurements) -> IntArray:
    """Instances without a label, ascending."""
    return np.flatnonzero(np.diff(measured.dataset.direct.indptr) == 0)


def _all_refused(measured: Measurements) -> pl.DataFrame:
    """``instance, reason``: why instances have no label, of those that had one."""
    empty = pl.Series(_empty(measured).astype(np.uint32))
    return measured.dataset.refused.filter(pl.col("instance").is_in(empty.implode()))


def on_counts(measured: Counted) -> CheckResult:
    """The same from counts alone."""
    by_place = measured.records.at("refused", len(REASONS)).tolist()
    by_reason = [(reason, n) for reason, n in zip(REASONS, by_place, strict=True) if n]
    return _result(measured, _Refused(measured.records.total("all_refused"), by_reason))


def _result(measured: Counted, refused: _Refused) -> CheckResult:
    read = measured.ledger.rows_read
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=measured.instances,
        denominator_unit="instances",
        findings=tuple(_findings(measured, refused)) if read else (),
        not_applicable="" if read else "no row was read",
    )


def _findings(measured: Counted, refused: _Refused) -> Iterator[Finding]:
    without = measured.ledger.instances_without_labels - refused.instances
    if refused.instances:
        yield _refused_finding(measured, refused)
    if without:
        yield _unlabelled_finding(measured, without)


def _refused_finding(measured: Counted, refused: _Refused) -> Finding:
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(measured.hierarchy.nodes[measured.hierarchy.root],),
        statement="{instances} of {of} instances ({share}) {instances|has|have} no label because "
        "all of {instances|its rows|theirs} "
        "were refused: {instances|it looks|they look} empty and {instances|is|are} not.",
        evidence=_evidence(measured, refused.instances),
        curator="Mend the refused labels; the checks on codes tell which they are.",
        data_user="Leave these instances out: they are unknown, not negative.",
        touched=refused.instances,
        parts=_parts(refused),
        key=_REFUSED,
    )


def _unlabelled_finding(measured: Counted, instances: int) -> Finding:
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(measured.hierarchy.nodes[measured.hierarchy.root],),
        statement="{instances} of {of} instances ({share}) {instances|has|have} no label at all.",
        evidence=_evidence(measured, instances),
        curator="Say whether nothing applied to these instances or nobody has labelled them yet.",
        data_user="Do not read them as negative for every node before you know which it is.",
        touched=instances,
        key=("unlabelled",),
    )


def _evidence(measured: Counted, instances: int) -> dict[str, Quantity]:
    total, empty = measured.instances, measured.ledger.instances_without_labels
    return {
        "instances": count(instances, total, empty),
        "of": Quantity(total),
        "share": derived(instances / total, "instances"),
    }


def _parts(refused: _Refused) -> tuple[Part, ...]:
    """The reasons of the ledger, the most frequent first."""
    ordered = sorted(refused.by_reason, key=lambda line: (-line[1], line[0]))
    return tuple(
        Part((reason,), {"instances": count(n, refused.instances)})
        for reason, n in ordered[:TOP_PARTS]
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances whose labels were all refused, or those that never had one."""
    refused = distinct(_all_refused(measured))
    if finding.key == _REFUSED:
        return refused
    return np.setdiff1d(_empty(measured), refused, assume_unique=True)


CHECK = Check(_NAME, _TITLE, run, on_counts=on_counts, cases=cases)

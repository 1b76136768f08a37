"""empty_instance: instances without a label, by whether they ever had one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from audit.checks.check import TOP_PARTS, Check
from audit.dag import IntArray
from audit.disclosure import Quantity, count, derived
from audit.measure import Measurements
from audit.result import CheckResult, Finding, Part

_NAME = "empty_instance"
_TITLE = "Does every instance have a label?"


def run(measured: Measurements) -> CheckResult:
    """Report instances whose labels were all refused, and apart from them those without any row."""
    total, ledger = len(measured.dataset), measured.dataset.ledger
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=total,
        denominator_unit="instances",
        findings=tuple(_findings(measured)) if ledger.rows_read else (),
        not_applicable="" if ledger.rows_read else "no row was read",
    )


def _findings(measured: Measurements) -> Iterator[Finding]:
    empty = np.flatnonzero(np.diff(measured.dataset.direct.indptr) == 0)
    refused = np.intersect1d(empty, measured.dataset.refused["instance"].to_numpy())
    without = np.setdiff1d(empty, refused)
    if len(refused):
        yield _refused_finding(measured, refused)
    if len(without):
        yield _unlabelled_finding(measured, without)


def _refused_finding(measured: Measurements, instances: IntArray) -> Finding:
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(measured.hierarchy.nodes[measured.hierarchy.root],),
        statement="{instances} of {of} instances ({share}) have no label because all of theirs "
        "were refused: they look empty and are not.",
        evidence=_evidence(measured, instances),
        curator="Mend the refused labels; the checks on codes tell which they are.",
        data_user="Leave these instances out: they are unknown, not negative.",
        touched=len(instances),
        parts=_by_reason(measured, instances),
        key=("refused",),
    )


def _unlabelled_finding(measured: Measurements, instances: IntArray) -> Finding:
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(measured.hierarchy.nodes[measured.hierarchy.root],),
        statement="{instances} of {of} instances ({share}) have no label at all.",
        evidence=_evidence(measured, instances),
        curator="Say whether nothing applied to these instances or nobody has labelled them yet.",
        data_user="Do not read them as negative for every node before you know which it is.",
        touched=len(instances),
        key=("unlabelled",),
    )


def _evidence(measured: Measurements, instances: IntArray) -> dict[str, Quantity]:
    total, empty = len(measured.dataset), measured.dataset.ledger.instances_without_labels
    return {
        "instances": count(len(instances), total, empty),
        "of": Quantity(total),
        "share": derived(len(instances) / total, "instances"),
    }


def _by_reason(measured: Measurements, instances: IntArray) -> tuple[Part, ...]:
    """The reasons of the ledger; an instance with labels refused for several counts in each."""
    chosen = pl.Series(instances.astype(np.uint32)).implode()
    by_reason = (
        measured.dataset.refused.filter(pl.col("instance").is_in(chosen))
        .group_by("reason")
        .len()
        .sort(["len", "reason"], descending=[True, False])
    )
    return tuple(
        Part((reason,), {"instances": count(n, len(instances))})
        for reason, n in by_reason.head(TOP_PARTS).iter_rows()
    )


CHECK = Check(_NAME, _TITLE, run)

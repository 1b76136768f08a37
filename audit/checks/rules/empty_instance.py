"""empty_instance: instances without a label: all were refused, or there never was one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from audit.base.dag import IntArray
from audit.base.declared import Columns
from audit.checks.check import TOP_PARTS, Check, Outcome
from audit.checks.shared.carriers import distinct
from audit.checks.shared.evidence import OF_ALL, PARTS
from audit.data.ledger import REASONS
from audit.measure.measure import Measurements
from audit.results.findings import Finding, Part, share_evidence

_NAME = "empty_instance"
_REFUSED = ("refused",)
"""Key of the finding on instances whose labels were all refused."""


def run(measured: Measurements) -> Outcome:
    """Report instances whose labels were all refused, and separately those without any row."""
    return Outcome(
        denominator=measured.n_instances,
        denominator_unit="instances",
        findings=tuple(_findings(measured)),
    )


def _findings(measured: Measurements) -> Iterator[Finding]:
    total, empty = measured.n_instances, measured.ledger.instances_without_labels
    refused = measured.counts.records.total("all_refused")
    root = (measured.hierarchy.nodes[measured.hierarchy.root],)
    if refused:
        yield Finding(
            check=_NAME,
            severity="warning",
            nodes=root,
            statement="{instances} of {of} instances ({share}) {instances|has|have} no label left, "
            "since all of {instances|its rows|their rows} were refused.",
            evidence=share_evidence(refused, total),
            curator="Correct the refused labels; the checks on codes list them.",
            data_user="Leave these instances out: they are unknown, not negative.",
            touched=refused,
            parts=_parts(measured),
            key=_REFUSED,
        )
    if without := empty - refused:
        yield Finding(
            check=_NAME,
            severity="note",
            nodes=root,
            statement="{instances} of {of} instances ({share}) {instances|has|have} no label at "
            "all.",
            evidence=share_evidence(without, total),
            curator="Say whether no label applied to these instances or nobody has labelled them "
            "yet.",
            data_user="Do not read them as negative for every node before you know which it is.",
            touched=without,
            key=("unlabelled",),
        )


def _parts(measured: Measurements) -> tuple[Part, ...]:
    """The reasons of the ledger, the most frequent first; who has several counts for each."""
    by_reason = zip(
        REASONS, measured.counts.records.at("refused", len(REASONS)).tolist(), strict=True
    )
    ordered = sorted((-n, reason) for reason, n in by_reason if n)
    return tuple(Part((reason,), {"instances": -n}) for n, reason in ordered[:TOP_PARTS])


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances whose labels were all refused, or those that never had one."""
    dataset = measured.loaded.dataset
    empty = np.flatnonzero(np.diff(dataset.direct.indptr) == 0)
    refused = np.intersect1d(empty, distinct(dataset.refused))
    return refused if finding.key == _REFUSED else np.setdiff1d(empty, refused)


CHECK = Check(
    _NAME,
    "Does every instance have a label?",
    run,
    cases=cases,
    evidence=Columns(OF_ALL),
    of_parts=PARTS,
)

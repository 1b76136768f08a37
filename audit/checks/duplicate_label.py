"""duplicate_label: the same label more than once on an instance."""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.checks.check import TOP_PARTS, Check
from audit.checks.duplicate_instance import met_twice
from audit.disclosure import Quantity, count, derived
from audit.measure import Measurements
from audit.result import CheckResult, Finding, Part

_NAME = "duplicate_label"
_TITLE = "Does an instance carry the same label more than once?"


def run(measured: Measurements) -> CheckResult:
    """Report repeated labels once, with those repeated on most instances.

    Instances that stand in two places with equal labels are left to ``duplicate_instance``.
    """
    labelled = len(measured.dataset) - measured.dataset.ledger.instances_without_labels
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=labelled,
        denominator_unit="instances with labels",
        findings=_finding(measured, labelled),
        not_applicable="" if labelled else "no instance has a label",
    )


def _finding(measured: Measurements, labelled: int) -> tuple[Finding, ...]:
    repeated = _repeated(measured)
    if repeated.is_empty():
        return ()
    touched, extra = repeated["instance"].n_unique(), int(repeated["rows"].sum()) - len(repeated)
    by_node = repeated.group_by("node").len().sort(["len", "node"], descending=[True, False])
    parts = tuple(
        Part(
            (measured.hierarchy.nodes[node],),
            {"instances": count(n, touched, int(measured.direct_support[node]))},
        )
        for node, n in by_node.head(TOP_PARTS).iter_rows()
    )
    return (
        Finding(
            check=_NAME,
            severity="note",
            nodes=parts[0].nodes,
            statement="{instances} of {of} instances with labels ({share}) carry a label more than "
            "once; the {extra} repeated rows, of {labels} different labels, count once here.",
            evidence={
                "instances": count(touched, labelled),
                "of": Quantity(labelled),
                "share": derived(touched / labelled, "instances"),
                "extra": count(extra, measured.dataset.ledger.rows_mapped),
                "labels": Quantity(len(by_node)),
            },
            curator="Say in the release notes whether a repeated label means that something was "
            "done twice, or that a row was entered twice.",
            data_user="Count a label once an instance, unless the release says what repeats mean.",
            touched=touched,
            parts=parts,
            key=("labels",),
        ),
    )


def _repeated(measured: Measurements) -> pl.DataFrame:
    """``instance, node, rows``: labels that an instance has in several rows."""
    elsewhere = pl.Series(met_twice(measured).astype(np.uint32))
    assertions = measured.dataset.assertions.filter(~pl.col("instance").is_in(elsewhere.implode()))
    by_label = assertions.group_by("instance", "node").agg(rows=pl.len())
    return by_label.filter(pl.col("rows") > 1)


CHECK = Check(_NAME, _TITLE, run)

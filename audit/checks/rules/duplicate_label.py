"""duplicate_label: the same label more than once on an instance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, count
from audit.checks.check import TOP_PARTS, Check, Outcome
from audit.checks.rules.duplicate_instance import met_twice
from audit.checks.shared.carriers import distinct, label_part
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.checks.shared.proposals import carried_as, proposals, together
from audit.measure.measure import Measurements
from audit.results.findings import Finding, share_evidence

_NAME = "duplicate_label"


@dataclass(frozen=True, eq=False)
class _Repeats:
    """Labels that instances have in several rows."""

    instances: int
    extra: int
    """Rows beyond the first of their instance and label."""
    by_node: IntArray
    """Instances by the label that they repeat, shape (n_nodes,)."""


def run(measured: Measurements) -> Outcome:
    """Report all repeated labels in one finding, with those repeated on the most instances.

    Instances that occur in two places with equal labels are left to ``duplicate_instance``.
    """
    return Outcome(
        denominator=measured.labelled,
        denominator_unit="instances with labels",
        findings=_finding(measured, _repeats(measured)),
    )


def _repeats(measured: Measurements) -> _Repeats:
    """What is repeated; counts do not say which instances are in two places."""
    records, n_nodes = measured.counts.records, len(measured.hierarchy)
    if measured.instances is None:
        extra, by_node = records.total("repeated_rows"), records.at("repeated", n_nodes)
        return _Repeats(records.total("repeated_instances"), extra, by_node)
    repeated = _repeated(measured)
    by_node = np.bincount(repeated["node"].to_numpy(), minlength=n_nodes)
    extra = int(repeated["rows"].sum()) - len(repeated)
    return _Repeats(repeated["instance"].n_unique(), extra, by_node)


def _repeated(measured: Measurements) -> pl.DataFrame:
    """``instance, node`` (indices) and ``rows`` of each label that an instance repeats."""
    elsewhere, n_nodes = pl.Series(met_twice(measured).astype(np.uint32)), len(measured.hierarchy)
    assertions = measured.loaded.dataset.assertions.filter(
        ~pl.col("instance").is_in(elsewhere.implode())
    )
    pair = pl.col("instance").cast(pl.UInt64) * n_nodes + pl.col("node")
    pairs = assertions.select(pair.sort()).to_series()  # grouping takes four times the memory
    again = pairs.filter(pairs == pairs.shift()).rle().struct
    ends = {"instance": pl.col("value") // n_nodes, "node": pl.col("value") % n_nodes}
    return again.unnest().select(pl.col("len").add(1).alias("rows"), **ends).cast(pl.UInt32)


def _finding(measured: Measurements, repeats: _Repeats) -> tuple[Finding, ...]:
    touched, labelled = repeats.instances, measured.labelled
    if not touched:
        return ()
    nodes = np.flatnonzero(repeats.by_node)
    most = nodes[np.argsort(-repeats.by_node[nodes], kind="stable")][:TOP_PARTS]
    parts = tuple(
        label_part(measured.hierarchy, (node,), n)
        for node, n in zip(most.tolist(), repeats.by_node[most].tolist(), strict=True)
    )
    return (
        Finding(
            check=_NAME,
            severity="note",
            nodes=parts[0].nodes,
            statement="{instances} of {of} instances with labels ({share}) "
            "{instances|has|have} a label more than once, which counts once[: {extra} repeated "
            "rows of {labels} different labels][, {mostly}].",
            evidence={
                **share_evidence(touched, labelled),
                "extra": repeats.extra,
                "labels": len(nodes),
            },
            curator="Say in the release notes whether a repeated label means that something was "
            "done twice, or that a row was entered twice.",
            data_user="Count a label once per instance, unless the release says what repeats mean.",
            touched=touched,
            parts=parts,
            key=("labels",),
        ),
    )


def cases(measured: Measurements, _: Finding) -> IntArray:
    """The instances with a repeated label."""
    return distinct(_repeated(measured))


def proposes(measured: Measurements, _: Finding) -> pl.DataFrame:
    """All but one of equal labels are taken out, once somebody says that they mean nothing."""
    repeated = _repeated(measured).sort("node").partition_by("node", maintain_order=True)
    found = [
        carried_as(measured, one["instance"].to_numpy(), [int(one["node"][0])]) for one in repeated
    ]
    said = "the record has it more than once; it counts once, unless repeats have a meaning"
    return together(proposals(one, "remove", "review", said, keep=1) for one in found)


CHECK = Check(
    _NAME,
    "Does an instance carry the same label more than once?",
    run,
    cases=cases,
    evidence=Columns(OF_SOME, count("extra labels", of=NONE)),
    of_parts=PARTS,
    proposes=proposes,
)

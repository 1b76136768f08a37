"""parent_and_child: an instance labelled with a node and with that node's own ancestor."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import IntArray
from audit.checks.check import TOP_PARTS, Check
from audit.checks.shared.carriers import distinct
from audit.measure.measure import Counted, Measurements
from audit.results.disclosure import Quantity, count, derived
from audit.results.result import CheckResult, Finding, Part

_NAME = "parent_and_child"
_TITLE = "Is an instance labelled with a node and with its own ancestor?"


def run(measured: Measurements) -> CheckResult:
    """Report instances whose labels hold a node and its ancestor, once, with the top pairs."""
    return _result(measured, () if _allowed(measured) else _of_instances(measured))


def on_counts(measured: Counted) -> CheckResult:
    """The same from counts alone."""
    return _result(measured, () if _allowed(measured) else _of_counts(measured))


def _allowed(measured: Counted) -> bool:
    return measured.labelled_ancestors == "allowed"


def _of_instances(measured: Measurements) -> tuple[Finding, ...]:
    pairs = _labelled_pairs(measured)
    by_pair = pairs.group_by("node", "ancestor").agg(instances=pl.len())
    return _finding(measured, pairs["instance"].n_unique(), by_pair)


def _of_counts(measured: Counted) -> tuple[Finding, ...]:
    nested = measured.records.of("nested")
    node, ancestor = np.divmod(nested.keys, len(measured.hierarchy))
    by_pair = pl.DataFrame({"node": node, "ancestor": ancestor, "instances": nested.joint})
    return _finding(measured, measured.records.total("nested_instances"), by_pair)


def _result(measured: Counted, findings: tuple[Finding, ...]) -> CheckResult:
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=measured.labelled,
        denominator_unit="instances with labels",
        findings=findings,
        not_applicable=_why_not(_allowed(measured), measured.labelled),
    )


def _why_not(allowed: bool, labelled: int) -> str:
    if allowed:
        return "this hierarchy lets a label stand beside its ancestor"
    return "" if labelled else "no instance has a label"


def _finding(measured: Counted, touched: int, by_pair: pl.DataFrame) -> tuple[Finding, ...]:
    """One finding on the instances touched, by ``node, ancestor, instances`` of each pair."""
    if not touched:
        return ()
    labelled, order = measured.labelled, ["instances", "node", "ancestor"]
    top = by_pair.sort(order, descending=[True, False, False]).head(TOP_PARTS)
    ids = measured.hierarchy.nodes
    support = measured.direct_support
    parts = tuple(
        Part(
            (ids[node], ids[ancestor]),
            {"instances": count(both, touched, int(support[node]), int(support[ancestor]))},
        )
        for node, ancestor, both in top.select("node", "ancestor", "instances").iter_rows()
    )
    return (
        Finding(
            check=_NAME,
            severity="warning",
            nodes=parts[0].nodes,
            statement="{instances} of {of} instances with labels ({share}) {instances|is|are} "
            "labelled with a "
            "node and with its own ancestor, in {pairs} different pairs.",
            evidence={
                "instances": count(touched, labelled),
                "of": Quantity(labelled),
                "share": derived(touched / labelled, "instances"),
                "pairs": Quantity(len(by_pair)),
            },
            curator="Keep the most specific label; the ancestor adds nothing and may be a remnant "
            "of coding that was later refined.",
            data_user="Propagate labels before counting, so that no ancestor is counted twice.",
            touched=touched,
            parts=parts,
            key=("labels",),
        ),
    )


def _labelled_pairs(measured: Measurements) -> pl.DataFrame:
    """``instance, node, ancestor`` (indices) for each label beside its ancestor as a label."""
    direct, strict_closure = measured.dataset.direct, measured.hierarchy.strict_closure
    beside = csr_array(direct.multiply(direct @ strict_closure)).tocoo()
    rows = np.unique(beside.row)
    labels, ancestors = direct[rows].tocoo(), strict_closure.tocoo()
    return (
        pl.DataFrame({"instance": rows[labels.row], "node": labels.col})
        .join(pl.DataFrame({"node": ancestors.row, "ancestor": ancestors.col}), on="node")
        .join(
            pl.DataFrame({"instance": beside.row, "ancestor": beside.col}),
            on=["instance", "ancestor"],
            how="semi",
        )
    )


def cases(measured: Measurements, _: Finding) -> IntArray:
    """The instances labelled with a node and with its ancestor."""
    return distinct(_labelled_pairs(measured))


CHECK = Check(_NAME, _TITLE, run, on_counts=on_counts, cases=cases)

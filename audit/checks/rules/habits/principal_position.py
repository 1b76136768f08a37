"""principal_position: codes in first place that are never the principal diagnosis."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, count, text
from audit.checks.check import TOP_PARTS, Check, Outcome, first_unmet
from audit.checks.shared.carriers import distinct
from audit.checks.shared.evidence import OF_SOME
from audit.checks.shared.labels_as_written import integrity_of
from audit.hierarchies.coding import Integrity
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below
from audit.results.findings import Finding, Part, share_evidence

_NAME = "principal_position"


def run(measured: Measurements) -> Outcome:
    """Report instances with an external cause or a manifestation in first place."""
    integrity = integrity_of(measured)
    first = _first_rows(measured)
    ordered = first["instance"].n_unique()
    asked = integrity is not None and integrity.never_first is not None
    return Outcome(
        denominator=ordered,
        denominator_unit="instances with a label in first place",
        findings=() if integrity is None else _findings(measured, integrity, first),
        not_applicable=first_unmet(
            (asked, "no code of this hierarchy is known to be excluded from first place"),
            (
                measured.loaded.dataset.assertions["position"].is_not_null().any(),
                "the labels of an instance have no order",
            ),
        ),
    )


def _findings(
    measured: Measurements, integrity: Integrity, first: pl.DataFrame
) -> tuple[Finding, ...]:
    rules = _rules(measured, integrity, first)
    misplaced = _misplaced(first, rules)
    if misplaced.is_empty():
        return ()
    touched, ordered = (frame["instance"].n_unique() for frame in (misplaced, first))
    parts = _parts(measured, misplaced, rules)
    return (
        Finding(
            check=_NAME,
            severity="warning",
            nodes=tuple(part.nodes[0] for part in parts),
            statement="{instances} of {of} instances with a label in first place ({share}) "
            "{instances|has|have} a code there that cannot be the principal diagnosis, an external "
            "cause or a manifestation[, {mostly}].",
            evidence={**share_evidence(touched, ordered), "codes": len(rules)},
            curator="Check the order of these records: a condition belongs in front of its "
            "manifestation or external cause.",
            data_user="Do not read the first label of these records as the reason for the stay.",
            touched=touched,
            parts=parts,
            key=("first",),
        ),
    )


def _first_rows(measured: Measurements) -> pl.DataFrame:
    """The rows in first place."""
    return measured.loaded.dataset.assertions.filter(pl.col("position") == 1)


def _misplaced(first: pl.DataFrame, rules: Mapping[int, str]) -> pl.DataFrame:
    return first.filter(pl.col("node").is_in(list(rules)))


def _rules(
    measured: Measurements, integrity: Integrity | None, first: pl.DataFrame
) -> dict[int, str]:
    """Why each node in first place may not be there."""
    if integrity is None:
        return {}
    ask, hierarchy = integrity.never_first, measured.hierarchy
    if ask is None:
        return {}
    nodes, behind = first["node"].unique().to_list(), _behind(measured)
    asked = ((i, ask(hierarchy.nodes[i], hierarchy.titles[i]) or behind.get(i)) for i in nodes)
    return {i: rule for i, rule in asked if rule is not None}


def _behind(measured: Measurements) -> dict[int, str]:
    """Nodes that another code must precede on any day and record, by the policy's rule on each."""
    return {
        node: f"a manifestation by the rule: {rule.source.rstrip('.')}"
        for rule in reversed(measured.policy.companions)
        if rule.position == "before" and not rule.excusing and not rule.begins_or_ends
        for node in np.flatnonzero(at_or_below(measured.hierarchy, rule.asking)).tolist()
    }


def _parts(
    measured: Measurements, misplaced: pl.DataFrame, rules: Mapping[int, str]
) -> tuple[Part, ...]:
    """The codes in first place, most used first, with the rule that fired."""
    by_node = (
        misplaced.group_by("node")
        .agg(pl.col("instance").n_unique().alias("instances"))
        .sort(["instances", "node"], descending=[True, False])
    )
    return tuple(
        Part((measured.hierarchy.nodes[node],), {"instances": n, "rule": rules[node]})
        for node, n in by_node.head(TOP_PARTS).iter_rows()
    )


def cases(measured: Measurements, _: Finding) -> IntArray:
    """The instances with such a code in first place."""
    first = _first_rows(measured)
    return distinct(_misplaced(first, _rules(measured, integrity_of(measured), first)))


CHECK = Check(
    _NAME,
    "Are codes listed first that cannot be a principal diagnosis?",
    run,
    needs="instances",
    cases=cases,
    evidence=Columns(OF_SOME, count("codes", of=NONE)),
    of_parts=Columns(count("instances"), text("rule")),
)

"""label_suspects: labels that a model's scores contradict, and labels that they say are missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, Mark, chance, count, share, text, total
from audit.checks.check import TOP_PARTS, Check, Limit, Outcome
from audit.checks.shared.proposals import (
    Change,
    as_in_data,
    carried_as,
    proposals,
    together,
)
from audit.checks.shared.suspects import (
    MISSING,
    NO_OTHER,
    TOO_GENERAL,
    TOO_SPECIFIC,
    UNFIT,
    Judged,
    judged,
)
from audit.engine.scores.label_quality import CLOSE
from audit.engine.statistics.association import shrunk_ratio
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements
from audit.results.findings import (
    SUSPECTS,
    Evidence,
    Finding,
    Part,
    share_evidence,
    times_limit,
)

LIKELY = 0.5
"""Probability above which the node that scores are for is proposed."""
TRUSTED = 0.23
"""How much of the evidence of scores counts, of the logit of a probability. The scores themselves
cannot tell: an error that a model is sure of looks like a wrong label. Fitted to half of the
instances of 20 Newsgroups, the worst of the public data with cross-validated scores: the cautious
end of the 95 % interval."""

_TOLD = {
    TOO_GENERAL: "the label given is above it",
    TOO_SPECIFIC: "the label given is below it",
    "sibling": "a sibling of the label given",
    "overlap": "it has a node below it in common with the label given",
    "same branch": "in the same branch as the label given",
    "other branch": "in another branch than the label given",
    MISSING: "no label given lies above it",
    NO_OTHER: "no other node has such a score",
}


def run(measured: Measurements) -> Outcome:
    """Report labels that are suspect, or lack, more often than the model's own doubt explains."""
    found = judged(measured)
    left = "; nodes without scores left out" * found.unscored
    left += f"; {UNFIT} left out" * (found.left_out > 0)
    return Outcome(
        denominator=found.family,
        denominator_unit=f"nodes with labels that may be wrong, or missing{left}",
        findings=tuple(_findings(measured, found)) if found.family else (),
        not_applicable=found.why_not,
    )


def _findings(measured: Measurements, found: Judged) -> Iterator[Finding]:
    q_value = benjamini_hochberg(found.tests["p_value"].to_numpy(), found.family)
    told = found.tests.with_columns(q_value=pl.Series(q_value, dtype=pl.Float64))
    told = told.filter(pl.col("q_value") <= measured.policy.false_discovery_rate.value)
    for row in told.iter_rows(named=True):
        yield _finding(measured, found, _Told(**row))


@dataclass(frozen=True)
class _Told:
    """A line of the tests that is told."""

    node: int
    lacks: bool
    suspects: int
    labelled: int
    expected: float
    p_value: float
    q_value: float


def _finding(measured: Measurements, found: Judged, told: _Told) -> Finding:
    hierarchy, k = measured.hierarchy, told.suspects
    name, n = hierarchy.nodes[told.node], len(measured.predicted.predictions)
    every = n == measured.n_instances and not found.left_out
    labelled = "labelled" if every else "matched_labelled"
    _, least, _ = shrunk_ratio(np.array(float(k)), np.array(told.expected))
    parts, pairs = _breakdown(measured, found, told)
    said = (
        "{instances} instances without this label {instances|scores|score} as high for it as those "
        f"that have it ({{{labelled}}})"
        if told.lacks
        else f"{{instances}} of {{{labelled}}} instances with this label ({{share}}) "
        "{instances|has|have} scores that contradict it"
    )
    return Finding(
        check=SUSPECTS,
        severity="note",
        nodes=(name,),
        key=(name, MISSING) if told.lacks else (),
        statement=f"{hierarchy.describe(told.node)}: {said}[; {{expected_suspects}} would "
        "even if every label were right, since scores are uncertain].",
        evidence={
            **_share_of(k, told),
            labelled: told.labelled,
            "expected_suspects": told.expected,
            "q_value": told.q_value,
            "family": found.family,
            **({"unfit": found.left_out} if found.left_out else {}),
            "pairs": pairs,
        },
        curator="Look at these instances in the order that audit fixes gives: the label is wrong, "
        "or the model is. Scores must be of instances that the model did not learn from, as from "
        "cross-validation; else wrong labels are hidden.",
        data_user="Expect labels of this node to be wrong, or missing, about as often as the "
        "suspects exceed those expected.",
        touched=k,
        strength=max(k - told.expected, 0.0) / k,
        beyond=times_limit(float(least), 1.0),
        parts=parts,
    )


def _share_of(k: int, told: _Told) -> Evidence:
    """So many of those that have, or may lack, the label."""
    whole = told.suspects + told.labelled if told.lacks else told.labelled
    low, high = wilson(k, whole)
    return share_evidence(k, whole) | {"low": low, "high": high}


def _breakdown(measured: Measurements, found: Judged, told: _Told) -> tuple[tuple[Part, ...], int]:
    """The pairs of a finding, the label first, and how many there are."""
    nodes = measured.hierarchy.nodes
    pairs = (
        _of(found, told.node, lacks=told.lacks)
        .group_by("other", "kind")
        .agg(suspects=pl.len())
        .sort("suspects", "other", descending=[True, False])
    )
    parts = []
    for other, kind, k in pairs.head(TOP_PARTS).iter_rows():
        beside = () if other is None else (nodes[other],)
        named = (*beside, nodes[told.node]) if told.lacks else (nodes[told.node], *beside)
        parts.append(Part(named, {**_share_of(k, told), "kind": kind}))
    return tuple(parts), len(pairs)


def _of(found: Judged, node: int, *, lacks: bool) -> pl.DataFrame:
    return found.table.filter((pl.col("node") == node) & (pl.col("lacks") == lacks))


def _behind(measured: Measurements, finding: Finding) -> pl.DataFrame:
    node = measured.hierarchy.index(finding.nodes[0])
    return _of(judged(measured), node, lacks=bool(finding.key))


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances whose label is suspect, or that lack it."""
    return np.sort(_behind(measured, finding)["instance"].to_numpy())


def proposes(measured: Measurements, finding: Finding) -> pl.DataFrame:
    """The node that scores are for, in the order of margins.

    It is likely where it is right with a probability above one half: that which it has if some
    labels are wrong by chance, of whose evidence `TRUSTED` counts. Of a label beside which others
    may be right too somebody must look.
    """
    found, node = _behind(measured, finding), measured.hierarchy.index(finding.nodes[0])
    if finding.key:
        found = found.with_columns(other=pl.lit(node, pl.Int64), label=pl.lit(None, pl.String))
    else:
        labels = carried_as(measured, found["instance"].to_numpy(), [node])
        same = pl.col("instance").cast(pl.Int64)
        found = found.join(labels.with_columns(same), on="instance", maintain_order="left")
    written, nodes = as_in_data(measured), measured.hierarchy.nodes
    other = [None if at is None else written(nodes[at]) for at in found["other"].to_list()]
    kind = pl.col("kind").replace_strict(_TOLD, return_dtype=pl.String)
    margin = pl.col("margin").round(4)
    odds = (pl.col("probability") / (1 - pl.col("probability")).clip(CLOSE)) ** TRUSTED
    told = found.with_columns(
        (odds / (1 + odds)).alias("probability"),
        proposed=pl.Series(other, dtype=pl.String),
        candidates=pl.Series(
            [[] if one is None else [one] for one in other], dtype=pl.List(pl.String)
        ),
        said=pl.format("scores contradict the label: normalised margin {} ({})", margin, kind),
    )
    one = measured.predicted.predictions.single_label
    likely = (pl.col("probability") > LIKELY) & (one or bool(finding.key))
    said = pl.col("said")
    change: Change = "add" if finding.key else "replace"
    asked = told.filter(~likely).drop("proposed", "probability")
    return together(
        [
            proposals(told.filter(likely).drop("candidates"), change, "likely", said),
            proposals(asked, "add" if finding.key else "review", "review", said),
        ]
    )


_SHARE = (
    *count("instances of", "Suspects"),
    *share("share", "Share", of="instances of", ends="low high", mark=Mark()),
)
CHECK = Check(
    SUSPECTS,
    "Which labels do a model's scores contradict?",
    run,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    needs="instances",
    cases=cases,
    proposes=proposes,
    nodes="Label",
    evidence=Columns(
        _SHARE,
        count("labelled matched_labelled unfit"),
        total("expected_suspects", "Expected"),
        chance("q_value family"),
        count("pairs", of=NONE),
    ),
    of_parts=Columns(_SHARE, text("kind")),
    denominator="untold",
)

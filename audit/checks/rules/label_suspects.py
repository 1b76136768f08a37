"""label_suspects: labels that a model's scores contradict, and labels that they say are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from audit.base.declared import NONE, Columns, Mark, chance, count, share, text, total
from audit.checks.check import TOP_PARTS, Limit
from audit.checks.rows import Row, Rows, check_of_rows, significant
from audit.checks.shared.proposals import (
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
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements
from audit.results.findings import (
    SUSPECTS,
    Evidence,
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


def _suspects(measured: Measurements) -> Rows:
    """Report labels that are suspect, or lack, more often than the model's own doubt explains."""
    found = judged(measured)
    left = "; nodes without scores left out" * found.unscored
    left += f"; {UNFIT} left out" * (found.left_out > 0)
    return Rows(
        found.family,
        f"nodes with labels that may be wrong, or missing{left}",
        (
            _row(measured, found, test, q_value)
            for test, q_value in significant(
                measured, found.tests.to_dicts(), found.tests["p_value"], found.family
            )
        )
        if found.family
        else (),
        found.why_not,
    )


def _row(measured: Measurements, found: Judged, test: Mapping[str, Any], q_value: float) -> Row:
    hierarchy, k, lacks = measured.hierarchy, test["suspects"], test["lacks"]
    name, n = hierarchy.nodes[test["node"]], len(measured.predicted.predictions)
    every = n == measured.n_instances and not found.left_out
    labelled = "labelled" if every else "matched_labelled"
    _, least, _ = shrunk_ratio(np.array(float(k)), np.array(test["expected"]))
    own = found.table.filter(node=test["node"], lacks=lacks)
    pairs = own.group_by("other", "kind").agg(suspects=pl.len())
    said = (
        "{instances} instances without this label {instances|scores|score} as high for it as those "
        f"that have it ({{{labelled}}})"
        if lacks
        else f"{{instances}} of {{{labelled}}} instances with this label ({{share}}) "
        "{instances|has|have} scores that contradict it"
    )
    return Row(
        nodes=(name,),
        key=(name, MISSING) if lacks else (),
        sentence=f"{hierarchy.describe(test['node'])}: {said}[; {{expected_suspects}} would "
        "even if every label were right, since scores are uncertain].",
        evidence={
            **_share_of(k, test),
            labelled: test["labelled"],
            "expected_suspects": test["expected"],
            "q_value": q_value,
            "family": found.family,
            **({"unfit": found.left_out} if found.left_out else {}),
            "pairs": len(pairs),
        },
        curator="Look at these instances in the order that audit fixes gives: the label is wrong, "
        "or the model is. Scores must be of instances that the model did not learn from, as from "
        "cross-validation; else wrong labels are hidden.",
        data_user="Expect labels of this node to be wrong, or missing, about as often as the "
        "suspects exceed those expected.",
        strength=max(k - test["expected"], 0.0) / k,
        beyond=times_limit(float(least), 1.0),
        parts=tuple(_parts(hierarchy.nodes, pairs, test)),
        cases=lambda: np.sort(own["instance"].to_numpy()),
        proposes=partial(_likelier, measured, own, test["node"], lacks=lacks),
    )


def _share_of(k: int, test: Mapping[str, Any]) -> Evidence:
    """So many of those that have, or may lack, the label."""
    whole = test["labelled"] + (test["suspects"] if test["lacks"] else 0)
    low, high = wilson(k, whole)
    return share_evidence(k, whole) | {"low": low, "high": high}


def _parts(nodes: Sequence[str], pairs: pl.DataFrame, test: Mapping[str, Any]) -> Iterator[Part]:
    """The commonest pairs of a row, the label first."""
    most = pairs.sort("suspects", "other", descending=[True, False]).head(TOP_PARTS)
    for other, kind, k in most.iter_rows():
        named = (nodes[test["node"]], *(() if other is None else (nodes[other],)))
        yield Part(named[::-1] if test["lacks"] else named, {**_share_of(k, test), "kind": kind})


def _likelier(
    measured: Measurements, found: pl.DataFrame, node: int, *, lacks: bool
) -> pl.DataFrame:
    """The node that scores are for, in the order of margins.

    It is likely where it is right with a probability above one half: that which it has if some
    labels are wrong by chance, of whose evidence `TRUSTED` counts. Of a label beside which others
    may be right too somebody must look.
    """
    if lacks:
        found = found.with_columns(other=pl.lit(node, pl.Int64), label=pl.lit(None, pl.String))
    else:
        labels = carried_as(measured, found["instance"].to_numpy(), [node])
        same = pl.col("instance").cast(pl.Int64)
        found = found.join(labels.with_columns(same), on="instance", maintain_order="left")
    written, nodes = as_in_data(measured), measured.hierarchy.nodes
    other = [None if at is None else written(nodes[at]) for at in found["other"].to_list()]
    offered = [[] if one is None else [one] for one in other]
    odds = (pl.col("probability") / (1 - pl.col("probability")).clip(CLOSE)) ** TRUSTED
    told = found.with_columns(
        (odds / (1 + odds)).alias("probability"),
        proposed=pl.Series(other, dtype=pl.String),
        candidates=pl.Series(offered, dtype=pl.List(pl.String)),
    )
    said = pl.format(
        "scores contradict the label: normalised margin {} ({})",
        pl.col("margin").round(4),
        pl.col("kind").replace_strict(_TOLD, return_dtype=pl.String),
    )
    one = measured.predicted.predictions.single_label
    likely = (pl.col("probability") > LIKELY) & (one or lacks)
    sure = told.filter(likely).drop("candidates")
    asked = told.filter(~likely).drop("proposed", "probability")
    return together(
        [
            proposals(sure, "add" if lacks else "replace", "likely", said),
            proposals(asked, "add" if lacks else "review", "review", said),
        ]
    )


_SHARE = (
    *count("instances of", "Suspects"),
    *share("share", "Share", of="instances of", ends="low high", mark=Mark()),
)
CHECK = check_of_rows(
    SUSPECTS,
    "Which labels do a model's scores contradict?",
    _suspects,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    needs="instances",
    proposes=True,
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

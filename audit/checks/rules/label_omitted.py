"""label_omitted: labels that data leave out, where people judged answers that labels lack."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from audit.base.dag import IntArray, Sparse
from audit.checks.check import Check, Outcome, first_unmet
from audit.disclosure import coarse, count, derived
from audit.engine.pairs.pair_counts import support
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements, once
from audit.results.findings import OMITTED, Column, Finding, times_limit

MORE_THAN = 0.5
"""Share of the judged answers that must be right, by the lower end of its 95 % interval."""


def run(measured: Measurements) -> Outcome:
    """Report labels where more than half of the answers that instances lack are right.

    What labels and answers alone cannot tell, whether labels leave a node out or a model gives it
    too readily, people say of a sample of the answers.
    """
    model = measured.model
    verdicts = None if model is None else model.predictions.verdicts
    said = None if verdicts is None else _said(measured)
    judged = 0 if said is None else len(np.unique(said.indices))
    return Outcome(
        denominator=judged,
        denominator_unit="labels of which answers that instances lack were judged",
        findings=tuple(_findings(measured)) if judged else (),
        not_applicable=first_unmet(
            (model is not None, "no predictions were given"),
            (verdicts is not None, "no column of verdicts was named (--verdict)"),
            (judged, "no answer that an instance lacks was judged right or wrong"),
        ),
    )


@once
def _lacking(measured: Measurements) -> Sparse:
    """Answers with no label of the instance at or below them, 0 or 1, (n_instances, n_nodes)."""
    model = measured.predicted
    lacking = (model.decided - model.decided.multiply(model.carried.labelled)).tocsr()
    lacking.eliminate_zeros()
    return lacking


@once
def _said(measured: Measurements) -> Sparse:
    """What people said of these, 1 right and -1 wrong, same shape."""
    verdicts = measured.predicted.predictions.verdicts
    assert verdicts is not None, "asked in run"
    said = _lacking(measured).multiply(verdicts).tocsr()
    said.eliminate_zeros()
    return said


def _findings(measured: Measurements) -> Iterator[Finding]:
    model, said = measured.predicted, _said(measured)
    lacking, judged = support(_lacking(measured)), support(said)
    right = np.bincount(said.indices[said.data > 0], minlength=len(judged))
    answers, labelled = support(model.decided), support(model.gold)
    n = len(model.predictions)
    of = "labelled" if n == measured.n_instances else "matched_labelled"
    for node in np.flatnonzero(right).tolist():
        k, of_judged = int(right[node]), int(judged[node])
        low, high = wilson(k, of_judged)
        if low <= MORE_THAN:
            continue
        shares = {"share": k / of_judged, "low": low, "high": high}
        without = int(lacking[node])
        yield Finding(
            check=OMITTED,
            severity="note",
            nodes=(measured.hierarchy.nodes[node],),
            statement=f"The labels leave out {measured.hierarchy.describe(node)}: the model gives "
            "it on {given_without} instances that lack it, and of {judged} of them that somebody "
            "judged it is right on {instances} ({share})[, 95% interval {low} to {high}]. "
            f"{{{of}}} {{{of}|instance has|instances have}} the label.",
            evidence={
                "instances": coarse(k, without),
                "judged": coarse(of_judged, without),
                **{name: derived(one, "instances", "judged") for name, one in shares.items()},
                "given_without": coarse(without, int(answers[node])),
                of: count(int(labelled[node]), n),
            },
            curator="Judge the other instances on which the model gives this label and that lack "
            "it, and add it where it is right; a rate of this label is too low until then.",
            data_user="Do not take the absence of this label for certain, and do not count it "
            "against a model that gives it.",
            touched=k,
            strength=k / of_judged,
            beyond=times_limit(float(low), MORE_THAN),
        )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances that lack the label and on which it was judged right, ascending."""
    said = _said(measured).tocoo()
    right = (said.col == measured.hierarchy.index(finding.nodes[0])) & (said.data > 0)
    return np.asarray(measured.predicted.predictions.rows[np.sort(said.row[right])])


CHECK = Check(
    OMITTED,
    "Which labels do people find left out?",
    run,
    needs="instances",
    cases=cases,
    columns=(
        Column("Label", "node"),
        Column("Right", "instances"),
        Column("Judged", "judged"),
        Column("Share", "share", low="low", high="high"),
        Column("Labelled", "labelled matched_labelled"),
    ),
)

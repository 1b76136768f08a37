"""unknown_code: labels, and classes of a model, that are not in the hierarchy."""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, count, whole
from audit.checks.check import TOP_PARTS, Check, Outcome
from audit.checks.shared.carriers import written_with
from audit.checks.shared.evidence import LABEL_PARTS, OF_SOME_ROWS
from audit.checks.shared.label_findings import finding_of_labels
from audit.checks.shared.labels_as_written import (
    LOOKED_UP,
    looked_at,
    refused_for,
    unexplained,
)
from audit.checks.shared.proposals import near_codes, together
from audit.measure.measure import Measurements
from audit.results.findings import Finding, Part

_NAME = "unknown_code"
_REFUSED = "refused"
"""Key of the finding on refused labels."""
_UNREAD = "bad_row"
"""Reason of rows that could not be read, and key of the finding on them."""
_CLASSES = "classes"
"""Key of the finding on model classes that were left out."""
_HUNG_CLASSES = "classes hung"
"""Key of the finding on model classes that were added below a known node."""


def run(measured: Measurements) -> Outcome:
    """Report refused labels, codes added below a known node, and model classes left out or added.

    If the edition is known, `retired_code` reports the codes missing from it.
    """
    return Outcome(
        denominator=looked_at(measured),
        denominator_unit=LOOKED_UP,
        findings=(
            *_refused(measured),
            *_unread(measured),
            *_hung(measured),
            *_classes(measured),
            *_hung_classes(measured),
        ),
    )


def _refused(measured: Measurements) -> tuple[Finding, ...]:
    return finding_of_labels(
        measured,
        refused_for(measured, _NAME),
        check=_NAME,
        key=_REFUSED,
        severity="error",
        statement="{rows} of {of} rows ({share}) {rows|has|have} {labels} labels that the "
        "hierarchy lacks[, {mostly}]; {rows|it was|they were} refused.",
        curator="Correct these labels, or name the hierarchy and version they come from; a word "
        "that says that none applies is named by --missing.",
        data_user="Leave these rows out, and say so: not even their ancestors are known.",
        of=looked_at(measured),
    )


def _unread(measured: Measurements) -> tuple[Finding, ...]:
    return finding_of_labels(
        measured,
        refused_for(measured, _UNREAD).with_columns(pl.col("label").fill_null("no label")),
        check=_NAME,
        key=_UNREAD,
        severity="error",
        statement="{rows} of {of} rows ({share}) {rows|has|have} no id of an instance, or "
        "{rows|says|say} no version of {rows|its|their} code; {rows|it was|they were} refused.",
        curator="Give every row the id of its instance, and its version where there is a column.",
        data_user="Leave these rows out, and say so.",
    )


def _hung(measured: Measurements) -> tuple[Finding, ...]:
    labels = _of_no_edition(measured)
    return finding_of_labels(
        measured,
        labels,
        check=_NAME,
        key="hung",
        severity="warning",
        statement="{rows} of {of} rows ({share}) {rows|has|have} {labels} labels that the "
        "hierarchy lacks; {nodes_added} nodes {nodes_added|was|were} added for {labels|it|them}, "
        "{nodes_added|below|each below} the node that its digits name.",
        curator="Look the codes up in the edition that was valid when they were assigned, and name "
        "the hierarchy that has them.",
        data_user="Trust the nodes above these codes more than the codes. Counts of branches "
        "without these codes are not comparable.",
        of=looked_at(measured),
        more={"nodes_added": labels["label"].n_unique()},
    )


def _of_no_edition(measured: Measurements) -> pl.DataFrame:
    return unexplained(measured).filter(pl.col("edition").is_null())


def _classes(measured: Measurements) -> tuple[Finding, ...]:
    if measured.model is None:
        return ()
    predictions = measured.model.predictions
    told, matched = predictions.ledger, len(predictions)
    unknown, touched = told.unknown_classes, len(predictions.left_out)
    if not unknown:
        return ()
    return (
        Finding(
            check=_NAME,
            severity="warning",
            nodes=unknown[:TOP_PARTS],
            statement="{labels} of {classes} classes of the predictions {labels|is|are} not in "
            "the hierarchy; {labels|it was|they were} left out, scored above 0 on {instances} of "
            "{predicted} instances.",
            evidence={
                "labels": len(unknown),
                "classes": told.classes_read,
                "instances": touched,
                "predicted": matched,
            },
            curator="Use the hierarchy's names for these classes, or give the hierarchy that the "
            "model was trained on.",
            data_user="Do not blame the model for all mistakes on these instances: part of its "
            "answer there was left out.",
            touched=touched,
            parts=tuple(Part((name,), {}) for name in unknown[:TOP_PARTS]),
            key=(_CLASSES,),
        ),
    )


def _hung_classes(measured: Measurements) -> tuple[Finding, ...]:
    if measured.model is None:
        return ()
    predictions = measured.model.predictions
    told, matched, touched = predictions.ledger, len(predictions), len(_scored_as_hung(measured))
    hung = sorted(told.hung_classes.values())
    if not hung:
        return ()
    return (
        Finding(
            check=_NAME,
            severity="warning",
            nodes=tuple(hung[:TOP_PARTS]),
            statement="{labels} of {classes} classes of the predictions {labels|is|are} not in "
            "the hierarchy; {nodes_added} nodes {nodes_added|was|were} added for "
            "{labels|it|them}, {nodes_added|below|each below} the node that its digits "
            "name, with scores above 0 on {instances} of {predicted} instances.",
            evidence={
                "labels": len(hung),
                "classes": told.classes_read,
                "nodes_added": len(hung),
                "instances": touched,
                "predicted": matched,
            },
            curator="Give the hierarchy that the model was trained on: this one lacks these "
            "classes.",
            data_user="Trust the nodes above these classes more than the classes: an answer can "
            "be right only where labels have such a code too.",
            touched=touched,
            parts=tuple(Part((node,), {}) for node in hung[:TOP_PARTS]),
            key=(_HUNG_CLASSES,),
        ),
    )


def _scored_as_hung(measured: Measurements) -> IntArray:
    """Instances with a score above 0 for a class that was hung, ascending."""
    if measured.model is None:
        return np.empty(0, np.int64)
    predictions = measured.model.predictions
    index = measured.hierarchy.index
    nodes = [index(node) for node in predictions.ledger.hung_classes.values()]
    scored = np.asarray(predictions.scores[:, nodes].sum(axis=1)).ravel() > 0
    return np.asarray(predictions.rows[scored])


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with such a label, or with a score of such a class."""
    if finding.key == (_HUNG_CLASSES,):
        return _scored_as_hung(measured)
    if finding.key == (_CLASSES,):
        model = measured.model
        return np.empty(0, np.int64) if model is None else np.sort(model.predictions.left_out)
    reason = {_REFUSED: _NAME, _UNREAD: _UNREAD}.get(finding.key[0])
    labels = refused_for(measured, reason) if reason else _of_no_edition(measured)
    return written_with(measured, labels)


def proposes(measured: Measurements, finding: Finding) -> pl.DataFrame:
    """The nodes that a refused label may be a slip of."""
    if finding.key != (_REFUSED,):
        return together([])
    return near_codes(measured, refused_for(measured, _NAME))


CHECK = Check(
    _NAME,
    "Is every label a node of the hierarchy?",
    run,
    cases=cases,
    evidence=Columns(
        OF_SOME_ROWS,
        count("nodes_added", of=NONE),
        whole("classes"),
        count("instances predicted"),
    ),
    of_parts=LABEL_PARTS,
    denominator="rows",
    proposes=proposes,
)

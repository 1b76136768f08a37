"""Early error if most labels are not nodes of the hierarchy, with likely causes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.plurals import counted
from audit.data.mapping import Ledger
from audit.data.predictions import Predictions
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd import icd9, icd10

MOSTLY = 0.5
"""Share of refused rows, or classes, above which the hierarchy is assumed to be the wrong one."""

_OF_LABELS = ("unknown_code", "retired_code", "malformed_code", "no_place")
_OF_TABLES = ("other_version", "no_hierarchy")
"""Reasons of the ledger that a wrong hierarchy gives: for the text of a label, for its table."""


def refuse_wrong_hierarchy(
    ledger: Ledger, refusals: pl.DataFrame, hierarchy: Hierarchy, dataset: str
) -> None:
    """Raise InputError if more than half of the rows are refused because of their label.

    Args:
        ledger: Ledger of the rows read; rows without a label are not counted.
        refusals: The refusals, as in `audit.data.dataset.LabelDataset.refusals`.
        hierarchy: The hierarchy that the labels were mapped to.
        dataset: Name of the dataset, for the message.

    Time grows with the number of different labels and of nodes.
    """
    refused = sum(ledger.refused.get(reason, 0) for reason in (*_OF_LABELS, *_OF_TABLES))
    if refused <= MOSTLY * ledger.rows_read:
        return
    of_labels = refusals.filter(pl.col("reason").is_in(_OF_LABELS)).group_by("label")
    rows = dict(of_labels.agg(pl.col("rows").sum()).drop_nulls().iter_rows())
    marked = refused - sum(rows.values())
    guess = _guess(rows, hierarchy)
    if marked > MOSTLY * refused:
        guess = "the data say that these rows are of another version or another classification"
    raise InputError(
        f"most labels must be nodes of the hierarchy {hierarchy.name}",
        found=f"{refused:,} of {counted(ledger.rows_read, 'rows')} refused; {_most_frequent(rows)}",
        where=dataset,
        hint=f"{guess}; --anyway continues all the same",
    )


def refuse_wrong_classes(predictions: Predictions, path: Path) -> None:
    """Raise InputError if more than half of the classes of predictions are not nodes."""
    ledger = predictions.ledger
    unknown = ledger.unknown_classes
    if len(unknown) <= MOSTLY * ledger.classes_read:
        return
    guess = _guess(dict.fromkeys(unknown, 1), predictions.hierarchy)
    raise InputError(
        f"most classes must be nodes of the hierarchy {predictions.hierarchy.name}",
        found=f"{len(unknown):,} of {ledger.classes_read:,} are not: {first_cases(unknown)}",
        where=path,
        hint=f"{guess}; --anyway continues all the same",
    )


def _most_frequent(rows: Mapping[str, int]) -> str:
    ordered = sorted(rows, key=lambda label: (-rows[label], label))
    return (
        f"labels that the hierarchy lacks: {first_cases(ordered)}"
        if ordered
        else "all by their table"
    )


def _guess(rows: Mapping[str, int], hierarchy: Hierarchy) -> str:
    """What explains most of the rows of refused labels, as a sentence without its full stop."""
    nodes, titles = set(hierarchy.nodes), set(filter(None, hierarchy.titles))
    folded = {node.casefold() for node in nodes}
    plain = {_plain(node) for node in nodes}
    folded_titles = {title.casefold() for title in titles}
    explains: Mapping[str, Callable[[str], bool]] = {
        "the labels may be titles, where codes are required": lambda label: (
            label.strip().casefold() in folded_titles
        ),
        "the labels differ from nodes in upper and lower case": lambda label: (
            label.strip().casefold() in folded
        ),
        "the labels differ from nodes in dots, blanks or dashes": lambda label: (
            _plain(label) in plain
        ),
        "the labels look like ICD-10: --hierarchy icd10cm may be meant": (
            icd9.has_shape_of_icd10_alone
        ),
        "the labels look like ICD-9-CM: --hierarchy icd9cm may be meant": (
            icd10.has_shape_of_icd9_alone
        ),
    }
    total = sum(rows.values())
    for guess, explained in explains.items():
        if sum(n for label, n in rows.items() if explained(label)) > MOSTLY * total:
            return guess
    return "another classification, or another version of it, may be meant"


def _plain(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())

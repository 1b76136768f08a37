"""Refusals of data: most labels are of another hierarchy, or the policy cannot be applied."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, PolicyError, first_cases
from audit.base.plurals import counted
from audit.checks.rules.sex_age_conflict import refuse_unread_people
from audit.counting.counts import PairCount
from audit.data.dataset import LabelDataset
from audit.data.known_nodes import alphanumeric
from audit.data.mapping import place
from audit.data.predictions import Predictions
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import BUILT_IN
from audit.measure.validity import days_of
from audit.policy.policy import KEYS_OF_COLUMNS, Policy


def refuse_hierarchy(policy: Policy, hierarchy: Hierarchy) -> None:
    """Raise PolicyError if labels were placed other than the policy says."""
    asked, done = policy.unlisted_codes, hierarchy.unlisted or "hang"
    if hierarchy.coding is not None and asked not in (None, done):
        raise PolicyError(
            f'labels must be treated as the policy states: unlisted_codes = "{asked}"',
            found=f"a hierarchy read with {done}",
            hint=f'leave --unlisted out, or audit.load_hierarchy(..., unlisted="{asked}")',
        )


def refuse_columns(policy: Policy, data: LabelDataset | PairCount, today: date) -> None:
    """Refuse columns that are not there, or do not hold what the policy takes them for."""
    if isinstance(data, LabelDataset):
        _refuse_absent_columns(policy, data)
        _refuse_strata_of_single_instances(policy, data)
        refuse_unread_people(data, policy.person)
        _refuse_days_to_come(policy, data, today)
    elif policy.columns:
        raise PolicyError(
            "a policy that names no column is required where data are only counted",
            found=f"{first_cases(policy.columns)}",
            hint=f"leave {KEYS_OF_COLUMNS} out, or audit the data in memory",
        )


def _refuse_strata_of_single_instances(policy: Policy, dataset: LabelDataset) -> None:
    instances = dataset.instances
    apart = [
        f"{column!r} has {instances[column].n_unique():,} values on {len(instances):,} instances"
        for column in (*policy.strata, *policy.coding_columns)
        if 1 < len(instances) <= instances[column].n_unique()
    ]
    if apart:
        raise PolicyError(
            "a column of strata or of who codes must have values that instances share",
            found=first_cases(apart),
            hint="name a column such as site, period or newborn; an id makes every instance a "
            "stratum of its own",
        )


def _refuse_absent_columns(policy: Policy, dataset: LabelDataset) -> None:
    absent = [column for column in policy.columns if column not in dataset.strata]
    if absent:
        raise PolicyError(
            "every column that the policy names must be read with the data",
            found=f"not read: {first_cases(absent)}",
            hint="audit.load_labels(..., strata=policy.columns)",
        )


def _refuse_days_to_come(policy: Policy, dataset: LabelDataset, today: date) -> None:
    if policy.day:
        days_of(dataset, policy.day, "day")
    if policy.code_dates is None:
        return
    column = policy.code_dates.column
    later = days_of(dataset, column) > today
    if later.any():
        raise PolicyError(
            "the column that code_dates of the policy names must hold the true days of coding",
            found=f"{int(later.sum()):,} of {len(later):,} in {column!r} are after {today}",
            hint="days that were shifted, as in MIMIC, say nothing about codes: leave code_dates "
            "out",
        )


MOSTLY = 0.5
"""Share of refused rows, or classes, above which a cause is taken for the cause."""

_SHORT = 60
"""Characters of the longest label that is preferred as an example."""
Rows = Mapping[str, int]
Explains = Callable[[str], bool]
_OF_LABELS = ("unknown_code", "retired_code", "malformed_code", "no_place")
_OF_TABLES = ("other_version", "no_hierarchy")
"""Reasons of the ledger that a wrong hierarchy gives: for the text of a label, for its table."""
_NO_LABEL = ("missing_code", "left_out")
_OTHERWISE = {
    "missing_code": "--label names another column",
    "left_out": "--where leaves no row: name values that the column has",
    "bad_row": "--id names another column, --version-column that of the version",
    "": "no instance has a label: --label names another column",
}
"""What to do where rows are refused for another reason; empty: there is no row."""


def refuse_wrong_hierarchy(data: LabelDataset | PairCount, sources: Sequence[Path]) -> None:
    """Raise InputError if no row is mapped, or more than half of those with a label are refused.

    Args:
        data: The labels, or their counts; rows without a label, or left out, are not counted.
        sources: The files that were counted, for the message.

    Time grows with the number of different labels and of nodes.
    """
    ledger, refusals, told = data.ledger, data.refusals, data.ledger.refused
    judged = {reason: rows for reason, rows in told.items() if reason not in _NO_LABEL}
    refused = sum(judged.values())
    labelled = ledger.rows_mapped + refused
    if ledger.rows_mapped and refused <= MOSTLY * labelled:
        return
    most = max(judged or told, key=lambda reason: told[reason], default="")
    of_column = (pl.col("reason") == "other_version") & pl.col("table").is_null()
    of_labels = refusals.filter(pl.col("reason").is_in(_OF_LABELS) | of_column).group_by("label")
    rows = dict(of_labels.agg(pl.col("rows").sum()).drop_nulls().iter_rows())
    marked = most in _OF_TABLES and sum(rows.values()) <= MOSTLY * refused
    required = f"most labels must be nodes of the hierarchy {data.hierarchy.name}"
    found, tables = _most_frequent(rows), "the data say that these rows are of another version"
    if most in _OTHERWISE:
        labels = first_cases(refusals.filter(pl.col("reason") == most)["label"].drop_nulls())
        required, found = "rows that are mapped to nodes are required", f"{most} {labels}".strip()
    strips = (
        f"{one.decision}: {one.option}"
        for one in data.readings
        if one.option.startswith("--strip ") and one.option != "--strip PATTERN"
    )
    guess = _OTHERWISE.get(most) or (f"{tables} or another classification" * marked)
    guess = guess or next(strips, "") or _likely_cause(rows, data.hierarchy)
    total = refused or sum(told.values())
    raise InputError(
        required,
        found=f"{total:,} of {counted(ledger.rows_read, 'rows')} refused; {found}"
        if total
        else f"{counted(ledger.instances, 'instances')} without a label",
        where=next(iter(data.sources if isinstance(data, LabelDataset) else sources), ""),
        hint=guess,
    )


def refuse_wrong_classes(predictions: Predictions, path: Path) -> None:
    """Raise InputError if more than half of the classes of predictions are not nodes."""
    ledger = predictions.ledger
    unknown = ledger.unknown_classes
    if len(unknown) <= MOSTLY * ledger.classes_read:
        return
    guess = _likely_cause(dict.fromkeys(unknown, 1), predictions.hierarchy)
    raise InputError(
        f"most classes must be nodes of the hierarchy {predictions.hierarchy.name}",
        found=f"{len(unknown):,} of {ledger.classes_read:,} are not: {first_cases(unknown)}",
        where=path,
        hint=guess,
    )


def _most_frequent(rows: Mapping[str, int]) -> str:
    ordered = sorted(rows, key=lambda label: (-rows[label], label))
    return (
        f"labels that the hierarchy lacks: {first_cases(ordered)}"
        if ordered
        else "all by their table"
    )


def _likely_cause(rows: Rows, hierarchy: Hierarchy) -> str:
    """What explains most rows of refused labels, given their number by label; no full stop."""
    total = sum(rows.values())
    for said, explains in _causes(rows, hierarchy):
        explained = {label: n for label, n in rows.items() if explains(label)}
        if sum(explained.values()) > MOSTLY * total:
            first = max(explained, key=lambda label: (len(label) <= _SHORT, len(label), label))
            return said.format(rows=sum(explained.values()), total=total, first=first)
    return "another classification, or another version of it, may be meant"


def _causes(rows: Rows, hierarchy: Hierarchy) -> Iterator[tuple[str, Explains]]:
    tried = ", as '{first}' shows ({rows:,} of {total:,} of these rows)"
    for said, form, texts in (
        ("may be titles, where codes are required", alphanumeric, hierarchy.titles),
        ("differ from nodes in upper and lower case", str.casefold, hierarchy.nodes),
        ("differ from nodes in dots, blanks or dashes", alphanumeric, hierarchy.nodes),
    ):
        yield f"the labels {said}{tried}", partial(_is_in, form, {*map(form, texts)} - {""})
    numbers = {int(label) for label in rows if label.isdecimal()}
    if numbers and len(numbers) > MOSTLY * (max(numbers) + 1):
        yield "the labels are numbers of classes, perhaps: --classes FILE names them", str.isdecimal
    yield from _other_hierarchies(rows, hierarchy)
    integrity = hierarchy.integrity
    if integrity is not None and integrity.years is not None:
        said = (
            f"the labels are shaped like codes of {hierarchy.name}, but no edition has them{tried}"
        )
        yield said, lambda label: bool(integrity.readings(label, None))


def _is_in(form: Callable[[str], str], texts: Container[str], label: str) -> bool:
    return form(label.strip()) in texts


def _is_node(text: str, hierarchy: Hierarchy) -> bool:
    return place(text, None, hierarchy).listed


def _other_hierarchies(rows: Rows, hierarchy: Hierarchy) -> Iterator[tuple[str, Explains]]:
    """The other built-in hierarchies, where labels have digits and so may be their codes."""
    digits = sum(n for label, n in rows.items() if any(map(str.isdecimal, label)))
    if digits <= MOSTLY * sum(rows.values()):
        return
    for known in BUILT_IN:
        if known.name != hierarchy.name:
            try:
                other = known.load()
            except InputError:  # its library is not installed
                continue
            yield (
                f"--hierarchy {known.name} has {{rows:,}} of {{total:,}} of these rows",
                partial(_is_node, hierarchy=other),
            )

"""Refusals of data: most labels are of another hierarchy, or the policy cannot be applied."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, PolicyError, first_cases
from audit.base.plurals import counted
from audit.checks.rules.required import refuse_unread_people
from audit.counting.counts import PairCount
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.validity import days_of
from audit.policy.policy import KEYS_OF_COLUMNS, Policy
from audit.runs.settings import Settings


def refuse_hierarchy(policy: Policy, hierarchy: Hierarchy) -> None:
    """Raise PolicyError if labels were placed other than the policy says."""
    asked, done = policy.unlisted_codes, hierarchy.unlisted or "hang"
    if hierarchy.coding is not None and asked not in (None, done):
        raise PolicyError(
            f'labels must be treated as the policy states: unlisted_codes = "{asked}"',
            found=f"a hierarchy read with {done}",
            hint=f'leave --unlisted out, or audit.load_hierarchy(..., unlisted="{asked}")',
        )


def refuse_not_on_spark(settings: Settings, policy: Policy | None, keep_instances: bool) -> None:
    """Raise InputError if options are given that ask for what counts alone do not hold."""
    options: dict[str, object] = {
        "--sql or --table": settings.sql or settings.table,
        "--group": settings.group,
        "--split": settings.split,
        "--predictions": settings.predictions,
        "--classes": settings.classes,
        "--changes": settings.changes,
        "--keep-instances": keep_instances,
        "aggregation of the policy": policy and policy.aggregation != "descendants",
        f"--strata, or {KEYS_OF_COLUMNS} of the policy": policy and policy.columns,
    }
    if given := [option for option, value in options.items() if value]:
        raise InputError(
            "data that Spark counts are audited without their groups, splits and instances",
            found=", ".join(given),
            hint="leave these out, or audit without --engine spark",
        )


def refuse_columns(policy: Policy, data: LabelDataset | PairCount, today: date) -> None:
    """Refuse columns that are absent or unfit: strata of single instances, persons who were not
    read, days to come; and any column where data are only counted."""
    if isinstance(data, LabelDataset):
        _refuse_absent_columns(policy, data)
        _refuse_strata_of_single_instances(policy, data)
        refuse_unread_people(data, policy.person)
        _refuse_days_to_come(policy, data, today)
    elif policy.columns:
        raise PolicyError(
            "a policy that names no column is required where data are only counted",
            found=f"{first_cases(policy.columns)}",
            hint=f"leave {KEYS_OF_COLUMNS} out, or audit the data without Spark",
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
    """Raise an error if columns of days cannot be read, or days of coding are after today."""
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
"""Share of classes that are no nodes above which predictions are refused."""
_OTHERWISE = {
    "missing_code": "--label names another column",
    "left_out": "--where leaves no row: name values that the column has",
    "bad_row": "--id names another column",
    "": "no instance has a label: --label names another column",
}
"""What to do where no row is mapped, by the reason of most; empty: there is no row."""


def refuse_wrong_hierarchy(data: LabelDataset | PairCount, sources: Sequence[Path]) -> None:
    """Raise InputError if no row is mapped.

    Args:
        data: The labels, or their counts.
        sources: The files that were counted, for the message.
    """
    ledger, refused = data.ledger, data.ledger.refused
    if ledger.rows_mapped:
        return
    most = max(refused, key=lambda reason: refused[reason], default="")
    labels = data.refusals.filter(pl.col("reason") == most)["label"].drop_nulls()
    raise InputError(
        f"rows that are mapped to nodes of the hierarchy {data.hierarchy.name} are required",
        found=f"{counted(ledger.rows_read, 'rows')} refused; {most} {first_cases(labels)}".strip()
        if refused
        else f"{counted(ledger.instances, 'instances')} without a label",
        where=next(iter(data.sources if isinstance(data, LabelDataset) else sources), ""),
        hint=_OTHERWISE.get(most, "another classification, or another version, may be meant"),
    )


def refuse_wrong_classes(predictions: Predictions, path: Path) -> None:
    """Raise InputError if more than half of the classes of predictions are not nodes."""
    ledger = predictions.ledger
    unknown = ledger.unknown_classes
    if len(unknown) > MOSTLY * ledger.classes_read:
        raise InputError(
            f"most classes must be nodes of the hierarchy {predictions.hierarchy.name}",
            found=f"{len(unknown):,} of {ledger.classes_read:,} are not: {first_cases(unknown)}",
            where=path,
            hint="another classification, or another version of it, may be meant",
        )

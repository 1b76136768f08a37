"""Refusals of data that a policy cannot be applied to."""

from __future__ import annotations

from datetime import date

from audit.base.errors import PolicyError, first_cases
from audit.base.plurals import counted
from audit.counting.counts import PairCount
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.people import refuse_unread_people
from audit.measure.validity import days_of
from audit.policy.policy import KEYS_OF_COLUMNS, Policy


def refuse_other_placing(policy: Policy, hierarchy: Hierarchy) -> None:
    """Raise PolicyError if labels were placed in another way than the policy asks for."""
    asked, done = policy.unlisted_codes, hierarchy.unlisted or "hang"
    if hierarchy.coding is not None and asked not in (None, done):
        raise PolicyError(
            f'labels must be treated as the policy states: unlisted_codes = "{asked}"',
            found=f"a hierarchy read with {done}",
            hint=f'leave --unlisted out, or audit.load_hierarchy(..., unlisted="{asked}")',
        )


def refuse_dropped_edges(policy: Policy, hierarchy: Hierarchy) -> None:
    """Raise PolicyError if edges were dropped though the policy says that they are refused."""
    if policy.dangling_edges == "refuse" and hierarchy.dropped.edges:
        raise PolicyError(
            'a hierarchy without dangling edges is required by dangling_edges = "refuse"',
            found=f"{counted(len(hierarchy.dropped.edges), 'edges')} dropped from {hierarchy.name}",
            hint="leave --dangling out, or change the policy",
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

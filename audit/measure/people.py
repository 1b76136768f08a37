"""Sex and age of each instance's person, from the columns that a policy names."""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.base.dag import BoolArray
from audit.base.errors import PolicyError, SchemaError, first_cases
from audit.data.dataset import LabelDataset
from audit.policy.rules import Person, PersonRule

GREATEST_AGE = 124
"""The greatest age that the Medicare Code Editor accepts as valid; some releases write 300 for any
age above 89."""


def known(dataset: LabelDataset, person: Person, rule: PersonRule) -> BoolArray:
    """Whether the sex or age that a rule is about is known, shape (n_instances,).

    A sex that is neither a value for female nor one for male is unknown, and so is an age above
    `GREATEST_AGE`. Without a column, every value is unknown.
    """
    if rule.sex is None:
        return ~np.isnan(_ages(dataset, person))
    return _of_sex(dataset, person, "female") | _of_sex(dataset, person, "male")


def fitting(dataset: LabelDataset, person: Person, rule: PersonRule) -> BoolArray:
    """Whether a rule allows the person of each instance, shape (n_instances,).

    False if sex or age is unknown.
    """
    if rule.sex is not None:
        return _of_sex(dataset, person, rule.sex)
    (least, greatest), ages = rule.ages, np.floor(_ages(dataset, person))
    return np.asarray((least <= ages) & (ages <= greatest))


def refuse_unread_people(dataset: LabelDataset, person: Person | None) -> None:
    """Raise an error if the column of sex or age does not hold the values of the policy."""
    if person is None:
        return
    if person.sex:
        _refuse_other_sexes(dataset, person)
    if person.age:
        _refuse_other_ages(dataset, person.age)


def _of_sex(dataset: LabelDataset, person: Person, sex: str) -> BoolArray:
    if not person.sex:
        return np.zeros(len(dataset), np.bool_)
    written = dataset.instances[person.sex]
    return written.is_in(person.values[sex]).fill_null(False).to_numpy()


def _ages(dataset: LabelDataset, person: Person) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The age of each instance in years, NaN where it is not known, shape (n_instances,)."""
    if not person.age:
        return np.full(len(dataset), np.nan)
    ages = dataset.instances[person.age].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return np.where(ages < GREATEST_AGE + 1, ages, np.nan)


def _refuse_other_sexes(dataset: LabelDataset, person: Person) -> None:
    values = [value for stated in person.values.values() for value in stated]
    written = dataset.instances[person.sex].drop_nulls()
    others = written.unique().sort().to_list()
    if len(dataset) and not written.is_in(values).any():
        raise PolicyError(
            "the column of the sex that person of the policy names must hold values for female or "
            f"male: {first_cases(values)}",
            found=f"{first_cases(others) if others else 'no value'} in {person.sex!r}",
            hint="person.female and person.male say which values mean which sex",
        )


def _refuse_other_ages(dataset: LabelDataset, column: str) -> None:
    written = dataset.instances[column]
    ages = written.cast(pl.Float64, strict=False)
    wrong = written.is_not_null() & ~(ages.is_finite() & (ages >= 0)).fill_null(False)
    if wrong.any():
        cases = dataset.instances.filter(wrong).select(
            pl.format("{} of the instance {}", column, "instance")
        )
        raise SchemaError(
            f"every age in {column!r} must be a number of years, 0 or more, or be empty",
            found=first_cases(cases.to_series()),
            hint="person.age of the policy names this column",
        )
    if len(dataset) and written.null_count() == len(written):
        raise PolicyError(
            "the column of the age that person of the policy names must hold ages",
            found=f"none in {column!r}",
        )

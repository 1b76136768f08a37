"""sex_age_conflict: codes that a rule does not allow for the person's sex or age."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.declared import Columns
from audit.base.errors import PolicyError, SchemaError, first_cases
from audit.checks.check import first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.carriers import carrying_any, named, parts_of
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.data.dataset import LabelDataset
from audit.measure.measure import Measurements
from audit.policy.rules import Person, PersonRule
from audit.results.findings import share_evidence

GREATEST_AGE = 124
"""The greatest age that the Medicare Code Editor accepts as valid; some releases write 300 for any
age above 89."""


def _people(measured: Measurements) -> Rows:
    """Report each violated rule on sex or age once, with its labels.

    Sex and age are read from the columns that the policy names. Instances with an unknown value are
    reported as a note.
    """
    rules, person = measured.policy.person_rules, measured.policy.person
    judged = [rule for rule in rules if person is not None and _column(person, rule)]
    carrying = [carrying_any(measured, rule.nodes_named) for rule in judged]
    others = len(rules) - len(judged)
    left_out = (
        f"; {others:,} not judged, since the policy names no column for them" if others else ""
    )
    return Rows(
        len({instance for those in carrying for instance in those.tolist()}),
        f"instances with a code of a rule on sex or age (rules: {len(judged):,}{left_out})",
        (
            row
            for rule, those in zip(judged, carrying, strict=True)
            if person is not None
            for row in _of_rule(measured, person, rule, those)
        ),
        first_unmet(
            (rules, "the policy states no rule on sex or age"),
            (
                person,
                "the policy names no column of the sex or of the age: under [person], name sex, "
                "with the values that mean female and male, and age",
            ),
            (
                judged,
                "the policy names no column by which its rules on sex or age could be judged",
            ),
        ),
    )


def _column(person: Person, rule: PersonRule) -> str:
    """The column that a rule is judged by; empty: the policy names none."""
    return person.age if rule.sex is None else person.sex


def _of_rule(
    measured: Measurements, person: Person, rule: PersonRule, carrying: IntArray
) -> Iterator[Row]:
    codes, column = named(measured.hierarchy, rule.nodes_named), _column(person, rule)
    known, fitting = _judged(measured.loaded.dataset, person, rule)
    judged, unknown = carrying[known[carrying]], carrying[~known[carrying]]
    against = judged[~fitting[judged]]
    what = "age" if rule.sex is None else "sex"
    row = partial(_row, measured, rule)
    if len(against):
        yield row(against, len(judged), "conflict")(
            severity=rule.severity,
            sentence=f"{{instances}} of {{of}} instances with a code of {codes} and a known "
            f"{what} ({{share}}) {{instances|is|are}} of a person {_persons_not_allowed(rule)}. "
            f"The rule: {rule.source.rstrip('.')}.",
            curator="Compare the code and the person's data with the record, and correct the one "
            "that is wrong. Where both are right, waive the finding.",
        )
    if len(unknown):
        yield row(unknown, len(carrying), "unknown")(
            sentence=f"{{instances}} of {{of}} instances with a code of {codes} ({{share}}) "
            f"{{instances|is|are}} of a person whose {what} is not known, and not judged.",
            curator=f"Fill in {column!r} where an age is known; ages above {GREATEST_AGE} count as "
            "none."
            if rule.sex is None
            else f"Fill in {column!r} where the sex is known, and name in the policy each value "
            "of it that means female or male.",
        )


def _row(
    measured: Measurements, rule: PersonRule, instances: IntArray, of: int, kind: str
) -> partial[Row]:
    parts = parts_of(measured, rule.nodes_named, instances)
    return partial(
        Row,
        nodes=rule.nodes_named if len(rule.nodes_named) == 1 else parts[0].nodes,
        evidence=share_evidence(len(instances), of),
        data_user="Do not rely on these codes without looking at the record.",
        parts=parts,
        key=(*rule.key, kind),
        cases=lambda: instances,
    )


def _persons_not_allowed(rule: PersonRule) -> str:
    """The persons whom a rule does not allow, for a sentence."""
    if rule.sex is not None:
        return f"who is not {rule.sex}"
    least, greatest = rule.age_from, rule.age_to
    if least is None:
        return f"older than {greatest} {'year' if greatest == 1 else 'years'}"
    if greatest is None:
        return f"younger than {least} {'year' if least == 1 else 'years'}"
    return f"whose age is not from {least} to {greatest} years"


def _judged(dataset: LabelDataset, person: Person, rule: PersonRule) -> tuple[BoolArray, BoolArray]:
    """Whether the sex or age that a rule is about is known of each instance, and whether the rule
    allows it, shape (n_instances,).

    A sex that is neither a value for female nor one for male is unknown, and so is an age above
    `GREATEST_AGE`.
    """
    if rule.sex is None:
        ages, (least, greatest) = np.floor(_ages(dataset, person)), rule.ages
        return ~np.isnan(ages), np.asarray((least <= ages) & (ages <= greatest))
    written = dataset.instances[person.sex]
    of_sex = {
        sex: written.is_in(values).fill_null(False).to_numpy()
        for sex, values in person.values.items()
    }
    return np.any([*of_sex.values()], axis=0), of_sex[rule.sex]


def _ages(dataset: LabelDataset, person: Person) -> FloatArray:
    """The age of each instance in years, NaN where it is not known, shape (n_instances,)."""
    ages = dataset.instances[person.age].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return np.where(ages < GREATEST_AGE + 1, ages, np.nan)


def refuse_unread_people(dataset: LabelDataset, person: Person | None) -> None:
    """Raise an error if the column of sex or age does not hold the values of the policy."""
    if person is None:
        return
    if person.sex:
        _refuse_other_sexes(dataset, person)
    if person.age:
        _refuse_other_ages(dataset, person.age)


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


CHECK = check_of_rows(
    "sex_age_conflict",
    "Do codes fit the sex and the age of the person?",
    _people,
    needs="instances",
    evidence=Columns(OF_SOME),
    of_parts=PARTS,
    nodes="Code",
)

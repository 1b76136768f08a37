"""sex_age_conflict: codes that a rule does not allow for the person's sex or age."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import Columns
from audit.base.errors import PolicyError, SchemaError, first_cases
from audit.checks.check import first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.carriers import carrying_any, named, under_rule
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.data.dataset import LabelDataset
from audit.measure.measure import Measurements
from audit.policy.rules import Person, PersonRule

GREATEST_AGE = 124
"""The greatest age that the Medicare Code Editor accepts as valid; some releases write 300 for any
age above 89."""


def _people(measured: Measurements) -> Rows:
    """Report each violated rule on sex or age once, with its labels.

    Sex and age are read from the columns that the policy names. Instances with an unknown value are
    reported as a note.
    """
    rules, person = measured.policy.person_rules, measured.policy.person
    judged = [
        (person, rule, carrying_any(measured, rule.nodes_named))
        for rule in rules
        if person is not None and _column(person, rule)
    ]
    others = len(rules) - len(judged)
    left_out = (
        f"; {others:,} not judged, since the policy names no column for them" if others else ""
    )
    return Rows(
        len({instance for *_, those in judged for instance in those.tolist()}),
        f"instances with a code of a rule on sex or age (rules: {len(judged):,}{left_out})",
        (row for one in judged for row in _of_rule(measured, *one)),
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
    people = measured.loaded.dataset.instances[carrying]
    fits = people.select(_fits(person, rule)).to_series()
    against = carrying[(~fits).fill_null(value=False).to_numpy()]
    unknown = carrying[fits.is_null().to_numpy()]
    what = "age" if rule.sex is None else "sex"

    def row(instances: IntArray, of: int, kind: str, **said: Any) -> Row:
        told = under_rule(measured, rule.nodes_named, instances, of)
        advice = "Do not rely on these codes without looking at the record."
        return Row(key=(*rule.key, kind), data_user=advice, **told, **said)

    if len(against):
        yield row(
            against,
            fits.count(),
            "conflict",
            severity=rule.severity,
            sentence=f"{{instances}} of {{of}} instances with a code of {codes} and a known "
            f"{what} ({{share}}) {{instances|is|are}} of a person {_persons_not_allowed(rule)}. "
            f"The rule: {rule.source.rstrip('.')}.",
            curator="Compare the code and the person's data with the record, and correct the one "
            "that is wrong. Where both are right, waive the finding.",
        )
    if len(unknown):
        yield row(
            unknown,
            len(carrying),
            "unknown",
            sentence=f"{{instances}} of {{of}} instances with a code of {codes} ({{share}}) "
            f"{{instances|is|are}} of a person whose {what} is not known, and not judged.",
            curator=f"Fill in {column!r} where an age is known; ages above {GREATEST_AGE} count as "
            "none."
            if rule.sex is None
            else f"Fill in {column!r} where the sex is known, and name in the policy each value "
            "of it that means female or male.",
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


def _fits(person: Person, rule: PersonRule) -> pl.Expr:
    """Whether a rule allows the sex or age of each instance; null where that is not known.

    A sex that is neither a value for female nor one for male is unknown, and so is an age above
    `GREATEST_AGE`.
    """
    if rule.sex is None:
        age = pl.col(person.age).cast(pl.Float64, strict=False)
        return pl.when(age < GREATEST_AGE + 1).then(age.floor().is_between(*rule.ages))
    sex, values = pl.col(person.sex), person.values
    return pl.when(sex.is_in(sum(values.values(), ()))).then(sex.is_in(values[rule.sex]))


def refuse_unread_people(dataset: LabelDataset, person: Person | None) -> None:
    """Raise an error if the column of sex or age does not hold the values of the policy.

    Raises:
        PolicyError: If no instance has one of them.
        SchemaError: If an age is no number of years.
    """
    if person is None or not len(dataset):
        return
    values = sum(person.values.values(), ())
    if person.sex and not (written := dataset.instances[person.sex]).is_in(values).any():
        others = written.drop_nulls().unique().sort().to_list()
        raise PolicyError(
            "the column of the sex that person of the policy names must hold values for female or "
            f"male: {first_cases(values)}",
            found=f"{first_cases(others) if others else 'no value'} in {person.sex!r}",
            hint="person.female and person.male say which values mean which sex",
        )
    if not person.age:
        return
    age = pl.col(person.age).cast(pl.Float64, strict=False)
    read = (age.is_finite() & (age >= 0)).fill_null(value=False)
    wrong = dataset.instances.filter(pl.col(person.age).is_not_null() & ~read)
    if len(wrong):
        raise SchemaError(
            f"every age in {person.age!r} must be a number of years, 0 or more, or be empty",
            found=first_cases(
                wrong.select(pl.format("{} of the instance {}", person.age, "instance")).to_series()
            ),
            hint="person.age of the policy names this column",
        )
    if not dataset.instances[person.age].count():
        raise PolicyError(
            "the column of the age that person of the policy names must hold ages",
            found=f"none in {person.age!r}",
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

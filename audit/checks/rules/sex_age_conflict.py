"""sex_age_conflict: codes that a rule does not allow for the person's sex or age."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, IntArray
from audit.base.declared import Columns
from audit.base.errors import PolicyError, SchemaError, first_cases
from audit.checks.check import Check, Outcome
from audit.checks.shared.carriers import carrying_any, named, parts_of
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.data.dataset import LabelDataset
from audit.measure.measure import Measurements, once
from audit.policy.rules import Person, PersonRule, Severity
from audit.results.findings import Finding, share_evidence

GREATEST_AGE = 124
"""The greatest age that the Medicare Code Editor accepts as valid; some releases write 300 for any
age above 89."""
_NAME = "sex_age_conflict"
_CONFLICT, _UNKNOWN = "conflict", "unknown"


@dataclass(frozen=True)
class _Judged:
    """Instances with a code that a rule speaks of; all ascending."""

    rule: PersonRule
    carrying: IntArray
    known: IntArray
    against: IntArray

    @property
    def unknown(self) -> IntArray:
        """Those of whom it is not known."""
        return np.setdiff1d(self.carrying, self.known, assume_unique=True)


def run(measured: Measurements) -> Outcome:
    """Report each violated rule on sex or age once, with its labels.

    Sex and age are read from the columns that the policy names. Instances with an unknown value are
    reported as a note.
    """
    judged = _judged(measured)
    carrying = np.unique(np.concatenate([np.empty(0, np.int64), *(one.carrying for one in judged)]))
    return Outcome(
        denominator=len(carrying),
        denominator_unit=_unit(measured, len(judged)),
        findings=tuple(finding for one in judged for finding in _findings(measured, one)),
        not_applicable=_why_not(measured),
    )


@once
def _judged(measured: Measurements) -> list[_Judged]:
    """What each rule makes of the instances, in the order of the policy."""
    person = measured.policy.person
    if person is None:
        return []
    rules = [rule for rule in measured.policy.person_rules if _column(person, rule)]
    return [_judged_by(measured, person, rule) for rule in rules]


def _judged_by(measured: Measurements, person: Person, rule: PersonRule) -> _Judged:
    carrying = carrying_any(measured, rule.nodes_named)
    judged = carrying[_known(measured.loaded.dataset, person, rule)[carrying]]
    fits = _fitting(measured.loaded.dataset, person, rule)
    return _Judged(rule, carrying, judged, judged[~fits[judged]])


def _column(person: Person, rule: PersonRule) -> str:
    """The column that a rule is judged by; empty: the policy names none."""
    return person.age if rule.sex is None else person.sex


def _unit(measured: Measurements, rules: int) -> str:
    others = len(measured.policy.person_rules) - rules
    left_out = (
        f"; {others:,} not judged, since the policy names no column for them" if others else ""
    )
    return f"instances with a code of a rule on sex or age (rules: {rules:,}{left_out})"


def _why_not(measured: Measurements) -> str:
    rules, person = measured.policy.person_rules, measured.policy.person
    if not rules:
        return "the policy states no rule on sex or age"
    if person is None:
        return (
            "the policy names no column of the sex or of the age: under [person], name sex, with "
            "the values that mean female and male, and age"
        )
    if not any(_column(person, rule) for rule in rules):
        return "the policy names no column by which its rules on sex or age could be judged"
    return ""


def _findings(measured: Measurements, judged: _Judged) -> Iterator[Finding]:
    rule = judged.rule
    codes = named(measured.hierarchy, rule.nodes_named)
    what = "age" if rule.sex is None else "sex"
    if len(judged.against):
        yield _finding(
            measured,
            judged,
            judged.against,
            kind=_CONFLICT,
            severity=rule.severity,
            of=judged.known,
            statement=f"{{instances}} of {{of}} instances with a code of {codes} and a known "
            f"{what} ({{share}}) {{instances|is|are}} of a person {_persons_not_allowed(rule)}.",
            advice="Compare the code and the person's data with the record, and correct the one "
            "that is wrong. Where both are right, waive the finding.",
        )
    if len(judged.unknown):
        yield _finding(
            measured,
            judged,
            judged.unknown,
            kind=_UNKNOWN,
            severity="note",
            of=judged.carrying,
            statement=f"{{instances}} of {{of}} instances with a code of {codes} ({{share}}) "
            f"{{instances|is|are}} of a person whose {what} is not known, and not judged.",
            advice=_mend(measured, rule),
        )


def _persons_not_allowed(rule: PersonRule) -> str:
    """The persons whom a rule does not allow, for a sentence."""
    if rule.sex is not None:
        return "who is not female" if rule.sex == "female" else "who is not male"
    least, greatest = rule.age_from, rule.age_to
    if least is None:
        return f"older than {greatest} {'year' if greatest == 1 else 'years'}"
    if greatest is None:
        return f"younger than {least} {'year' if least == 1 else 'years'}"
    return f"whose age is not from {least} to {greatest} years"


def _mend(measured: Measurements, rule: PersonRule) -> str:
    person = measured.policy.person
    column = _column(person, rule) if person else ""
    if rule.sex is None:
        return f"Fill in {column!r} where an age is known; ages above {GREATEST_AGE} count as none."
    return (
        f"Fill in {column!r} where the sex is known, and name in the policy each value of it that "
        "means female or male."
    )


def _finding(
    measured: Measurements,
    judged: _Judged,
    instances: IntArray,
    *,
    kind: str,
    severity: Severity,
    of: IntArray,
    statement: str,
    advice: str,
) -> Finding:
    rule, touched = judged.rule, len(instances)
    parts = parts_of(measured, rule.nodes_named, instances)
    rule_text = f" The rule: {rule.source.rstrip('.')}."
    return Finding(
        check=_NAME,
        severity=severity,
        nodes=rule.nodes_named if len(rule.nodes_named) == 1 else parts[0].nodes,
        statement=statement + (rule_text if kind == _CONFLICT else ""),
        evidence=share_evidence(touched, len(of)),
        curator=advice,
        data_user="Do not rely on these codes without looking at the record.",
        touched=touched,
        parts=parts,
        key=(*rule.key, kind),
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances whose person the rule does not allow, or those with an unknown value."""
    *key, kind = finding.key
    judged = next(one for one in _judged(measured) if one.rule.key == tuple(key))
    return judged.against if kind == _CONFLICT else judged.unknown


def _known(dataset: LabelDataset, person: Person, rule: PersonRule) -> BoolArray:
    """Whether the sex or age that a rule is about is known, shape (n_instances,).

    A sex that is neither a value for female nor one for male is unknown, and so is an age above
    `GREATEST_AGE`. Without a column, every value is unknown.
    """
    if rule.sex is None:
        return ~np.isnan(_ages(dataset, person))
    return _of_sex(dataset, person, "female") | _of_sex(dataset, person, "male")


def _fitting(dataset: LabelDataset, person: Person, rule: PersonRule) -> BoolArray:
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


CHECK = Check(
    _NAME,
    "Do codes fit the sex and the age of the person?",
    run,
    needs="instances",
    cases=cases,
    evidence=Columns(OF_SOME),
    of_parts=PARTS,
    nodes="Code",
)

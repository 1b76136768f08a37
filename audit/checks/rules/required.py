"""missing_companion, sex_age_conflict: what rules on codes require of a record and of a person."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import Columns, text
from audit.base.errors import PolicyError, SchemaError, first_cases
from audit.checks.check import first_unmet
from audit.checks.rows import OF_SOME, PARTS, Row, Rows, check_of_rows
from audit.checks.shared.carriers import carrying_any, named, under_rule
from audit.checks.shared.proposals import MOST_CANDIDATES, as_in_data, proposals
from audit.data.dataset import LabelDataset
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below, companion_rules
from audit.measure.validity import days_of
from audit.policy.rules import Companion, Person, PersonRule

GREATEST_AGE = 124
"""The greatest age that the Medicare Code Editor accepts as valid; some releases write 300 for any
age above 89."""


def _companions(measured: Measurements) -> Rows:
    """Rules of the policy by which a code must stand beside another, each with those that lack it.

    An instance with a node of a rule's `if` and none of its `unless` lacks a companion where it
    carries none of `needs`, each with all below. With `valid_from` and `valid_to`, and
    `code_dates`, instances are judged on their day; those without one are in a note of their own.
    `position` asks for the companion before or after the first label that needs it; one on the
    other side only is a note. Pairs that a rule requires are left out by `unexpected_pair` and
    `redundant_nodes`.

    Rules come from the policy's `[[companions]]`. For `icd10cm` they are 71 of 1,207 “code first”
    and “use additional code” notes of April 2026. For `icd9cm` they are those of the Official
    Guidelines of 2011, with section and first day in the built-in policy: on hypertension with
    kidney or heart disease, sepsis, diabetes and its manifestations, pressure ulcers, deliveries,
    and (a note) injuries without an E code.

    Of are the instances of which a rule requires a companion, or on order those with one.
    **Severity.** As the rule states, by default a warning. **Limits.** Local rules differ. A cap on
    codes (`record_cap`) cuts companions off.
    """
    rules = companion_rules(measured.hierarchy, measured.policy)
    asked = [(rule, *one) for rule in rules for one in _in_scope(measured, rule)]
    said, noted = f"rules: {len(rules):,}", measured.hierarchy.companions
    if noted is not None:
        said += (
            f"; {len(noted.rules):,} of {len(noted.rules) + noted.unread:,} notes of release "
            f"{noted.release} require a code without a condition"
        )
    return Rows(
        len({instance for *_, those in asked for instance in those.tolist()}),
        f"instances with a code that needs another ({said})",
        (row for one in asked for row in _of_companion(measured, *one)),
        "" if rules else "neither the policy nor the hierarchy states which code needs another",
    )


def _in_scope(measured: Measurements, rule: Companion) -> Iterator[tuple[bool, IntArray]]:
    """The instances that a rule asks something of: on their day (True), without a day (False)."""
    excused = carrying_any(measured, rule.excusing)
    asked = np.setdiff1d(carrying_any(measured, rule.asking), excused, assume_unique=True)
    dates = measured.policy.code_dates
    held = pl.Series([None if rule.begins_or_ends else True], dtype=pl.Boolean).new_from_index(
        0, len(asked)
    )
    if rule.begins_or_ends and dates is not None:
        days = days_of(measured.loaded.dataset, dates.column).gather(asked)
        held = days.is_between(rule.valid_from or date.min, rule.valid_to or date.max)
    for dated, those in ((True, held.fill_null(value=False)), (False, held.is_null())):
        if those.any():
            yield dated, asked[those.to_numpy()]


def _of_companion(
    measured: Measurements, rule: Companion, dated: bool, asked: IntArray
) -> Iterator[Row]:
    """A row on those asked that lack the companion, and one on those with it in wrong order."""
    given = np.intersect1d(asked, carrying_any(measured, rule.needed), assume_unique=True)
    missing = np.setdiff1d(asked, given, assume_unique=True)
    misplaced = _misplaced(measured, rule, given)
    asking, needed = (
        named(measured.hierarchy, nodes, title)
        for nodes, title in zip(rule.sides, (rule.if_title, rule.needs_title), strict=True)
    )
    source = f"{rule.source.rstrip('.')}."
    if not dated:
        ends = (("from", rule.valid_from), ("to", rule.valid_to))
        days = " ".join(f"{word} {day}" for word, day in ends if day is not None)
        source += (
            f" It holds {days}, and the true days of "
            "{instances|this instance|these instances} are not known."
        )

    def row(instances: IntArray, of: int, kind: str, lacks: str, **said: Any) -> Row:
        told = under_rule(measured, rule.asking, instances, of)
        told["nodes"] += rule.needed if len(rule.needed) == 1 else ()
        told["evidence"] |= {"code": asking, "lacks": lacks}
        return Row(key=(*rule.key, kind, *([] if dated else ["undated"])), **told, **said)

    if len(missing):
        node, *others = rule.needed
        heading = measured.hierarchy.height[measured.hierarchy.index(node)] > 0
        any_of = "a code of " if heading and not (others or rule.needs_title) else ""
        yield row(
            missing,
            len(asked),
            "missing",
            needed,
            severity=rule.severity if dated else "note",
            sentence=f"{{instances}} of {{of}} instances with {asking} ({{share}}) "
            f"{{instances|lacks|lack}} {any_of}{needed}. The rule: {source}",
            curator="Add the code that the rule requires, or correct the one that needs it. Where "
            "the record says why it is absent, waive the finding.",
            data_user="Do not read the absence of the second code as the absence of what it means.",
            asks=not dated,
            proposes=partial(_to_add, measured, rule, missing),
        )
    if len(misplaced):
        only = "after" if rule.position == "before" else "before"
        yield row(
            misplaced,
            len(given),
            "order",
            f"{needed}: it comes only {only}",
            sentence="{instances} of {of} instances with both ({share}) "
            f"{{instances|lists|list}} {needed} only {only} {asking}; the rule: {source}",
            curator="Find out whether the order of the labels is that of the record; where it is, "
            "put the two codes in the order that the rule requires.",
            data_user="Do not read the order of these labels as cause before consequence.",
            asks=True,
        )


def _misplaced(measured: Measurements, rule: Companion, given: IntArray) -> IntArray:
    """Instances with a companion on the wrong side of the first label that asks, ascending."""
    if rule.position == "any":
        return np.empty(0, np.int64)
    those = pl.Series(given.astype(np.uint32)).implode()
    rows = measured.loaded.dataset.assertions.drop_nulls("position")
    rows = rows.filter(pl.col("instance").is_in(those))
    sides = (at_or_below(measured.hierarchy, side)[rows["node"]] for side in rule.sides)
    marked = rows.with_columns(pl.Series(*one) for one in zip(("asks", "fits"), sides, strict=True))
    first, own = (pl.col("position").filter(side).min() for side in ("asks", "fits"))
    wrong = (
        own > first
        if rule.position == "before"
        else pl.col("position").filter("fits").max() < first
    )
    found = marked.group_by("instance").agg(wrong=wrong)
    return np.sort(found.filter("wrong")["instance"].to_numpy().astype(np.int64))


def _to_add(measured: Measurements, rule: Companion, missing: IntArray) -> pl.DataFrame:
    """Proposals to add a companion, once somebody has read the record."""
    written = [*map(as_in_data(measured), rule.needed[:MOST_CANDIDATES])]
    added = {"candidates": pl.lit(written, pl.List(pl.String))}
    found = pl.DataFrame({"instance": missing}).with_columns(**added)
    return proposals(found, "add", "review", f"a rule asks for it: {rule.source.rstrip('.')}")


def _people(measured: Measurements) -> Rows:
    """Rules on sex or age that persons violate, and for how many instances these are not known.

    A rule names nodes, with all below, and the only `sex` of a person with one of them, or
    `age_from` and `age_to` in whole years, rounded down. An instance is against it where its person
    is known to be of another. The policy names the columns under `[person]` ([an
    example](policy.md)); without them the check is not applicable.

    Rules come from `[[person_rules]]`. For `icd9cm` they are ranges of the *Definitions of Medicare
    Code Edits*, version 31 of October 2013: organs of women and of men, pregnancy (women, ages 12
    to 55), newborns (age 0), V20.2 (to 17), and 290.3, 366.17 and 600 (from 15). `icd10cm` has
    none.

    *Not known* are empty values, a sex that the policy does not name, and ages above 124 (“above
    89”): a note of their own, in no share. A missing column, one of the sex without any known
    value, and ages that are no numbers or below 0 are refused.

    **Severity.** As the rule states, by default a warning. **Limits.** Both may be right: a
    transgender person's organs, a mother's codes on a newborn's record. Ages that are shifted,
    rounded or of another day (`anchor_age`) conflict near a limit.
    """
    rules, person = measured.policy.person_rules, measured.policy.person
    judged = [
        (person, rule, carrying_any(measured, rule.nodes_named))
        for rule in rules
        if person is not None and _column(person, rule)
    ]
    others, said = len(rules) - len(judged), f"rules: {len(judged):,}"
    if others:
        said += f"; {others:,} not judged, since the policy names no column for them"
    return Rows(
        len({instance for *_, those in judged for instance in those.tolist()}),
        f"instances with a code of a rule on sex or age ({said})",
        (row for one in judged for row in _of_people(measured, *one)),
        first_unmet(
            (rules, "the policy states no rule on sex or age"),
            (
                judged,
                "the policy names no column by which its rules on sex or age could be judged: "
                "under [person], name sex, with the values that mean female and male, and age",
            ),
        ),
    )


def _column(person: Person, rule: PersonRule) -> str:
    """The column that a rule is judged by; empty: the policy names none."""
    return person.age if rule.sex is None else person.sex


def _of_people(
    measured: Measurements, person: Person, rule: PersonRule, carrying: IntArray
) -> Iterator[Row]:
    """A row on persons of another sex or age than a rule allows, and one on those not known."""
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
    """Whether a rule allows the sex or age of each instance; null where that is not known."""
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


MISSING_COMPANION = check_of_rows(
    "missing_companion",
    "Is a code missing that a rule requires beside another?",
    _companions,
    needs="instances",
    evidence=Columns(text("code lacks", "Code|Lacks"), OF_SOME),
    of_parts=PARTS,
)
SEX_AGE_CONFLICT = check_of_rows(
    "sex_age_conflict",
    "Do codes fit the sex and the age of the person?",
    _people,
    needs="instances",
    evidence=Columns(OF_SOME),
    of_parts=PARTS,
    nodes="Code",
)

"""missing_companion: instances with a code but without the companion code that a rule requires."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import Columns, text
from audit.checks.check import first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.carriers import carrying_any, named, under_rule
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.checks.shared.proposals import MOST_CANDIDATES, as_in_data, proposals, with_instances
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below, companion_rules
from audit.measure.validity import days_of
from audit.policy.rules import Companion


def _companions(measured: Measurements) -> Rows:
    """Report each violated rule once, with the labels that require the companion.

    A rule with a first or last day is applied to instances whose true day is known; instances
    without a day are reported separately, as a note.
    """
    rules = companion_rules(measured.hierarchy, measured.policy)
    asked = [(rule, *one) for rule in rules for one in _asked(measured, rule)]
    said, noted = f"rules: {len(rules):,}", measured.hierarchy.companions
    if noted is not None:
        said += (
            f"; {len(noted.rules):,} of {len(noted.rules) + noted.unread:,} notes of release "
            f"{noted.release} require a code without a condition"
        )
    return Rows(
        len({instance for *_, those in asked for instance in those.tolist()}),
        f"instances with a code that needs another ({said})",
        (row for one in asked for row in _of_rule(measured, *one)),
        first_unmet(
            (rules, "neither the policy nor the hierarchy states which code needs another")
        ),
    )


def _asked(measured: Measurements, rule: Companion) -> Iterator[tuple[bool, IntArray]]:
    """The instances of which a rule asks something: those on their day, and those without one."""
    excused = carrying_any(measured, rule.excusing)
    asked = np.setdiff1d(carrying_any(measured, rule.asking), excused, assume_unique=True)
    dates = measured.policy.code_dates
    held = pl.repeat(
        None if rule.begins_or_ends else True, len(asked), dtype=pl.Boolean, eager=True
    )
    if rule.begins_or_ends and dates is not None:
        days = days_of(measured.loaded.dataset, dates.column).gather(asked)
        held = days.is_between(rule.valid_from or date.min, rule.valid_to or date.max)
    for dated, those in ((True, held.fill_null(value=False)), (False, held.is_null())):
        if those.any():
            yield dated, asked[those.to_numpy()]


def _of_rule(
    measured: Measurements, rule: Companion, dated: bool, asked: IntArray
) -> Iterator[Row]:
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
            curator="Look at a sample of these records: add the code that the rule requires, or "
            "correct the one that needs it. Where the record says why it is absent, waive "
            "the finding.",
            data_user="Do not read the absence of the second code as the absence of what it means.",
            asks=not dated,
            proposes=lambda: _to_add(measured, rule, missing),
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
    """Instances with a companion on the wrong side of the first label that asks, ascending.

    Instances whose labels have no order are left out.
    """
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
    """The companions that may be added, once somebody has read the record."""
    written = [*map(as_in_data(measured), rule.needed)]
    candidates = pl.lit(written[:MOST_CANDIDATES], pl.List(pl.String))
    found = with_instances(missing).with_columns(candidates=candidates)
    return proposals(found, "add", "review", f"a rule asks for it: {rule.source.rstrip('.')}")


CHECK = check_of_rows(
    "missing_companion",
    "Is a code missing that a rule requires beside another?",
    _companions,
    needs="instances",
    evidence=Columns(text("code lacks", "Code|Lacks"), OF_SOME),
    of_parts=PARTS,
    proposes=True,
)

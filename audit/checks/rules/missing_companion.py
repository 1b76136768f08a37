"""missing_companion: instances with a code but without the companion code that a rule requires."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, IntArray
from audit.base.declared import Columns, text
from audit.checks.check import first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.carriers import carrying_any, named, parts_of
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.checks.shared.proposals import (
    MOST_CANDIDATES,
    as_in_data,
    proposals,
    with_instances,
)
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below, companion_rules
from audit.measure.validity import days_of
from audit.policy.rules import Companion
from audit.results.findings import share_evidence


def _companions(measured: Measurements) -> Rows:
    """Report each violated rule once, with the labels that require the companion.

    A rule with a first or last day is applied to instances whose true day is known; instances
    without a day are reported separately, as a note.
    """
    rules = companion_rules(measured.hierarchy, measured.policy)
    groups = [
        (rule, dated, asked)
        for rule in rules
        for dated, asked in _asked(measured, rule)
        if len(asked)
    ]
    unit, noted = "instances with a code that needs another", measured.hierarchy.companions
    said = f"rules: {len(rules):,}"
    if noted is not None:
        every = len(noted.rules) + noted.unread
        said += (
            f"; {len(noted.rules):,} of {every:,} notes of release {noted.release} require a code "
            "without a condition"
        )
    return Rows(
        len({instance for _, _, asked in groups for instance in asked.tolist()}),
        f"{unit} ({said})",
        (row for group in groups for row in _of_rule(measured, *group)),
        first_unmet(
            (rules, "neither the policy nor the hierarchy states which code needs another")
        ),
    )


def _asked(measured: Measurements, rule: Companion) -> Iterator[tuple[bool, IntArray]]:
    """The instances of which a rule asks something: those on their day, and those without one."""
    asked = carrying_any(measured, rule.asking)
    asked = np.setdiff1d(asked, carrying_any(measured, rule.excusing), assume_unique=True)
    holds, unknown = _on_their_day(measured, rule)
    yield True, asked[holds[asked]]
    yield False, asked[unknown[asked]]


def _on_their_day(measured: Measurements, rule: Companion) -> tuple[BoolArray, BoolArray]:
    """Instances on whose day a rule held, and those of which it is not known, (n_instances,)."""
    n, dates = measured.n_instances, measured.policy.code_dates
    if not rule.begins_or_ends:
        return np.ones(n, np.bool_), np.zeros(n, np.bool_)
    if dates is None:
        return np.zeros(n, np.bool_), np.ones(n, np.bool_)
    days = days_of(measured.loaded.dataset, dates.column)
    unknown = days.is_null().to_numpy()
    holds = ~unknown
    if rule.valid_from is not None:
        holds &= (days >= rule.valid_from).fill_null(False).to_numpy()
    if rule.valid_to is not None:
        holds &= (days <= rule.valid_to).fill_null(False).to_numpy()
    return holds, unknown


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
    row = partial(_row, measured, rule, dated, asking)
    if len(missing):
        node, *others = rule.needed
        heading = measured.hierarchy.height[measured.hierarchy.index(node)] > 0
        any_of = "a code of " if heading and not (others or rule.needs_title) else ""
        yield row(missing, of=len(asked), kind="missing", lacks=needed)(
            severity=rule.severity if dated else "note",
            sentence=f"{{instances}} of {{of}} instances with {asking} ({{share}}) "
            f"{{instances|lacks|lack}} {any_of}{needed}. The rule: {_source(rule, dated)}",
            curator="Look at a sample of these records: add the code that the rule requires, or "
            "correct the one that needs it. Where the record says why it is absent, waive "
            "the finding.",
            data_user="Do not read the absence of the second code as the absence of what it means.",
            asks=not dated,
            proposes=partial(_to_add, measured, rule, missing),
        )
    if len(misplaced):
        only = "after" if rule.position == "before" else "before"
        lacks = f"{needed}: it comes only {only}"
        yield row(misplaced, of=len(given), kind="order", lacks=lacks)(
            sentence="{instances} of {of} instances with both ({share}) "
            f"{{instances|lists|list}} {needed} only {only} {asking}; the rule: "
            f"{_source(rule, dated)}",
            curator="Find out whether the order of the labels is that of the record; where it is, "
            "put the two codes in the order that the rule requires.",
            data_user="Do not read the order of these labels as cause before consequence.",
            asks=True,
        )


def _row(
    measured: Measurements,
    rule: Companion,
    dated: bool,
    asking: str,
    instances: IntArray,
    *,
    of: int,
    kind: str,
    lacks: str,
) -> partial[Row]:
    parts = parts_of(measured, rule.asking, instances)
    nodes: Sequence[str] = rule.asking if len(rule.asking) == 1 else parts[0].nodes
    return partial(
        Row,
        nodes=(*nodes, *(rule.needed if len(rule.needed) == 1 else ())),
        evidence={**share_evidence(len(instances), of), "code": asking, "lacks": lacks},
        parts=parts,
        key=(*rule.key, kind) if dated else (*rule.key, kind, "undated"),
        cases=lambda: instances,
    )


def _source(rule: Companion, dated: bool) -> str:
    """The source of a rule; and on which days it holds, where those of instances are not known."""
    said = f"{rule.source.rstrip('.')}."
    if dated:
        return said
    ends = (("from", rule.valid_from), ("to", rule.valid_to))
    days = " ".join(f"{word} {day}" for word, day in ends if day is not None)
    return (
        f"{said} It holds {days}, and the true days of "
        "{instances|this instance|these instances} are not known."
    )


def _misplaced(measured: Measurements, rule: Companion, given: IntArray) -> IntArray:
    """Instances with a companion on the wrong side of the first label that asks, ascending.

    Instances whose labels have no order are left out.
    """
    if rule.position == "any":
        return np.empty(0, np.int64)
    asking, needed = (at_or_below(measured.hierarchy, nodes) for nodes in rule.sides)
    rows = measured.loaded.dataset.assertions.drop_nulls("position").filter(
        pl.col("instance").is_in(pl.Series(given.astype(np.uint32)).implode())
    )
    nodes, position = rows["node"].to_numpy(), pl.col("position")
    asked_at, given_at = (
        rows.filter(pl.Series(side[nodes])).group_by("instance") for side in (asking, needed)
    )
    both = asked_at.agg(asked=position.min()).join(
        given_at.agg(first=position.min(), last=position.max()), on="instance"
    )
    before = rule.position == "before"
    wrong = pl.col("first") > pl.col("asked") if before else pl.col("last") < pl.col("asked")
    return np.sort(both.filter(wrong)["instance"].to_numpy().astype(np.int64))


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

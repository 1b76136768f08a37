"""missing_companion: instances with a code but without the companion code that a rule requires."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, IntArray
from audit.base.declared import Columns, text
from audit.checks.check import Check, Outcome, first_unmet
from audit.checks.shared.carriers import carrying_any, named, parts_of
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.checks.shared.proposals import (
    MOST_CANDIDATES,
    as_in_data,
    proposals,
    together,
    with_instances,
)
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below, companion_rules
from audit.measure.validity import days_of
from audit.policy.rules import Companion, Severity
from audit.results.findings import Finding, share_evidence

_NAME = "missing_companion"
_Kind: TypeAlias = Literal["missing", "order"]
_UNDATED = "undated"


@dataclass(frozen=True)
class _Asked:
    """Instances of which a rule asks something; all ascending.

    Args:
        dated: Whether it held on their day for sure.
    """

    rule: Companion
    dated: bool
    asked: IntArray
    given: IntArray

    @property
    def missing(self) -> IntArray:
        """Those without a companion."""
        return np.setdiff1d(self.asked, self.given, assume_unique=True)

    def key(self, kind: _Kind) -> tuple[str, ...]:
        """What distinguishes a finding on them from others."""
        return (*self.rule.key, kind) + (() if self.dated else (_UNDATED,))


def run(measured: Measurements) -> Outcome:
    """Report each violated rule once, with the labels that require the companion.

    A rule with a first or last day is applied to instances whose true day is known; instances
    without a day are reported separately, as a note.
    """
    rules = companion_rules(measured.hierarchy, measured.policy)
    groups = [group for rule in rules for group in _groups(measured, rule)]
    asked = np.unique(np.concatenate([np.empty(0, np.int64), *(one.asked for one in groups)]))
    return Outcome(
        denominator=len(asked),
        denominator_unit=_unit(measured, len(rules)),
        findings=tuple(finding for group in groups for finding in _findings(measured, group)),
        not_applicable=first_unmet(
            (rules, "neither the policy nor the hierarchy states which code needs another")
        ),
    )


def _unit(measured: Measurements, rules: int) -> str:
    unit, noted = "instances with a code that needs another", measured.hierarchy.companions
    if noted is None:
        return f"{unit} (rules: {rules:,})"
    every = len(noted.rules) + noted.unread
    return (
        f"{unit} (rules: {rules:,}; {len(noted.rules):,} of {every:,} notes of release "
        f"{noted.release} require a code without a condition)"
    )


def _groups(measured: Measurements, rule: Companion) -> Iterator[_Asked]:
    """The instances of which a rule asks something: those on their day, and those without one."""
    asked = carrying_any(measured, rule.asking)
    asked = np.setdiff1d(asked, carrying_any(measured, rule.excusing), assume_unique=True)
    given = carrying_any(measured, rule.needed)
    holds, unknown = _on_their_day(measured, rule)
    for dated, chosen in ((True, holds), (False, unknown)):
        some = asked[chosen[asked]]
        if len(some):
            yield _Asked(rule, dated, some, np.intersect1d(some, given, assume_unique=True))


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


def _findings(measured: Measurements, group: _Asked) -> Iterator[Finding]:
    missing, misplaced = group.missing, _misplaced(measured, group)
    asking, needed = _sides(measured, group.rule)
    node, *others = group.rule.sides[1]
    heading = measured.hierarchy.height[measured.hierarchy.index(node)] > 0
    any_of = "a code of " if heading and not (others or group.rule.needs_title) else ""
    if len(missing):
        yield _finding(
            measured,
            group,
            missing,
            kind="missing",
            severity=group.rule.severity if group.dated else "note",
            of=len(group.asked),
            lacks=needed,
            statement=f"{{instances}} of {{of}} instances with {asking} ({{share}}) "
            f"{{instances|lacks|lack}} {any_of}{needed}. The rule:",
            curator="Look at a sample of these records: add the code that the rule requires, or "
            "correct the one that needs it. Where the record says why it is absent, waive "
            "the finding.",
            data_user="Do not read the absence of the second code as the absence of what it means.",
        )
    if len(misplaced):
        only = "after" if group.rule.position == "before" else "before"
        yield _finding(
            measured,
            group,
            misplaced,
            kind="order",
            severity="note",
            of=len(group.given),
            lacks=f"{needed}: it comes only {only}",
            statement="{instances} of {of} instances with both ({share}) "
            f"{{instances|lists|list}} {needed} only {only} {asking}; the rule:",
            curator="Find out whether the order of the labels is that of the record; where it is, "
            "put the two codes in the order that the rule requires.",
            data_user="Do not read the order of these labels as cause before consequence.",
        )


def _sides(measured: Measurements, rule: Companion) -> tuple[str, str]:
    """What asks and what is asked for, in words."""
    titles = (rule.if_title, rule.needs_title)
    both = zip(rule.sides, titles, strict=True)
    asking, needed = (named(measured.hierarchy, nodes, title) for nodes, title in both)
    return asking, needed


def _finding(
    measured: Measurements,
    group: _Asked,
    instances: IntArray,
    *,
    kind: _Kind,
    severity: Severity,
    of: int,
    lacks: str,
    statement: str,
    curator: str,
    data_user: str,
) -> Finding:
    rule, touched = group.rule, len(instances)
    parts = parts_of(measured, rule.asking, instances)
    asking = rule.asking if len(rule.asking) == 1 else parts[0].nodes
    return Finding(
        check=_NAME,
        severity=severity,
        nodes=(*asking, *(rule.needed if len(rule.needed) == 1 else ())),
        statement=f"{statement} {rule.source.rstrip('.')}.{_since(group)}",
        evidence={
            **share_evidence(touched, of),
            "code": _sides(measured, rule)[0],
            "lacks": lacks,
        },
        curator=curator,
        data_user=data_user,
        touched=touched,
        parts=parts,
        key=group.key(kind),
        asks=kind == "order" or not group.dated,
    )


def _since(group: _Asked) -> str:
    """A sentence on the days on which a rule holds, where those of its instances are not known."""
    if group.dated:
        return ""
    ends = (("from", group.rule.valid_from), ("to", group.rule.valid_to))
    days = " ".join(f"{word} {day}" for word, day in ends if day is not None)
    return (
        f" It holds {days}, and the true days of "
        "{instances|this instance|these instances} are not known."
    )


def _misplaced(measured: Measurements, group: _Asked) -> IntArray:
    """Instances with a companion on the wrong side of the first label that asks, ascending.

    Instances whose labels have no order are left out.
    """
    rule = group.rule
    if rule.position == "any":
        return np.empty(0, np.int64)
    asking, needed = (at_or_below(measured.hierarchy, nodes) for nodes in rule.sides)
    rows = measured.loaded.dataset.assertions.filter(
        pl.col("position").is_not_null() & pl.Series(np.isin(_instances(measured), group.given))
    )
    nodes = rows["node"].to_numpy()
    asked_at = rows.filter(pl.Series(asking[nodes])).group_by("instance")
    given_at = rows.filter(pl.Series(needed[nodes])).group_by("instance")
    both = asked_at.agg(asked=pl.col("position").min()).join(
        given_at.agg(first=pl.col("position").min(), last=pl.col("position").max()), on="instance"
    )
    before = rule.position == "before"
    wrong = pl.col("first") > pl.col("asked") if before else pl.col("last") < pl.col("asked")
    return np.sort(both.filter(wrong)["instance"].to_numpy().astype(np.int64))


def _instances(measured: Measurements) -> IntArray:
    return measured.loaded.dataset.assertions["instance"].to_numpy().astype(np.int64)


def _groups_of(measured: Measurements, finding: Finding) -> list[_Asked]:
    rules = companion_rules(measured.hierarchy, measured.policy)
    of_rule = (rule for rule in rules if rule.key == finding.key[:2])
    return [group for rule in of_rule for group in _groups(measured, rule)]


def proposes(measured: Measurements, finding: Finding) -> pl.DataFrame:
    """The companions that may be added, once somebody has read the record."""
    for group in _groups_of(measured, finding):
        if group.key("missing") == finding.key:
            written = [*map(as_in_data(measured), group.rule.needed)]
            candidates = pl.lit(written[:MOST_CANDIDATES], pl.List(pl.String))
            found = with_instances(group.missing).with_columns(candidates=candidates)
            said = f"a rule asks for it: {group.rule.source.rstrip('.')}"
            return proposals(found, "add", "review", said)
    return together([])


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances without the companion, or with it in the wrong place."""
    for group in _groups_of(measured, finding):
        if group.key("missing") == finding.key:
            return group.missing
        if group.key("order") == finding.key:
            return _misplaced(measured, group)
    raise ValueError(f"no rule has a finding {finding.id}")


CHECK = Check(
    _NAME,
    "Is a code missing that a rule requires beside another?",
    run,
    needs="instances",
    cases=cases,
    evidence=Columns(text("code lacks", "Code|Lacks"), OF_SOME),
    of_parts=PARTS,
    proposes=proposes,
)

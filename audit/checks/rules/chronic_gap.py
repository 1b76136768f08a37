"""chronic_gap: lifelong conditions that later instances of the same person lack."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from audit.base.declared import Columns, Mark, chance, count, setting, share, total
from audit.checks.check import first_unmet
from audit.checks.rows import Row, Rows, check_of_rows, significant
from audit.checks.shared.carriers import carrying_any
from audit.engine.statistics.intervals import effective_n
from audit.measure.measure import Measurements
from audit.measure.residual_use import Share
from audit.measure.validity import days_of
from audit.policy.statements import Lifelong
from audit.results.findings import share_evidence, times_limit

LEAST_PERSONS = 20
"""Least number of persons with a later instance for a condition to be judged."""
LEAST_MISSING = 0.2
"""Share of the later instances above which a condition is reported."""
PUBLISHED = 0.495
"""Median share that codes missed, by charts, of 20 of 21 comorbidities (J Clin Epidemiol 2000)."""


class _Judged(NamedTuple):
    """A condition; ``instance, person, lacking`` of later instances of those who have it."""

    condition: Lifelong
    later: pl.DataFrame

    @property
    def share(self) -> Share:
        """The share of those that lack it."""
        by_person = self.later.group_by("person", maintain_order=True)
        counted = by_person.agg(of=pl.len(), missed=pl.col("lacking").sum()).cast(pl.Float64)
        missed, of = counted["missed"].to_numpy(), counted["of"].to_numpy()
        return Share(int(missed.sum()), len(self.later), effective_n(missed, of), len(of))


def _gone(measured: Measurements) -> Rows:
    """Lifelong conditions that later instances of persons lack who had them twice.

    A person has a condition from the *second* instance on that carries one of its nodes, in the
    order of days. An instance of a later day lacks it where it carries neither its nodes nor those
    that may stand for it (`still`). The policy's `[[lifelong]]` names conditions; twenty are built
    in for `icd9cm` and for `icd10cm`. It needs groups (`--group`, the person) and a column of days
    (`day`, else that of `code_dates`); instances without group, day or label take no part.

    Judged are conditions of 20 persons or more, on the later instances of these. One is told where
    the lower end of Wilson's interval of the share that lacks it, at the effective number of
    instances, is above one fifth, and Benjamini and Hochberg's q against one fifth is at most
    `false_discovery_rate`.

    **Severity.** Note, by the instances that lack it times their share. **Limits.** The share is a
    lower bound: persons coded twice are those coded well. A diagnosis given in error and dropped
    looks like a gap, and so does a cap (`record_cap`).
    """
    judged = [
        (one, told)
        for one in judged_conditions(measured)
        if (told := one.share.at_limit(LEAST_MISSING, measured.rounding)).groups >= LEAST_PERSONS
    ]
    p_values = (told.p_above(LEAST_MISSING) for _, told in judged)
    found = significant(measured, judged, p_values, len(judged))
    return Rows(
        len(judged),
        f"lifelong conditions that {LEAST_PERSONS} persons or more have on two "
        "instances with another one of a later day",
        (
            _condition_row(one, q, len(judged))
            for (one, told), q in found
            if told.interval()[0] > LEAST_MISSING
        ),
        first_unmet(
            (measured.policy.lifelong, "the policy names no lifelong condition"),
            (
                measured.ledger.groups,
                "no group is named: name the column of the person by --group",
            ),
            (
                measured.policy.ordered_by,
                "the policy names no column of days: without day, instances have no order",
            ),
        ),
    )


def judged_conditions(measured: Measurements) -> list[_Judged]:
    """The policy's conditions, with the later instances of each; none without persons or days."""
    groups, column = measured.loaded.group_of, measured.policy.ordered_by
    if groups is None or not column:
        return []
    dataset, found = measured.loaded.dataset, list[_Judged]()
    stays = pl.DataFrame({"instance": np.arange(len(groups)), "person": groups})
    stays = stays.with_columns(day=days_of(dataset, column)).filter(
        np.diff(dataset.direct.indptr) > 0
    )
    stays = stays.drop_nulls("day").sort("person", "day", maintain_order=True)
    for condition in measured.policy.lifelong:
        carried, there = (
            pl.col("instance").is_in(pl.Series(carrying_any(measured, nodes)).implode())
            for nodes in (condition.carrying, condition.nodes_named)
        )
        second = pl.col("day").filter(carried).get(1, null_on_oob=True).over("person")
        later = stays.filter(pl.col("day") > second).with_columns(lacking=~there)
        found.append(_Judged(condition, later))
    return found


def _condition_row(one: _Judged, q_value: float, family: int) -> Row:
    condition, share = one.condition, one.share
    low, high = share.interval()
    unsure = "" if condition.sure else " It is less surely lifelong than other conditions."
    evidence = share_evidence(share.k, share.n)
    return Row(
        nodes=condition.carrying,
        sentence="{instances} of {of} instances of persons who had "
        f"{condition.condition} on two earlier ones ({{share}}) {{instances|lacks|lack}} it"
        "[ (95% interval {low_share} to {high_share})]; codes compared with charts in a "
        f"published study missed {{published_share}} (median).{unsure}",
        evidence={
            **evidence,
            "low_share": low,
            "high_share": high,
            "effective": share.effective,
            "persons": share.groups,
            "q_value": q_value,
            "family": family,
            "published_share": PUBLISHED,
        },
        curator="Find out whether conditions that are not treated during a stay are left out, and "
        "say in the release notes what a missing one means.",
        data_user="Do not read the missing condition as absent: take it from earlier instances of "
        "the person.",
        strength=evidence["share"],
        beyond=times_limit(low, LEAST_MISSING),
        key=(condition.condition,),
        cases=np.sort(one.later.filter("lacking")["instance"].to_numpy()),
    )


CHECK = check_of_rows(
    "chronic_gap",
    "Do lifelong conditions vanish between the stays of a person?",
    _gone,
    needs="instances",
    evidence=Columns(
        share(
            "share",
            "Share that lacks it",
            of="instances of",
            ends="low_share high_share",
            effective="effective",
            mark=Mark(),
        ),
        count("instances", "Instances", among="of"),
        count("of"),
        total("effective"),
        count("persons", "Persons", of="groups", under="of"),
        setting("published_share"),
        chance("q_value family"),
    ),
    denominator="untold",
    nodes="Condition",
)

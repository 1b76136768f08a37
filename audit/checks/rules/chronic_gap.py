"""chronic_gap: lifelong conditions that later instances of the same person lack."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import IntArray
from audit.base.declared import Columns, Mark, chance, count, setting, share, total
from audit.checks.check import Limit, first_unmet
from audit.checks.rows import Row, Rows, check_of_rows, significant
from audit.checks.shared.carriers import carrying_any
from audit.checks.shared.proposals import as_in_data, proposals, with_instances
from audit.engine.statistics.intervals import effective_n
from audit.engine.statistics.two_rates import TwoSides, two_sides
from audit.measure.drift import LEAST_GROUPS, Value, surely_apart, values_compared
from audit.measure.measure import Measurements
from audit.measure.residual_use import Share
from audit.measure.rule_book import at_or_below
from audit.measure.validity import days_of
from audit.policy.statements import Lifelong
from audit.results.findings import share_evidence, times_limit

LEAST_PERSONS = 20
"""Least number of persons with a later instance for a condition to be judged."""
LEAST_MISSING = 0.2
"""Share of the later instances above which a condition is reported."""
LEAST_APART = 0.05
"""Least difference of two shares, at the cautious end of its interval, to be reported."""
PUBLISHED = 0.495
"""Median share that codes missed, by charts, of 20 of 21 comorbidities (J Clin Epidemiol 2000)."""


class _Judged(NamedTuple):
    """A condition; ``instance, person, lacking`` of later instances of those who have it."""

    condition: Lifelong
    later: pl.DataFrame

    def lacking_with(self, value: Value) -> TwoSides:
        """The share that lacks the condition with a value of a column, against all others."""
        later = self.later.filter(value.known[self.later["instance"]])
        every = csr_array(np.ones((len(later), 1), np.int64))
        lacking = csr_array(later.select(pl.col("lacking").cast(pl.Int64)).to_numpy())
        here = value.here[later["instance"]]
        return two_sides(lacking, every, np.zeros(1, np.int64), later["person"].to_numpy(), here)

    @property
    def share(self) -> Share:
        """The share of those that lack it."""
        by_person = self.later.group_by("person", maintain_order=True)
        counted = by_person.agg(of=pl.len(), missed=pl.col("lacking").sum()).cast(pl.Float64)
        missed, of = counted["missed"].to_numpy(), counted["of"].to_numpy()
        return Share(int(missed.sum()), len(self.later), effective_n(missed, of), len(of))


def _gone(measured: Measurements) -> Rows:
    """Lifelong conditions that later instances of persons lack who had them twice."""
    every = judged_conditions(measured)
    told = [one.share.at_limit(LEAST_MISSING, measured.rounding) for one in every]
    both = zip(every, told, strict=True)
    judged = [(one, share) for one, share in both if share.groups >= LEAST_PERSONS]
    return Rows(
        len(judged),
        f"lifelong conditions that {LEAST_PERSONS} persons or more have on two "
        "instances with another one of a later day",
        (*_gaps(measured, judged), *_differences(measured, [one for one, _ in judged])),
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
    """What becomes of each condition of the policy; of none without persons or days."""
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


def _gaps(measured: Measurements, judged: list[tuple[_Judged, Share]]) -> Iterator[Row]:
    p_values = (share.p_above(LEAST_MISSING) for _, share in judged)
    for (one, own), q in significant(measured, judged, p_values, len(judged)):
        if own.interval()[0] > LEAST_MISSING:
            unsure = (
                "" if one.condition.sure else " It is less surely lifelong than other conditions."
            )
            sentence, evidence, row = _row(measured, one, q, len(judged))
            yield row(
                sentence=f"{sentence}; codes compared with charts in a "
                f"published study missed {{published_share}} (median).{unsure}",
                evidence={**evidence, "published_share": PUBLISHED},
                strength=evidence["share"],
                beyond=times_limit(evidence["low_share"], LEAST_MISSING),
                key=(one.condition.condition,),
            )


def _differences(measured: Measurements, judged: list[_Judged]) -> Iterator[Row]:
    """Conditions that a value of a column lacks more than others; of each the surest value."""
    policy = measured.policy
    names = dict.fromkeys((*policy.strata, *policy.coding_columns))
    values = [value for name in names for value in values_compared(measured, name)]
    every = [(one, value, one.lacking_with(value)) for value in values for one in judged]
    tested = [each for each in every if each[-1].groups.min() >= LEAST_GROUPS]
    found = significant(measured, tested, (f.p_value.item() for *_, f in tested), len(tested))
    for one in judged:
        own = [(value, two, q) for (each, value, two), q in found if each is one]
        ends = [surely_apart(two, 0, measured.rounding) for _, two, _ in own]
        if max(ends, default=0.0) >= LEAST_APART:
            end = max(ends)
            yield _difference(measured, one, end, *own[ends.index(end)], len(tested))


def _difference(
    measured: Measurements,
    one: _Judged,
    end: float,
    value: Value,
    found: TwoSides,
    q_value: float,
    family: int,
) -> Row:
    (_, elsewhere), (_, of_elsewhere) = found.k[:, 0].tolist(), found.n[:, 0].tolist()
    here = one._replace(later=one.later.filter(value.here[one.later["instance"]]))
    sentence, evidence, row = _row(measured, here, q_value, family)
    return row(
        sentence=f"With the {value.column} {value.name!r}, {sentence}"
        "[, elsewhere {elsewhere_share}].",
        evidence={
            **evidence,
            "elsewhere": elsewhere,
            "of_elsewhere": of_elsewhere,
            "elsewhere_share": elsewhere / of_elsewhere,
        },
        strength=abs(float(found.difference.item())),
        beyond=times_limit(end, LEAST_APART),
        key=(one.condition.condition, value.column, value.name),
    )


def _row(
    measured: Measurements, one: _Judged, q_value: float, family: int
) -> tuple[str, dict[str, float], partial[Row]]:
    """That instances lack a condition: in words, in numbers, and what every row says."""
    condition, share = one.condition, one.share
    low, high = share.interval()
    sentence = (
        "{instances} of {of} instances of persons who had "
        f"{condition.condition} on two earlier ones ({{share}}) {{instances|lacks|lack}} it"
        "[ (95% interval {low_share} to {high_share})]"
    )
    evidence = {
        **share_evidence(share.k, share.n),
        "low_share": low,
        "high_share": high,
        "effective": share.effective,
        "persons": share.groups,
        "q_value": q_value,
        "family": family,
    }
    cases = np.sort(one.later.filter("lacking")["instance"].to_numpy())
    row = partial(
        Row,
        nodes=condition.carrying,
        curator="Find out whether conditions that are not treated during a stay are left out, and "
        "say in the release notes what a missing one means.",
        data_user="Do not read the missing condition as absent: take it from earlier instances of "
        "the person.",
        cases=lambda: cases,
        proposes=lambda: _looked_up(measured, condition, cases),
    )
    return sentence, evidence, row


def _looked_up(measured: Measurements, condition: Lifelong, lacking: IntArray) -> pl.DataFrame:
    """The label by which other instances of the person carry the condition, to be looked up."""
    groups = measured.loaded.group_of
    assert groups is not None, "without persons nothing was judged"
    nodes = np.flatnonzero(at_or_below(measured.hierarchy, condition.carrying))
    theirs = measured.loaded.dataset.direct[:, nodes].tocoo()
    labels = pl.DataFrame({"person": groups[theirs.row], "node": nodes[theirs.col]})
    times = labels.group_by("person", "node").len().sort("len", "node", descending=[True, False])
    usual = times.unique("person", keep="first", maintain_order=True)
    found = with_instances(lacking).with_columns(person=groups[lacking])
    found = found.join(usual, on="person", how="left", maintain_order="left")
    written, names = as_in_data(measured), measured.hierarchy.nodes
    candidates = [[written(names[node])] for node in found["node"]]
    said = f"the person had {condition.condition} on two earlier ones, and does not lose it"
    found = found.select("instance", candidates=pl.Series(candidates, dtype=pl.List(pl.String)))
    return proposals(found, "add", "review", said)


CHECK = check_of_rows(
    "chronic_gap",
    "Do lifelong conditions vanish between the stays of a person?",
    _gone,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
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
        count("of elsewhere of_elsewhere"),
        share("elsewhere_share", of="elsewhere of_elsewhere"),
        total("effective"),
        count("persons", "Persons", of="groups", under="of"),
        setting("published_share"),
        chance("q_value family"),
    ),
    denominator="untold",
    proposes=True,
    nodes="Condition",
)

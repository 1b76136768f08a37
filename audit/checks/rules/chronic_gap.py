"""chronic_gap: lifelong conditions that later instances of the same person lack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray
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
from audit.sharing.told import Rounding

LEAST_PERSONS = 20
"""Least number of persons with a later instance for a condition to be judged."""
LEAST_MISSING = 0.2
"""Share of the later instances above which a condition is reported."""
LEAST_APART = 0.05
"""Least difference of two shares, at the cautious end of its interval, to be reported."""
PUBLISHED = 0.495
"""Median share that codes missed, by charts, of 20 of 21 comorbidities (J Clin Epidemiol 2000)."""


@dataclass(frozen=True, eq=False)
class _Judged:
    """A condition, and the later instances of the persons who have it.

    Args:
        later: Their indices, in the order of persons and days, shape (n_later,).
        person: The person of each, numbered from 0, shape (n_later,).
        lacking: Whether each lacks the condition, shape (n_later,).
    """

    condition: Lifelong
    later: IntArray
    person: IntArray
    lacking: BoolArray

    @property
    def of(self) -> FloatArray:
        """Later instances of each person, shape (n_persons,)."""
        return np.bincount(self.person).astype(np.float64)

    @property
    def missed(self) -> FloatArray:
        """Those of them that lack the condition, shape (n_persons,)."""
        return np.bincount(self.person, weights=self.lacking).astype(np.float64)

    def within(self, some: BoolArray) -> _Judged:
        """The same of some of the later instances, shape of ``some`` (n_later,)."""
        person = np.unique(self.person[some], return_inverse=True)[1]
        return _Judged(self.condition, self.later[some], person, self.lacking[some])

    def lacking_with(self, value: Value) -> TwoSides:
        """The share that lacks the condition with a value of a column, against all others."""
        known = value.known[self.later]
        every = csr_array(np.ones((int(known.sum()), 1), np.int64))
        lacking = csr_array(self.lacking[known][:, None].astype(np.int64))
        here = value.here[self.later[known]]
        return two_sides(lacking, every, np.zeros(1, np.int64), self.person[known], here)

    @property
    def share(self) -> Share:
        """The share of those that lack it."""
        effective = effective_n(self.missed, self.of)
        return Share(int(self.lacking.sum()), len(self.later), effective, len(self.of))

    def told(self, rounding: Rounding) -> Share:
        """The same by told numbers, to be held against `LEAST_MISSING`."""
        return self.share.at_limit(LEAST_MISSING, rounding)


def _gone(measured: Measurements) -> Rows:
    """Report lifelong conditions that are missing on later instances of persons who have them.

    A person has a condition from the second instance on that carries it, in the order of days;
    instances of a later day are judged. One that carries neither the condition nor what may stand
    for it lacks it. The shares that lack it are compared by strata and by who codes.
    """
    told = [(one, one.told(measured.rounding)) for one in judged_conditions(measured)]
    judged = [(one, share) for one, share in told if share.groups >= LEAST_PERSONS]
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
    read = days_of(measured.loaded.dataset, column)
    days = read.to_physical().fill_null(0).to_numpy().astype(np.int64)
    labelled = np.diff(measured.loaded.dataset.direct.indptr) > 0
    order = np.lexsort((days, groups))
    order = order[(read.is_not_null().to_numpy() & labelled)[order]]
    ordered = order, groups[order], days[order]
    return [_judged_of(measured, condition, *ordered) for condition in measured.policy.lifelong]


def _judged_of(
    measured: Measurements, condition: Lifelong, order: IntArray, person: IntArray, day: IntArray
) -> _Judged:
    has, there = np.zeros((2, measured.n_instances), np.bool_)
    has[carrying_any(measured, condition.carrying)] = True
    there[carrying_any(measured, condition.nodes_named)] = True
    carried = np.flatnonzero(has[order])
    second = carried[1:][person[carried[1:]] == person[carried[:-1]]]
    persons, first = np.unique(person[second], return_index=True)
    since = np.full(int(person.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    since[persons] = day[second[first]]
    later = np.flatnonzero(day > since[person])
    number = np.unique(person[later], return_inverse=True)[1]
    return _Judged(condition, order[later], number, ~there[order[later]])


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
    """Conditions that a value of a stratum, or of who codes, lacks more or less than others: of
    each the value that differs most."""
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
    here = one.within(value.here[one.later])
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
    """How many instances lack a condition, of all later ones or of some of them: in words, in
    numbers, and what every row says."""
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
    cases = np.sort(one.later[one.lacking])
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
    hierarchy, groups = measured.hierarchy, measured.loaded.group_of
    assert groups is not None, "without persons nothing was judged"
    nodes = np.flatnonzero(at_or_below(hierarchy, condition.carrying))
    persons, place = np.unique(groups[lacking], return_inverse=True)
    theirs = measured.loaded.dataset.direct[:, nodes].tocoo()
    own = np.isin(groups[theirs.row], persons)
    owner = np.searchsorted(persons, groups[theirs.row[own]])
    times = np.zeros((len(persons), len(nodes)), np.int64)
    np.add.at(times, (owner, theirs.col[own]), 1)
    written = as_in_data(measured)
    usual = [[written(hierarchy.nodes[nodes[best]])] for best in times.argmax(axis=1).tolist()]
    candidates = pl.Series("candidates", usual, pl.List(pl.String)).gather(place)
    said = f"the person had {condition.condition} on two earlier ones, and does not lose it"
    found = with_instances(lacking).with_columns(candidates)
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

"""missing_stratum: columns that explain reported pairs, and could be added as strata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, count, estimate
from audit.checks.check import Check, Outcome, first_unmet
from audit.checks.shared.carriers import carrying_both
from audit.data.unnamed import MOST_VALUES, may_be_groups
from audit.engine.statistics.association import poisson_p_value
from audit.engine.statistics.grouped import Scales
from audit.engine.statistics.resampling import unit_keys
from audit.measure.measure import Measurements, once
from audit.measure.pair_excess import judge_pairs
from audit.results.findings import Finding, times_limit

_NAME = "missing_stratum"
LEAST_SHARE = 0.1
"""Least share of the reported pairs that must vanish within a column for it to be reported."""
LEAST_PAIRS = 2
"""Least number of pairs that must vanish."""
AS_GROUPS = "as groups"
"""Last part of the key of a finding on a column of groups that nobody named."""
AS_STRATA = "as strata"
"""Last part of the key of a finding on groups that behave as strata."""
TIMES_AS_MANY = 2
"""How many times as many pairs must be reported with the groups as strata."""


def run(measured: Measurements) -> Outcome:
    """Report columns, and all of them together, within which reported pairs vanish.

    Every column of the instances that is not a stratum is tried: the instances are stratified by it
    in addition to the policy's strata, and the pairs are tested again. Where no group is named,
    columns that may be groups are tried as such; large groups that are named, as strata.
    """
    pairs, tried = len(measured.excess.found), _tried(measured)
    groups = list(group_columns(measured)) if pairs >= LEAST_FOR_GROUPS else []
    hint = group_hint(measured) if groups else None
    hinted = [] if hint is None else [_group_finding(measured, hint)]
    within = found_within_groups(measured)
    hinted += [] if within is None else list(_stratum_finding(measured, within))
    large = within is not None
    return Outcome(
        denominator=len(tried) * bool(pairs) + len(groups) + large,
        denominator_unit="columns of the instances, and all of them together",
        findings=(*hinted, *(_findings(measured, tried) if pairs else ())),
        not_applicable=first_unmet(
            (
                _columns(measured) or measured.ledger.groups,
                "no column is left that could be a stratum",
            )
        ),
    )


def _columns(measured: Measurements) -> list[pl.Series]:
    """Columns of the instances that are no strata."""
    dataset = measured.loaded.dataset
    frames = dataset.instances.select(measured.loaded.columns[1:]), dataset.unnamed
    read = pl.concat(frames, how="horizontal")
    return [one for one in read.iter_columns() if one.name not in measured.policy.strata]


def _tried(measured: Measurements) -> list[tuple[str, ...]]:
    """Columns with values that instances share, each alone and then all."""
    unnamed = measured.loaded.dataset.unnamed.columns
    columns = [
        one.name
        for one in _columns(measured)
        if 1 < (values := one.drop_nulls().n_unique()) < len(one)
        and (values <= MOST_VALUES or one.name not in unnamed)
    ]
    together = [tuple(columns)] if len(columns) > 1 else []
    return [*((name,) for name in columns), *together]


def _findings(measured: Measurements, tried: list[tuple[str, ...]]) -> Iterator[Finding]:
    """A finding for each column, and for all where more pairs vanish than within any one."""
    pairs, most = len(measured.excess.found), 0
    least = max(LEAST_PAIRS, LEAST_SHARE * pairs)
    for columns in tried:
        vanished = len(measured.vanished_within(columns))
        if vanished >= least and (len(columns) == 1 or vanished > most):
            yield _finding(measured, columns, times_limit(vanished, least))
        most = max(most, vanished)


def _finding(measured: Measurements, columns: tuple[str, ...], beyond: float) -> Finding:
    hierarchy, vanished = measured.hierarchy, measured.vanished_within(columns)
    touched = len(_with_both(measured, vanished))
    named = " and ".join(columns)
    a, b = (hierarchy.describe(end) for end in vanished.row(0))
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(hierarchy.nodes[hierarchy.root],),
        statement="{vanished} of the {pairs} reported {pairs|pair|pairs} {vanished|is|are} "
        f"explained by {named}: within its values {{vanished|it is|they are}} no more frequent "
        f"than expected. {{vanished|It|One}} is {a} with {b}.",
        evidence={
            "pairs": len(measured.excess.found),
            "vanished": len(vanished),
            "instances": touched,
        },
        curator=f"Add {named} to the strata, by --strata or in the policy, if its values are "
        f"known before the labels are given; then read the pairs that are left.",
        data_user=f"Do not read these pairs as associations: they follow from {named}.",
        touched=touched,
        strength=len(vanished) / len(measured.excess.found),
        beyond=beyond,
        key=columns,
    )


def _group_finding(measured: Measurements, hint: GroupHint) -> Finding:
    hierarchy, column = measured.hierarchy, hint.column
    touched, pairs = len(_with_both(measured, hint.vanished)), len(measured.excess.found)
    a, b = (hierarchy.describe(end) for end in hint.vanished.row(0))
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(hierarchy.nodes[hierarchy.root],),
        statement="Of {pairs} pairs that are reported, {vanished} vanish where instances with the "
        f"same {column} count as one case that repeats ({{by_chance}} if its values are "
        f"shuffled): a few of these cases bring them about. One is {a} with {b}.",
        evidence={
            "pairs": pairs,
            "vanished": len(hint.vanished),
            "by_chance": hint.by_chance,
            "instances": touched,
        },
        curator=f"If instances with the same {column} repeat each other, as the stays of a patient "
        f"do, audit again with --group {quote(column)}.",
        data_user=f"Do not read these pairs as associations before the audit knows what {column} "
        "is.",
        touched=touched,
        strength=len(hint.vanished) / pairs,
        beyond=times_limit(len(hint.vanished), MOST_PART * pairs),
        key=(column, AS_GROUPS),
    )


def _stratum_finding(measured: Measurements, within: pl.DataFrame) -> Iterator[Finding]:
    """A finding where the groups leave hardly any of the pairs that they show as strata."""
    hierarchy, pairs = measured.hierarchy, len(measured.excess.found)
    alike = measured.loaded.alike
    least = max(TIMES_AS_MANY * pairs, pairs + BEYOND_CHANCE)
    if alike is None or len(within) < least:
        return
    touched = len(_with_both(measured, within))
    a, b = (hierarchy.describe(end) for end in within.row(0))
    yield Finding(
        check=_NAME,
        severity="note",
        nodes=(hierarchy.nodes[hierarchy.root],),
        statement="{within_strata} pairs {within_strata|is|are} reported where the groups are "
        "read as places, each with habits of its own, and {pairs} where they are read as persons "
        "who come again, as now. Instances of one group hardly resemble each other[ (they share "
        f"{{shared_labels}} of their labels beyond chance)]. One pair is {a} with {b}.",
        evidence={
            "pairs": pairs,
            "within_strata": len(within),
            "shared_labels": alike.share,
            "instances": touched,
        },
        curator="If the groups are places with habits of their own, such as sites or wards, name "
        "their column by --strata and not by --group; if they are persons, keep them.",
        data_user="Do not assume that no other pairs stand out before the audit knows what the "
        "groups are.",
        touched=touched,
        strength=1 - pairs / len(within),
        beyond=times_limit(len(within), least),
        key=(AS_STRATA,),
    )


def _with_both(measured: Measurements, pairs: pl.DataFrame) -> IntArray:
    """Instances that carry both nodes of one of some pairs, ascending."""
    names = measured.hierarchy.nodes
    both = [carrying_both(measured, names[a], names[b]) for a, b in pairs.iter_rows()]
    return np.unique(np.concatenate(both))


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances that carry both nodes of a vanishing pair."""
    hint = group_hint(measured) if finding.key[-1] == AS_GROUPS else None
    within = found_within_groups(measured) if finding.key == (AS_STRATA,) else None
    if within is not None:
        return _with_both(measured, within)
    return _with_both(measured, hint.vanished if hint else measured.vanished_within(finding.key))


CHECK = Check(
    _NAME,
    "Does a column (age, ward) explain any reported pair?",
    run,
    counts_with=("least_joint", "excess_ratio", "false_discovery_rate"),
    needs="instances",
    cases=cases,
    evidence=Columns(
        count("pairs vanished by_chance within_strata", of=NONE),
        count("instances"),
        estimate(
            "shared_labels",
            n="instances",
            reason="no count says how alike a group is",
        ),
    ),
    denominator="untold",
)


LEAST_FOR_GROUPS = 4
"""Least number of reported pairs by which columns are tried as groups."""
MOST_PART = 0.5
"""Least share of the reported pairs that must vanish for a column to be told."""
BEYOND_CHANCE = 2
"""How many more pairs must vanish than with the column's values shuffled."""
AS_MANY = 0.01
"""Share of the pairs by which columns may differ and take as many: the finest of them is told."""
LARGE_GROUPS = 30
"""Least average number of instances of a group for groups to be tried as strata."""
HARDLY_ALIKE = 0.1
"""Share of the labels of an instance that another of its group has too, beyond chance, from which
on instances repeat each other, so that the groups are no strata."""


@dataclass(frozen=True, eq=False)
class GroupHint:
    """A column as groups.

    Args:
        vanished: Reported pairs (``a, b``) that vanish with it.
        by_chance: Number of pairs that vanish with its values shuffled.
    """

    column: str
    values: int
    vanished: pl.DataFrame
    by_chance: int


@once
def group_columns(measured: Measurements) -> dict[str, pl.Series]:
    """Columns that may be groups, each with its values; none where a group column is named."""
    dataset = measured.loaded.dataset
    if dataset.instances["group"].is_not_null().any():
        return {}
    strata = dataset.instances.select(measured.loaded.columns)
    columns = (*strata.iter_columns(), *dataset.unnamed.iter_columns())
    return {column.name: column for column in columns if may_be_groups(column)}


@once
def group_hint(measured: Measurements) -> GroupHint | None:
    """The column by which most pairs vanish, of those that take as many the finest; or none."""
    if len(measured.excess.found) < LEAST_FOR_GROUPS:
        return None
    pairs, hints = len(measured.excess.found), list(_hints(measured))
    most = max((len(hint.vanished) for hint in hints), default=0)
    near = [hint for hint in hints if len(hint.vanished) >= most - AS_MANY * pairs]
    for hint in sorted(near, key=lambda one: (-one.values, one.column))[:1]:
        if len(hint.vanished) >= max(MOST_PART * pairs, hint.by_chance + BEYOND_CHANCE):
            return hint
    return None


def _hints(measured: Measurements) -> Iterator[GroupHint]:
    ids = measured.loaded.dataset.instances["instance"].to_list()
    orders = [np.argsort(unit_keys(ids, seed), kind="stable") for seed in (0, 1)]
    for name, values in group_columns(measured).items():
        place = np.empty(len(ids), np.int64)
        place[orders[0]] = orders[1]
        both = (measured.loaded.groups_by(one) for one in (values, values.gather(place)))
        vanished, by_chance = (_vanished(measured, groups) for groups in both)
        yield GroupHint(name, values.drop_nulls().n_unique(), vanished, len(by_chance))


def _vanished(measured: Measurements, groups: IntArray) -> pl.DataFrame:
    """The reported pairs that are none by the design effect of groups, each record weighing one."""
    records = measured.loaded.parted_by(measured.policy.strata, groups)
    assert records.grouped is not None
    found = measured.excess.found
    a, b = (found[end].to_numpy() for end in ("a", "b"))
    joint = found["expected_length"].to_numpy()
    scale, *_ = Scales(records.grouped).of(a, b, joint)
    effective = found["observed"].to_numpy() / scale
    gone = poisson_p_value(effective, joint / scale) > measured.excess.threshold
    gone |= effective < measured.policy.least_joint.value
    return found.select("a", "b").filter(pl.Series(gone))


@once
def found_within_groups(measured: Measurements) -> pl.DataFrame | None:
    """Pairs (``a, b``) that are reported with the groups as strata; None where these are not tried.

    Few large groups whose instances hardly resemble each other may be sites with habits of their
    own: as groups they leave hardly any pair to be found.
    """
    alike = measured.loaded.alike
    if alike is None or alike.share >= HARDLY_ALIKE:
        return None
    if alike.records < LARGE_GROUPS * int((alike.size > 0).sum()):
        return None
    columns, alone = (*measured.policy.strata, "group"), np.arange(measured.n_instances)
    records = measured.loaded.parted_by(columns, alone)
    blocks = (rows.drop("observed") for rows in measured.pairs.blocks())
    _, within = judge_pairs(measured.hierarchy, records, blocks, measured.policy)
    return within.found.select("a", "b")

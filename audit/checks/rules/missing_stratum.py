"""missing_stratum: columns that explain reported pairs, and could be added as strata."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, count, estimate
from audit.checks.check import first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.carriers import carrying_both
from audit.data.loading import MOST_VALUES, may_be_groups
from audit.engine.statistics.association import poisson_p_value
from audit.engine.statistics.grouped import Scales
from audit.engine.statistics.resampling import unit_keys
from audit.measure.measure import Measurements
from audit.measure.pair_excess import judge_pairs
from audit.results.findings import times_limit

LEAST_SHARE = 0.1
"""Least share of the reported pairs that must vanish within a column for it to be reported."""
LEAST_PAIRS = 2
"""Least number of pairs that must vanish."""
TIMES_AS_MANY = 2
"""How many times as many pairs must be reported with the groups as strata."""
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


def _explaining(measured: Measurements) -> Rows:
    """Columns, and all of them together, within which reported pairs vanish."""
    pairs, unnamed = len(measured.excess.found), measured.loaded.dataset.unnamed.columns
    columns = [one for one in _columns(measured)[1:] if one.name not in measured.policy.strata]
    shared = [
        one.name
        for one in columns
        if 1 < (values := one.drop_nulls().n_unique()) < len(one)
        and (values <= MOST_VALUES or one.name not in unnamed)
    ]
    tried = [(name,) for name in shared] + ([tuple(shared)] if len(shared) > 1 else [])
    groups = group_columns(measured) if pairs >= LEAST_FOR_GROUPS else {}
    within = found_within_groups(measured)
    return Rows(
        (len(tried) if pairs else 0) + len(groups) + (within is not None),
        "columns of the instances, and all of them together",
        (
            *(_as_groups(measured) if groups else ()),
            *(() if within is None else _as_strata(measured, within)),
            *(_vanishing(measured, tried) if pairs else ()),
        ),
        first_unmet(
            (columns or measured.ledger.groups, "no column is left that could be a stratum")
        ),
    )


def _columns(measured: Measurements) -> list[pl.Series]:
    """The split, then the other columns that divide the instances, named or not."""
    dataset = measured.loaded.dataset
    named = dataset.instances.select(measured.loaded.columns)
    return [*named.iter_columns(), *dataset.unnamed.iter_columns()]


def _told(measured: Measurements, some: pl.DataFrame, **numbers: float) -> dict[str, Any]:
    """What every row says of the instances with both nodes of one of some pairs."""
    names = measured.hierarchy.nodes
    both = [carrying_both(measured, names[a], names[b]) for a, b in some.iter_rows()]
    instances = np.unique(np.concatenate(both))
    pairs = {"pairs": len(measured.excess.found), **numbers}
    return {"evidence": {**pairs, "instances": len(instances)}, "cases": lambda: instances}


def _first(measured: Measurements, some: pl.DataFrame) -> str:
    """The first of some pairs in words."""
    return " with ".join(map(measured.hierarchy.describe, some.row(0)))


def _vanishing(measured: Measurements, tried: list[tuple[str, ...]]) -> Iterator[Row]:
    """A row for each column, and for all where more pairs vanish than within any one."""
    pairs, most = len(measured.excess.found), 0
    least = max(LEAST_PAIRS, LEAST_SHARE * pairs)
    for columns in tried:
        vanished, named = measured.vanished_within(columns), " and ".join(columns)
        if len(vanished) >= least and (len(columns) == 1 or len(vanished) > most):
            yield Row(
                sentence="{vanished} of the {pairs} reported {pairs|pair|pairs} "
                f"{{vanished|is|are}} explained by {named}: within its values "
                "{vanished|it is|they are} no more frequent than expected. {vanished|It|One} is "
                f"{_first(measured, vanished)}.",
                curator=f"Add {named} to the strata, by --strata or in the policy, if its values "
                "are known before the labels are given; then read the pairs that are left.",
                data_user=f"Do not read these pairs as associations: they follow from {named}.",
                strength=len(vanished) / pairs,
                beyond=times_limit(len(vanished), least),
                key=columns,
                **_told(measured, vanished, vanished=len(vanished)),
            )
        most = max(most, len(vanished))


def _as_groups(measured: Measurements) -> Iterator[Row]:
    """A row on a column of groups that nobody named, if there is one."""
    hint, pairs = group_hint(measured), len(measured.excess.found)
    if hint is None:
        return
    column, vanished = hint.column, len(hint.vanished)
    yield Row(
        sentence="Of {pairs} pairs that are reported, {vanished} vanish where instances with the "
        f"same {column} count as one case that repeats ({{by_chance}} if its values are "
        "shuffled): a few of these cases bring them about. One is "
        f"{_first(measured, hint.vanished)}.",
        curator=f"If instances with the same {column} repeat each other, as the stays of a patient "
        f"do, audit again with --group {quote(column)}.",
        data_user=f"Do not read these pairs as associations before the audit knows what {column} "
        "is.",
        strength=vanished / pairs,
        beyond=times_limit(vanished, MOST_PART * pairs),
        key=(column, "as groups"),
        **_told(measured, hint.vanished, vanished=vanished, by_chance=hint.by_chance),
    )


def _as_strata(measured: Measurements, within: pl.DataFrame) -> Iterator[Row]:
    """A row where the groups leave hardly any of the pairs that they show as strata."""
    pairs, alike = len(measured.excess.found), measured.loaded.alike
    least = max(TIMES_AS_MANY * pairs, pairs + BEYOND_CHANCE)
    if alike is None or len(within) < least:
        return
    numbers = {"within_strata": len(within), "shared_labels": alike.share}
    yield Row(
        sentence="{within_strata} pairs {within_strata|is|are} reported where the groups are "
        "read as places, each with habits of its own, and {pairs} where they are read as persons "
        "who come again, as now. Instances of one group hardly resemble each other[ (they share "
        "{shared_labels} of their labels beyond chance)]. One pair is "
        f"{_first(measured, within)}.",
        curator="If the groups are places with habits of their own, such as sites or wards, name "
        "their column by --strata and not by --group; if they are persons, keep them.",
        data_user="Do not assume that no other pairs stand out before the audit knows what the "
        "groups are.",
        strength=1 - pairs / len(within),
        beyond=times_limit(len(within), least),
        key=("as strata",),
        **_told(measured, within, **numbers),
    )


class GroupHint(NamedTuple):
    """A column as groups: its number of values, the reported pairs (``a, b``) that vanish with it,
    and how many vanish with its values shuffled."""

    column: str
    values: int
    vanished: pl.DataFrame
    by_chance: int


def group_columns(measured: Measurements) -> dict[str, pl.Series]:
    """Columns that may be groups, each with its values; none where a group column is named."""
    if measured.loaded.dataset.instances["group"].is_not_null().any():
        return {}
    return {one.name: one for one in _columns(measured) if may_be_groups(one)}


def group_hint(measured: Measurements) -> GroupHint | None:
    """The column by which most pairs vanish, of those that take as many the finest; or none."""
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
    a, b, joint, observed = (
        found[name].to_numpy() for name in ("a", "b", "expected_length", "observed")
    )
    scale, *_ = Scales(records.grouped).of(a, b, joint)
    gone = poisson_p_value(observed / scale, joint / scale) > measured.excess.threshold
    gone |= observed / scale < measured.policy.least_joint.value
    return found.select("a", "b").filter(gone)


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


CHECK = check_of_rows(
    "missing_stratum",
    "Does a column (age, ward) explain any reported pair?",
    _explaining,
    counts_with=("least_joint", "excess_ratio", "false_discovery_rate"),
    needs="instances",
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

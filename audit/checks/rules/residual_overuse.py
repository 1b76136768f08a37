"""residual_overuse: parents below which instances carry mostly catch-alls and nothing specific."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import compress
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import IntArray, row
from audit.base.declared import NONE, Columns, Mark, chance, count, setting, share, text, total
from audit.checks.check import TOP_PARTS
from audit.checks.rows import BESIDE_ELSEWHERE, Row, Rows, check_of_rows
from audit.engine.statistics.fdr import benjamini_hochberg, threshold
from audit.hierarchies.catch_alls import CatchAlls
from audit.measure.measure import Measurements
from audit.measure.residual_differences import (
    REFERENCE,
    apart,
    remaining_difference,
    residual_differences,
)
from audit.measure.residual_use import Share, alone, residual_share
from audit.policy.policy import Policy
from audit.results.findings import Part, share_evidence, times_limit
from audit.sharing.told import Rounding


def _overused(measured: Measurements) -> Rows:
    """Parents with a high residual share, or one that differs; of counts the first alone.

    The [residual share](methods/residuals.md#residual-share) of a parent with residual and specific
    nodes below and `residual_instances` instances is high above `residual_share`; or it *differs*
    by more than `residual_difference`, of a value of `strata` or of the split from all others, or
    of the release from `--reference`. A parent that is told only because of told parents below is
    folded into them.

    **Severity.** Warning where high; note where it differs, where only a word such as "misc" makes
    a node a catch-all, or, below other notes, where every instance has an "other" (not an
    "unspecified") and none a specific label, or guidelines make the code the usual one, as 401.9.
    Below a parent that is a catch-all itself, as 285, it only asks: what is specific there stands
    mostly beside the parent.
    **Limits.** A high share never says that a specific node was warranted.
    [Titles](methods/residuals.md) decide what is residual; `residual_nodes` and `specific_nodes`
    overrule them. On counts alone numbers are those without groups, differences are not told, and
    folding subtracts told parents.
    """
    tested = _tested(measured.residuals, measured.policy, measured.rounding)
    return Rows(
        len(tested),
        "parents with residual and specific nodes below and enough instances",
        (*_high(measured, tested), *([] if measured.instances is None else _differing(measured))),
        "" if measured.residual else "no assignable node of this hierarchy is residual",
    )


def _tested(residuals: pl.DataFrame, policy: Policy, rounding: Rounding) -> pl.DataFrame:
    """The parents with enough instances, tested against the limit by told numbers."""
    limit, table = policy.residual_share.value, residuals.filter(pl.col("residual") == "all")
    every = [Share(*one) for one in table.select("k", "n", "n_effective", "groups").iter_rows()]
    enough = [_enough(share, policy, rounding) for share in every]
    shares = [share.at_limit(limit, rounding) for share in compress(every, enough)]
    p_values = np.array([share.p_above(limit) for share in shares], float)
    table, told = (
        table.filter(enough),
        pl.Series([share.interval()[0] for share in shares], dtype=pl.Float64),
    )
    low = pl.when((pl.col("low") > limit) == (told > limit)).then("low").otherwise(told)
    q_values = benjamini_hochberg(p_values, len(p_values))
    return table.with_columns(low=low, p_value=p_values, q_value=q_values)


def _enough(share: Share, policy: Policy, rounding: Rounding) -> bool:
    """Whether a share is of enough instances, as told, to be judged."""
    return (rounding.count(share.n) or 0) >= policy.residual_instances.value


def _high(measured: Measurements, tested: pl.DataFrame) -> Iterator[Row]:
    """Parents with a high share, each with the descendants that explain it."""
    hierarchy, policy, explained = measured.hierarchy, measured.policy, dict[int, list[int]]()
    rate, limit = policy.false_discovery_rate.value, policy.residual_share.value
    high = tested.filter((pl.col("low") > limit) & (pl.col("q_value") <= rate))
    cut = threshold(tested["p_value"].to_numpy(), len(tested), rate)
    parents = map(hierarchy.index, high["parent"])
    for parent in sorted(parents, key=lambda i: (hierarchy.height[i], i)):
        below = set(row(hierarchy.below, parent).tolist())
        flagged = [i for i, by in explained.items() if not by and i in below]
        without = _without(measured, parent, flagged)
        left = without.at_limit(limit, measured.rounding)
        enough = _enough(without, policy, measured.rounding)
        stands = enough and left.interval()[0] > limit and left.p_above(limit) <= cut
        explained[parent] = [] if stands else flagged
    catch_alls = CatchAlls(hierarchy)
    for counted in high.iter_rows(named=True):
        parent = hierarchy.index(counted["parent"])
        asks = catch_alls.kind(parent) is not None
        yield _high_row(measured, counted, explained[parent], asks=asks)


def _without(measured: Measurements, parent: int, flagged: list[int]) -> Share:
    """The share of a parent without instances below flagged descendants, or less their counts."""
    hierarchy = measured.hierarchy
    if measured.instances is None:
        top = [i for i in flagged if set(flagged).isdisjoint(row(hierarchy.strict_closure, i))]
        table = measured.residuals.filter(pl.col("residual") == "all")
        of = table.select("parent", "k", "n").rows_by_key("parent", unique=True)
        own, *others = np.array([of[hierarchy.nodes[i]] for i in (parent, *top)])
        k, n = np.maximum(own - np.sum(others, axis=0), 0).tolist()
        return alone(min(k, n), n)
    below, left_out = measured.instances.at_nodes, np.zeros(measured.n_instances, np.bool_)
    for i in flagged:
        left_out[below.labelled_below(i)] = True
    labelled, only = below.labelled_below(parent), below.only_residual(parent)
    groups = measured.instances.group_of
    return residual_share(labelled[~left_out[labelled]], only[~left_out[only]], groups)


_UNREVIEWED = (
    " Of some only a word in the title says that they are catch-alls ({words}): name them in "
    "residual_nodes or specific_nodes of the policy."
)
_NEVER = 'no instance has a more specific label below it, so "other" may be the usual case here'


def _high_row(
    measured: Measurements, counted: Mapping[str, Any], explained_by: list[int], *, asks: bool
) -> Row:
    node, hierarchy, rounding = counted["parent"], measured.hierarchy, measured.rounding
    k, n, low, limit = counted["k"], counted["n"], counted["low"], measured.policy.residual_share
    parent = hierarchy.index(node)
    times = measured.direct_support
    below = [i for i in row(hierarchy.below, parent).tolist() if times[i] and i != parent]
    used = sorted((i for i in below if i in measured.residual), key=lambda i: (-times[i], i))
    told = [measured.residual[i] for i in used if times[i] > rounding.width]
    words = ", ".join(sorted({found.word for found in told} - {""}))
    all_told = rounding.count(k) == rounding.count(n)
    never = all_told and not any(found.leaves_open for found in told)
    reasons = sorted({found.why_usual for found in told})
    by_rule = "" if "" in reasons else " ".join(reasons)
    judged = f"; this is usual. {by_rule}" if by_rule else "; the limit is {limit}."
    return Row(
        severity="note" if words or never or by_rule else "warning",
        nodes=(node,),
        sentence=f"{hierarchy.describe(parent)}: {{instances}} of {{of}} instances "
        '({share}) {instances|has|have} nothing more specific than "other" or "unspecified"[, '
        f"{{mostly}}]{'[; {never}].' if never else judged}" + _UNREVIEWED * bool(words),
        evidence={
            **share_evidence(k, n),
            "low": low,
            "high": counted["high"],
            "q_value": counted["q_value"],
            "limit": limit.value,
            "labelled_at_parent": counted["at_parent"],
            **_effective(measured, counted["n_effective"]),
            **({"never": _NEVER} if never and k == n else {}),
            **({"words": words} if words else {}),
        },
        curator="Review a sample of these records: was a specific node known and not used? Say in "
        "the release notes that this part of the hierarchy is coded coarsely.",
        data_user="Do not read the absence of the specific nodes as their absence in the "
        "instance; consider using the parent as the label.",
        beyond=times_limit(low, limit.value),
        parts=tuple(
            Part(
                (hierarchy.nodes[i],),
                {"labelled": int(times[i]), "kind": measured.residual[i].kind},
            )
            for i in used[:TOP_PARTS]
        ),
        folded_into=tuple((hierarchy.nodes[i],) for i in explained_by),
        asks=asks or never,
        aside=bool(by_rule),
        cases=lambda: _only_residual(measured, node),
    )


_Key = tuple[str, str, str]
"""Parent, column and value of a difference."""


def _differing(measured: Measurements) -> Iterator[Row]:
    """A row for each share that differs; those that others explain are folded into them."""
    hierarchy, policy = measured.hierarchy, measured.policy
    rate, floor = policy.false_discovery_rate.value, policy.residual_difference.value
    rows = {
        (one["parent"], one["column"], one["value"]): one
        for one in residual_differences(measured).iter_rows(named=True)
        if one["q_value"] <= rate
        if apart((one["k"], one["n"]), (one["k_elsewhere"], one["n_elsewhere"]), measured.rounding)
        > floor
    }

    def order(key: _Key) -> tuple[int, int, float, str]:
        parent = hierarchy.index(key[0])
        return int(hierarchy.height[parent]), parent, rows[key]["p_value"], key[2]

    explained = dict[_Key, list[_Key]]()
    for key in sorted(rows, key=order):
        standing = [one for one, by in explained.items() if not by and one[1] == key[1]]
        by = [one for one in standing if one[0] == key[0]]
        below = [one for one in standing if key[0] in hierarchy.ancestors(one[0])]
        if not by and below:
            left = remaining_difference(measured, rows[key], [rows[one] for one in below])
            by = below if left <= floor else []
        explained[key] = by
    return (_difference(measured, one, key, explained[key]) for key, one in rows.items())


def _difference(measured: Measurements, row: Mapping[str, Any], key: _Key, by: list[_Key]) -> Row:
    """The row on one difference, folded into those that explain it, ``by``."""
    parent, column, value = key
    to_reference = column == REFERENCE
    here = "" if to_reference else f" where {column} is {value}"
    there = "in the reference" if to_reference else "elsewhere"
    nearest = max(row["low"], -row["high"], 0.0)

    def cases() -> IntArray:
        only = _only_residual(measured, parent)
        return (
            only if to_reference else only[measured.loaded.dataset.having(column, value)[0][only]]
        )

    return Row(
        nodes=(parent,),
        sentence=f"{measured.hierarchy.describe(measured.hierarchy.index(parent))}: {{instances}} "
        "of {of} instances ({share}) "
        '{instances|has|have} nothing more specific than "other" or "unspecified"'
        f"{here}; {there} {{elsewhere}} of {{of_elsewhere}} ({{elsewhere_share}}).",
        evidence={
            **share_evidence(row["k"], row["n"]),
            "elsewhere": row["k_elsewhere"],
            "of_elsewhere": row["n_elsewhere"],
            "elsewhere_share": row["k_elsewhere"] / row["n_elsewhere"],
            "difference": row["difference"],
            "difference_low": row["low"],
            "difference_high": row["high"],
            "q_value": row["q_value"],
            **_effective(measured, row["n_effective"], row["n_effective_elsewhere"]),
        },
        curator="Find out who coded, and by which rules: assume that the coding differs until the "
        "instances are shown to differ.",
        data_user="Do not compare the specific nodes below this parent between the two.",
        touched=row["n"],
        beyond=times_limit(nearest, measured.policy.residual_difference.value),
        key=key,
        folded_into=tuple(by),
        cases=cases,
    )


def _only_residual(measured: Measurements, parent: str) -> IntArray:
    """The instances that carry only residual labels below a parent."""
    return measured.loaded.at_nodes.only_residual(measured.hierarchy.index(parent))


def _effective(measured: Measurements, *numbers: float) -> dict[str, float]:
    """The effective numbers of instances, where these come in groups."""
    names = ("effective", "effective_elsewhere") if measured.ledger.groups else ()
    return dict(zip(names, numbers, strict=False))


CHECK = check_of_rows(
    "residual_overuse",
    'Are "other" and "unspecified" used where specific labels exist?',
    _overused,
    evidence=Columns(
        share(
            "share",
            "Nothing more specific",
            of="instances of",
            ends="low high",
            effective="effective",
            mark=Mark(limit="limit"),
        ),
        count("instances", "Instances", among="of"),
        count("of labelled_at_parent"),
        count("elsewhere of_elsewhere", of=NONE),
        BESIDE_ELSEWHERE,
        total("effective effective_elsewhere"),
        chance("q_value never"),
        setting("limit"),
        text("words"),
    ),
    of_parts=Columns(count("labelled"), text("kind")),
    denominator="untold",
    nodes="Below",
)

"""Statements in the form of findings about nodes that an audit did not report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from audit.base.plurals import percentage
from validation.finding_recount import Recount

DECOYS: Mapping[str, Mapping[str, int]] = {
    "MIMIC-III demo": {"residual_overuse": 2, "redundant_nodes": 2},
    "GO slim": {"unexpected_pair": 3, "redundant_nodes": 2},
    "AudioSet": {"model_confuses": 3, "unexpected_pair": 1, "redundant_nodes": 1, "model_habit": 1},
    "CIFAR-10": {"model_confuses": 2},
    "20 Newsgroups": {"model_confuses": 3},
}
"""How many of each check stand in a release's part of the sheet."""

Finding = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """One line of the sheet.

    Args:
        check: The check whose finding it is, or whose form it has.
        id: The finding's id; of a decoy, its nodes.
        statement: The sentences.
        nodes: Nodes that it names.
        cases: Records behind it.
        reported: Whether the audit reported it.
        recount: What `recounted` says of it; empty for a decoy, whose numbers are counted here.
    """

    check: str
    id: str
    statement: str
    nodes: tuple[str, ...]
    cases: tuple[str, ...]
    reported: bool
    recount: str = ""


def decoys(recount: Recount, findings: Sequence[Finding], tables: Mapping[str, Any]) -> list[Entry]:
    """Unreported nodes and pairs whose supports are near those of findings, one a finding in turn.

    Args:
        recount: Counts of the release.
        findings: The findings on the sheet, as `result.json` has them.
        tables: ``findings``, ``pairs`` and ``residuals`` of the run, as frames, and the set of
            its residual nodes as ``catch_alls``.
    """
    made: list[Entry] = []
    taken = {frozenset(nodes) for nodes in tables["findings"]["nodes"].to_list()}
    for check, number in DECOYS[recount.release.name].items():
        own = [one for one in findings if one["id"].startswith(f"{check}:")]
        plain = [one for one in own if ":beside" not in one["id"] and ":children" not in one["id"]]
        offered = [
            ends for ends in _offered(check, recount, tables) if set(ends) <= recount.carried.keys()
        ]
        for like in plain[:: max(1, len(plain) // number)][:number]:
            size = _size(check, recount, _ends(like))
            free = [one for one in offered if frozenset(one) not in taken]
            ends = min(free, key=lambda one: _distance(_size(check, recount, one), size))
            taken.add(frozenset(ends))
            made.append(_entry(check, recount, ends, tables))
    return made


def _ends(finding: Finding) -> tuple[str, ...]:
    return tuple(node["id"] for node in finding["nodes"])


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    ends = zip(sorted(one), sorted(other), strict=True)
    return float(sum(abs(np.log(a + 1e-9) - np.log(b + 1e-9)) for a, b in ends))


def _size(check: str, recount: Recount, ends: Sequence[str]) -> tuple[float, ...]:
    """What decoy and finding have alike: expected exchanges, or supports."""
    if check == "model_confuses":
        return (recount.exchanges.of(*ends)[2],)
    return tuple(float(len(recount.carried[end])) for end in ends)


def _offered(check: str, recount: Recount, tables: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Nodes or pairs that are near to being reported and are not."""
    if check == "residual_overuse":
        high = (pl.col("residual") == "all") & (pl.col("n") >= 30) & (pl.col("share") > 0.5)
        return [(parent,) for parent in tables["residuals"].filter(high)["parent"].to_list()]
    if check == "model_confuses":
        return list(_exchanged(recount))
    apart = tables["pairs"].filter(pl.col("relation") != "ancestor")
    either = pl.col("support_a") + pl.col("support_b") - pl.col("joint")
    least = pl.min_horizontal("support_a", "support_b")
    limits = {
        "unexpected_pair": pl.col("found_rank").is_null()
        & pl.col("explained").is_null()
        & pl.col("ratio").is_between(1, 1.5),
        "redundant_nodes": (pl.col("joint") / either).is_between(0.1, 0.45)
        & (least >= 10)
        & (pl.col("lift") > 2),
        "model_habit": (pl.col("relation") == "cross_branch") & (pl.col("joint") >= 30),
    }
    pairs = apart.filter(limits[check] & (pl.col("joint") > 4) & (pl.col("joint_entailed") == 0))
    found = list(pairs.select("a", "b").iter_rows())
    return [one for one in found if _repeats(recount, *one)] if check == "model_habit" else found


def _repeats(recount: Recount, a: str, b: str) -> bool:
    answered = len(recount.answered[a] & recount.answered[b])
    return 1 <= answered / recount.both(a, b) < 1.4


def _exchanged(recount: Recount) -> Iterator[tuple[str, str]]:
    above = recount.release.above
    for a, b in combinations(recount.exchanges.nodes, 2):
        forth, back, expected = recount.exchanges.of(a, b)
        if 0.9 <= (forth + back) / max(expected, 1e-9) < 1.4 and not _related(above, a, b):
            yield a, b


def _related(above: Mapping[str, set[str]], a: str, b: str) -> bool:
    return a in above[b] or b in above[a]


def _entry(check: str, recount: Recount, ends: tuple[str, ...], tables: Mapping[str, Any]) -> Entry:
    names = [recount.release.describe(end) for end in ends]
    n = recount.n
    match check:
        case "residual_overuse":
            own = tables["residuals"].filter(pl.col("residual") == "all")
            k, of = own.filter(pl.col("parent") == ends[0]).select("k", "n").row(0)
            statement = (
                f"Below {names[0]}, {k:,} of {of:,} instances ({percentage(k / of)}) carry only "
                "residual labels: the residual share is high, above 50.0%."
            )
            cases = recount.only_among(tables["catch_alls"], *ends)
        case "redundant_nodes":
            first, second = (len(recount.carried[end]) for end in ends)
            both, chance = recount.both(*ends), first * second / n
            share = percentage(both / (first + second - both))
            by_chance = percentage(chance / (first + second - chance))
            cases = recount.carried[ends[0]] & recount.carried[ends[1]]
            statement = (
                f"{both:,} of {n:,} instances carry both {names[0]} and {names[1]}, which are "
                f"{share} of those that carry either, where chance gives {by_chance}: on these the "
                "two are used as one label."
            )
        case "unexpected_pair":
            joint, expected = recount.joint(*ends), recount.scanned.expected(*ends)
            cases = recount.carried[ends[0]] & recount.carried[ends[1]]
            statement = (
                f"{joint:,} of {n:,} instances carry both {names[0]} and {names[1]}, where "
                f"{expected:.2f} are expected from the length of the records: "
                f"{(joint + 0.5) / (expected + 0.5):.2f} times as many by a cautious estimate."
            )
            if recount.release.groups:
                counts, times, *weight = recount.by_groups(*ends)
                several = "".join(f", several instances of a group {own}" for own in weight)
                statement = (
                    f"{counts}, carry both {names[0]} and {names[1]}: {times} of the records leads "
                    f"one to expect, by a cautious estimate{several}."
                )
        case "model_habit":
            cases = recount.answered[ends[0]] & recount.answered[ends[1]]
            k, labelled = len(cases), recount.both(*ends)
            statement = (
                f"{names[0]} and {names[1]}, of different branches, are predicted together on "
                f"{k:,} of {n:,} instances ({percentage(k / n)}) and labelled together on "
                f"{labelled:,} ({percentage(labelled / n)}): the model has made the data’s habit "
                f"{k / labelled:.2f} times as strong."
            )
        case _:
            forth, back, expected = recount.exchanges.of(*ends)
            one = len(recount.carried_alone(*ends))
            cases = recount.exchanged(*ends)
            statement = (
                f"{names[0]} and {names[1]}, {_relation(recount, *ends)}: the model answers one "
                f"in place of the other on {forth + back:,} of {one:,} instances "
                f"({percentage((forth + back) / one)}) labelled with just one of them, where "
                f"{expected:.2f} are expected of labels mistaken as often. On {forth:,} of them "
                "the first is the label and the second the answer, on "
                f"{back:,} it is the other way round."
            )
    return Entry(check, " and ".join(ends), statement, ends, tuple(sorted(cases)), reported=False)


def _relation(recount: Recount, a: str, b: str) -> str:
    parents, above = recount.release.parents, recount.release.above
    if set(parents.get(a, ())) & set(parents.get(b, ())):
        return "siblings"
    return "of one branch" if above[a] & above[b] else "of different branches"

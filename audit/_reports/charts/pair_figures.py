"""Figures of pairs: the most surprising ones, and the most frequent ones beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from audit._reports.charts import charts
from audit._reports.charts.svg import draw
from audit._reports.words.parts import Figure, Key
from audit._reports.words.shown_numbers import Rows
from audit._reports.words.table_specs import nodes, numbers, table, written
from audit._reports.words.words import (
    UNDEFINED,
    counted,
    decimal,
    pair_label,
    percent,
    ratio,
    span,
    tenths,
)

LINES = 15
"""Largest number of lines in the picture of the most frequent pairs."""


def pairs_figure(rows: Rows) -> Figure | None:
    """The strongest reported pairs, observed and expected; None without any."""
    if not rows:
        return None
    first = rows[0]
    unknown = first["explained"] is None
    across = sum(row["relation"] == "cross_branch" for row in rows)
    weighed = (
        "Both are weighted: instances of one group that resemble each other count less than as "
        "many of several groups. "
    ) * any(row["observed"] is not None for row in rows)
    return Figure(
        id="pairs",
        title="The strongest pairs",
        drawing=draw(charts.pairs_spec([_pair_drawn(row) for row in rows])),
        alt=f"Dot plot of the {counted(len(rows), 'strongest pair')}, {across} of them across "
        f"branches. The first, {first['a']} and {first['b']}, occurs on "
        f"{counted(first['instances'], 'instance')}"
        + ("" if unknown else f", where {tenths(first['explained'])} are expected")
        + ".",
        caption="The pairs that stand out most: those across branches first, then those within "
        "one, each group from the strongest evidence down. A dot shows the instances that carry "
        "both nodes; the ring beside it, how many the length of the records and the other pairs "
        "found would explain. "
        + weighed
        + "At the right, how many times as many that is, drawn toward 1 where "
        "counts are small, with its 95% interval, which the bar shows in instances. Where one "
        "label can carry both nodes, only instances with two labels are compared.",
        key=(
            Key("observed", "instances with both nodes", "dot"),
            Key("observed", "95% interval of the excess", "bar"),
            Key("expected", "expected from length and from other pairs found", "ring"),
        ),
        table=table(
            "pairs-numbers",
            "The strongest pairs",
            rows,
            nodes("First node", "a", "title_a"),
            nodes("Second node", "b", "title_b"),
            numbers("Instances", "instances"),
            numbers("Share of all", "share", percent),
            numbers("If independent", "expected", tenths),
            numbers("Lift", "lift", ratio),
            numbers("Expected from length", "expected_length", tenths),
            numbers("Expected in all", "explained", tenths),
            written("Ratio and interval", lambda row: _ratio(row) or UNDEFINED),
        ),
    )


def _observed(row: Mapping[str, Any]) -> float:
    """Instances that the expectation is of: those with two labels, as the ratio shows.

    With groups, what they weigh.
    """
    if row["observed"] is not None:
        return float(row["observed"])
    if None in (row["shrunk_ratio"], row["explained"]):
        return float(row["instances"])
    return float(round(row["shrunk_ratio"] * (row["explained"] + 0.5) - 0.5))


def _pair_drawn(row: Mapping[str, Any]) -> dict[str, Any]:
    known = None not in (row["explained"], row["ratio_low"], row["ratio_high"])
    weighed = None not in (row["observed"], row["effective"])
    each = row["observed"] / row["effective"] if weighed else 1.0
    low, high = (
        max(0.0, row[bound] * (row["explained"] + 0.5 * each) - 0.5 * each) if known else None
        for bound in ("ratio_low", "ratio_high")
    )
    return {
        "label": pair_label(row),
        "observed": _observed(row),
        "expected": row["explained"],
        "low": low,
        "high": high,
        "times": _ratio(row).replace(" to ", "–"),
    }


def _ratio(row: Mapping[str, Any]) -> str:
    """How many times the expectation, with its interval; empty where it is not told."""
    if row["shrunk_ratio"] is None:
        return ""
    between = span(*(decimal(row[end], 2) for end in ("ratio_low", "ratio_high")))
    return f"×{decimal(row['shrunk_ratio'], 2)}" + f" ({between})" * (between != UNDEFINED)


def frequent_figure(rows: Rows) -> Figure | None:
    """The most frequent pairs of each depth beside what length lets expect; None without any.

    The first of each depth are drawn, as many of each as there is room for.
    """
    if not rows:
        return None
    by_depth = [list(some) for _, some in groupby(rows, lambda row: row["depth"])]
    each = max(LINES // len(by_depth), 1)
    drawn = [row for some in by_depth for row in some[:each]]
    within = [row for row in rows if row["ratio_low"] is not None and row["ratio_low"] <= 1]
    judged = [row for row in rows if row["ratio_low"] is not None]
    said = (
        f" Of {counted(len(judged), 'pair')} with an expectation, {len(within)} are no more "
        "frequent than it, by their intervals."
    ) * bool(judged)
    return Figure(
        id="frequent-pairs",
        title="The most frequent pairs of each depth",
        drawing=draw(
            charts.pairs_spec(
                list(map(_frequent_drawn, drawn)), "share of all instances", ".0%", right=190
            )
        ),
        alt=f"Dot plot of {counted(len(drawn), 'pair')} at {counted(len(by_depth), 'depth')}. "
        + " ".join(_firsts(by_depth))
        + said,
        caption="Frequent is not surprising: two frequent nodes often occur together by chance. At "
        "each depth of the hierarchy, which is the number before a pair, these pairs of nodes of "
        "that depth stand on the most instances. A dot is their share of all instances, the ring "
        "beside it the share expected from the length of the records; at the right, how many times "
        "as many there are, with a 95% interval (in which each group counts once). A pair whose "
        "interval holds 1 is frequent, but no more than expected; more surprising ones are among "
        "the strongest pairs. A pair without a ring was too rare to be judged." + said,
        key=(
            Key("observed", "share of the instances with both nodes", "dot"),
            Key("expected", "expected from the length of the records", "ring"),
        ),
        table=table(
            "frequent-pairs-numbers",
            "The most frequent pairs of each depth",
            rows,
            numbers("Depth", "depth"),
            nodes("First node", "a", "title_a"),
            nodes("Second node", "b", "title_b"),
            numbers("Instances", "instances"),
            numbers("Share of all", "share", percent),
            numbers("Expected from length", "expected_length", tenths, absent=UNDEFINED),
            written("Ratio and interval", lambda row: _ratio(row) or UNDEFINED),
        ),
    )


def _firsts(by_depth: list[list[Mapping[str, Any]]]) -> Iterator[str]:
    for row, *_ in by_depth:
        pair, share = f"{row['a']} and {row['b']}", percent(row["share"])
        yield f"Depth {row['depth']}: most often {pair}, {share} of all instances."


def _frequent_drawn(row: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the picture, in shares of all instances."""
    one, expected = row["share"], None
    if None not in (one, row["expected_length"]):
        expected = row["expected_length"] * one / row["instances"]
    return {
        "label": f"{row['depth']} · {pair_label(row)}",
        "observed": one,
        "expected": expected,
        "low": None,
        "high": None,
        "times": f"{percent(one)} {_ratio(row).replace(' to ', '–')}".strip(),
    }

"""Pairs judged from counts alone: what is folded, intervals, and releases with little in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from audit.engine.pairs import count_pairs, support
from audit.engine.propagation import aggregate
from audit.engine.ratios import ratio_bounds
from audit.excess import (
    CountedPairs,
    Excess,
    Labelled,
    judge_counted_pairs,
    judge_pairs,
)
from audit.hierarchy import Hierarchy
from audit.pair_table import JUDGED, pair_table
from audit.policy import Policy
from audit.verdicts import with_verdicts
from fixtures.counted_pairs import counted_pairs
from fixtures.labelled import labelled, repeated, tree

Judged = tuple[pl.DataFrame, Excess]

BODY = tree(
    "lung heart skin < body",
    "asthma cough " + " ".join(f"w{n}" for n in range(6)) + " < lung",
    "attack failure " + " ".join(f"m{n}" for n in range(6)) + " < heart",
    "a b c d e f < skin",
)
ELSEWHERE = [(60, ["a", "b"]), (60, ["c", "d"]), (60, ["a", "d", "e", "f"]), (60, list("bcef"))]
SICK_OTHERWISE = [
    (3, [f"w{n}", f"w{(n + 1) % 6}", f"m{(n + step) % 6}", f"m{(n + step + 1) % 6}"])
    for n in range(6)
    for step in range(6)
]


def judged(hierarchy: Hierarchy, labels: Mapping[str, Sequence[str]]) -> tuple[Judged, Judged]:
    """From instances, and from counts."""
    dataset = labelled(hierarchy, labels)
    aggregated = aggregate(dataset.direct, hierarchy.closure)
    supports = support(aggregated)
    pairs = pair_table(hierarchy, count_pairs(aggregated), supports)
    release = Labelled(dataset.direct, supports, dataset.instances["instance"].to_list())
    table, excess = judge_pairs(hierarchy, release, pairs, Policy())
    return (table, excess), from_counts(hierarchy, counted_pairs(hierarchy, labels), table)


def from_counts(hierarchy: Hierarchy, counted: CountedPairs, table: pl.DataFrame) -> Judged:
    """The table judged from counts, of which two pairs come at a time."""
    pairs = table.drop(JUDGED)
    lines = pairs.with_row_index("line")
    parts = (lines[start : start + 2] for start in range(0, len(pairs) + 1, 2))
    verdicts, excess = judge_counted_pairs(hierarchy, counted, parts, Policy())
    return with_verdicts(pairs, verdicts), excess


def test_verdicts_stand_on_their_lines_whatever_part_of_the_table_is_asked_for() -> None:
    rows = repeated([(60, ["asthma", "attack"]), (60, ["cough", "failure"]), (200, ["a", "b"])])
    (table, _), (whole, _) = judged(BODY, rows)
    counted, pairs = counted_pairs(BODY, rows), table.drop(JUDGED)
    verdicts, _ = judge_counted_pairs(BODY, counted, [pairs.with_row_index("line")], Policy())
    parts = [with_verdicts(pairs[start : start + 7], verdicts, start) for start in (0, 7)]

    assert 0 < len(verdicts.lines) < len(pairs)
    assert pl.concat(parts).equals(whole[:14])


def told(found: Judged, hierarchy: Hierarchy = BODY) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Each pair that passes, with those that it is folded into."""
    table, excess = found
    names = dict(enumerate(table.select(pl.col("a", "b").cast(pl.String)).rows()))
    rows = excess.found.select("line", "folded_into").iter_rows()
    return {names[line]: {names[other] for other in into} for line, into in rows}


def test_what_pairs_without_a_common_instance_explain_is_folded_into_them() -> None:
    rows = repeated([(40, ["asthma", "attack"]), (40, ["cough", "failure"]), *ELSEWHERE])
    in_memory, of_counts = judged(BODY, rows)
    deep = {("asthma", "attack"), ("cough", "failure")}

    assert told(in_memory)["heart", "lung"] == deep
    assert told(of_counts) == told(in_memory)


def test_what_meets_elsewhere_too_stands_above_them() -> None:
    sick = [(100, ["asthma", "attack", "a", "b"]), *SICK_OTHERWISE]
    rows = repeated([*sick, *ELSEWHERE, *ELSEWHERE[2:], (1500, list("abcd"))])
    in_memory, of_counts = judged(BODY, rows)

    assert told(in_memory)["heart", "lung"] == told(in_memory)["asthma", "attack"] == set()
    assert told(of_counts) == told(in_memory)


def test_instances_of_several_pairs_are_left_out_once_for_each() -> None:
    sick = ["asthma", "cough", "attack", "failure"]
    rows = repeated([(100, sick), *SICK_OTHERWISE, *ELSEWHERE, (400, list("abcd"))])
    in_memory, of_counts = judged(BODY, rows)
    four = {("asthma", "attack"), ("asthma", "failure"), ("attack", "cough"), ("cough", "failure")}

    assert told(in_memory)["heart", "lung"] == set()
    assert told(of_counts)["heart", "lung"] == four


def test_the_interval_is_that_of_a_poisson_number() -> None:
    rows = repeated([(40, ["asthma", "attack"]), (40, ["cough", "failure"]), *ELSEWHERE])
    table, excess = judged(BODY, rows)[1]
    names = pl.col("a", "b").cast(pl.String)
    pair = table.with_columns(names).row(
        by_predicate=(pl.col("a") == "asthma") & (pl.col("b") == "attack"), named=True
    )

    assert pair["ratio"] == 2
    wanted = ratio_bounds(2.0, 1 / math.sqrt(40), excess.level)
    assert (pair["ratio_low"], pair["ratio_high"]) == pytest.approx(wanted)
    assert table["ratio_low"].count() == excess.found["folded_into"].list.len().eq(0).sum()


@pytest.mark.parametrize(
    ("rows", "cuts"),
    [
        pytest.param({}, (2,), id="no instance"),
        pytest.param({"i": [], "j": []}, (2,), id="no label"),
        pytest.param({"i": ["asthma"], "j": ["attack"]}, (2,), id="one label an instance"),
    ],
)
def test_where_no_instance_has_two_labels_nothing_is_judged(
    rows: dict[str, list[str]], cuts: tuple[int, ...]
) -> None:
    for table, excess in judged(BODY, rows):
        assert (excess.family, excess.cuts, len(excess.found)) == (0, cuts, 0)
        assert "two labels" in excess.why_not
        assert all(table[name].null_count() == len(table) for name in JUDGED)


def test_a_histogram_may_go_further_than_the_longest_record() -> None:
    release = counted_pairs(BODY, {"i": ["asthma"]})
    padded = type(release)(release.strata, release.support, np.array([0, 1, 0, 0]), release.cuts)
    table, _ = judged(BODY, {"i": ["asthma"]})[0]

    assert from_counts(BODY, padded, table)[1].why_not


def test_one_stratum_is_judged_as_in_memory() -> None:
    rows = repeated([(60, ["asthma", "attack"]), (60, ["cough", "failure"]), (200, ["a", "b"])])
    (table, excess), (of_counts, own) = judged(BODY, rows)

    assert own.cuts == excess.cuts == (2,)
    assert own.family == excess.family > 0
    for name in ("expected_given", "ratio", "p_value", "q_value"):
        assert of_counts[name].equals(table[name])
    assert len(own.found) == len(excess.found) > 0


def test_strata_that_no_instance_is_in_are_left_out() -> None:
    rows = repeated([(60, ["asthma", "attack"]), (60, ["cough", "failure"]), (200, ["a", "b"])])
    finer = counted_pairs(BODY, rows, cuts=[2, 3, 5])
    in_memory, (wanted, _) = judged(BODY, rows)
    table, excess = from_counts(BODY, finer, in_memory[0])

    assert finer.strata.size.tolist() == [320]
    assert excess.cuts == (2, 3, 5)
    assert table.equals(wanted)

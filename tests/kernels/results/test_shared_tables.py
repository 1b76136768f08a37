"""Tables of analyses as they are shared."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts import declared as of_concepts
from audit.analyses.entailment import declared as of_tuples
from audit.analyses.explanations import declared as of_explanations
from audit.analyses.preference import analysis as of_answers
from audit.base import declared
from audit.base.declared import NONE, Columns, Table, chance, count, share, text
from audit.base.errors import InputError
from audit.results.parts import AnalysisPart
from audit.results.shared_tables import shared_facts, shared_rows
from audit.sharing.told import Rounding
from fixtures.examples import examples

TABLES = {
    "explanations": of_explanations.TABLES,
    "concepts": of_concepts.TABLES,
    "entailment": of_tuples.TABLES,
}


RULES = [t for part in (*TABLES.values(), of_answers.TABLES) for t in part.values()]


def test_a_rule_names_columns_of_its_table_and_is_read_back_as_it_was_stored() -> None:
    for rule in RULES:
        own = {*rule.columns}
        for one in rule.columns.values():
            assert {*one.of, *filter(None, [one.effective])} <= own, one
        assert {*filter(None, [rule.order, rule.each, rule.listed])} <= own
        assert Table.read(json.loads(json.dumps(rule.stored()))) == rule


RULE = Table(
    Columns(
        text("name"), chance("verdict q"), share("share", of="k n", ends="low high"), count("n k")
    ),
    order="n",
    listed="n",
)


def rows(
    counts: list[tuple[int, int]], rule: Table = RULE, width: int = 10
) -> list[dict[str, Any]]:
    """Rows of n instances and a part of these, as they are told of 300."""
    frame = pl.DataFrame(
        [
            {"name": name, "verdict": "pass" if k else "fail", "q": 1 / (n + 1), "share": k / 300,
             "low": 0.0, "high": n / 300, "n": n, "k": k}
            for name, (n, k) in zip("fedcba", counts, strict=False)
        ]
    )  # fmt: skip
    return shared_rows(frame, rule, Rounding(width, {"instances": 300}))


def test_numbers_that_are_not_finite_are_null() -> None:
    frame = pl.DataFrame({"name": ["a"], "share": [float("nan")], "low": [-float("inf")]})
    (row,) = shared_rows(frame, RULE, Rounding())
    assert row == {"name": "a", "share": None, "low": None}


def test_counts_are_told_in_bins_and_what_a_test_says_is_not() -> None:
    (row,) = rows([(123, 61)])
    assert (row["n"], row["k"], row["share"]) == (125, 65, 65 / 125)
    assert row["low"] < row["share"] < row["high"]
    assert row["verdict"] is row["q"] is None
    (row,) = rows([(123, 121)])
    assert (row["n"], row["k"], row["share"]) == (125, 125, None)


def of_classes(rule: Table, one: np.random.Generator, other: np.random.Generator) -> pl.DataFrame:
    """A made-up table in its exact order: ``one`` draws what is told of it, ``other`` all else."""
    columns = dict[str, Any]()
    for name, column in rule.columns.items():
        kind = rule.columns[column.of[0]].kind if column.kind == "end" else column.kind
        if kind in ("count", "sum"):
            bins = Rounding(10, TOTALS).bins(column.total)
            ends = [bins.ends(bins.told(n) or 0) for n in one.integers(0, 300, 9).tolist()]
            columns[name] = [int(other.integers(low, high + 1)) for low, high in ends]
        elif kind == "text":
            columns[name] = one.permutation([*"abcdefghi"])
        else:
            draw = one if kind in ("whole", "setting", "mean", "estimate") else other
            columns[name] = draw.random(9)
    frame = pl.DataFrame(columns)
    return frame.sort(rule.order, descending=True) if rule.order else frame


TOTALS = {"instances": 300, "groups": 300}


@examples(120)
@given(
    st.sampled_from([*RULES, replace(RULE, most=2), replace(RULE, order="share")]),
    *[st.integers(0, 99)] * 3,
)
def test_tables_whose_counts_are_in_the_same_classes_are_told_alike(
    rule: Table, told: int, some: int, others: int
) -> None:
    """Neither the order of rows nor the first ones tell more, nor which are left out."""
    one, other = (
        shared_rows(
            of_classes(rule, np.random.default_rng(told), np.random.default_rng(seed)),
            rule,
            Rounding(10, TOTALS),
        )
        for seed in (some, others)
    )
    assert one == other
    assert not rule.listed or all(row[rule.listed] > 10 for row in one)


def test_rows_are_listed_by_what_is_told_and_then_by_name() -> None:
    assert [row["name"] for row in rows([(32, 9), (39, 2), (90, 5), (4, 4)])] == ["d", "e", "f"]
    assert [row["name"] for row in rows([(32, 9), (39, 2), (90, 5)], replace(RULE, most=2))] == [
        "d",
        "e",
    ]


def test_counts_alone_stand_from_the_greatest_and_names_alone_decide_between_equals() -> None:
    rule = Table(Columns(count("n"), declared.whole("depth"), text("name")), order="n")
    frame = pl.DataFrame({"n": [32, 39, 35], "depth": [3, 1, 2], "name": [*"abc"]})
    for order, names in (("n", "abc"), ("depth", "bca")):
        told = shared_rows(frame, replace(rule, order=order), Rounding(10, TOTALS))
        assert "".join(row["name"] for row in told) == names


def test_rows_that_are_not_there_for_a_count_stay() -> None:
    (row,) = rows([(4, 2)], replace(RULE, listed=""))
    assert (row["name"], row["n"], row["share"]) == ("f", 5, None)
    kinds = Columns(text("node"), count("instances"))
    assert Table(kinds).listed == "instances"


def test_single_records_are_shared_only_where_all_is_told_as_it_is() -> None:
    rule = replace(RULE, records=True)
    assert rows([(90, 60)], rule) == []
    assert len(rows([(90, 60)], rule, width=0)) == 1


def test_facts_within_a_fact_are_of_its_kind() -> None:
    facts = {"texts": 40, "refused": {"blank": 3}, "most": 7, "kind": "x", "limits": {"a": 0.5}}
    kinds = Columns(count("texts refused", of=NONE), chance("most"), text("kind limits"))
    assert shared_facts(facts, kinds, Rounding()) == facts
    assert shared_facts(facts, kinds, Rounding(10)) == {
        "texts": 35, "refused": {"blank": 5}, "most": None, "kind": "x", "limits": {"a": 0.5},
    }  # fmt: skip


def test_a_ratio_has_the_interval_of_its_count_and_of_the_bins() -> None:
    kinds = Columns(count("k n"), declared.ratio("ratio", of="k n", ends="low high"))
    told = shared_facts({"k": 123, "n": 61, "ratio": 2.0, "low": 1.0}, kinds, Rounding(10, TOTALS))
    low = 125 / 65 / math.exp(1.96 * math.sqrt(1 / 125 + 100 / 12 / 125**2))
    assert told == pytest.approx({"k": 125, "n": 65, "ratio": 125 / 65, "low": low})


def test_an_estimate_is_told_where_the_counts_that_are_there_are_large() -> None:
    kinds = Columns(count("n m"), declared.estimate("e", n="n m", reason="So."))
    for facts, told in (({"n": 123}, 0.12), ({"n": 123, "m": 40}, None), ({"n": 40}, None)):
        assert shared_facts(facts | {"e": 0.1234}, kinds, Rounding(10, TOTALS))["e"] == told


def test_a_fact_needs_a_kind() -> None:
    with pytest.raises(InputError, match="kind"):
        AnalysisPart("lengths", {"most": 7}, Columns(), {}, {}, {})

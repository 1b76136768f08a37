"""Headline numbers of analyses, as comparisons tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit.analyses.entailment import analysis as entailment
from audit.results.parts import AnalysisPart
from audit.runs.compare.comparison import compare_runs
from fixtures import entailment_results
from reports.core import level


def test_no_two_lines_of_a_comparison_read_the_same() -> None:
    stated = entailment.HEADLINES
    part = AnalysisPart("entailment", {}, {}, {}, {}, {}, stated)
    every = part.metrics(entailment_results.measured()["entailment"])
    told = [(one["name"], one["scope"], level(one["parameters"])) for one in every]

    assert {name for name, *_ in told} >= {one.name for one in stated if one.name}
    assert len(set(told)) == len(told)


def test_a_comparison_tells_how_many_tuples_are_valid_and_answered_rightly() -> None:
    result = entailment_results.audited_in_full(1)
    shared = result.shared()["entailment"]
    told = {
        (row["name"], row["parameters"].get("model"), row["parameters"]["relation"],
         row["parameters"].get("split")): (row["old"], row["n_new"], row["difference"])
        for row in compare_runs(result, result).measures
    }  # fmt: skip

    assert told == _valid(shared["quality_totals"]) | _right(shared["detection_measured"])


def _valid(rows: Sequence[Mapping[str, Any]]) -> dict[Any, Any]:
    return {
        ("valid", None, row["relation"], None): (row["valid"] / row["tuples"], row["tuples"], 0)
        for row in rows
        if row["split"] == "All"
    }


def _right(rows: Sequence[Mapping[str, Any]]) -> dict[Any, Any]:
    return {
        ("answered_right", row["model"], row["relation"], row["split"]): (row["value"], row["n"], 0)
        for row in rows
        if (row["kind"], row["measure"]) == ("model", "accuracy")
    }

"""Told numbers as they are printed: which of a view are counts, and in how many digits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from audit.results.printed import Count, Share, cell, difference_of, marked, percent_of, share_of
from fixtures import entailment_results, results

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "result.schema.json").read_text("utf-8"))
ALWAYS_EXACT = ("setting", "whole", "findings", "nodes told")
BINS = {"bin": 10, "totals": {"instances": 5000}}


@pytest.mark.parametrize(
    "view",
    [
        lambda: results.rich_result().shared(),
        lambda: results.judged_result().shared(),
        entailment_results.as_told,
    ],
)
def test_the_counts_of_the_schema_are_those_that_are_printed_as_such(
    view: Callable[[], dict[str, Any]],
) -> None:
    told = dict(_numbers(marked(view()), SCHEMA, ""))
    counts = {place for place, (kind, _) in told.items() if kind == "count"}
    printed = {place for place, (_, value) in told.items() if isinstance(value, Count)}

    assert len(counts) > 100
    assert [one for one in sorted(counts - printed) if not one.endswith(".denominator")] == []
    assert [one for one in sorted(printed) if told[one][0] in ALWAYS_EXACT] == []


def _numbers(value: Any, schema: Mapping[str, Any], at: str) -> Iterator[tuple[str, Any]]:
    """Each whole number of a view with what the schema says of it."""
    while "$ref" in schema:
        schema = _place(schema["$ref"])
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, inner in value.items():
            stated = known.get(name, others if isinstance(others, dict) else {})
            yield from _numbers(inner, stated, f"{at}.{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _numbers(inner, schema.get("items", {}), f"{at}.{place}")
    elif isinstance(value, int) and not isinstance(value, bool):
        yield at, (schema.get("told", "").partition(":")[0], value)
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _numbers(value, one, at)


def _place(reference: str) -> Any:
    found: Any = SCHEMA
    for name in reference.removeprefix("#/").split("/"):
        found = found[name]
    return found


def test_an_exact_view_is_as_it_is() -> None:
    exact = results.rich_result().exact()
    assert marked(exact) is exact


@pytest.mark.parametrize("n", [0, 3, 10])
def test_a_count_of_the_first_class_is_fewer_also_where_it_is_none(n: int) -> None:
    assert cell(n, BINS) == f"{Count(n, BINS):,}" == f"{Count(n, BINS)}" == "<11"
    assert cell(n, None) == str(n)


def test_percentages_have_the_digits_that_their_count_allows() -> None:
    told = marked({"rounding": BINS, "pairs": [{"instances": 25, "of": 935, "share": 0.0267}]})
    (row,) = told["pairs"]

    assert percent_of(row["share"]) == "3%"
    assert percent_of(difference_of(Share(0.7123, 5000), 0.5)) == "21.2%"
    assert percent_of(0.0267) == "2.7%"


def test_a_share_of_few_or_of_nearly_all_is_not_computed() -> None:
    assert share_of(Count(5, BINS), 935) is None
    assert share_of(Count(935, BINS), 940) is None
    assert share_of(Count(465, BINS), 935) == pytest.approx(465 / 935)

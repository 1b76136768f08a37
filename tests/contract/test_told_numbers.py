"""Every number of ``result.json``: what it tells is declared with it, and cannot be inverted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.concepts import analysis as of_concepts
from audit.entailment import analysis as of_tuples
from audit.explanations import analysis as of_explanations
from fixtures.inverted import KINDS, inverted
from fixtures.reader import drawn

SCHEMA: Any = json.loads(Path("docs/result.schema.json").read_text("utf-8"))
TABLES = {
    "explanations": of_explanations.SHARED,
    "concepts": of_concepts.SHARED,
    "entailment": of_tuples.SHARED,
}
NUMBERS = {"integer", "number"}


def numbers(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every part of a schema that can be a number, but for what an enumeration names."""
    if isinstance(schema, dict):
        kinds = schema.get("type", ())
        if not NUMBERS.isdisjoint([kinds] if isinstance(kinds, str) else kinds):
            yield path, schema
        for name, inner in schema.items():
            yield from numbers(inner, (*path, name))
    elif isinstance(schema, list):
        for inner in schema:
            yield from numbers(inner, path)


def test_every_number_is_a_count_or_derived_or_exempt_for_a_reason() -> None:
    for path, stated in numbers(SCHEMA):
        if path[1] in TABLES:
            rule, column = TABLES[path[1]][path[3]], path[-1]
            derived = column in rule.values and column not in rule.exempt
            assert derived or column in (*rule.keys, *rule.exempt), path
            assert derived or "integer" in stated["type"] or column in ("from", "to"), path
        else:
            kind, _, reason = stated.get("told", "").partition(": ")
            assert kind == "count" or (kind in ("derived", "exempt") and reason), path


@pytest.mark.parametrize("part", TABLES)
def test_what_a_row_compares_or_leaves_as_it_is_is_among_its_numbers(part: str) -> None:
    for rule in TABLES[part].values():
        assert {*rule.apart, *rule.exempt} <= {*rule.values}


@pytest.mark.parametrize("kind", KINDS)
def test_no_number_tells_an_n_that_is_not_told(kind: str) -> None:
    found = inverted(kind, 12)
    assert found["tried"] >= 12
    assert found["exact"] == 0
    assert 20 * found["narrower"] <= found["tried"]


def test_shares_drawn_to_others_are_told_in_digits() -> None:
    told = list[dict[str, Any]]()
    for view in (drawn(seed).shared() for seed in range(3)):
        found = [one["evidence"] for check in view["checks"] for one in check["findings"]]
        told += view["overview"]["residuals"] + [one for one in found if "shrunk_share" in one]
    for row in told:
        drawn_to = [row.get("shrunk", row.get("shrunk_share")), row["low"], row["high"]]
        assert all(one is None or one == round(one, 3) for one in drawn_to)

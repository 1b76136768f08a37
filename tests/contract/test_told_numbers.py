"""Every number of ``result.json``: what it tells is declared with it, and cannot be inverted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.concepts import analysis as of_concepts
from audit.entailment import analysis as of_tuples
from audit.explanations import analysis as of_explanations
from audit.policy.policy import Policy
from audit.results.result import AuditResult
from audit.runs import preference as of_preference
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import compare_runs
from fixtures.examples import examples
from fixtures.inverted import KINDS, inverted
from fixtures.labelled import labelled, repeated, tree
from fixtures.predicted import predicted
from fixtures.reader import drawn

SCHEMA: Any = json.loads(Path("docs/result.schema.json").read_text("utf-8"))
COMPARISON: Any = json.loads(Path("docs/comparison.schema.json").read_text("utf-8"))
TABLES = {
    "explanations": of_explanations.SHARED,
    "concepts": of_concepts.SHARED,
    "entailment": of_tuples.SHARED,
    "preference": of_preference.SHARED,
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
            assert declared(stated), path


def declared(stated: Any) -> bool:
    kind, _, reason = stated.get("told", "").partition(": ")
    return kind == "count" or (kind in ("derived", "exempt") and bool(reason))


def test_so_is_every_number_of_a_comparison() -> None:
    for path, stated in numbers(COMPARISON):
        assert declared(stated), path


def told(value: Any, schema: Any, root: Any, path: str = "") -> Iterator[tuple[str, str, Any]]:
    """Each number, bound and null of plain data: its place, what the schema says, and itself."""
    if "$ref" in schema:
        own = root["$defs"][schema["$ref"].rpartition("/")[2]]
        schema = {**own, **{key: one for key, one in schema.items() if key != "$ref"}}
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from told(value, {"told": schema.get("told", ""), **option}, root, path)
    kinds = schema.get("type", ())
    numeric = not NUMBERS.isdisjoint([kinds] if isinstance(kinds, str) else kinds)
    if isinstance(value, dict) and "properties" in schema:
        for name, inner in value.items():
            own = schema["properties"].get(name, schema.get("additionalProperties"))
            yield from told(inner, own or {}, root, f"{path}/{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from told(inner, schema.get("items", {}), root, f"{path}/{place}")
    elif numeric and not isinstance(value, bool):
        yield path, schema.get("told", ""), value


SETS = (["asthma"], ["flu"], ["attack"], ["asthma", "attack"], ["flu", "attack"])
LARGE = (70, 80, 90, 60, 50)


def released(few: int, many: tuple[int, ...] = LARGE) -> AuditResult:
    """A release in which few have one rare label, and the rest of ten the other one."""
    rare = [(few, ["cold"]), (10 - few, ["saw"])]
    labels = repeated([*zip(many, SETS, strict=True), *rare])
    body = tree("lung heart < body", "asthma flu cold saw < lung", "attack < heart")
    data = labelled(body, labels, persons=True)
    scores = {one: dict.fromkeys(own or ["flu"], 1.0) for one, own in labels.items()}
    model = predicted(data, scores, set_valued=True)
    return run_audit(data, Policy(min_cell=11), predictions=model)


@given(st.integers(4, 6), st.integers(4, 6))
@examples(4)
def test_no_exempt_number_depends_on_which_of_two_counts_is_small(one: int, other: int) -> None:
    """Both are withheld, and all totals are the same: what tells them apart tells a small cell."""
    before = released(5, tuple(n - 20 for n in LARGE))
    views = [released(few) for few in (one, other)]
    pages = [(SCHEMA, view.shared()) for view in views]
    pages += [(COMPARISON, compare_runs(before, view).shared()) for view in views]
    first, second, third, fourth = (
        {place: n for place, said, n in told(page, schema, schema) if said.startswith("exempt")}
        for schema, page in pages
    )
    assert first == second
    assert third == fourth
    assert len(first) > 50
    assert len(third) > 20


@given(st.lists(st.integers(0, 60), min_size=5, max_size=5))
@examples(8)
def test_what_is_derived_from_a_withheld_count_of_a_row_is_withheld(came: list[int]) -> None:
    before, after = (
        released(5),
        released(5, tuple(n + more for n, more in zip(LARGE, came, strict=True))),
    )
    shared, schema = compare_runs(before, after).shared(), COMPARISON
    rows = dict[str, list[tuple[str, Any]]]()
    for place, said, value in told({**shared, "model": None}, schema, schema):
        rows.setdefault(place.rpartition("/")[0], []).append((said, value))
    for place, row in rows.items():
        if any(said == "count" and isinstance(value, str) for said, value in row):
            assert all(v is None for said, v in row if said.startswith("derived")), place


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
    drawn_ = list[dict[str, Any]]()
    for view in (drawn(seed).shared() for seed in range(3)):
        found = [one["evidence"] for check in view["checks"] for one in check["findings"]]
        drawn_ += view["overview"]["residuals"] + [one for one in found if "shrunk_share" in one]
    for row in drawn_:
        drawn_to = [row.get("shrunk", row.get("shrunk_share")), row["low"], row["high"]]
        assert all(one is None or one == round(one, 3) for one in drawn_to)

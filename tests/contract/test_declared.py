"""Every number that is shared has a kind: of findings, of tables, and of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from fixtures import results
from fixtures.doors import result_schema
from fixtures.registered import (
    MEASURED,
    OF_ANALYSES,
    OF_RUNS,
    PAIR_COLUMNS,
    comparison_schema,
    kinds,
)

TABLES: dict[str, kinds.Columns] = {
    f"{name}.{table}": rule.columns
    for name, (rules, _) in OF_ANALYSES.items()
    for table, rule in rules.items()
}
OF_CHECKS: dict[str, kinds.Columns] = {
    f"{check.name}.{name}": columns
    for check in MEASURED
    for name, columns in {"evidence": check.evidence, "parts": check.of_parts}.items()
}
DECLARED = OF_RUNS | OF_CHECKS | TABLES
WHOLES = {"rows", "instances", "groups", kinds.NONE}
COMPUTED = {"share": 2, "ratio": 2, "difference": 2, "factor": 2, "end": 1, "mean": 1}
"""How many columns a kind is computed from."""
IN_SCHEMAS = {*get_args(kinds.Kind), "as the check declares it"}


def test_a_column_says_what_it_is_computed_from_its_total_and_why_it_is_told_as_it_is() -> None:
    for columns in DECLARED.values():
        for column in columns.values():
            kinds = {columns[one].kind for one in column.of}
            assert {*column.of, *filter(None, [column.effective])} <= columns.keys(), column
            assert len(column.of) == COMPUTED.get(column.kind, len(column.of)), column
            assert column.kind != "end" or column.side, column
            assert column.low < column.high, column
            assert column.kind not in ("count", "sum") or column.total in WHOLES, column
            assert column.kind not in ("exact", "estimate") or column.reason, column
            assert column.kind != "share" or kinds <= {"count", "exact", "sum"}, column
            assert column.kind != "difference" or kinds == {"share"}, column


def test_every_column_of_every_table_has_a_kind() -> None:
    run = results.rich_result()
    frames: Mapping[str, Any] = {"NODES": run.nodes, "RESIDUALS": run.residuals}
    assert {*PAIR_COLUMNS} <= {*OF_RUNS["PAIRS"]}
    for name, frame in frames.items():
        assert {*frame.columns} <= {*OF_RUNS[name]}


def numbers(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every part of a schema that can be a number, but for what an enumeration names."""
    if isinstance(schema, dict):
        kinds = schema.get("type", ())
        if not {"integer", "number"}.isdisjoint([kinds] if isinstance(kinds, str) else kinds):
            yield path, schema
        for name, inner in schema.items():
            yield from numbers(inner, (*path, name))
    elif isinstance(schema, list):
        for inner in schema:
            yield from numbers(inner, path)


SCHEMAS = {"result": result_schema(), "comparison": comparison_schema()}


def test_every_number_of_a_schema_has_a_kind() -> None:
    for name in SCHEMAS:
        found = list(numbers(SCHEMAS[name]))
        assert found
        for path, stated in found:
            kind, _, reason = stated.get("told", "").partition(": ")
            assert kind in IN_SCHEMAS, path
            assert kind != "exact" or reason, path


def test_counts_are_whole_numbers() -> None:
    for name in SCHEMAS:
        for path, stated in numbers(SCHEMAS[name]):
            if stated.get("told") == "count":
                assert "number" not in stated["type"], path
                assert "string" not in stated["type"], path

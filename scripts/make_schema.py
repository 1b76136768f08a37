"""Write the tables of analyses in ``result.schema.json`` again, as they are declared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from audit.base.declared import Column, Columns, Table
from audit.runs.analyses import ANALYSES

SCHEMA = Path(__file__).parents[1] / "audit" / "results" / "result.schema.json"
BEGIN, END = '  "$defs": {\n', '\n    "severity": {'
"""What stands before and after the entries."""
_TYPES = {"text": "string", "whole": "integer", "exact": "integer"}
"""Type of each kind; that of others is a number."""


def entry(name: str, tables: Mapping[str, Table], facts: Columns) -> dict[str, Any]:
    """The entry of an analysis: its facts, and its tables by name."""
    return {
        "description": f"The facts, and tables by name; docs/{name}.md says what columns mean.",
        "type": "object",
        "required": ["facts"],
        "additionalProperties": False,
        "properties": {
            "facts": {"type": "object", "propertyNames": {"enum": [*facts]}},
            **{one: _rows(table) for one, table in tables.items()},
        },
    }


def _rows(table: Table) -> dict[str, Any]:
    columns = {name: _column(one) for name, one in table.columns.items()}
    row = {"type": "object", "additionalProperties": False, "properties": columns}
    said = {"description": f"{table.title}: a row is {table.row}."} if table.title else {}
    return {**said, "type": "array", "items": row}


def _column(column: Column) -> dict[str, Any]:
    if column.kind == "count":
        return {"$ref": "#/$defs/count"}
    return {"type": [column.type or _TYPES.get(column.kind, "number"), "null"]}


def written(text: str) -> str:
    """The schema with the entries written anew."""
    before, rest = text.split(BEGIN)
    entries = (_text(one.name, entry(one.name, one.tables, one.facts)) for one in ANALYSES)
    lines = "\n".join(entries)
    return f"{before}{BEGIN}{lines}{END}{rest.split(END, 1)[1]}"


def _text(name: str, made: Mapping[str, Any]) -> str:
    """An entry of the schema, a line for each of its tables."""
    tables = ",\n".join(
        f"      {_json(one)}: {_json(of)}" for one, of in made["properties"].items()
    )
    others = {key: value for key, value in made.items() if key != "properties"}
    return f'    {_json(name)}: {_json(others)[:-1]}, "properties": {{\n{tables}\n    }}}},'


def _json(made: Any) -> str:
    return json.dumps(made, ensure_ascii=False)


if __name__ == "__main__":
    SCHEMA.write_text(written(SCHEMA.read_text("utf-8")), "utf-8")

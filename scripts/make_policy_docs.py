"""Write ``docs/policy.schema.json`` and the table of keys in ``docs/policy.md`` again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from audit.policy.policy import Policy
from audit.policy.reading import policy_schema
from audit.policy.statements import Threshold

DOCS = Path(__file__).parents[1] / "docs"
PAGE, SCHEMA = DOCS / "policy.md", DOCS / "policy.schema.json"
BEGIN, END = "<!-- keys: scripts/make_policy_docs.py -->", "<!-- end of keys -->"


def schema_text() -> str:
    """The JSON schema of a policy file, as it lies in ``docs``."""
    return json.dumps(policy_schema(), ensure_ascii=False, indent=1) + "\n"


def table() -> str:
    """Every key of a policy in Markdown: meaning, default, unit and range."""
    meanings, properties = _meanings(), policy_schema()["properties"]
    lines = ["| key | meaning | default | unit | range |", "|---|---|---|---|---|"]
    for name, field in Policy.model_fields.items():
        default = field.get_default(call_default_factory=True)
        unit = properties[name]["description"] if isinstance(default, Threshold) else ""
        cells = (f"`{name}`", meanings[name], _default(default), unit, _range(properties[name]))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page_with_table(page: str) -> str:
    """The page with its table of keys written anew."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def _meanings() -> dict[str, str]:
    """The line of each key under ``Args`` of the model's docstring."""
    stated = (Policy.__doc__ or "").split("Args:")[1]
    found = re.findall(r"^ {8}(\w+): (.*(?:\n {9,}.*)*)", stated, re.M)
    return {name: re.sub(r"\s+", " ", text).strip() for name, text in found}


def _default(value: Any) -> str:
    if isinstance(value, Threshold):
        return f"{value.value:g}"
    if value is None or value == "":
        return "none"
    return f"`{json.dumps(value)}`"


def _range(schema: dict[str, Any]) -> str:
    number = schema.get("properties", {}).get("value") or schema
    return "; ".join(_bounds(number)) or _kind(schema)


def _bounds(schema: dict[str, Any]) -> Iterator[str]:
    if "minimum" in schema:
        upper = f" to {schema['maximum']:,.10g}" if "maximum" in schema else " or more"
        yield f"{schema['minimum']:g}{upper}"
    if "enum" in schema:
        yield " or ".join(f"`{value}`" for value in schema["enum"])
    for option in schema.get("anyOf", ()):
        yield from _bounds(option)


def _kind(schema: dict[str, Any]) -> str:
    if schema.get("items", {}).get("$ref"):
        return "tables, see below"
    if any("$ref" in option for option in schema.get("anyOf", ())):
        return "a table, see below"
    if "anyOf" in schema:
        said = (option.get("const") or _kind(option) for option in schema["anyOf"])
        return ", or ".join(said)
    kinds = {
        "string": "text",
        "array": "list of names",
        "object": "table",
        "boolean": "true or false",
    }
    return kinds[schema["type"]]


def main() -> None:
    """Write both files."""
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    PAGE.write_text(page_with_table(PAGE.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

"""AudioSet's ontology: a JSON list of nodes with their children and restrictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from audit.base.errors import SchemaError
from audit.base.files import read_json
from audit.hierarchies.formats.format import HierarchyFormat, Shape, head_text, hierarchy_of
from audit.hierarchies.hierarchy import Hierarchy


def _matches(path: Path, head: bytes) -> bool:
    """Whether the file starts as a JSON list whose first entries have ``child_ids``."""
    text = head_text(head)
    return text.startswith("[") and '"child_ids"' in text


def _read(path: Path, _: Shape) -> Hierarchy:
    """Read ``id, name, child_ids, restrictions`` of each node; other keys are ignored.

    A node is assignable unless ``restrictions`` holds ``abstract``.

    A child that is not declared is dangling.
    """
    entries = read_json(path)
    if not isinstance(entries, list):
        raise SchemaError("a list of nodes is required", found=_kind_of(entries))
    for number, entry in enumerate(entries, start=1):
        _refuse_misshapen(number, entry)
    return hierarchy_of(
        path,
        [(child, entry["id"]) for entry in entries for child in _listed(entry, "child_ids")],
        [
            (entry["id"], entry.get("name"), "abstract" not in _listed(entry, "restrictions"))
            for entry in entries
        ],
    )


FORMAT = HierarchyFormat(
    "audioset", "a JSON list of nodes with id, name, child_ids", _matches, _read
)


def _listed(entry: dict[str, Any], key: str) -> list[str]:
    listed: list[str] = entry.get(key) or []
    return listed


def _refuse_misshapen(number: int, entry: Any) -> None:
    if not isinstance(entry, dict):
        raise _misshapen(number, "must be an object", entry)
    if not isinstance(entry.get("id"), str):
        raise _misshapen(number, "needs an 'id' of text", entry.get("id"))
    if not isinstance(entry.get("name"), str | None):
        raise _misshapen(number, "must have text as its 'name'", entry["name"])
    for key in ("child_ids", "restrictions"):
        listed = _listed(entry, key)
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise _misshapen(number, f"must have a list of text as its {key!r}", entry[key])


def _misshapen(number: int, needs: str, found: Any) -> SchemaError:
    return SchemaError(f"node {number:,} of the list {needs}", found=_kind_of(found))


def _kind_of(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"

"""The resource CodeSystem of FHIR R4: concepts within concepts, or with properties of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from audit.base.errors import SchemaError
from audit.base.files import read_json
from audit.base.readings import Reading
from audit.hierarchies.formats.format import (
    HierarchyFormat,
    Shape,
    head_text,
    hierarchy_of,
    titles_of,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.retired import Obsolete, retired_ids

_WHOLE = {"complete", None}
_FLAGS = {"notSelectable": "abstract", "abstract": "abstract", "inactive": "gone"}
_GONE = {"retired", "inactive", "deprecated"}
"""Values of ``status`` of what is no longer in use."""


def matches(path: Path, head: bytes) -> bool:
    """Whether it is an object whose first type of resource is CodeSystem."""
    text = head_text(head)
    said = text.partition('"resourceType"')[2].lstrip(" \r\n\t:")
    return text.startswith("{") and said.startswith('"CodeSystem"')


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read the concepts; each may be a label unless it is not selectable.

    A concept is below the one that it lies within, and below those that its properties ``parent``
    name, or whose properties ``child`` name it. What is inactive or retired is no node.

    Raises:
        HierarchyError: On a parent that is no concept if it is not to be dropped, or on a cycle.
        SchemaError: If the resource holds no concepts, or these are not as in FHIR.
    """
    stated = read_json(path)
    content = stated.get("content")
    places = list(_entries(stated, None))
    if not places:
        raise SchemaError(
            "a CodeSystem with its concepts is required",
            found=f"none; its content is {content!r}",
            where=path,
            hint="get the concepts from a terminology server, by $expand or as a package",
        )
    said = {code: _properties(one) for code, _, one in places}
    gone = {code for code, own in said.items() if "gone" in own}
    titles = titles_of((code, one.get("display")) for code, _, one in places if code not in gone)
    edges = [(code, above) for code, above, _ in places if above is not None]
    for code, own in said.items():
        edges += [(code, above) for above in own.get("parent", ())]
        edges += [(below, code) for below in own.get("child", ())]
    later = [Obsolete(code, tuple(said[code].get("replacedBy", ()))) for code in sorted(gone)]
    why, option = f"its content is {content!r}", "the complete code system"
    part = Reading("the code system is not complete", why, len(places), option, "concepts")
    return hierarchy_of(
        path,
        [edge for edge in dict.fromkeys(edges) if edge[0] not in gone],
        [(code, title, "abstract" not in said[code]) for code, title in titles.items()],
        coding=retired_ids(titles, later),
        dangling=shape.dangling,
        readings=[] if content in _WHOLE else [part],
    )


FORMAT = HierarchyFormat("codesystem", "a CodeSystem of FHIR R4, as JSON", matches, read)


def _entries(
    held: Mapping[str, Any], above: str | None
) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    """Code, code above, and content of each concept within another, or within the resource."""
    some = held.get("concept", [])
    for one in some if isinstance(some, list) else [None]:
        plain = one if isinstance(one, dict) else {}
        code = plain.get("code")
        if not isinstance(code, str) or not isinstance(plain.get("display"), str | None):
            required = "'concept' must be a list of objects with a text 'code', and 'display'"
            raise SchemaError(required, found=str(some)[:80])
        yield code, above, plain
        yield from _entries(plain, code)


def _properties(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    """Codes of other concepts by the property that names them, and ``abstract`` and ``gone``."""
    found = dict[str, list[str]]()
    for one in entry.get("property") or []:
        name = one.get("code") if isinstance(one, dict) else None
        if not isinstance(name, str):
            required = "a property of a concept must be an object with a text 'code'"
            raise SchemaError(required, found=str(one)[:80])
        value = next((one[key] for key in one if key.startswith("value")), None)
        if value is True and name in _FLAGS:
            found[_FLAGS[name]] = []
        elif name == "status" and value in _GONE:
            found["gone"] = []
        elif name in ("parent", "child", "replacedBy") and isinstance(value, str):
            found.setdefault(name, []).append(value)
    return found

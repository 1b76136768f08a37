"""Codes of the data of hospitals: those of MEDS, and a CodeSystem of FHIR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import HierarchyError, SchemaError, first_cases
from audit.base.files import read_json, read_table
from audit.base.readings import Reading
from audit.hierarchies.coding import Obsolete, retired_ids
from audit.hierarchies.formats.format import (
    HierarchyFormat,
    Shape,
    head_text,
    hierarchy_of,
    titles_of,
)
from audit.hierarchies.formats.tables import columns_of, is_parquet
from audit.hierarchies.hierarchy import Hierarchy

_COLUMNS = ["code", "description", "parent_codes"]


def is_codes(path: Path, head: bytes) -> bool:
    """Whether it is Parquet with the three columns of MEDS."""
    return is_parquet(path) and {*_COLUMNS} <= {*columns_of(path, head)}


def _read_codes(path: Path, _: Shape) -> Hierarchy:
    """Read the codes that have parents, or are some; others, such as laboratory tests, are none."""
    table = read_table(path)
    kinds = [pl.String, pl.String, pl.List(pl.String)]
    if [table.schema.get(name) for name in _COLUMNS] != kinds:
        found = first_cases(f"{name}: {dtype}" for name, dtype in table.schema.items())
        required = "text in code and description, and lists in parent_codes, are required"
        raise SchemaError(required, found=found, where=path)
    edges = table.select(_COLUMNS).explode("parent_codes").drop_nulls(["code", "parent_codes"])
    if edges.is_empty():
        raise HierarchyError(
            "codes with parent_codes are required",
            found="none",
            where=path,
            hint="name another hierarchy, such as --hierarchy icd9cm",
        )
    above = dict.fromkeys(edges["parent_codes"])
    own = {*edges["code"], *above}
    said = table.filter(pl.col("code").is_in([*own])).select("code", "description")
    listed = {*said["code"]}
    titles = titles_of([*said.iter_rows(), *((code, None) for code in above)])
    return hierarchy_of(
        path,
        edges.select("code", "parent_codes").iter_rows(),
        [(code, title, code in listed) for code, title in titles.items()],
    )


MEDS = HierarchyFormat(
    "meds",
    "Parquet with the columns code, description, parent_codes, as metadata/codes.parquet of MEDS",
    is_codes,
    _read_codes,
)


_WHOLE = {"complete", None}
_FLAGS = {"notSelectable": "abstract", "abstract": "abstract", "inactive": "gone"}
_GONE = {"retired", "inactive", "deprecated"}
"""Values of ``status`` of what is no longer in use."""


def _is_code_system(path: Path, head: bytes) -> bool:
    """Whether it is an object whose first type of resource is CodeSystem."""
    text = head_text(head)
    said = text.partition('"resourceType"')[2].lstrip(" \r\n\t:")
    return text.startswith("{") and said.startswith('"CodeSystem"')


def _read_code_system(path: Path, _: Shape) -> Hierarchy:
    """Read the concepts; each may be a label unless it is not selectable.

    A concept is below the one that it lies within, and below those that its properties ``parent``
    name, or whose properties ``child`` name it. What is inactive or retired is no node.
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
        readings=[] if content in _WHOLE else [part],
    )


CODE_SYSTEM = HierarchyFormat(
    "codesystem", "a CodeSystem of FHIR R4, as JSON", _is_code_system, _read_code_system
)


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

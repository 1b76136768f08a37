"""Hierarchies of pictures and sounds: COCO's categories, Open Images, AudioSet, Label Studio."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from audit.base.errors import SchemaError, first_cases
from audit.base.files import first_bytes, read_bytes, read_json
from audit.base.readings import Reading
from audit.hierarchies.building import refuse_unused
from audit.hierarchies.formats.format import (
    HierarchyFormat,
    Shape,
    head_text,
    hierarchy_of,
    hierarchy_of_paths,
)
from audit.hierarchies.hierarchy import Hierarchy

RANKS = ("kingdom", "phylum", "class", "order", "family", "genus")
"""Keys of categories of iNaturalist, from the top down."""
_PICTURES = re.compile(r'\{.*?"(images|categories|annotations)"\s*:\s*\[', re.DOTALL)
_SPECIES = b'"kingdom"'
_BELOW = "Subcategory"


def _is_species(path: Path, head: bytes) -> bool:
    """Whether an object with images or categories has a category with a kingdom."""
    return _PICTURES.match(head_text(head)) is not None and _SPECIES in read_bytes(path)


def holds_hierarchy(path: Path) -> bool:
    """Whether a file of labels says itself what is above what: COCO, Label Studio."""
    head = first_bytes(path)
    pictures = _PICTURES.match(head_text(head)) is not None
    return _is_label_studio(path, head) or (pictures and b'"supercategory"' in read_bytes(path))


def _read_species(path: Path, _: Shape) -> Hierarchy:
    """Read the categories of iNaturalist below their ranks, from the kingdom to the genus."""
    held = read_json(path)
    listed = held.get("categories") if isinstance(held, Mapping) else None
    ranked = isinstance(listed, list) and all(
        isinstance(one, Mapping) and all(isinstance(one.get(key), str) for key in (*RANKS, "name"))
        for one in listed
    )
    if not listed or not ranked:
        required = f"categories with a name and with {', '.join(RANKS)} are required"
        raise SchemaError(required, found="others" if listed else "none")
    rows = [((*(one[rank] for rank in RANKS if one[rank]), one["name"]), None) for one in listed]
    return hierarchy_of_paths(path, rows, by_name=True)


def _is_open_images(path: Path, head: bytes) -> bool:
    text = head_text(head)
    return re.match(r'\{\s*"(LabelName|Subcategory|Part)"\s*:', text) is not None


def _read_open_images(path: Path, shape: Shape) -> Hierarchy:
    """Read classes below those whose ``Subcategory`` lists them; ``Part`` is a relation."""
    wanted = {_BELOW, *shape.relations}
    every = [*_walk(read_json(path))]
    refuse_unused(shape.relations, {key for *_, key in every} - {_BELOW}, "classes")
    edges = dict.fromkeys((low, up) for low, up, key in every if key in wanted and up)
    kept = {end for edge in edges for end in edge} | {low for low, up, _ in every if not up}
    lost = {key: {low for low, _, k in every if k == key} - kept for *_, key in every}
    told = [
        Reading(
            f"entries below {key!r} are no nodes: {first_cases(sorted(own))}",
            f"only {_BELOW!r} holds kinds", len(own), f"--relations {key}", "entries",
        )
        for key, own in sorted(lost.items())
        if own
    ]  # fmt: skip
    return hierarchy_of(path, edges, [(node, None, True) for node in sorted(kept)], readings=told)


def _walk(tree: Any) -> Iterator[tuple[str, str, str]]:
    """Each class, the one above it and the key between them."""
    queue: list[tuple[Any, str, str]] = [(tree, "", _BELOW)]
    while queue:
        one, above, key = queue.pop()
        name = one.get("LabelName") if isinstance(one, Mapping) else None
        if not isinstance(name, str):
            required = "each class of Open Images needs a LabelName"
            raise SchemaError(required, found=str(one)[:60])
        yield name, above, key
        queue += [(low, name, k) for k, v in one.items() if isinstance(v, list) for low in v]


def _is_label_studio(path: Path, head: bytes) -> bool:
    text = head_text(head)
    return text.startswith("[") and '"annotations"' in text and '"result"' in text


def _read_label_studio(path: Path, _: Shape) -> Hierarchy:
    """Read the taxonomies, choices and labels that annotations of an export have, as paths."""
    tasks = read_json(path)
    try:
        values = [
            value
            for task in tasks
            for one in task["annotations"]
            for result in one["result"]
            for value in values_of(result)
        ]
    except (KeyError, TypeError, AttributeError):
        required = "tasks with annotations, each with a result, are required"
        raise SchemaError(required, found=str(tasks)[:60]) from None
    if not values:
        raise SchemaError("annotations with taxonomies, choices or labels are required")
    return hierarchy_of_paths(path, [(value, None) for value in values])


def values_of(result: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The labels in one result of an annotation of Label Studio, each with those above it."""
    kind = str(result.get("type"))
    holds = kind in ("taxonomy", "choices") or kind.endswith("labels")
    listed = result["value"].get(kind, []) if holds else []
    for one in listed if isinstance(listed, list) else [listed]:
        yield tuple(map(str, one)) if isinstance(one, list) else (str(one),)


FORMATS = (
    HierarchyFormat(
        "inaturalist", "categories of iNaturalist: COCO with kingdom to genus", _is_species,
        _read_species,
    ),
    HierarchyFormat(
        "openimages", "Open Images: LabelName with Subcategory and Part", _is_open_images,
        _read_open_images, frozenset({"relations"}),
    ),
    HierarchyFormat(
        "labelstudio", "an export of Label Studio: the paths of its taxonomies", _is_label_studio,
        _read_label_studio,
    ),
)  # fmt: skip


def _is_audioset(path: Path, head: bytes) -> bool:
    """Whether the file starts as a JSON list whose first entries have ``child_ids``."""
    text = head_text(head)
    return text.startswith("[") and '"child_ids"' in text


def _read_audioset(path: Path, _: Shape) -> Hierarchy:
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


AUDIOSET = HierarchyFormat(
    "audioset", "a JSON list of nodes with id, name, child_ids", _is_audioset, _read_audioset
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

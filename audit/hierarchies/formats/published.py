"""Hierarchies whose publishers fixed the keys: AudioSet, Open Images and COCO."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audit.base.errors import FormatError, SchemaError
from audit.base.files import read_json
from audit.base.readings import Reading
from audit.hierarchies.coding import Entry
from audit.hierarchies.formats.format import (
    EdgeRow,
    HierarchyFormat,
    Shape,
    head_text,
    hierarchy_of,
    items,
    shaped,
    text,
)
from audit.hierarchies.hierarchy import Hierarchy


def _begins(pattern: str) -> Callable[[Path, bytes], bool]:
    """Whether a file begins as JSON with such keys."""
    begins = re.compile(pattern, re.DOTALL)
    return lambda _, head: begins.match(head_text(head)) is not None


def _read_audioset(path: Path, _: Shape) -> Hierarchy:
    """Read ``id, name, child_ids, restrictions`` of each node; other keys are ignored.

    A node is assignable unless ``restrictions`` holds ``abstract``. A child that is not declared is
    dangling.
    """
    held = shaped(read_json(path), items, "a list of nodes is required")
    nodes = [shaped(one, _audioset_node, _AUDIOSET) for one in held]
    edges = [(child, one.node) for one, below in nodes for child in below]
    return hierarchy_of(path, [one for one, _ in nodes], edges, declared="once")


_AUDIOSET = (
    "a node needs a text 'id', and may have a text 'name' and lists of texts 'child_ids' and "
    "'restrictions'"
)


def _audioset_node(one: Any) -> tuple[Entry, list[str]]:
    below, own = (
        [text(part) for part in items(one.get(key) or [])] for key in ("child_ids", "restrictions")
    )
    title = text(one["name"]) if one.get("name") else None
    return Entry(text(one["id"]), title, assignable="abstract" not in own), below


AUDIOSET = HierarchyFormat(
    "audioset", "a JSON list of nodes with id, name, child_ids",
    _begins(r'\[.*"child_ids"'), _read_audioset,
)  # fmt: skip


def _read_open_images(path: Path, shape: Shape) -> Hierarchy:
    """Read the classes by what ``Subcategory`` holds, and by ``Part`` if it is among relations."""
    keys, parts = ["Subcategory", *shape.relations], 0
    edges, nodes = dict[EdgeRow, None](), list[Entry]()
    waiting: list[tuple[Any, str | None]] = [(read_json(path), None)]
    required = "objects with a text 'LabelName', and lists of such, are required"
    while waiting:
        one, above = waiting.pop()
        name = shaped(one, lambda one: text(one["LabelName"]), required)
        nodes.append(Entry(name))
        edges |= {} if above is None else {(name, above): None}
        parts += len(one.get("Part", ())) * ("Part" not in keys)
        waiting += [(below, name) for key in keys for below in items(one.get(key) or [])]
    decision, why = "parts of a class are not below it", "a part is no kind of it"
    told = Reading(decision, why, parts, "--relations Part", "classes")
    return hierarchy_of(path, nodes, edges, readings=[told])


OPEN_IMAGES = HierarchyFormat(
    "openimages", "the JSON of classes of Open Images: LabelName and Subcategory",
    _begins(r'\{\s*"LabelName"'), _read_open_images, frozenset({"relations"}),
)  # fmt: skip


def _read_coco(path: Path, _: Shape) -> Hierarchy:
    """Read the categories by name, each below its ``supercategory``; ``none``, as Roboflow writes
    it, is no category."""
    required = "'categories', a list of objects with a text 'name', is required"
    pairs = shaped(read_json(path), lambda held: [*map(_category, held["categories"])], required)
    if not any(above for _, above in pairs):
        raise SchemaError(
            "categories with a 'supercategory' are required", found="none that has it"
        )
    parents = {name: [above] * (above not in ("", "none")) for name, above in pairs}
    return hierarchy_of(path, [Entry(name, parents=above) for name, above in parents.items()])


def _category(one: Any) -> tuple[str, str]:
    if "kingdom" in one:
        raise FormatError(
            "a file of a kind that is read here is required",
            found="categories of iNaturalist, with their ranks",
            hint="the page of recipes in the documentation makes a table of edges of them",
        )
    above = one.get("supercategory")
    return text(one["name"]), text(above) if above else ""


COCO = HierarchyFormat(
    "coco", "the categories of a file of COCO, below their supercategories",
    _begins(r'\{.*?"(images|categories|annotations)"\s*:\s*\['), _read_coco,
)  # fmt: skip

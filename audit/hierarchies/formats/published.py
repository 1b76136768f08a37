"""Hierarchies whose publishers fixed the keys: AudioSet, Open Images, COCO and MEDS."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import FormatError, HierarchyError, SchemaError, first_cases
from audit.base.files import read_bytes, read_json
from audit.base.readings import Reading
from audit.base.tables import open_table
from audit.hierarchies.formats.format import (
    HierarchyFormat,
    Shape,
    head_text,
    hierarchy_of,
    hierarchy_of_records,
    items,
    shaped,
    text,
    titles_of,
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
    required = (
        "a node needs a text 'id', and may have a text 'name' and lists of texts 'child_ids' "
    )
    held = shaped(read_json(path), items, "a list of nodes is required")
    nodes = [shaped(one, _audioset_node, f"{required}and 'restrictions'") for one in held]
    return hierarchy_of(
        path,
        [(child, node) for node, _, children, _ in nodes for child in children],
        [(node, name, "abstract" not in own) for node, name, _, own in nodes],
    )


def _audioset_node(one: Any) -> tuple[str, str | None, list[str], list[str]]:
    below, own = (
        [text(part) for part in items(one.get(key) or [])] for key in ("child_ids", "restrictions")
    )
    return text(one["id"]), text(one["name"]) if one.get("name") else None, below, own


AUDIOSET = HierarchyFormat(
    "audioset", "a JSON list of nodes with id, name, child_ids",
    _begins(r'\[.*"child_ids"'), _read_audioset,
)  # fmt: skip


def _read_open_images(path: Path, shape: Shape) -> Hierarchy:
    """Read the classes by what ``Subcategory`` holds, and by ``Part`` if it is among relations."""
    keys, parts = ["Subcategory", *shape.relations], 0
    edges, nodes = list[tuple[str, str]](), dict[str, None]()
    waiting: list[tuple[Any, str | None]] = [(read_json(path), None)]
    required = "objects with a text 'LabelName', and lists of such, are required"
    while waiting:
        one, above = waiting.pop()
        name = shaped(one, lambda one: text(one["LabelName"]), required)
        nodes[name] = None
        edges += [(name, above)] if above is not None else []
        parts += len(one.get("Part", ())) * ("Part" not in keys)
        waiting += [(below, name) for key in keys for below in items(one.get(key) or [])]
    told = Reading("parts of a class are not below it", "a part is no kind of it", parts,
                   "--relations Part", "classes")  # fmt: skip
    return hierarchy_of(
        path, dict.fromkeys(edges), [(name, None, None) for name in nodes],
        readings=[told] if parts else [],
    )  # fmt: skip


OPEN_IMAGES = HierarchyFormat(
    "openimages", "the JSON of classes of Open Images: LabelName and Subcategory",
    _begins(r'\{\s*"LabelName"'), _read_open_images, frozenset({"relations"}),
)  # fmt: skip


def has_supercategories(path: Path, head: bytes) -> bool:
    """Whether pictures are labelled with categories that say what is above them."""
    return COCO.matches(path, head) and b'"supercategory"' in read_bytes(path)


def _read_coco(path: Path, _: Shape) -> Hierarchy:
    """Read the categories by name, each below its ``supercategory``; ``none``, as Roboflow writes
    it, is no category."""
    required = "'categories', a list of objects with a text 'name', is required"
    pairs = shaped(read_json(path), lambda held: [*map(_category, held["categories"])], required)
    if not any(above for _, above in pairs):
        raise SchemaError(
            "categories with a 'supercategory' are required", found="none that has it"
        )
    edges = [(name, above) for name, above in pairs if above not in ("", "none")]
    return hierarchy_of_records(path, dict.fromkeys(edges), [(n, None, {}) for n, _ in pairs], [])


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

_COLUMNS = {"code": pl.String(), "description": pl.String(), "parent_codes": pl.List(pl.String)}


def _is_meds(path: Path, head: bytes) -> bool:
    """Whether it is Parquet with the three columns of MEDS."""
    return path.suffix.lower() == ".parquet" and {*_COLUMNS} <= {*open_table(path).schema}


def _read_meds(path: Path, _: Shape) -> Hierarchy:
    """Read the codes that have parents, or are some; others, such as laboratory tests, are none."""
    table = open_table(path)
    if any(table.schema.get(name) != kind for name, kind in _COLUMNS.items()):
        found = first_cases(f"{name}: {dtype}" for name, dtype in table.schema.items())
        required = "text in code and description, and lists in parent_codes, are required"
        raise SchemaError(required, found=found)
    codes = table.frame([*_COLUMNS])
    edges = codes.explode("parent_codes").drop_nulls(["code", "parent_codes"])
    if edges.is_empty():
        hint = "name another hierarchy, such as --hierarchy icd9cm"
        raise HierarchyError("codes with parent_codes are required", found="none", hint=hint)
    own = {*edges["code"], *edges["parent_codes"]}
    said = codes.filter(pl.col("code").is_in(own)).select("code", "description")
    listed = {*said["code"]}
    titles = titles_of([*said.iter_rows(), *((code, None) for code in edges["parent_codes"])])
    return hierarchy_of(
        path,
        edges.select("code", "parent_codes").iter_rows(),
        [(code, title, code in listed) for code, title in titles.items()],
    )


MEDS = HierarchyFormat(
    "meds", "Parquet with the columns code, description, parent_codes, as codes.parquet of MEDS",
    _is_meds, _read_meds,
)  # fmt: skip

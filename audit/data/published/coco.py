"""Pictures and their boxes in one JSON object: COCO, LVIS, Roboflow, iNaturalist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import SchemaError
from audit.base.files import first_bytes, read_json
from audit.base.frames import table_of
from audit.base.streams import bare_suffix
from audit.base.table import Table
from audit.data.published.wanted import Wanted

_KEYS = ("images", "annotations", "categories")


def coco_of(path: Path, wanted: Wanted) -> Table | None:
    """The pictures of such a file, each with the classes of its boxes once; None of others.

    ``labels`` are names of categories, ``synsets`` those of WordNet where they are said, as by
    LVIS. A picture without boxes has none.
    """
    if not path.is_file() or bare_suffix(path) != ".json":
        return None
    head = first_bytes(path).decode("utf-8-sig", "replace").lstrip()
    if not (head.startswith("{") and any(f'"{key}"' in head for key in (*_KEYS, "licenses"))):
        return None
    held = read_json(path)
    if not ("images" in held and {"annotations", "categories"} & held.keys()):
        return None
    known = {one["id"]: one for one in held.get("categories", [])}
    classes: dict[Any, dict[Any, None]] = {image["id"]: {} for image in held["images"]}
    for box in held.get("annotations", []):
        if box.get("image_id") not in classes or "category_id" not in box:
            required = "each annotation must have a category_id, and the image_id of an image"
            raise SchemaError(required, found=str(box)[:60], where=path)
        classes[box["image_id"]][box["category_id"]] = None
    if not any(classes.values()):
        hint = "files of instances have some, such as instances_val2017.json"
        raise SchemaError("annotations are required", found="none", where=path, hint=hint)

    def named(key: str) -> pl.Series:
        lists = [[str(known.get(n, {}).get(key, n)) for n in own] for own in classes.values()]
        return pl.Series(lists, dtype=pl.List(pl.String))

    columns = {
        "id": pl.Series([*map(str, classes)], dtype=pl.String),
        "file_name": pl.Series([one.get("file_name") for one in held["images"]], dtype=pl.String),
        "labels": named("name"),
    }
    if has_synsets := any("synset" in one for one in known.values()):
        columns["synsets"] = named("synset")
    table = table_of(pl.DataFrame(columns), str(path), (path,))
    return replace(table, layout="lvis" if has_synsets else "coco")

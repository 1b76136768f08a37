"""One object of JSON as a table: lists by id, by column, records, COCO's pictures; Label Studio."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import once
from audit.base.readings import Reading
from audit.data.sources.source import ID_NAMES
from audit.hierarchies.formats.format import PATH_SIGN


def table_of_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    """A table of text from rows, without those that are empty; all must be of one length."""
    whole = [row for row in rows if row]
    columns = [*zip(*whole, strict=True)] or [()] * len(names)
    return pl.DataFrame({name: series(values) for name, values in zip(names, columns, strict=True)})


def series(values: Iterable[Any]) -> pl.Series:
    """Values of text, or of lists of text; anything else as it is written."""
    every = [*values]
    if any(isinstance(one, list) for one in every):
        lists = [[*map(_text, one)] if isinstance(one, list) else None for one in every]
        return pl.Series(lists, dtype=pl.List(pl.String))
    return pl.Series([*map(_text, every)], dtype=pl.String)


def _text(value: Any) -> str | None:
    if isinstance(value, (bool, list, dict)):
        return json.dumps(value)
    return None if value is None else str(value)


class _Number(str):
    """A number of JSON as it is written."""

    __slots__ = ()


def document(text: str) -> tuple[pl.DataFrame, tuple[Reading, ...]] | None:
    """The table that one object of JSON is, and what is told of it; None if it is none."""
    held = json.loads(text, parse_int=_Number, parse_float=_Number, object_pairs_hook=once)
    if not isinstance(held, dict) or not held or held.keys() & _OF_RECORDS:
        return None
    for decision, make in _SHAPES:
        if (table := make(held)) is not None and table.width > 1:
            why, option = "all its values are alike", "write a JSON line for each"
            return table, (Reading(decision, why, len(table), option),)
    return None


_OF_RECORDS = {"labels", "scores", "label", "score", "prediction", "predictions"}


def _split(held: Mapping[str, Any]) -> pl.DataFrame | None:
    """Columns beside rows of data, as pandas writes them."""
    if not {"columns", "data"} <= held.keys():
        return None
    rows, index = held["data"], [str(one) for one in held.get("index", [])]
    if index and index != [*map(str, range(len(index)))]:
        rows = [[one, *row] for one, row in zip(index, rows, strict=True)]
        return table_of_rows(["", *held["columns"]], rows)
    return table_of_rows(held["columns"], rows)


def _by_column(held: Mapping[str, Any]) -> pl.DataFrame | None:
    """A list, or an object of row numbers, for each column."""
    values = [*held.values()]
    if all(isinstance(one, dict) for one in values):
        rows = [*map(str, range(len(values[0])))]
        if len(rows) < 2 or any([*one] != rows for one in values):
            return None
        values = [[*one.values()] for one in values]
    alike = all(isinstance(one, list) and len(one) == len(values[0]) > 1 for one in values)
    if not alike or any(re.search(r"\d", key) for key in held):
        return None
    return pl.DataFrame({n: series(own) for n, own in zip(held, values, strict=True)})


def _by_id(held: Mapping[str, Any]) -> pl.DataFrame | None:
    """Labels, scores or records by the id of their instance."""
    values, labels = [*held.values()], None
    dictionaries, lists = (all(isinstance(v, of) for v in values) for of in (dict, list))
    inner = [cell for one in values for cell in one.values()] if dictionaries else []
    if len(held) < _FEWEST or not {*ID_NAMES}.isdisjoint(key.strip().lower() for key in held):
        return None
    if lists or all(map(_is_answer, values)):
        labels = values
    elif inner and all(isinstance(cell, bool) or cell in ("0", "1") for cell in inner):
        labels = [[key for key, cell in one.items() if cell in (True, "1")] for one in values]
    if labels is not None:
        return pl.DataFrame({"id": series(held), "label": series(labels)})
    if not dictionaries:
        return None
    keys = list(dict.fromkeys(key for one in values for key in one))
    gaps = any(len(one) < len(keys) for one in values)
    if gaps and all(isinstance(cell, _Number) for cell in inner):
        scores = [(key, node, score) for key, one in held.items() for node, score in one.items()]
        return table_of_rows(["id", "node", "score"], scores)
    own = "" if "id" in keys else "id"
    return table_of_rows([own, *keys], [[key, *map(one.get, keys)] for key, one in held.items()])


_FEWEST = 3
"""Number of keys of an object from which they may be ids."""


def _is_answer(value: Any) -> bool:
    """Whether a value is a text, or the number of a class."""
    return isinstance(value, str) and not (isinstance(value, _Number) and "." in value)


_SHAPES: tuple[tuple[str, Callable[[Mapping[str, Any]], pl.DataFrame | None]], ...] = (
    ("the object holds columns and rows", _split),
    ("the keys of the object are columns", _by_column),
    ("the keys of the object are ids", _by_id),
)


def coco(text: str) -> tuple[pl.DataFrame, tuple[Reading, ...]] | None:
    """An image of COCO a row, with the classes of its boxes, each once; None of other files."""
    held = json.loads(text)
    if not (isinstance(held, dict) and "images" in held and held.keys() & _BESIDE):
        return None
    boxes = held.get("annotations") or []
    if not boxes:
        raise SchemaError(
            "a file of COCO with annotations is required", found="images without any",
            hint="files of instances have some, such as instances_val2017.json",
        )  # fmt: skip
    names = {one["id"]: one.get("name", one["id"]) for one in held.get("categories", [])}
    own: dict[Any, dict[str, None]] = {image["id"]: {} for image in held["images"]}
    lost = [str(box.get("id")) for box in boxes if box.get("image_id") not in own]
    bare = [str(box.get("id")) for box in boxes if "category_id" not in box]
    for what, found in (("a category_id", bare), ("the image_id of an image", lost)):
        if found:
            required = f"each annotation of COCO must have {what}"
            raise SchemaError(required, found=f"{len(found):,} without: {first_cases(found)}")
    for box in boxes:
        own[box["image_id"]][names.get(box["category_id"], box["category_id"])] = None
    files = [image.get("file_name") for image in held["images"]]
    columns = {"id": own, "file_name": files, "labels": map(list, own.values())}
    return pl.DataFrame({name: series(values) for name, values in columns.items()}), ()


def datumaro(text: str) -> tuple[pl.DataFrame, tuple[Reading, ...]] | None:
    """An item of Datumaro a row, with the names of its annotations' labels, each once."""
    if '"label_id"' not in text or '"items"' not in text:
        return None
    held = json.loads(text)
    known = [one["name"] for one in held["categories"]["label"]["labels"]]
    numbers = [
        [one["label_id"] for one in item["annotations"] if one.get("label_id") is not None]
        for item in held["items"]
    ]
    if beyond := {n for own in numbers for n in own if not 0 <= n < len(known)}:
        raise SchemaError(
            "each label_id of Datumaro must be the number of a label, from 0",
            found=f"{first_cases(sorted(beyond))} of {len(known):,} labels",
        )
    labels = [[*dict.fromkeys(known[n] for n in own)] for own in numbers]
    ids = series(item["id"] for item in held["items"])
    return pl.DataFrame({"id": ids, "labels": series(labels)}), ()


_BESIDE = {"annotations", "categories"}


def label_studio(text: str) -> tuple[pl.DataFrame, tuple[Reading, ...]] | None:
    """The annotations of a full export as JSON, a row for each; None of something else.

    Taxonomies are paths, ``Animal > Dog``; with them count choices and labels of regions. Where a
    task was annotated several times, there are columns of the task and of the annotation.
    """
    tasks = json.loads(text)
    done = [(task, one) for task in tasks for one in task["annotations"]]
    kept = [(task, one) for task, one in done if not one.get("was_cancelled")]
    if not all(isinstance(one["result"], list) for _, one in done):
        return None
    values = ([way for result in one["result"] for way in _values_of(result)] for _, one in kept)
    labels = [[*dict.fromkeys(map(PATH_SIGN.join, own))] for own in values]
    if not any(labels):
        raise SchemaError(
            "an export of Label Studio with choices, labels or taxonomies is required",
            found=f"{len(kept):,} annotations without any",
        )
    annotators = [_annotator(one.get("completed_by")) for _, one in kept]
    of_task = [str(task["id"]) for task, _ in kept]
    single = max(Counter(of_task).values()) == 1
    ids = {"id": of_task} if single else {"task": of_task, "annotation": [
        str(one.get("id", n)) for n, (_, one) in enumerate(kept)]}  # fmt: skip
    frame = pl.DataFrame({**{name: series(one) for name, one in ids.items()},
                          "annotator": series(annotators), "labels": series(labels)})  # fmt: skip
    said = Reading(
        "annotations that were cancelled are left out", "'was_cancelled' says so",
        len(done) - len(kept), "set was_cancelled to false", "annotations",
    )  # fmt: skip
    return frame, (said,) if len(done) > len(kept) else ()


def _values_of(result: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The labels in one result of an annotation, each with those above it."""
    kind = str(result.get("type"))
    holds = kind in ("taxonomy", "choices") or kind.endswith("labels")
    listed = result["value"].get(kind, []) if holds else []
    for one in listed if isinstance(listed, list) else [listed]:
        yield tuple(map(str, one)) if isinstance(one, list) else (str(one),)


def _annotator(stated: Any) -> str | None:
    known = stated.get("email") or stated.get("id") if isinstance(stated, dict) else stated
    return None if known is None else str(known)

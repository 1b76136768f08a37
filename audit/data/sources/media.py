"""Pictures as COCO has them, and exports of Label Studio, as tables of labels."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.readings import Reading
from audit.data.sources.documents import series
from audit.hierarchies.formats.format import PATH_SIGN
from audit.hierarchies.formats.media import values_of


def coco(text: str) -> tuple[pl.DataFrame, tuple[Reading, ...]] | None:
    """An image a row, with the classes of its boxes, each once, as COCO has them; None of others.

    Raises:
        SchemaError: If there are no annotations, or one of them has no category, or an image that
            is not there.
    """
    held = json.loads(text)
    if not (isinstance(held, dict) and "images" in held and held.keys() & _BESIDE):
        return None
    boxes = held.get("annotations") or []
    if not boxes:
        raise SchemaError(
            "a file of COCO with annotations is required", found="images without any",
            hint="those of instances have some, such as instances_val2017.json",
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


_BESIDE = {"annotations", "categories"}


def label_studio(text: str) -> tuple[pl.DataFrame, tuple[Reading, ...]] | None:
    """The annotations of a full export as JSON, a row for each; None of something else.

    Taxonomies are paths, ``Animal > Dog``; with them count choices and labels of regions. Where a
    task was annotated several times, there are columns of the task and of the annotation.

    Raises:
        SchemaError: If no annotation has labels.
    """
    tasks = json.loads(text)
    done = [(task, one) for task in tasks for one in task["annotations"]]
    kept = [(task, one) for task, one in done if not one.get("was_cancelled")]
    if not all(isinstance(one["result"], list) for _, one in done):
        return None
    values = ([way for result in one["result"] for way in values_of(result)] for _, one in kept)
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


def _annotator(stated: Any) -> str | None:
    known = stated.get("email") or stated.get("id") if isinstance(stated, dict) else stated
    return None if known is None else str(known)

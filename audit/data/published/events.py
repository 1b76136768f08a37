"""What is published and no plain table: FHIR, MEDS, OMOP, COCO and its like, lines of labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import SchemaError
from audit.base.files import bare_suffix, first_bytes, read_json, refuse_pickle, text_stream
from audit.base.table import Table, TextLines, table_of
from audit.data.labels import Nodes
from audit.data.published.fhir import fhir_of
from audit.data.published.meds import meds_of
from audit.data.published.omop import omop_of
from audit.data.published.wanted import Wanted

_LOOKED_AT = 50
"""Number of lines by which a file is known."""
_SUFFIXES = ("", ".csv", ".tsv", ".tab", ".psv", ".txt", ".assoc")
_SEPS = {"\t": ";", "|": "|"}
"""What joins labels behind a sign that stands behind an id."""
_ODD = frozenset("\t ,;|{")
"""Signs that are in no id."""
_SCHEMA = {"instance": pl.String(), "labels": pl.List(pl.String())}


def json_lines_of(path: Path, wanted: Wanted, encoding: str = "") -> Table | None:
    """The table of a text of ids with labels, a node among those of the first; None of others."""
    if not path.is_file() or bare_suffix(path) not in _SUFFIXES:
        return None
    refuse_pickle(path, first_bytes(path))
    with text_stream(path, encoding) as stream:
        lines = [line.strip("\n") for line in islice(filter(str.strip, stream), _LOOKED_AT)]
    behind = next((sign for sign in _SEPS if _fit(lines, sign, wanted.nodes)), None)
    if behind is None:
        return None

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        with text_stream(path, encoding) as stream:
            some = filter(str.strip, stream)
            while rows := [_parted(line, behind) for line in islice(some, at_once)]:
                yield pl.DataFrame(rows, _SCHEMA, orient="row").select(columns)

    text = TextLines(first=tuple(lines), header=False)
    return Table(str(path), _SCHEMA, scan, (path,), text, layout="lines")


def _parted(line: str, behind: str) -> tuple[str | None, list[str]]:
    """The id of a line before a sign, None if blank, and the labels behind it."""
    own, _, labels = line.partition(behind)
    every = (label.strip() for label in labels.split(_SEPS[behind]))
    return own.strip() or None, [label for label in every if label]


def _fit(lines: Sequence[str], behind: str, nodes: Nodes) -> bool:
    """Whether lines are ids and labels parted by a sign, no table, the first with a node."""
    sep, widths = _SEPS[behind], {line.count(behind) for line in lines}
    joined = len(widths) > 1 if sep == behind else widths == {1} and any(sep in x for x in lines)
    rows = [_parted(line, behind) for line in lines if joined]
    if not rows or any(own is None or not _ODD.isdisjoint(own) for own, _ in rows):
        return False
    first = next((labels for _, labels in rows if labels), [])
    return any(map(nodes.is_node, first))


_KEYS = ("images", "annotations", "categories")


def coco_of(path: Path, wanted: Wanted) -> Table | None:
    """The pictures of a file as COCO's, each with the classes of its boxes once; None of others.

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


def events_of(data: Path | str, wanted: Wanted, encoding: str) -> Table | None:
    """The table of data that are published as no plain table; None of others.

    Its columns are those of the layout that it names; there are ``table`` and ``refused`` where
    rows know their code set, or why they do not count.

    Args:
        data: A file, a folder or the address of a database.
        wanted: What is stated.
        encoding: That of a text; of none, UTF-8 or UTF-16 by its mark.

    Raises:
        InputError: If it is damaged, or lacks what is stated.
        AskedError: If it must be stated which codes are labels.
    """
    readers: tuple[Callable[[Path, Wanted], Table | None], ...]
    readers = (omop_of, meds_of, fhir_of, coco_of, partial(json_lines_of, encoding=encoding))
    if isinstance(data, str):
        return omop_of(data, wanted)
    return next((table for read in readers if (table := read(data, wanted))), None)

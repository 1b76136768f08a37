"""Pictures with labelled shapes: a file a picture of LabelMe or PASCAL VOC, or one of CVAT."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias
from xml.etree import ElementTree

import polars as pl

from audit.base.files import read_text
from audit.data.sources.documents import series
from audit.data.sources.in_memory import Frame

Labelled: TypeAlias = list[tuple[str, list[str]]]
"""The id of each picture, and the labels of its shapes."""


def pictures_of(path: Path) -> Frame | None:
    """The pictures of a file of CVAT, or of a folder with a file for each; None of others."""
    files = [path] if path.is_file() else [one for one in sorted(path.iterdir()) if _counts(one)]
    endings = {one.suffix.lower() for one in files}
    read = _READERS.get((path.is_dir(), *endings)) if len(endings) == 1 else None
    found = Labelled()
    for file in files if read else []:
        with suppress(ValueError, KeyError, TypeError, AttributeError, ElementTree.ParseError):
            if read and (own := read(file, read_text(file))) is not None:
                found += own
                continue
        return None
    if not found:
        return None
    labels = series([*dict.fromkeys(own)] for _, own in found)
    made = Frame(pl.DataFrame({"id": series(one for one, _ in found), "labels": labels}))
    made.name, made.files, made.kind = str(path), tuple(files), "pictures"
    made.head = b"PAR1"
    return made


def _counts(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")


def _label_me(file: Path, text: str) -> Labelled | None:
    held = json.loads(text)
    if not (isinstance(held, dict) and {"shapes", "imagePath"} <= held.keys()):
        return None
    flags = [name for name, on in (held.get("flags") or {}).items() if on]
    return [(file.stem, [*flags, *(str(one["label"]) for one in held["shapes"])])]


def _root(text: str) -> ElementTree.Element | None:
    """The root of XML that defines nothing, so that no few bytes can become many."""
    return None if "<!" in text.replace("<!--", "") else ElementTree.fromstring(text)


def _voc(file: Path, text: str) -> Labelled | None:
    root = _root(text)
    if root is None or root.tag != "annotation":
        return None
    return [(file.stem, [str(one.findtext("name")).strip() for one in root.iter("object")])]


def _cvat(file: Path, text: str) -> Labelled | None:
    root = _root(text)
    if root is None or root.tag != "annotations":
        return None
    return [
        (image.attrib["name"], [one.attrib["label"] for one in image if "label" in one.attrib])
        for image in root.iter("image")
    ]


_READERS: dict[tuple[object, ...], Callable[[Path, str], Labelled | None]] = {
    (True, ".json"): _label_me,
    (True, ".xml"): _voc,
    (False, ".xml"): _cvat,
}
"""What reads the files of a folder, or one file, by its ending."""

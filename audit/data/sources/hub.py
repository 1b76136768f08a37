"""Folders as the Hugging Face Hub has them: Parquet by split, media in folders of classes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import whole_characters
from audit.base.readings import Reading
from audit.data.class_names import class_names_in, with_class_names
from audit.data.sources.file import File, Folder
from audit.data.sources.in_memory import Frame, SavedDataset, in_splits, is_object
from audit.data.sources.source import Source

_PART = re.compile(r"(.+?)-\d{5}-of-\d{5}(-\w+)?\.parquet")
"""The name of a part of a split."""
_MEDIA = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".wav", ".flac",
          ".mp3", ".ogg", ".m4a", ".mp4", ".avi", ".webm")  # fmt: skip
_BESIDE = re.compile(r"(readme|license|licence)\b.*", re.IGNORECASE)
_SPLITS = {"train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval"}
_ROWS = 1_000_000


def hub_of(folder: Path) -> Source | None:
    """The folder as a source if it is one of the Hub; None if it is none."""
    places = [folder, *(one for one in sorted(folder.iterdir()) if one.is_dir())]
    found = {place: parts for place in places if (parts := _parts_of(place))}
    if len(found) > 1:
        raise SchemaError(
            "one configuration of a dataset is required",
            found=first_cases(place.name for place in found),
            where=folder,
            hint=f"name its folder: {next(iter(found))}",
        )
    for place, parts in found.items():
        if len(parts) > 1:
            return HubFolder(folder, parts)
        return None if place == folder else Folder(place)
    return _of_media(folder)


def _parts_of(folder: Path) -> dict[str, list[Path]]:
    parts = defaultdict[str, list[Path]](list)
    for path in sorted(folder.glob("*.parquet")):
        if named := _PART.fullmatch(path.name):
            parts[named[1]].append(path)
    return parts


class HubFolder(SavedDataset):
    """Splits of a dataset in Parquet, one after the other in a column ``split``."""

    kind = "a folder of the Hub"

    def __init__(self, folder: Path, parts: Mapping[str, Sequence[Path]]) -> None:
        self.files = tuple(path for own in parts.values() for path in own)
        named = [class_names_in(path) for path in self.files]
        if any(one != named[0] for one in named):
            raise SchemaError("every file of a folder must name classes alike", where=folder)
        frames = {split: pl.concat(map(_columns, own)) for split, own in parts.items()}
        self._numbers, self._names = in_splits(frames, folder), named[0]
        with whole_characters(folder):
            Frame.__init__(self, with_class_names(self._numbers, self._names))
        self.name, self.path, self.head = str(folder), folder, b"PAR1"


def _columns(path: Path) -> pl.DataFrame:
    """A table without the pictures and sounds in it, its classes by their numbers."""
    file = File(path)
    file.named_classes = True
    kept = [name for name, dtype in file.schema.items() if not is_object(dtype)]
    return pl.concat([*file.frames(kept, _ROWS)])


def _of_media(folder: Path) -> Frame | None:
    """Files in folders of their classes, perhaps below folders of splits; ids are their paths."""
    every = (path for path in sorted(folder.rglob("*")) if path.is_file())
    own = [path.relative_to(folder) for path in every]
    own = [one for one in own if not (one.name.startswith(".") or _BESIDE.fullmatch(one.name))]
    depths = {len(one.parts) for one in own}
    media = all(one.suffix.lower() in _MEDIA for one in own)
    above = {one.parts[0].lower() for one in own}
    split = depths == {3} and above <= _SPLITS
    if not (own and media and (split or (depths == {2} and not above <= _SPLITS))):
        return None
    columns = {"id": map(str, own), "label": (one.parts[-2] for one in own)}
    columns |= {"split": (one.parts[0] for one in own)} if split else {}
    made = Frame(pl.DataFrame({name: [*values] for name, values in columns.items()}))
    made.name, made.kind = str(folder), "a folder of media"
    told = "files have the names of their folders as labels", "all are pictures, sounds or films"
    made.told = (Reading(*told, len(own), "write a table of id and label", "files"),)
    return made

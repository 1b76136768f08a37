"""Frames: data in memory, and what is read whole as a frame, a saved dataset."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.columnar import read_stream
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import SNIFFED_BYTES, called, in_text, read_json, whole_characters
from audit.data.class_names import ClassNames, class_names_of, with_class_names
from audit.data.sources.source import HEAD, Source, as_cells

ROWS_HASHED = 1_000_000
"""Number of rows of a frame that are hashed at a time."""


class Frame(Source):
    """Rows in memory."""

    kind = "a data frame"

    def __init__(self, frame: pl.DataFrame, *, numbered: bool = False) -> None:
        super().__init__("data frame")
        self.frame = frame
        self.numbered = numbered

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names and values, the values as text; empty of files.

        It depends neither on how the frame is chunked, nor on the library that it is of.
        """
        if self.files:
            return ""
        digest = hashlib.sha256(json.dumps([self.frame.columns, self.frame.height]).encode())
        for first in range(0, self.frame.height, ROWS_HASHED):
            for column in self.frame.slice(first, ROWS_HASHED):
                for values in hashed(column):
                    digest.update(values)
        return digest.hexdigest()

    @cached_property
    def size(self) -> int:
        return super().size if self.files else int(self.frame.estimated_size())

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        if names := [name for name in self.frame.columns if "\0" in name]:
            required = "names of columns without null characters are required"
            raise SchemaError(required, found=first_cases(map(repr, names)), where=self)
        return dict(self.frame.schema)

    @cached_property
    def head_rows(self) -> list[list[str]]:
        return as_cells(self.frame.head(HEAD))

    def last_row(self, columns: list[str]) -> dict[str, Any]:
        return next(iter(self.frame.select(columns).tail(1).to_dicts()), {})

    def table(self, only: Collection[str] | None = None) -> pl.DataFrame:
        return self.frame if only is None else self.frame.select(only)

    def batches(self, columns: list[str], at_once: int) -> Iterator[Any]:
        for frame in self.frame.select(columns).iter_slices(at_once):
            yield from frame.to_arrow().to_batches()

    def _column_of(self, name: str) -> pl.Series:
        return self.table(called(self.schema, [name])[:1]).to_series()

    def refuse_numbers(self, instance: str, label: str | None = None) -> None:
        """Refuse labels that are numbers, and ids that are numbers with a fraction."""
        ids, labels = (self.columns.get((name or "").strip().lower()) for name in (instance, label))
        numbers = labels is not None and _inner(labels).is_numeric()
        if numbers and not self.named_classes:
            raise SchemaError(
                f"the labels in {label!r} must be text: as numbers they have lost leading zeros, "
                "so that 0380 and 380 are the same",
                found=str(labels),
                where=self,
                hint="read the file with this column as text, for example with "
                "pl.read_csv(file, infer_schema=False) or pd.read_csv(file, dtype=str); numbers of "
                "classes are named by classes=[...]",
            )
        if ids is not None and ids.is_float() and not _are_whole(self._column_of(instance)):
            raise SchemaError(
                f"the ids in {instance!r} must be text or whole numbers",
                found=str(ids),
                where=self,
                hint="read the file with this column as text",
            )


def frame_of(data: object) -> pl.DataFrame:
    """A frame as one of Polars; an index of pandas that somebody wrote becomes columns.

    It may be a frame of Polars, lazy or not, of pandas, a table of Arrow, any other frame that
    narwhals knows, or a dictionary of lists.
    """
    try:
        frame = _converted(data)
        objects = [name for name, dtype in frame.schema.items() if dtype == pl.Object]
        if objects:
            raise TypeError(f"objects of Python in {first_cases(objects)}")
        return frame
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise SchemaError(
            "a frame of named columns with values of one type each is required",
            found=str(error).split("\n")[0],
            where=type(data).__name__,
        ) from None


def _converted(data: Any) -> pl.DataFrame:
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, Mapping):
        return pl.DataFrame(data)
    import narwhals as nw

    known = nw.from_native(data, pass_through=True)
    if isinstance(known, nw.LazyFrame):
        known = known.collect("polars")
    if not isinstance(known, nw.DataFrame):
        raise InputError(
            "a path, a frame of Polars, pandas or Arrow, a dictionary of lists, an array, or a "
            "list of labels is required",
            found=f"{type(data).__module__}.{type(data).__name__}",
        )
    index = written_index(data)
    if index is not None and (any(data.index.names) or "index" not in data.columns):
        known = nw.from_native(data.reset_index(), eager_only=True)
    frame: pl.DataFrame = known.to_polars()
    return frame


def written_index(data: Any) -> list[Any] | None:
    """The index of a series or frame of pandas where it has a name, or is not 0 to n - 1."""
    index = getattr(data, "index", None)
    if index is None or callable(index):
        return None
    named = any(name is not None for name in getattr(index, "names", ()))
    values = list(index)
    return values if named or values != list(range(len(values))) else None


def _are_whole(values: pl.Series) -> bool:
    """Whether floats are whole numbers that lost no digit, but for missing ones."""
    most = 2**24 if values.dtype == pl.Float32 else 2**53
    there = values.fill_nan(None).drop_nulls()
    return bool(((there == there.floor()) & (there.abs() < most)).all())


def _inner(dtype: pl.DataType) -> pl.DataType:
    """The type of plain values, which lists hold."""
    while isinstance(dtype, (pl.List, pl.Array)):
        dtype = dtype.inner  # type: ignore[assignment]
    return dtype


def hashed(column: pl.Series) -> Iterator[bytes]:
    """The values of a column as bytes: their number or length, -1 for null, then what they hold."""
    if isinstance(column.dtype, (pl.List, pl.Array)):
        listed = column.cast(pl.List(column.dtype.inner))
        yield _counts(listed.list.len())
        yield from hashed(listed.filter(listed.list.len() > 0).explode())
        return
    if isinstance(column.dtype, pl.Struct):
        yield _counts(column.is_not_null().cast(pl.Int64))
        for field in column.struct.unnest():
            yield from hashed(field)
        return
    if column.dtype.is_temporal():
        column = column.to_physical()
    if column.dtype == pl.Binary:
        yield _counts(column.bin.size())
        yield b"".join(value for value in column.drop_nulls())
        return
    text = column.cast(pl.String)
    yield _counts(text.str.len_bytes())
    yield (text.str.join("").item() or "").encode()


def _counts(numbers: pl.Series) -> bytes:
    return numbers.cast(pl.Int64).fill_null(-1).to_numpy().astype("<i8").tobytes()


class Array(Source):
    """An array of numbers; a copy of it is made."""

    kind = "an array"

    def __init__(self, array: NDArray[Any]) -> None:
        super().__init__("array")
        if array.dtype.hasobject:
            raise SchemaError("an array of numbers is required", found=str(array.dtype))
        stream = io.BytesIO()
        np.save(stream, array, allow_pickle=False)
        self._saved = stream.getvalue()
        self.head = self._saved[:SNIFFED_BYTES]

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self._saved).hexdigest()

    @cached_property
    def size(self) -> int:
        return len(self._saved)

    def open(self) -> BinaryIO:
        return io.BytesIO(self._saved)


STATE, INFO, SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"


def is_saved_dataset(folder: Path) -> bool:
    """Whether ``save_to_disk`` of a dataset, or of one with several splits, wrote a folder."""
    return (folder / SPLITS).is_file() or (folder / STATE).is_file()


class SavedDataset(Frame):
    """A saved dataset, its splits one after the other in a column ``split``.

    Class numbers are the names that their ``ClassLabel`` gives them. Where no column is named
    ``id``, the number of each row of a split is its id.
    """

    kind = "a saved dataset"

    def __init__(self, folder: Path) -> None:
        with whole_characters(folder):
            self._numbers = _dataset_of(folder)
            self._names = class_names_of(_features_of(folder), folder / INFO)
            super().__init__(with_class_names(self._numbers, self._names))
        self.name = str(folder)
        self.path = folder
        self.files = tuple(in_text(_files_of(folder)))
        self.head = b"ARROW1"

    def know(self, nodes: Any, *, named_classes: bool = False, id: str | None = None) -> None:
        super().know(nodes, named_classes=named_classes, id=id)
        if named_classes:
            self.frame = self._numbers

    @cached_property
    def class_names(self) -> ClassNames:
        return {} if self.named_classes else self._names


def _dataset_of(folder: Path) -> pl.DataFrame:
    names = _splits_of(folder)
    if not names:
        return _with_ids(_split(folder), "")
    return in_splits({name: _split(folder / name) for name in names}, folder)


def in_splits(parts: Mapping[str, pl.DataFrame], where: Path) -> pl.DataFrame:
    """Splits by name, one after the other in a column ``split``, with ids that no two share."""
    named = [
        _with_ids(part, f"{name}/").with_columns(split=pl.lit(name)) for name, part in parts.items()
    ]
    return _together(named, "splits", where)


def _together(frames: Iterable[pl.DataFrame], what: str, where: Path) -> pl.DataFrame:
    try:
        return pl.concat(frames)
    except pl.exceptions.PolarsError as error:
        required, found = f"{what} with the same columns are required", str(error).split("\n")[0]
        raise SchemaError(required, found=found, where=where) from None


def _splits_of(folder: Path) -> list[str]:
    """The folders of a dataset's splits; none where it has no splits."""
    where = folder / SPLITS
    if not where.is_file():
        return []
    return [_plain(name, where) for name in _some(read_json(where), "splits", where)]


def _with_ids(frame: pl.DataFrame, prefix: str) -> pl.DataFrame:
    """The frame with numbers of rows behind a prefix for ids, where it has no column ``id``."""
    if called(frame.columns, ["id"]):
        return frame
    number = pl.int_range(pl.len()).cast(pl.String)
    return frame.with_columns(id=pl.lit(prefix) + number)


def _split(folder: Path) -> pl.DataFrame:
    streams = (read_stream(folder / name) for name in _data_files(folder))
    frame = _together(streams, "files", folder)
    kept = [name for name in frame.columns if not is_object(frame.schema[name])]
    return frame.select(kept)


def _data_files(folder: Path) -> list[str]:
    """The names of the files of a split."""
    where = folder / STATE
    files = _some(read_json(where), "_data_files", where)
    return [_plain(_field(one, "filename", where), where) for one in files]


def _plain(name: Any, where: Path) -> str:
    """The name of something that lies in the folder itself; raises SchemaError if it is none."""
    own = isinstance(name, str) and name not in ("", "..") and name == Path(name).name
    if own and name.isprintable() and len(name.encode()) <= _LONGEST_NAME:
        return str(name)
    raise SchemaError(
        "the name of a file or folder beside this one is required", found=repr(name), where=where
    )


_LONGEST_NAME = 255
"""Bytes of the name of a file, at most."""


def _features_of(folder: Path) -> Any:
    """What ``datasets`` says of the columns, of the first of several splits."""
    where = folder.joinpath(*_splits_of(folder)[:1], INFO)
    return _field(read_json(where), "features", where)


def is_object(dtype: pl.DataType) -> bool:
    """Whether values are of several fields, as pictures and sounds are: no ids, no labels."""
    return isinstance(dtype, pl.Struct) or dtype == pl.Binary


def _files_of(folder: Path) -> Iterator[Path]:
    """The files of a saved dataset that are read; another file in its folder is no part of it."""
    named = folder / SPLITS
    if named.is_file():
        yield named
    for split in _splits_of(folder) or [""]:
        names = (STATE, INFO, *_data_files(folder / split))
        yield from (path for name in names if (path := folder / split / name).is_file())


def _field(document: Any, name: str, path: Path) -> Any:
    if not isinstance(document, Mapping) or name not in document:
        raise SchemaError(
            f"a JSON object with {name!r} is required",
            found=first_cases(document) if isinstance(document, Mapping) else "another value",
            where=path,
        )
    return document[name]


def _some(document: Any, name: str, path: Path) -> list[Any]:
    listed = _field(document, name, path)
    if not isinstance(listed, list) or not listed:
        found = "none" if listed in ([], None) else repr(listed)
        raise SchemaError(
            f"a list of at least one of {name!r} is required", found=found, where=path
        )
    return listed

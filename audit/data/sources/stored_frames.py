"""What is read whole as a frame: a sheet of Excel, a folder that the library datasets saved."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import called, first_bytes, read_json, sha256_of
from audit.base.packages import require_package
from audit.data.sources.class_labels import class_names_of, with_class_names
from audit.data.sources.in_memory import Frame

if TYPE_CHECKING:
    from audit.data.known_nodes import KnownNodes

SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


class Sheet(Frame):
    """The only sheet with rows of a workbook; every cell is text, so that no zero is lost.

    A cell that holds a number has lost its zeros in the workbook already.
    """

    kind = "a sheet"

    def __init__(self, path: Path) -> None:
        super().__init__(_sheet_of(path))
        self.name = str(path)
        self.path = path
        self.files = (path,)
        self.suffix = path.suffix.lower()
        self.head = first_bytes(path)

    @cached_property
    def digest(self) -> str:
        return sha256_of(self.path)


def _sheet_of(path: Path) -> pl.DataFrame:
    require_package("fastexcel", "to read a workbook")
    import fastexcel

    try:
        workbook = fastexcel.read_excel(path)
        sheets = {
            name: pl.DataFrame(workbook.load_sheet(name, dtypes="string")).cast(pl.String)
            for name in workbook.sheet_names
        }
    except (fastexcel.FastExcelError, OSError) as error:
        raise InputError(
            "a workbook that can be read is required", found=str(error).split("\n")[0], where=path
        ) from None
    filled = {name: sheet for name, sheet in sheets.items() if not sheet.is_empty()}
    if len(filled) == 1:
        return next(iter(filled.values()))
    raise InputError(
        "a workbook with one sheet of rows is required",
        found=f"{len(filled)}: {first_cases(filled)}" if filled else "none",
        where=path,
        hint="save the sheet that is meant as a file of its own",
    )


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
        self._numbers = _dataset_of(folder)
        names = class_names_of(_features_of(folder), folder / INFO)
        super().__init__(with_class_names(self._numbers, names))
        self.name = str(folder)
        self.path = folder
        self.files = tuple(sorted(path for path in folder.rglob("*") if path.is_file()))
        self.head = b"ARROW1"

    def know(self, nodes: KnownNodes | None, *, named_classes: bool = False) -> None:
        super().know(nodes, named_classes=named_classes)
        if named_classes:
            self.frame = self._numbers

    @cached_property
    def digest(self) -> str:
        digests = "".join(map(sha256_of, self.files))
        return hashlib.sha256(digests.encode()).hexdigest()


def _dataset_of(folder: Path) -> pl.DataFrame:
    if not (folder / SPLITS).is_file():
        return _with_ids(_split(folder), "")
    names = _some(read_json(folder / SPLITS), "splits", folder / SPLITS)
    parts = [
        _with_ids(_split(folder / name), f"{name}/").with_columns(split=pl.lit(name))
        for name in names
    ]
    try:
        return pl.concat(parts)
    except pl.exceptions.PolarsError as error:
        raise SchemaError(
            "splits with the same columns are required",
            found=str(error).split("\n")[0],
            where=folder,
        ) from None


def _with_ids(frame: pl.DataFrame, prefix: str) -> pl.DataFrame:
    if called(frame.columns, ["id"]):
        return frame
    number = pl.int_range(pl.len()).cast(pl.String)
    return frame.with_columns(id=pl.lit(prefix) + number)


def _split(folder: Path) -> pl.DataFrame:
    files = _some(read_json(folder / STATE), "_data_files", folder / STATE)
    frame = pl.concat([_arrow(folder / _field(one, "filename", folder / STATE)) for one in files])
    kept = [name for name in frame.columns if not _is_object(frame.schema[name])]
    return frame.select(kept)


def _features_of(folder: Path) -> Any:
    """What ``datasets`` says of the columns, of the first of several splits."""
    if (folder / SPLITS).is_file():
        folder /= _some(read_json(folder / SPLITS), "splits", folder / SPLITS)[0]
    return _field(read_json(folder / INFO), "features", folder / INFO)


def _is_object(dtype: pl.DataType) -> bool:
    """Whether values are of several fields, as pictures and sounds are: no ids, no labels."""
    return isinstance(dtype, pl.Struct) or dtype == pl.Binary


def _field(document: Any, name: str, path: Path) -> Any:
    if not isinstance(document, Mapping) or name not in document:
        raise SchemaError(
            f"a JSON object with {name!r} is required",
            found=first_cases(document) if isinstance(document, Mapping) else "another value",
            where=path,
        )
    return document[name]


def _some(document: Any, name: str, path: Path) -> Any:
    listed = _field(document, name, path)
    if not listed:
        raise SchemaError(f"at least one of {name!r} is required", found="none", where=path)
    return listed


def _arrow(path: Path) -> pl.DataFrame:
    import pyarrow as pa

    try:
        with pa.OSFile(str(path)) as stream:
            return pl.DataFrame(pl.from_arrow(pa.ipc.open_stream(stream).read_all()))
    except (pa.ArrowException, OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            "a file of Arrow is required", found=str(error).split("\n")[0], where=path
        ) from None

"""A file of text, of Parquet, or of any other bytes; and a folder of the parts of one table."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from audit.base.columnar import parquet_schema, rows_of_parquet
from audit.base.errors import AuditError, InputError, SchemaError, first_cases
from audit.base.files import (
    SNIFFED_BYTES,
    files_in,
    first_bytes,
    in_text,
    is_gzip,
    open_bytes,
    read_bytes,
    read_lines,
    read_table,
    read_text,
    unpacked,
)
from audit.base.plain_copies import encoding_of
from audit.base.readings import Reading
from audit.base.text_tables import Preamble
from audit.data.class_names import ClassNames, class_names_in, with_class_names
from audit.data.sources.source import HEAD, Line, Source, as_cells, cells


class File(Source):
    """One file; text may be gzipped."""

    kind = "a file"

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path
        self.files = (path,)
        self.suffix = Path(path.name.lower().removesuffix(".gz")).suffix
        self.is_text = path.suffix.lower() != ".parquet"

    @cached_property
    def head(self) -> bytes:
        return first_bytes(self.path)

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        if self.is_text:
            return super().schema
        empty = pl.DataFrame(schema=parquet_schema(self.path))
        return dict(with_class_names(empty, self.class_names).schema)

    @cached_property
    def class_names(self) -> ClassNames:
        return {} if self.is_text or self.named_classes else class_names_in(self.path)

    @cached_property
    def head_rows(self) -> list[list[str]]:
        if self.is_text:
            return super().head_rows
        plain = {n: d for n, d in self.schema.items() if not (d.is_nested() or d == pl.Binary)}
        names = list(plain)
        return as_cells(next(self.frames(names, HEAD), pl.DataFrame(schema=names)).head(HEAD))

    def last_row(self, columns: list[str]) -> dict[str, Any]:
        with contextlib.suppress(AuditError, OSError, EOFError, ValueError, RecursionError):
            if not self.is_text:
                from audit.data.sources.arrow import gathered, row_groups

                last = max(0, rows_of_parquet(self.path) - 1)
                frames = gathered(row_groups(self.path, columns, 8 * HEAD, start=last), 1)
                named = (with_class_names(frame, self.class_names) for frame in frames)
                return next((row for frame in named for row in frame.to_dicts()), {})
            line = self._end.decode("utf-8-sig", errors="replace").strip().split("\n")[-1]
            if line.startswith("{"):
                return dict(json.loads(line))
            (row,) = cells([line], self.separator)
            return dict(zip(self.schema, row, strict=False))
        return {}  # what cannot be read is told by its reader

    @property
    def _end(self) -> bytes:
        packed, end = is_gzip(self.path), b""
        with unpacked(self.path) if packed else self.path.open("rb") as stream:
            if not packed:
                stream.seek(max(0, self.size - SNIFFED_BYTES))
            for block in iter(partial(stream.read, SNIFFED_BYTES), b""):
                end = (end + block)[-SNIFFED_BYTES:]
        return end

    def table(self, only: Collection[str] | None = None) -> pl.DataFrame:
        if only is None:
            whole = read_table(self.path, separator=self.separator, preamble=self.preamble)
            return with_class_names(whole, self.class_names)
        if self.is_text and self.preamble == Preamble():
            table = pl.scan_csv(self.path, separator=self.separator, infer_schema=False)
            read = table.with_columns(pl.exclude(*only).is_null())  # so that a broken row is seen
            with contextlib.suppress(pl.exceptions.PolarsError, OSError):
                return read.collect(engine="streaming").select(only)
        return self.table().select(only)

    def text(self) -> str:
        text, notes = read_text(self.path), self.preamble
        if not notes.lines:
            return text
        rows = text.split("\n", notes.lines)[-1]
        return "\n" * notes.before + ("" if notes.header is None else f"{notes.header}\n") + rows

    def lines(self) -> Iterator[Line]:
        return ((f"{self}:{number}", line) for number, line in read_lines(self.path))

    def streamed_lines(self) -> Iterator[Line]:
        number = 0
        try:
            content = unpacked(self.path) if is_gzip(self.path) else self.path.open("rb")
            with TextIOWrapper(content, encoding="utf-8-sig", newline="\n") as stream:
                for number, line in enumerate(stream, start=1):
                    if line.strip():
                        yield f"{self}:{number}", line
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise InputError(
                "whole lines of UTF-8 text are required",
                found=str(error),
                where=f"{self}:{number + 1}",
            ) from None

    def open(self) -> BinaryIO:
        return open_bytes(self.path)

    def batches(self, columns: list[str], at_once: int) -> Iterator[Any]:
        from audit.data.sources.arrow import row_groups, text_blocks

        if not self.is_text:
            return row_groups(self.path, columns, at_once)
        return text_blocks(self.path, columns, self.separator, self.preamble)


class CopiedFile(File):
    """A text that is read from a copy without what is no UTF-8, or no row of its table."""

    def __init__(self, path: Path, copy: Path, told: tuple[Reading, ...]) -> None:
        super().__init__(copy)
        self.name, self.files, self.told = str(path), (path,), told

    @cached_property
    def encoding(self) -> str | None:
        """The encoding of the text where the copy differs by that alone; else None."""
        (path,) = self.files
        encoding = encoding_of(path, first_bytes(path))
        if encoding is None:
            return None
        text, copy = read_bytes(path).decode(encoding), self.path.read_bytes().decode()
        return encoding if text.strip("\ufeff \r\n") == copy.strip("\ufeff \r\n") else None

    def table(self, only: Collection[str] | None = None) -> pl.DataFrame:
        try:
            return super().table(only)
        except AuditError as error:
            error.where = error.where.replace(str(self.path), self.name)
            raise


class Folder(Source):
    """A folder; files whose names begin with a dot or an underscore are not data.

    Its files, in the order of their names, are the parts of one table if they have the same suffix
    (but for ``.gz``) and no folder lies beside them.
    """

    kind = "a folder"

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path

    @cached_property
    def entries(self) -> tuple[File | Folder, ...]:
        """The files and folders in it, in the order of their names."""
        inside = files_in(self.path)
        return tuple(Folder(entry) if entry.is_dir() else File(entry) for entry in inside)

    @cached_property
    def files(self) -> tuple[Path, ...]:
        inside = (path for path in self.path.rglob("*") if path.is_file())
        return tuple(in_text(path for path in inside if _holds_data(path.relative_to(self.path))))

    @cached_property
    def parts(self) -> Sequence[Source]:
        entries = [entry for entry in self.entries if _holds_data(Path(entry.path.name))]
        files = [entry for entry in entries if isinstance(entry, File)]
        equal = len(files) == len(entries) and len({file.suffix for file in files}) == 1
        return tuple(files) if equal else ()

    def last_row(self, columns: list[str]) -> dict[str, Any]:
        return self.parts[-1].last_row(columns) if self.parts else {}

    @cached_property
    def is_text(self) -> bool:
        return bool(self.parts) and self.parts[0].is_text

    @cached_property
    def suffix(self) -> str:
        return self.parts[0].suffix if self.parts else ""

    @cached_property
    def head_lines(self) -> list[str]:
        self.require_parts()
        return self.parts[0].head_lines

    @cached_property
    def preamble(self) -> Preamble:
        return self.parts[0].preamble if self.parts else Preamble()

    @cached_property
    def head_rows(self) -> list[list[str]]:
        self.require_parts()
        return self.parts[0].head_rows

    @cached_property
    def class_names(self) -> ClassNames:
        """Those of every part; raises SchemaError if two parts differ."""
        for part in self.parts:
            if part.class_names != self.parts[0].class_names:
                raise SchemaError("every file of a folder must name classes alike", where=part)
        return self.parts[0].class_names if self.parts else {}

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns of every part; raises SchemaError if two parts differ."""
        self.require_parts()
        first = self.parts[0]
        for part in self.unlike:
            raise SchemaError(
                f"every file of a folder must have the columns of {first}, in the same order "
                "and with the same types",
                found=_difference(part.schema, first.schema),
                where=part,
                hint="leave only the parts of one table in the folder, or give a single file",
            )
        return first.schema

    @property
    def unlike(self) -> Iterator[Source]:
        """The parts whose columns are not those of the first one."""
        for part in self.parts:
            if list(part.schema.items()) != list(self.parts[0].schema.items()):
                yield part

    def table(self, only: Collection[str] | None = None) -> pl.DataFrame:
        if not self.schema:  # the parts must agree, and be tables, before any of them is read
            raise self._lacking("a table")
        return pl.concat([part.table(only) for part in self.parts])

    def lines(self) -> Iterator[Line]:
        return chain.from_iterable(part.lines() for part in self.parts)

    def streamed_lines(self) -> Iterator[Line]:
        return chain.from_iterable(part.streamed_lines() for part in self.parts)

    def batches(self, columns: list[str], at_once: int) -> Iterator[Any]:
        return chain.from_iterable(part.batches(columns, at_once) for part in self.parts)

    def require_parts(self) -> None:
        if not self.parts:
            raise InputError(
                "a folder of files with the same suffix, the parts of one table, is required",
                found=first_cases(entry.path.name for entry in self.entries) or "an empty folder",
                where=self,
            )


def _holds_data(path: Path) -> bool:
    return not any(part.startswith((".", "_")) for part in path.parts)


def _difference(schema: Mapping[str, pl.DataType], first: Mapping[str, pl.DataType]) -> str:
    """How the columns of a part differ from those of the first one."""
    both = [name for name in first if name in schema]
    differing = {
        "lacking": [name for name in first if name not in schema],
        "further": [name for name in schema if name not in first],
        "of another type": [
            f"{name}: {schema[name]}, not {first[name]}"
            for name in both
            if schema[name] != first[name]
        ],
    }
    differences = [f"{word} {first_cases(names)}" for word, names in differing.items() if names]
    return "; ".join(differences) or "the columns in another order"


PACKED = 5
"""How many times as long gzipped text is taken to be as its file."""


def estimated_rows(dataset: str | Path) -> int:
    """Rows of a file, or of the parts of one table in a folder; 0 where that cannot be said.

    Parquet says how many values it has, those in lists included. Text has as many rows as its
    length allows, if all lines are as long as the first ones. Texts in a folder are parts of one
    table if they begin with the same line.
    """
    place, rows, first = Path(dataset), 0, None
    with suppress(AuditError, OSError, ValueError):  # the reader of the data refuses them
        for file in files_in(place) if place.is_dir() else [place]:
            if file.suffix.lower() == ".parquet":
                rows += _values_in(file)
                continue
            head = first_bytes(file)
            if b"\0" in head:  # no text
                return 0
            line = head.partition(b"\n")[0]
            if first not in (None, line):
                return 0
            first = line
            length = file.stat().st_size * (PACKED if is_gzip(file) else 1)
            rows += length * head.count(b"\n") // max(len(head), 1)
        return rows
    return 0


LARGE, MANY = 2**26, 1_000_000
"""Numbers of bytes and of rows from which a table is large; Parquet packs many into few bytes."""


def is_large(source: Source) -> bool:
    """Whether columns are looked for in the first rows of a source alone."""
    return source.size >= LARGE or sum(map(estimated_rows, source.files)) >= MANY


def _values_in(file: Path) -> int:
    import pyarrow.parquet as pq

    found = pq.read_metadata(file)
    groups = (found.row_group(number) for number in range(found.num_row_groups))
    return sum(
        max(group.column(number).num_values for number in range(group.num_columns))
        for group in groups
    )

"""A file of text, of Parquet, or of any other bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from functools import cached_property
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from audit.base.errors import InputError
from audit.base.files import (
    first_bytes,
    is_gzip,
    open_bytes,
    parquet_schema,
    read_lines,
    read_table,
    read_text,
    unpacked,
)
from audit.data.sources.class_labels import ClassNames, class_names_in, with_class_names
from audit.data.sources.source import HEAD, Line, Source, as_cells


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

    def table(self, only: Collection[str] | None = None) -> pl.DataFrame:
        if only is None:
            whole = read_table(self.path, separator=self.separator)
            return with_class_names(whole, self.class_names)
        if self.is_text:
            table = pl.scan_csv(self.path, separator=self.separator, infer_schema=False)
            read = table.with_columns(pl.exclude(*only).is_null())  # so that a broken row is seen
            with contextlib.suppress(pl.exceptions.PolarsError, OSError):
                return read.collect(engine="streaming").select(only)
        return self.table().select(only)

    def text(self) -> str:
        return read_text(self.path)

    def lines(self) -> Iterator[Line]:
        return ((f"{self.path}:{number}", line) for number, line in read_lines(self.path))

    def streamed_lines(self) -> Iterator[Line]:
        number = 0
        try:
            content = unpacked(self.path) if is_gzip(self.path) else self.path.open("rb")
            with TextIOWrapper(content, encoding="utf-8-sig", newline="\n") as stream:
                for number, line in enumerate(stream, start=1):
                    if line.strip():
                        yield f"{self.path}:{number}", line
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise InputError(
                "whole lines of UTF-8 text are required",
                found=str(error),
                where=f"{self.path}:{number + 1}",
            ) from None

    def open(self) -> BinaryIO:
        return open_bytes(self.path)

    def batches(self, columns: list[str], at_once: int, start: int) -> Iterator[Any]:
        from audit.data.sources.arrow import passed, row_groups, text_blocks

        if not self.is_text:
            return row_groups(self.path, columns, at_once, start)
        return passed(text_blocks(self.path, columns, self.separator), start)

"""Tables of Arrow: files of Parquet and streams, looked through before anything relies on them."""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError, SchemaError
from audit.base.limits import EXPANSION, UNPACKED
from audit.base.reading import reading

_WIDTHS = {"BOOLEAN": 0.125, "INT32": 4.0, "FLOAT": 4.0, "BYTE_ARRAY": 16.0}
"""Bytes that a value of a type of Parquet takes at least; of the other types 8."""
_AT_ONCE = 4_096
"""Rows that are unpacked at a time."""


def parquet_schema(path: Path) -> dict[str, pl.DataType]:
    """Names and types of the columns of a Parquet file; raises InputError if it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _reading(path):
        empty = pa.Table.from_batches([], pq.read_schema(path))  # `empty_table` imports pandas
        return dict(polars_of(without_metadata(empty)).schema)


def rows_of_parquet(path: Path) -> int:
    """Number of rows of a Parquet file."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def polars_of(table: Any) -> pl.DataFrame:
    """An Arrow table as a frame; a column without a name stays one, which Polars would name."""
    frame = pl.DataFrame(pl.from_arrow(table))
    unnamed = dict(zip(frame.columns, table.column_names, strict=True))
    return frame.rename({name: "" for name, own in unnamed.items() if own == ""})


def without_metadata(table: Any) -> Any:
    """An Arrow table or batch without keys and values beside it and its columns.

    They need not be text, and make Polars panic where they are not.
    """
    import pyarrow as pa

    _refuse_names(table.schema)
    schema = pa.schema([field.remove_metadata() for field in table.schema])
    return type(table).from_arrays(table.columns, schema=schema)


def plain_batch(batch: Any, where: str) -> Any:
    """A batch whose columns have no types of a driver; refuses texts with null characters."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        column = column.storage if isinstance(column, pa.ExtensionArray) else column
        column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        if pa.types.is_string(column.type) and pc.any(pc.match_substring(column, "\0")).as_py():
            required, found = "texts without null characters are required", f"some in {name!r}"
            hint = "leave them out: replace(..., chr(0), ''), in SQLite char(0)"
            raise SchemaError(required, found=found, where=where, hint=hint)
        columns.append(column)
    return without_metadata(pa.RecordBatch.from_arrays(columns, names=batch.schema.names))


def _refuse_names(fields: Iterable[Any]) -> None:
    """Raise ValueError where a name of a field cannot be handed on; Polars would panic."""
    for field in fields:
        if "\0" in field.name:
            raise ValueError(f"the name {field.name!r}, which holds a null character")
        _refuse_names(field.type.field(n) for n in range(field.type.num_fields))


def read_parquet(path: Path) -> pl.DataFrame:
    """The table of a Parquet file; raises InputError if it is damaged, or unpacks to very much."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.is_file() and path.stat().st_size == 0:
        raise InputError("a file with content is required", found="an empty file", where=path)
    with _reading(path):
        pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own keeps what it frees
        with pq.ParquetFile(path, memory_map=True) as file:
            refuse_large_parquet(path, file)
            batches = _sound(file.iter_batches(_AT_ONCE), path)
            return polars_of(pa.Table.from_batches(batches, file.schema_arrow.remove_metadata()))


def refuse_large_parquet(path: Path, file: Any, columns: Collection[str] | None = None) -> None:
    """Refuse a Parquet file, or ``columns`` of it, that would unpack to very much, before it does.

    What each part states is added up. A text of a dictionary may stand in every row: where that
    could be too much, the numbers of its rows are read, without the texts that they stand for.
    """
    refuse_damaged_parts(path, file)
    allowed = EXPANSION * path.stat().st_size
    stated, most, suspects = 0.0, 0, set[str]()
    for group in range(file.num_row_groups):
        parts = file.metadata.row_group(group)
        for place in range(parts.num_columns):
            part, column = parts.column(place), file.schema.column(place)
            if columns is not None and column.path.split(".")[0] not in columns:
                continue
            values = part.num_values
            width = _WIDTHS.get(part.physical_type, max(8, column.length))
            stated += max(values * width, part.total_uncompressed_size)
            if part.physical_type == "BYTE_ARRAY" and part.has_dictionary_page:
                suspects.add(column.path)
                most += values * _longest(path, group, column.path)
    UNPACKED.refuse_beyond(int(stated), path, allowed=allowed)
    if stated + most > UNPACKED.in_force(allowed):
        texts = _size_of_texts(path, sorted(suspects))
        UNPACKED.refuse_beyond(int(stated) + texts, path, allowed=allowed)


class _Unread(io.RawIOBase):
    """Stands for a file of which nothing but its size is known."""

    def __init__(self, size: int) -> None:
        self._size = size

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._size

    def tell(self) -> int:
        return self._size

    def read(self, size: int = -1) -> bytes:
        raise EOFError


def refuse_damaged_parts(path: Path, file: Any) -> None:
    """Refuse a Parquet file where what a part states contradicts itself, before any is looked at.

    Looking at such a part ends the process (``RowGroupMetaData.column`` of pyarrow hands on no
    error of Arrow). Who reads with ``pre_buffer`` looks at all parts and hands the error on, before
    the first byte is read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _reading(path), contextlib.suppress(EOFError):
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        if any(group.num_columns != len(file.schema) for group in groups):
            raise ValueError("a row group with other columns than the file")
        unread = pa.PythonFile(_Unread(path.stat().st_size))
        next(pq.ParquetFile(unread, metadata=file.metadata, pre_buffer=True).iter_batches(1), None)


def _longest(path: Path, group: int, column: str) -> int:
    """Bytes of the longest text in the dictionary of a part of a column."""
    import pyarrow.compute as pc

    for words, _ in _dictionaries(path, [column], rows=1, groups=[group]):
        return pc.max(pc.binary_length(words)).as_py() or 0
    return 0


def _size_of_texts(path: Path, columns: list[str]) -> int:
    """Bytes of the texts that the rows of some columns stand for."""
    import pyarrow.compute as pc

    pieces = _dictionaries(path, columns, rows=_AT_ONCE)
    return sum(pc.sum(pc.binary_length(words).take(own)).as_py() or 0 for words, own in pieces)


def _dictionaries(
    path: Path, columns: list[str], rows: int, groups: list[int] | None = None
) -> Iterator[tuple[Any, Any]]:
    """Different texts of columns, and the number of that of each row, piece by piece."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with (
        contextlib.suppress(OSError, pa.ArrowException),  # who reads the rows says what is damaged
        pq.ParquetFile(path, memory_map=True, read_dictionary=columns) as file,
    ):
        for batch in file.iter_batches(rows, row_groups=groups, columns=columns):
            for array in batch.columns:
                while hasattr(array, "flatten") and not pa.types.is_dictionary(array.type):
                    parts = array.flatten()
                    array = parts[0] if isinstance(parts, list) else parts
                if pa.types.is_dictionary(array.type):
                    yield array.dictionary, array.indices


def read_stream(path: Path) -> pl.DataFrame:
    """The table of a stream of Arrow; raises InputError if it is damaged, or very large."""
    import pyarrow as pa

    with _reading(path, "a file of Arrow"), pa.memory_map(str(path)) as file:
        stated = sum(map(_stated_by, pa.ipc.MessageReader.open_stream(file)))
        UNPACKED.refuse_beyond(stated, path, allowed=EXPANSION * path.stat().st_size)
        file.seek(0)
        with pa.ipc.open_stream(file) as stream:
            batches = _sound(stream, path)
            return polars_of(pa.Table.from_batches(batches, stream.schema.remove_metadata()))


_DICTIONARY, _BATCH = 2, 3
"""Kinds of messages of Arrow that hold values."""


def _stated_by(message: Any) -> int:
    """Bytes that the packed buffers of a message of Arrow say that they unpack to.

    It is found as the format of FlatBuffers lays it out (Message.fbs of Arrow): tables of offsets
    to fields, and a vector of the place and length of each buffer, which begins with its size.
    """
    content, body = memoryview(message.metadata), message.body
    root = _number(content, "<I", 0)
    kind, header = _field(content, root, 1), _field(content, root, 2)
    if kind is None or header is None or content[kind] not in (_DICTIONARY, _BATCH):
        return 0
    batch: int | None = header + _number(content, "<I", header)
    if content[kind] == _DICTIONARY and batch is not None:
        inner = _field(content, batch, 1)
        batch = None if inner is None else inner + _number(content, "<I", inner)
    buffers = None if batch is None else _field(content, batch, 2)
    if batch is None or buffers is None or _field(content, batch, 3) is None:
        return 0
    start = buffers + _number(content, "<I", buffers)
    places = range(start + 4, start + 4 + 16 * _number(content, "<I", start), 16)
    begins = [_number(content, "<q", place) for place in places if content[place + 8 : place + 16]]
    held = memoryview(body)
    return sum(max(0, _number(held, "<q", at)) for at in begins if 0 <= at <= len(held) - 8)


def _field(content: memoryview, table: int, number: int) -> int | None:
    """Where a field of a table of FlatBuffers is; None if it is not stated."""
    names = table - _number(content, "<i", table)
    place = 4 + 2 * number
    if place >= _number(content, "<H", names):
        return None
    return table + offset if (offset := _number(content, "<H", names + place)) else None


def _number(content: memoryview, kind: str, place: int) -> int:
    if place < 0:
        raise ValueError("a place before the first byte")
    return int(struct.unpack_from(kind, content, place)[0])


def _sound(batches: Iterable[Any], path: Path) -> Iterator[Any]:
    """Batches, each looked through; raises InputError if they unpack to very much."""
    size, allowed = 0, EXPANSION * path.stat().st_size
    for batch in batches:
        batch.validate(full=True)  # no reader looks whether text is UTF-8, or offsets are in order
        size += sum(map(_room, batch.columns))
        UNPACKED.refuse_beyond(size, path, allowed=allowed, whole=False)
        yield without_metadata(batch)


def _room(array: Any) -> int:
    """Bytes that an array takes, where Polars keeps every value, also one that Arrow implies."""
    import pyarrow as pa

    if isinstance(array, pa.DictionaryArray):
        return _room(array.indices)
    if isinstance(array, pa.ExtensionArray):
        return _room(array.storage)
    implied = array.nbytes < len(array) // 8
    return max(int(array.nbytes), 16 * len(array) if implied else 0)


@contextlib.contextmanager
def _reading(path: Path, required: str = "a Parquet file") -> Iterator[None]:
    """Turn what Arrow raises into one InputError.

    Polars' own reader prints the stack of a panic, or ends the process, on some damaged files.
    """
    import pyarrow as pa

    with reading(path):
        try:
            yield
        except (
            pl.exceptions.PolarsError,
            pl.exceptions.PanicException,
            pa.ArrowException,
            UnicodeDecodeError,  # of a name of a column
            struct.error,
            ValueError,
            IndexError,
        ) as error:
            raise InputError(
                f"{required} is required", found=str(error).split("\n")[0], where=path
            ) from None

"""Tables of databases: the rows of a query, or of a table, some at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from audit.base.connections import POSTGRESQL, SQLITE, Connection, connected
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.frames import digest_of
from audit.base.stored_tables import frame_of_batch
from audit.base.table import HEAD, Table, gathered

_WORDS = ("select", "with", "values", "table", "from")
"""What a query that reads begins with."""
_APART = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(\$\w*\$).*?\1|--[^\n]*|/\*.*?\*/", re.DOTALL
)
"""Texts, quoted names and comments of SQL."""
_NAME = re.compile(r'[\w$]+(?:\.[\w$]+)*|"[^"\0]+"(?:\."[^"\0]+")*')


def sql_tables(data: Any, query: str | None, table: str | None) -> tuple[Table, ...]:
    """The rows of a query or a table of a database, else all tables that need no schema before.

    Args:
        data: The address of a database, a connection to one, or a relation of DuckDB.

    Raises:
        InputError: If nothing there can be read, or the query does more than to read.
    """
    found = connected(data)
    if query is not None and table is not None:
        required = "--sql QUERY or --table NAME is required"
        raise InputError(required, found="both", where=found.name)
    if query is not None:
        return (_table(found, found.name, _one_query(query, found.name)),)
    names = found.names() if table is None else [table]
    if not names:
        required = "--sql QUERY or --table NAME must say which rows are read"
        raise InputError(required, found="neither, and no table", where=found.name)
    called = (found.name if len(names) == 1 else f"{found.name}: {name}" for name in names)
    own = (f"SELECT * FROM {name if _NAME.fullmatch(name) else _quoted(name)}" for name in names)
    return tuple(_table(found, name, asked) for name, asked in zip(called, own, strict=True))


def _one_query(query: str, where: str) -> str:
    """The query without what ends it."""
    bare = _APART.sub(lambda found: ("x" if found[0][0] in "'\"$" else " ") * len(found[0]), query)
    whole = bare.rstrip("; \t\r\n\f")
    (first,) = re.findall(r"^[\s(]*(\w*)", whole)
    if ";" in whole or "\0" in query or first.lower() not in _WORDS:
        found = "two statements" if ";" in whole else f"one that begins with {first!r}"
        raise InputError("one query that reads rows is required", found=found, where=where)
    return query[: len(whole)].strip()


def _table(base: Connection, name: str, query: str, order: Sequence[str] = ()) -> Table:
    rows = f"FROM (\n{query}\n) AS audit_rows"
    if base.kind is not POSTGRESQL:  # others rename what a query within a query repeats
        with base.reader(query) as reader:
            _refuse_repeated(reader.schema.names, base.name)
    schema = _schema(base, f"SELECT * {rows} LIMIT {HEAD}")

    def column(own: str) -> str:
        """Cells of SQLite may be of any type, whatever that of their column."""
        text = base.kind is SQLITE and schema[own] == pl.String()
        return f"CAST({_quoted(own)} AS TEXT) AS {_quoted(own)}" if text else _quoted(own)

    def binary(own: str) -> str:
        order = base.kind.binary if schema[own] == pl.String() else ""
        return f"{_quoted(own)} {order} NULLS FIRST"

    def frames(columns: Iterable[str], order: Iterable[str] = order) -> Iterator[pl.DataFrame]:
        by = ", ".join(map(binary, order))
        chosen = ", ".join(map(column, columns))
        with base.reader(f"SELECT {chosen} {rows}{by and f' ORDER BY {by}'}") as reader:
            yield from map(frame_of_batch, reader)

    return Table(
        name=name,
        schema=schema,
        scan=lambda columns, at_once: gathered(frames(columns), at_once),
        hashing=lambda: digest_of(frames(schema, schema)),
        queried={"path": base.name, "driver": base.driver, "query": query},
        ordered=lambda by: _table(base, name, query, by),
    )


def _schema(base: Connection, query: str) -> dict[str, pl.DataType]:
    """Types of the columns by the first rows; text where these are empty in SQLite."""
    with base.reader(query) as reader:
        _refuse_repeated(reader.schema.names, base.name)
        frames = [frame_of_batch(reader.schema.empty_table()), *map(frame_of_batch, reader)]
    head = pl.concat(frames)
    nothing = [one.name for one in head if base.kind is SQLITE and one.null_count() == len(head)]
    return dict(head.schema) | dict.fromkeys(nothing, pl.String())


def _refuse_repeated(names: list[str], where: str) -> None:
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        required, found = "columns of different names are required", first_cases(twice)
        raise SchemaError(required, found=found, where=where, hint="name them by AS")


def _quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'

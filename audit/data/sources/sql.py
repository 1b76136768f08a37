"""SQL: the rows of a query, or of a table, of a database."""

from __future__ import annotations

import hashlib
import weakref
from collections import defaultdict
from collections.abc import Collection, Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import polars as pl

from audit.base.columnar import plain_batch
from audit.base.databases import DUCKDB, SQLITE, Kind, Opened, kind_of, telling
from audit.base.disk import PassingFolder
from audit.base.errors import SchemaError, first_cases
from audit.base.queries import query_of, quoted, reader_of
from audit.data.sources.in_memory import Frame, hashed
from audit.data.sources.source import HEAD, Source, as_cells

_SORTING = "100MB"
"""Memory in which DuckDB brings the rows of instances together."""


def database(found: Opened, query: str | None, table: str | None) -> Query:
    """The rows of a query, or of a table, of a database, in one transaction."""
    query = query_of(query, table, found.name)
    source = Query(found.connection, query, found.name, found.driver, found.kind)
    source.ended, source.given = found.closed_with(source), found.given
    return source


def is_connection(data: object) -> bool:
    """Whether data are a connection that runs queries, or a relation of DuckDB."""
    return hasattr(type(data), "cursor") or hasattr(type(data), "sql_query")


def queried(data: Any, query: str | None, table: str | None) -> Query:
    """The rows of a query of a connection (ADBC, DuckDB or DB-API), or of a relation of DuckDB.

    They are read in the connection's own transaction, and the connection stays open.
    """
    found = reached(data)
    if hasattr(data, "sql_query"):
        name, data = "a relation", _Relation(data)
        query = "SELECT * FROM audit_relation" if query is None and table is None else query
        found = replace(found, name=name, connection=data, kind=kind_of(data))
    return database(found, query, table)


def reached(data: Any) -> Opened:
    """A connection of Python, which stays open."""
    driver = type(data).__module__.strip("_").split(".")[0]
    kind = kind_of(data) if hasattr(data, "cursor") else None
    return Opened(data, kind, driver, "a connection", own=False, given=True)


class _Relation:
    """A relation of DuckDB as a connection, in which it goes by a name."""

    def __init__(self, relation: Any) -> None:
        self._relation = relation

    def sql(self, query: str) -> Any:
        return self._relation.query("audit_relation", query)


class Query(Frame):
    """The rows of a query, reached some at a time until they are loaded.

    Args:
        name: The address, without what must not be told.
        kind: The kind of database; None: another one, of a connection of Python.
    """

    kind = "a query of a database"
    ended: weakref.finalize[..., Any] | None = None
    """What closes a connection that is the source's own."""
    given = False
    """Whether the user made the connection."""
    _ordered = False
    _whole: Query | None = None
    _sorted: PassingFolder | None = None
    """Where DuckDB, which runs in this process, sorts what `_SORTING` does not hold."""

    def __init__(
        self, connection: Any, query: str, name: str, driver: str, kind: Kind | None
    ) -> None:
        Source.__init__(self, name)
        self.connection, self.query, self.base = connection, query, kind
        self.queried = {"path": name, "driver": driver, "query": query}
        self._hashes: dict[tuple[str, int], Any] = defaultdict(hashlib.sha256)

    def load(self) -> None:
        try:
            self.frame  # noqa: B018 - it is read, and kept
        finally:
            self.close()

    def close(self) -> None:
        if self.ended is not None:
            self.ended()

    @cached_property
    def frame(self) -> pl.DataFrame:  # type: ignore[override]
        """All rows, in the order in which the query gives them."""
        return self.read(self.query)

    @property
    def _loaded(self) -> bool:
        return "frame" in vars(self)

    @cached_property
    def _head(self) -> pl.DataFrame:
        return self.frame if self._loaded else self.read(f"{self._select()} LIMIT {HEAD}")

    @property
    def digest(self) -> str:
        """SHA-256 of names and values of the rows, whatever their order; in batches once read."""
        if self._loaded and not self._hashes:
            self._hash(self.frame.sort(self.frame.columns))
        parts = [(*place, made.hexdigest()) for place, made in self._hashes.items()]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    @cached_property
    def size(self) -> int:
        return super().size if self._loaded else 2**63 - 1

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        found, height = dict(self._head.schema), self._head.height
        nothing = [one.name for one in self._head if one.null_count() == height]
        return found | (dict.fromkeys(nothing, pl.String()) if self.base is SQLITE else {})

    @cached_property
    def head_rows(self) -> list[list[str]]:
        return as_cells(self._head.head(HEAD))

    def last_row(self, columns: list[str]) -> dict[str, Any]:
        return super().last_row(columns) if self._loaded else {}

    def table(self, only: Collection[str] | None = None) -> pl.DataFrame:
        if only is None or self._loaded:
            return super().table(only)
        return self.read(self._select(*only))

    def by_instance(self) -> Query:
        ordered = copy(self)
        ordered._ordered, ordered._whole = True, self  # which is closed with its last use
        if self.base is DUCKDB and not self.given:
            ordered._sorted = PassingFolder()
            folder = str(ordered._sorted.path).replace("'", "''")
            self.connection.execute(f"SET temp_directory = '{folder}'")
            self.connection.execute(f"SET memory_limit = '{_SORTING}'")
            self.connection.execute("SET threads = 1")  # several hold on to what they sorted in
        return ordered

    def batches(self, columns: list[str], at_once: int) -> Iterator[Any]:
        from audit.data.sources.arrow import frame_of_batches

        if self._loaded:
            yield from super().batches(columns, at_once)
            return
        query = self._select(*columns)
        if self._ordered:
            query += f" ORDER BY {', '.join(map(self._in_bytes, columns))}"
            self._hashes.clear()
        for batch in self._batches(query):
            if self._ordered:
                self._hash(frame_of_batches([batch]))
            yield batch

    def refuse_numbers(self, instance: str, label: str | None = None) -> None:
        try:
            super().refuse_numbers(instance, label)
        except SchemaError as error:
            error.hint = "have the query make it text, with cast(... as text); of codes that have "
            error.hint += "lost zeros, lpad(cast(... as text), 5, '0') makes those of one length"
            raise

    def _select(self, *columns: str) -> str:
        chosen = ", ".join(map(self._column, columns)) or "*"
        return f"SELECT {chosen} FROM (\n{self.query}\n) AS audit_rows"

    def _column(self, name: str) -> str:
        """A column by its name; texts of SQLite are made texts, whose cells may be of any type."""
        own = quoted(name)
        text = self.base is SQLITE and self.schema.get(name) == pl.String()
        return f"CAST({own} AS TEXT) AS {own}" if text else own

    def _in_bytes(self, name: str) -> str:
        text = self.base is not None and self.schema.get(name) == pl.String()
        binary = f"{self.base.binary} " if text and self.base else ""
        return f"{quoted(name)} {binary}NULLS FIRST"

    def _hash(self, rows: pl.DataFrame) -> None:
        """Add rows to the hashes of each column, which do not depend on where frames end."""
        for column in rows:
            for place, values in enumerate(hashed(column)):
                self._hashes[column.name, place].update(values)

    def read(self, query: str) -> pl.DataFrame:
        from audit.data.sources.arrow import frame_of_batches

        return frame_of_batches([*self._batches(query, empty=True)])

    def _batches(self, query: str, *, empty: bool = False) -> Iterator[Any]:
        """Batches of Arrow; the first one has no rows where ``empty``, and tells the columns."""
        from audit.data.sources.arrow import without_rows

        with (
            telling(self.name),
            reader_of(self.connection, query, self.base) as reader,
        ):
            names = reader.schema.names
            if len({*names}) < len(names):
                twice = first_cases(name for name in dict.fromkeys(names) if names.count(name) > 1)
                required = "columns of different names are required"
                raise SchemaError(required, found=twice, where=self, hint="name them by AS")
            if empty:
                yield plain_batch(without_rows(reader.schema), self.name)
            for batch in reader:
                yield plain_batch(batch, self.name)

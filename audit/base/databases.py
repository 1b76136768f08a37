"""Databases: rows of a query or a table of PostgreSQL, SQLite or DuckDB, some at a time.

All is read in one transaction, which may not write.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import parse_qs, quote, urlsplit

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.machine import require_package
from audit.base.settings import told_address
from audit.base.stored_tables import frame_of_batch
from audit.base.table import HEAD, Table, digest_of, gathered

_AT_ONCE = 65_536
"""Rows that a driver gives at once, where it can be told."""
_FROM_DRIVER = re.compile(r"^.*?(?:ERROR|FATAL): +|^[A-Z_]+: |\[\w+\] ", re.DOTALL)
"""What a driver says before what the database says."""
_NAME = re.compile(r'[\w$]+(?:\.[\w$]+)*|"[^"\0]+"(?:\."[^"\0]+")*')


@dataclass(frozen=True)
class _Kind:
    """A kind of database, its driver, the collation by bytes, and the query of its tables."""

    title: str
    package: str
    open: Callable[[str], Any]
    binary: str
    tables: str


def _postgresql(address: str) -> Any:
    from adbc_driver_postgresql import dbapi

    connection = dbapi.connect(address)
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    return connection


def _sqlite(address: str) -> Any:
    from adbc_driver_sqlite import dbapi

    connection = dbapi.connect(f"file:{quote(str(_file(address)))}?mode=ro")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = 1")
        cursor.fetchall()
    return connection


def _duckdb(address: str) -> Any:
    import duckdb

    connection = duckdb.connect(str(_file(address)), read_only=True)
    for name in ("autoinstall_known_extensions", "autoload_known_extensions"):
        connection.execute(f"SET {name} = false")
    return connection


def _file(address: str) -> Path:
    scheme, _, rest = address.partition("://")
    path = Path(rest[1:])
    if not (rest.startswith("/") and path.is_file()):
        hint = f"{scheme}:///FILE names a file"
        raise InputError("a file is required", found="none", where=address, hint=hint)
    return path.absolute()


def scheme_of(path: Path) -> str:
    """Scheme of the address of a file of SQLite or DuckDB; empty for any other file."""
    with path.open("rb") as stream:
        head = stream.read(12)
    return "sqlite" if head.startswith(b"SQLite") else "duckdb" if head[8:12] == b"DUCK" else ""


_NAMES = (
    "SELECT table_name FROM information_schema.tables "
    "WHERE table_schema = ANY(current_schemas(false)) ORDER BY 1"
)
_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1"
_SQLITE = _Kind("SQLite", "adbc_driver_sqlite", _sqlite, "COLLATE BINARY", _TABLES)
_DUCKDB = _Kind("DuckDB", "duckdb", _duckdb, "COLLATE C", "SHOW TABLES")
_KINDS: Mapping[str, _Kind] = {
    "sqlite": _SQLITE,
    "duckdb": _DUCKDB,
    **dict.fromkeys(
        ("postgresql", "postgres"),
        _Kind("PostgreSQL", "adbc_driver_postgresql", _postgresql, 'COLLATE "C"', _NAMES),
    ),
}
"""The databases that are read, by the scheme of their addresses."""


@dataclass(frozen=True, eq=False)
class _Connection:
    """A connection in one transaction, which ends with this object; the name may be told."""

    raw: Any
    kind: _Kind
    name: str

    @contextmanager
    def reader(self, query: str) -> Iterator[Any]:
        """A reader of batches of Arrow that answer a query; what drivers raise is one error."""
        with _telling(self.name), closing(self.raw.cursor()) as cursor:
            if self.kind is _SQLITE:  # which tells types by the first rows
                rows = {"adbc.sqlite.query.batch_rows": str(_AT_ONCE)}
                cursor.adbc_statement.set_options(**rows)
            if self.kind is _DUCKDB:
                batches = cursor.sql(query).to_arrow_reader(_AT_ONCE)
            else:
                cursor.execute(query)
                batches = cursor.fetch_record_batch()
            with closing(batches) as reader:
                yield reader


_SHARED: ContextVar[dict[str, _Connection] | None] = ContextVar("connections", default=None)


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Reach each address by one connection within the block, so that all is of one moment."""
    shared = _SHARED.get()
    before = _SHARED.set({} if shared is None else shared)
    try:
        yield
    finally:
        _SHARED.reset(before)


def is_database(data: object) -> TypeGuard[str]:
    """Whether data are the address of a database."""
    return isinstance(data, str) and "://" in data and data.partition("://")[0] in _KINDS


def _connected(address: str) -> _Connection:
    """The connection to an address, new unless `one_snapshot` has one; InputError if it fails."""
    shared = _SHARED.get()
    if shared is not None and address in shared:
        return shared[address]
    kind, parts = _KINDS[address.partition("://")[0]], urlsplit(address)
    told = told_address(address)
    if parts.password is not None or "password" in parse_qs(parts.query):
        raise InputError(
            "an address without a password is required, since others can read command lines",
            found="an address with a password",
            where=told,
            hint="state it in PGPASSWORD, or in ~/.pgpass",
        )
    require_package(kind.package, f"to read {kind.title}")
    with _telling(told):
        raw = kind.open(address)
    made = _Connection(raw, kind, told)
    weakref.finalize(made, raw.close)
    if shared is not None:
        shared[address] = made
    return made


@contextmanager
def _telling(where: str) -> Iterator[None]:
    """Turn what drivers raise into one InputError."""
    import pyarrow as pa

    try:
        yield
    except Exception as error:
        named = any(kind.__name__ == "Error" for kind in type(error).__mro__)
        if not (named or isinstance(error, (OSError, pa.ArrowException))):
            raise
        said = _FROM_DRIVER.sub("", str(error).strip()).strip().split("\n")[0]
        hint = "cast(... as text) has all cells of a column read as text" * ("mismatch" in said)
        required = "a database that answers the query is required"
        raise InputError(required, found=said, where=where, hint=hint) from None


def sql_tables(address: str, query: str | None, table: str | None) -> tuple[Table, ...]:
    """The rows of a query or of a table; if neither, of each table whose name needs no schema.

    Raises:
        InputError: If the address has a password, nothing there can be read, the query does more
            than to read, both are named, or neither and there is no table.
    """
    base = _connected(address)
    if query is not None and table is None:
        return (_table(base, base.name, query.rstrip("; \t\r\n\f")),)
    if table is not None:
        names = [table]
    else:
        with base.reader(base.kind.tables) as reader:
            names = [name for batch in reader for name in batch.column(0).to_pylist()]
    if query is not None or not names:
        required = "either --sql QUERY or --table NAME must say which rows are read"
        found = "both" if names else "neither, and no table"
        raise InputError(required, found=found, where=base.name)
    called = (base.name if len(names) == 1 else f"{base.name}: {name}" for name in names)
    own = (f"SELECT * FROM {name if _NAME.fullmatch(name) else _quoted(name)}" for name in names)
    return tuple(_table(base, name, asked) for name, asked in zip(called, own, strict=True))


def _table(base: _Connection, name: str, query: str) -> Table:
    rows = f"FROM (\n{query}\n) AS audit_rows"
    with base.reader(f"SELECT * {rows} LIMIT {HEAD}") as reader:
        names = reader.schema.names
        if twice := [one for one in dict.fromkeys(names) if names.count(one) > 1]:
            required, found = "columns of different names are required", first_cases(twice)
            raise SchemaError(required, found=found, where=base.name, hint="name them by AS")
        empty = frame_of_batch(reader.schema.empty_table())
        head = pl.concat([empty, *map(frame_of_batch, reader)])
    lite = base.kind is _SQLITE  # whose cells may be of any type, whatever that of their column
    untold = [one.name for one in head if lite and one.null_count() == len(head)]
    schema = dict(head.schema) | dict.fromkeys(untold, pl.String())
    texts = [one for one, kind in schema.items() if kind == pl.String()]

    def chosen(own: str) -> str:
        cast = f"CAST({_quoted(own)} AS TEXT) AS " if lite and own in texts else ""
        return cast + _quoted(own)

    def sorted_by(own: str) -> str:
        return f"{_quoted(own)} {base.kind.binary if own in texts else ''} NULLS FIRST"

    def frames(columns: Iterable[str], order: Iterable[str] = ()) -> Iterator[pl.DataFrame]:
        by = ", ".join(map(sorted_by, order))
        asked = f"SELECT {', '.join(map(chosen, columns))} {rows}{by and f' ORDER BY {by}'}"
        with base.reader(asked) as reader:
            yield from map(frame_of_batch, reader)

    package = base.kind.package
    driver = f"{package.replace('_', '-')} {version(package)}"
    return Table(
        name=name,
        schema=schema,
        scan=lambda columns, at_once: gathered(frames(columns), at_once),
        hashing=lambda: digest_of(frames(schema, schema)),
        queried={"path": base.name, "driver": driver, "query": query},
    )


def _quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'

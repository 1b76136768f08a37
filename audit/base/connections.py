"""Connections to PostgreSQL, SQLite and DuckDB, for reading alone, in one transaction."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from audit.base.errors import InputError
from audit.base.machine import require_package
from audit.base.settings import told_address

_AT_ONCE = 65_536
"""Number of rows that a driver gives at once, where it can be told."""
RELATION = "audit_relation"
"""What queries call a relation of DuckDB."""
_FROM_DRIVER = re.compile(r"^.*?(?:ERROR|FATAL): +|^[A-Z_]+: |\[\w+\] ", re.DOTALL)
"""What a driver says before what the database says."""


@dataclass(frozen=True)
class Kind:
    """A kind of database.

    Args:
        title: Its name.
        package: The driver.
        address: How it is addressed.
        open: Function that connects to an address, for reading alone.
        binary: The collation that orders texts by their bytes.
        tables: Query of the names of the tables that need no schema before them.
    """

    title: str
    package: str
    address: str
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
    connection.execute("BEGIN TRANSACTION")
    return connection


def _file(address: str) -> Path:
    scheme, _, rest = address.partition("://")
    path = Path(rest[1:])
    if not (rest.startswith("/") and path.is_file()):
        hint = f"{KINDS[scheme].address} names a file"
        raise InputError("a file is required", found="none", where=address, hint=hint)
    if (other := scheme_of(path)) != scheme:
        hint = f"{other}:///{path} names it" if other else ""
        required = f"a database of {KINDS[scheme].title} is required"
        raise InputError(required, found="another file", where=address, hint=hint)
    return path.absolute()


def scheme_of(path: Path) -> str:
    """How an address of a file that is a database begins; empty of others."""
    with path.open("rb") as stream:
        head = stream.read(12)
    return "sqlite" if head.startswith(b"SQLite") else "duckdb" if head[8:12] == b"DUCK" else ""


_NAMES = "SELECT table_name FROM information_schema.tables WHERE table_schema"
POSTGRESQL = Kind(
    "PostgreSQL", "adbc_driver_postgresql", "postgresql://HOST/BASE", _postgresql, 'COLLATE "C"',
    f"{_NAMES} = ANY(current_schemas(false)) ORDER BY 1",
)  # fmt: skip
SQLITE = Kind(
    "SQLite", "adbc_driver_sqlite", "sqlite:///FILE", _sqlite, "COLLATE BINARY",
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1",
)  # fmt: skip
DUCKDB = Kind(
    "DuckDB", "duckdb", "duckdb:///FILE", _duckdb, "COLLATE C",
    f"{_NAMES} = current_schema() ORDER BY 1",
)  # fmt: skip
KINDS: Mapping[str, Kind] = {
    "postgresql": POSTGRESQL,
    "postgres": POSTGRESQL,
    "sqlite": SQLITE,
    "duckdb": DUCKDB,
}
"""The databases that are read, by the scheme of their addresses."""


@dataclass(frozen=True, eq=False)
class Connection:
    """A connection to a database in one transaction; that to an address ends with this object.

    Args:
        raw: The connection of ADBC or DuckDB, or a relation of DuckDB.
        kind: The kind of database.
        driver: The driver and its version.
        name: The address as it may be told.
    """

    raw: Any
    kind: Kind
    driver: str
    name: str

    @contextmanager
    def reader(self, query: str) -> Iterator[Any]:
        """A reader of batches of Arrow that answer a query; what drivers raise is one error."""
        with _telling(self.name):
            if self.kind is DUCKDB:
                ask = partial(self.raw.query, RELATION) if _is_relation(self.raw) else self.raw.sql
                with closing(ask(query).to_arrow_reader(_AT_ONCE)) as reader:
                    yield reader
                return
            with closing(self.raw.cursor()) as cursor:
                if self.kind is SQLITE:  # which tells types by the first rows
                    rows = {"adbc.sqlite.query.batch_rows": str(_AT_ONCE)}
                    cursor.adbc_statement.set_options(**rows)
                cursor.execute(query)
                with closing(cursor.fetch_record_batch()) as reader:
                    yield reader

    def names(self) -> list[str]:
        """Names of the tables."""
        if _is_relation(self.raw):
            return [RELATION]
        with self.reader(self.kind.tables) as reader:
            return [name for batch in reader for name in batch.column(0).to_pylist()]


_SHARED: ContextVar[dict[str, Connection] | None] = ContextVar("connections", default=None)


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Reach each address by one connection within the block, so that all is of one moment."""
    shared = _SHARED.get()
    before = _SHARED.set({} if shared is None else shared)
    try:
        yield
    finally:
        _SHARED.reset(before)


def is_database(data: object) -> bool:
    """Whether data are the address of a database, a connection, or a relation of DuckDB."""
    if isinstance(data, str):
        return "://" in data and data.partition("://")[0] in KINDS
    return hasattr(type(data), "cursor") or _is_relation(data)


def _is_relation(data: object) -> bool:
    return hasattr(type(data), "sql_query")


def connected(data: Any) -> Connection:
    """A connection to an address, or the given one, which stays open and is read as it is.

    Raises:
        InputError: If the address has a password, or nothing there can be read.
    """
    if isinstance(data, str):
        shared = _SHARED.get()
        if shared is None:
            return _opened(data)
        return shared.setdefault(data, shared.get(data) or _opened(data))
    driver = type(data).__module__.strip("_").split(".")[0]
    is_duckdb = _is_relation(data) or hasattr(data, "sql")
    told = data.adbc_get_info().get("vendor_name") if hasattr(data, "adbc_get_info") else None
    title = DUCKDB.title if is_duckdb else told
    kind = next((one for one in KINDS.values() if one.title == title), None)
    if kind is None:
        required = "a connection of ADBC to PostgreSQL or SQLite, or one of DuckDB, is required"
        raise InputError(required, found=f"one of {driver}", hint="name the database's address")
    name = "a relation" if _is_relation(data) else "a connection"
    return Connection(data, kind, driver, name)


def _opened(address: str) -> Connection:
    kind, told, parts = KINDS[address.partition("://")[0]], told_address(address), urlsplit(address)
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
    driver = f"{kind.package.replace('_', '-')} {version(kind.package)}"
    made = Connection(raw, kind, driver, told)
    weakref.finalize(made, raw.close)
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

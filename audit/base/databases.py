"""Databases: PostgreSQL, SQLite and DuckDB, opened for reading, and what they answer."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from audit.base.errors import InputError
from audit.base.machine import require_package
from audit.base.settings import told_address

AT_ONCE = 65_536
"""Number of rows that a driver gives at once, where it can be told."""
_FROM_DRIVER = re.compile(r"^.*?(?:ERROR|FATAL): +|^[A-Z_]+: |\[\w+\] ", re.DOTALL)
"""What a driver says before what the database says."""


@dataclass(frozen=True)
class Kind:
    """A kind of database: how it is addressed and opened, and what its SQL has of its own."""

    title: str
    package: str
    address: str
    open: Callable[[str], Any]
    binary: str
    tables: str
    near: str
    options: Mapping[str, str] = field(default_factory=dict)


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
    path = Path(address.split("://", 1)[1][1:])
    if not path.is_file():
        found = "a folder" if path.is_dir() else "nothing there"
        raise InputError("a file is required", found=found, where=address)
    with path.open("rb") as stream:
        head, scheme = stream.read(12), address.split(":")[0]
    other = "sqlite" if head.startswith(b"SQLite") else "duckdb" if head[8:12] == b"DUCK" else None
    if other != scheme:
        hint = f"{other}:///{path} names it" if other else ""
        required = f"a database of {KINDS[scheme].title} is required"
        raise InputError(required, found="another file", where=address, hint=hint)
    return path.absolute()


_NEAR = "SELECT table_name FROM information_schema.tables"
_LISTED = "SELECT table_schema || '.' || table_name FROM information_schema.tables"
POSTGRESQL = Kind(
    "PostgreSQL",
    "adbc_driver_postgresql",
    "postgresql://HOST/BASE",
    _postgresql,
    'COLLATE "C"',
    f"{_LISTED} WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1",
    f"{_NEAR} WHERE table_schema = ANY(current_schemas(false))",
)
SQLITE = Kind(
    "SQLite",
    "adbc_driver_sqlite",
    "sqlite:///FILE",
    _sqlite,
    "COLLATE BINARY",
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1",
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')",
    {"adbc.sqlite.query.batch_rows": str(AT_ONCE)},
)
DUCKDB = Kind(
    "DuckDB",
    "duckdb",
    "duckdb:///FILE",
    _duckdb,
    "COLLATE C",
    f"{_LISTED} ORDER BY 1",
    f"{_NEAR} WHERE table_schema = current_schema()",
)
KINDS: Mapping[str, Kind] = {
    "postgresql": POSTGRESQL,
    "postgres": POSTGRESQL,
    "sqlite": SQLITE,
    "duckdb": DUCKDB,
}
"""The databases that are read, by the scheme of their addresses."""


def kind_of(connection: Any) -> Kind | None:
    """The kind of database that a connection is to; None: of another one, by DB-API."""
    if hasattr(connection, "sql"):
        return DUCKDB
    if not hasattr(connection, "adbc_get_info"):
        return None
    vendor = str(connection.adbc_get_info().get("vendor_name"))
    return next((kind for kind in KINDS.values() if kind.title == vendor), None)


@dataclass(frozen=True, eq=False)
class Opened:
    """A connection to a database in one transaction, and whether its first user closes it.

    Args:
        given: Whether the user made the connection, whose settings then stay as they are.
    """

    connection: Any
    kind: Kind | None
    driver: str
    name: str
    own: bool = True
    given: bool = False

    def __str__(self) -> str:
        return self.name

    def closed_with(self, user: object) -> weakref.finalize[..., Any] | None:
        """What closes the connection together with its user; None if it is shared."""
        return weakref.finalize(user, self.connection.close) if self.own else None


_SHARED: ContextVar[dict[str, Opened] | None] = ContextVar("databases", default=None)


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Reach each address by one connection within the block, so that all is of one moment."""
    if _SHARED.get() is not None:
        yield
        return
    with ExitStack() as closed:
        held = dict[str, Opened]()
        before = _SHARED.set(held)
        try:
            yield
        finally:
            _SHARED.reset(before)
            for one in held.values():
                closed.callback(one.connection.close)


@contextmanager
def opened(address: str) -> Iterator[Opened]:
    """The database of an address, told without what is secret; closed on an error."""
    shared = _SHARED.get()
    if shared is not None and address in shared:
        yield shared[address]
        return
    scheme, _, rest = address.partition("://")
    kind, told = KINDS[scheme], told_address(address)
    if kind is not POSTGRESQL and not rest.startswith("/"):
        raise InputError(f"{kind.address} is required", found="two slashes", where=address)
    _refuse_password(address, told)
    require_package(kind.package, f"to read {kind.title}")
    with telling(told):
        connection = kind.open(address)
    driver = f"{kind.package.replace('_', '-')} {version(kind.package)}"
    found = Opened(connection, kind, driver, told, own=shared is None)
    if shared is not None:
        shared[address] = found
    try:
        yield found
    except BaseException:
        if found.own:
            connection.close()
        raise


def is_base(place: object) -> bool:
    """Whether a text is the address of a database."""
    return isinstance(place, str) and "://" in place and place.partition("://")[0] in KINDS


def _refuse_password(address: str, told: str) -> None:
    parts = urlsplit(address)
    if parts.password is not None or "password" in parse_qs(parts.query):
        raise InputError(
            "an address without a password is required, since others can read command lines",
            found="an address with a password",
            where=told,
            hint="state it in PGPASSWORD, or in ~/.pgpass",
        )


@contextmanager
def telling(where: str) -> Iterator[None]:
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

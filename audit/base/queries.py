"""Queries of databases: what one may be, and the batches of rows that answer it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NoReturn

import polars as pl

from audit.base.databases import AT_ONCE, POSTGRESQL, Kind, Opened, telling
from audit.base.errors import InputError, first_cases

_WORDS = ("select", "with", "values", "table", "from")
"""What a query that reads begins with."""
_APART = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(\$\w*\$).*?\1|--[^\n]*|/\*.*?\*/", re.DOTALL
)
"""Texts, quoted names and comments of SQL."""
_NAME = re.compile(r'[\w$]+(?:\.[\w$]+)*|"[^"\0]+"(?:\."[^"\0]+")*')


@contextmanager
def reader_of(connection: Any, query: str, kind: Kind | None) -> Iterator[Any]:
    """A reader of batches of Arrow of a query; what is left unread is let go of."""
    if hasattr(connection, "sql"):
        with closing(connection.sql(query).to_arrow_reader(AT_ONCE)) as reader:
            yield reader
        return
    with closing(connection.cursor()) as cursor:
        if not hasattr(cursor, "fetch_record_batch"):
            cursor.execute(query)
            names = [column[0] for column in cursor.description]
            rows = pl.DataFrame(cursor.fetchall(), names, orient="row", infer_schema_length=None)
            yield rows.to_arrow().to_reader()
            return
        cursor.adbc_statement.set_options(**(kind.options if kind else {}))
        cursor.execute(query)
        with closing(cursor.fetch_record_batch()) as reader:
            yield reader


def query_of(query: str | None, table: str | None, where: str) -> str:
    """The query, without what ends it, or the one of all rows of a table."""
    if query is None or table is not None:
        if query is not None or table is None:
            found = "both" if table else "neither"
            raise InputError("--sql QUERY or --table NAME is required", found=found, where=where)
        return f"SELECT * FROM {table if _NAME.fullmatch(table) else quoted(table)}"
    bare = _APART.sub(lambda found: ("x" if found[0][0] in "'\"$" else " ") * len(found[0]), query)
    whole = bare.rstrip("; \t\r\n\f")
    (first,) = re.findall(r"^[\s(]*(\w*)", whole)
    if ";" in whole or "\0" in query or first.lower() not in _WORDS:
        found = "two statements" if ";" in whole else f"one that begins with {first!r}"
        raise InputError("one query that reads rows is required", found=found, where=where)
    return query[: len(whole)].strip()


def names_in(found: Opened, query: str) -> list[str]:
    """The names that a query of a catalogue gives."""
    with telling(found.name), reader_of(found.connection, query, found.kind) as reader:
        return [name for batch in reader for name in batch.column(0).to_pylist()]


def refuse_unnamed(found: Opened) -> NoReturn:
    """Raise InputError, which names the tables of a database of which nothing says what is read."""
    names = names_in(found, found.kind.tables if found.kind else "")
    hint = f"the tables are {first_cases(names)}" if names else "it has no tables"
    near = next((one for one in names if one.endswith(".condition_occurrence")), None)
    if near and found.kind is POSTGRESQL:
        schema = near.partition(".")[0]
        hint += f"; ?options=-csearch_path%3D{schema} behind the address reads OMOP in {schema}"
    raise InputError(
        "--sql QUERY or --table NAME must say which rows are audited",
        found="neither",
        where=found,
        hint=hint,
    )


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'

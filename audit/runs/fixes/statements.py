"""Changes of tables of a database as statements of SQL, and the statements that take them back."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from math import isfinite
from typing import Any, TypeAlias

import polars as pl

from audit.base.databases import DUCKDB, POSTGRESQL, SQLITE, Kind
from audit.base.errors import InputError, first_cases
from audit.base.queries import quoted
from audit.data.label_format import Layout
from audit.data.sources.omop import Omop
from audit.data.sources.sql import Query
from audit.hierarchies.formats.omop_tables import TablesOfBase
from audit.runs.fixes.changes import Ledger
from audit.runs.fixes.events import Occurrences, became
from audit.runs.fixes.plan import Planner

Row: TypeAlias = tuple[Any, ...]
_Pair: TypeAlias = tuple[Row | None, Row | None]
"""A row before it changes, and after; None where it is added, or goes."""
_DEFAULT = object()
"""In a row that is added: what the table itself gives."""
_BEGIN = {
    SQLITE.title: "BEGIN IMMEDIATE",
    DUCKDB.title: "BEGIN TRANSACTION",
    POSTGRESQL.title: "SET standard_conforming_strings = on;\n"
    "BEGIN ISOLATION LEVEL REPEATABLE READ",
}
_ROW = {SQLITE.title: "rowid", DUCKDB.title: "rowid", POSTGRESQL.title: "ctid"}
"""What tells rows apart whose columns are all equal."""
_NAME = r'(?:[\w$]+|"[^"\0]+")(?:\.(?:[\w$]+|"[^"\0]+"))*'
_WHOLE = re.compile(rf"\s*SELECT\s+\*\s+FROM\s+({_NAME})\s*", re.IGNORECASE)
_GUARD = "audit_guard"


def table_in(source: Query) -> str:
    """The table, as SQL names it, whose rows a source has."""
    found = _WHOLE.fullmatch(source.query)
    if found is None or source.base is None:
        raise InputError(
            "statements that change rows need a table whose rows are audited",
            found=source.query[:200],
            where=source,
            hint="audit it by --table NAME instead of --sql QUERY, with --where and the columns "
            "that are meant; or change by hand what the sheet of `audit fixes` says",
        )
    return found[1]


def statements(source: Query | Omop, layout: Layout, ledger: Ledger) -> tuple[str, str]:
    """Statements that make the changes of a ledger, and those that take them back.

    Each script is one transaction. It counts first the rows of each change; where one differs from
    what was read, a constraint fails, and none of its statements changes anything.

    Raises:
        InputError: If no table can be named, rows have no ids, a label cannot be written, or labels
            are exchanged in a circle.
    """
    if isinstance(source, Omop):
        tables = [*_of_occurrences(source, layout, ledger)]
    else:
        tables = [_of_table(source, layout, ledger)]
    forward = [table.steps(pairs, world) for table, pairs, world in tables]
    back = [
        table.steps([(new, old) for old, new in pairs], _after(world, pairs))
        for table, pairs, world in tables
    ]
    kind = tables[0][0].kind
    return _script(kind, forward), _script(kind, back)


def _of_table(source: Query, layout: Layout, ledger: Ledger) -> _Changes:
    name = table_in(source)
    if layout.id is None:
        raise InputError(
            "statements that change rows need a column of ids",
            found="rows that are numbered",
            where=source,
            hint="name one with --id",
        )
    planner = Planner(_Table(source.frame), layout, ledger)
    assert source.base is not None, "its table was found"
    return _changes(source.base, name, source.frame, planner, layout.id)


def _of_occurrences(source: Omop, layout: Layout, ledger: Ledger) -> Iterator[_Changes]:
    tables, read = source.tables, layout.events
    assert isinstance(tables, TablesOfBase), "they are in a database"
    assert tables.base.kind is not None, "their names were found"
    assert read is not None, "their codes stand in several places"
    frames = {kind: tables.hold(f"{kind}_occurrence") for kind in source.occurrences}
    rows = read(source)
    made = became(rows, ledger)
    for kind, frame in frames.items():
        planner = Occurrences(_Table(frame), rows, made, kind, tables)
        own, names = f"{kind}_occurrence_id", {one.lower() for one in frame.columns}
        id, name = own if own in names else "person_id", quoted(source.occurrences[kind])
        yield _changes(tables.base.kind, name, frame, planner, id)


def _changes(kind: Kind, name: str, frame: pl.DataFrame, planner: Planner, id: str) -> _Changes:
    pairs = _pairs(frame, planner)
    keys = (planner.place(id), *planner.places)
    return _Changed(kind, name, tuple(frame.columns), keys), pairs, _rows(frame)


def _after(world: Sequence[Row], pairs: Sequence[_Pair]) -> list[Row]:
    """The rows of a table once some have changed."""
    after = Counter(world)
    after.subtract(old for old, _ in pairs if old is not None)
    return [*(+after).elements(), *(new for _, new in pairs if new is not None)]


def _script(kind: Kind, steps: Sequence[tuple[Sequence[str], Sequence[str]]]) -> str:
    """One transaction, by what counts the rows of each table, and what changes them."""
    guards, changes = ([one for some in part for one in some] for part in zip(*steps, strict=True))
    whole = f" AND (SELECT count(*) FROM {_GUARD}) = {len(guards)}"
    lines = [
        "-- Counts the rows of each change; where one is not as it was read, the constraint of",
        f"-- {_GUARD} fails, and no statement below it changes anything.",
        _BEGIN[kind.title],
        f"CREATE TEMPORARY TABLE {_GUARD} (found INTEGER, expected INTEGER, "
        "CHECK (found = expected))",
        *(f"INSERT INTO {_GUARD} {guard}" for guard in guards),
        *(change + whole for change in changes),
        f"DROP TABLE {_GUARD}",
        "COMMIT",
    ]
    return "".join(f"{one}\n" if one.startswith("--") else f"{one};\n" for one in lines)


class _Table:
    """The cells of a frame."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.names, self.height = frame.columns, frame.height
        self._values = [column.to_list() for column in frame]

    def cell(self, row: int, place: int) -> Any:
        return self._values[place][row]


def _pairs(frame: pl.DataFrame, planner: Planner) -> list[_Pair]:
    """Each row that changes, before and after; None where it is added, or goes."""
    plan, rows, kinds = planner.plan(), _rows(frame), frame.dtypes
    became = defaultdict[int, list[Any]](list)
    for (number, place), new in plan.cells.items():
        became[number] = became[number] or [*rows[number]]
        became[number][place] = _typed(new, kinds[place])
    found: list[_Pair] = [(rows[n], None) for n in sorted(plan.gone)]
    found += [(rows[n], tuple(new)) for n, new in sorted(became.items())]
    for number, label in plan.further:
        made = [_DEFAULT if n in planner.varying else one for n, one in enumerate(rows[number])]
        made[planner.places[0]] = label
        found.append((None, tuple(made)))
    return found


def _rows(frame: pl.DataFrame) -> list[Row]:
    """The rows of a frame, lists in them as tuples."""
    return [tuple(map(_hashable, row)) for row in frame.rows()]


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _typed(value: Any, kind: pl.DataType) -> Any:
    if not isinstance(value, str):
        return _hashable(value)
    if kind == pl.Boolean:
        return value == "1"
    return int(value or "0") if kind.is_numeric() else value or None


@dataclass(frozen=True)
class _Changed:
    """A table that statements change; ``keys`` are the places of the id and the labels."""

    kind: Kind
    name: str
    columns: tuple[str, ...]
    keys: tuple[int, ...]

    def steps(self, pairs: Sequence[_Pair], world: Sequence[Row]) -> tuple[list[str], list[str]]:
        """What counts rows of the world, and what makes them others."""
        found = _Found(self, world)
        gone = Counter(old for old, new in pairs if old is not None and new is None)
        moved = Counter((old, new) for old, new in pairs if old is not None and new is not None)
        added = [new for old, new in pairs if old is None and new is not None]
        guards, changes = list[tuple[str, int]](), list[str]()
        for where, expected, of_them in found.chosen(gone):
            guards.append((where, expected))
            changes.append(f"DELETE FROM {self.name} WHERE {self._of(where, expected, of_them)}")
        for sets, some in self._in_order(moved):
            for where, expected, of_them in found.chosen(some):
                guards.append((where, expected))
                chosen = self._of(where, expected, of_them)
                changes.append(f"UPDATE {self.name} SET {sets} WHERE {chosen}")
        for new in added:
            own = {self.keys[0]: new[self.keys[0]]}
            guards.append((self.where(own), found.of_id[own[self.keys[0]]]))
            given = [n for n, one in enumerate(new) if one is not _DEFAULT]
            names = ", ".join(quoted(self.columns[n]) for n in given)
            values = ", ".join(self.literal(new[n]) for n in given)
            changes.append(f"INSERT INTO {self.name} ({names}) SELECT {values} WHERE TRUE")
        counts = [
            f"SELECT count(*), {expected} FROM {self.name} WHERE {where}"
            for where, expected in dict.fromkeys(guards)
        ]
        return counts, changes

    def _of(self, where: str, expected: int, of_them: int) -> str:
        if of_them == expected:
            return where
        row = _ROW[self.kind.title]
        return f"{row} IN (SELECT {row} FROM {self.name} WHERE {where} LIMIT {of_them})"

    def _in_order(
        self, moved: Mapping[tuple[Row, Row], int]
    ) -> Iterator[tuple[str, dict[Row, int]]]:
        """What is set, and in how many of which rows; none makes a row that a later one changes."""
        groups = defaultdict[tuple[Row, str], dict[Row, int]](dict)
        ends: dict[tuple[Row, str], set[Row]] = defaultdict(set)
        for (old, new), n in moved.items():
            sets = ", ".join(
                f"{quoted(self.columns[place])} = {self.literal(one)}"
                for place, one in enumerate(new)
                if one != old[place]
            )
            groups[self.key(old), sets][old] = n
            ends[self.key(old), sets].add(self.key(new))
        while groups:
            waiting = {begun for begun, _ in groups}
            free = [one for one in groups if not ends[one] & (waiting - {one[0]})]
            if not free:
                told = first_cases(str(key[0]) for key, _ in groups)
                required = "changes that exchange no labels in a circle are required"
                raise InputError(required, found=f"such changes of {told}")
            for one in free:
                yield one[1], groups.pop(one)

    def key(self, row: Row) -> Row:
        """The id and labels of a row."""
        return tuple(row[place] for place in self.keys)

    def where(self, values: Mapping[int, Any]) -> str:
        """A condition that columns have these values."""
        found = []
        for place, value in values.items():
            name = quoted(self.columns[place])
            if isinstance(value, str) and self.kind is SQLITE:
                name += f" {self.kind.binary}"
            equal = "IS NULL" if value is None else f"= {self.literal(value)}"
            found.append(f"{name} {equal}")
        return " AND ".join(found)

    def literal(self, value: Any) -> str:
        """A value as SQL writes it; InputError if it cannot be written."""
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, (int, Decimal)) or (isinstance(value, float) and isfinite(value)):
            return repr(value) if isinstance(value, float) else str(value)
        if isinstance(value, (date, datetime, time)):
            return f"'{value}'"
        if isinstance(value, str) and "\0" not in value:
            return "'" + value.replace("'", "''") + "'"
        if isinstance(value, bytes):
            return self._bytes(value)
        if isinstance(value, tuple) and self.kind is not SQLITE:
            inside = ", ".join(map(self.literal, value))
            return f"ARRAY[{inside}]::text[]" if self.kind is POSTGRESQL else f"[{inside}]"
        required = "values that SQL can write are required in rows that change"
        raise InputError(required, found=repr(value)[:60], where=self.name)

    def _bytes(self, value: bytes) -> str:
        if self.kind is SQLITE:
            return f"X'{value.hex()}'"
        if self.kind is POSTGRESQL:
            return f"'\\x{value.hex()}'::bytea"
        return "'" + "".join(f"\\x{one:02X}" for one in value) + "'::BLOB"


_Changes: TypeAlias = tuple[_Changed, list[_Pair], list[Row]]
"""A table, the rows that change, and all its rows before."""


class _Found:
    """How rows of a table are found by their values, before the statements change any."""

    def __init__(self, table: _Changed, world: Sequence[Row]) -> None:
        self._table, self._world = table, world

    @cached_property
    def of_id(self) -> Counter[Any]:
        """How many rows each id has."""
        return Counter(row[self._table.keys[0]] for row in self._world)

    @cached_property
    def _of_key(self) -> Counter[Row]:
        return Counter(map(self._table.key, self._world))

    @cached_property
    def _of_row(self) -> Counter[Row]:
        return Counter(self._world)

    def chosen(self, rows: Mapping[Row, int]) -> Iterator[tuple[str, int, int]]:
        """Conditions that hold for rows, for how many they hold, and how many of these are meant.

        Ids and labels alone where all such rows are meant; else all columns.
        """
        of_key = defaultdict[Row, list[Row]](list)
        for row in rows:
            of_key[self._table.key(row)].append(row)
        for key, own in of_key.items():
            meant, held = sum(rows[row] for row in own), self._of_key[key]
            if meant == held:
                where = {place: own[0][place] for place in self._table.keys}
                yield self._table.where(where), held, meant
                continue
            for row in own:
                known = {n: one for n, one in enumerate(row) if one is not _DEFAULT}
                held = self._of_row[row]
                yield self._table.where(known), held, rows[row]

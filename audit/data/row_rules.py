"""What a row says besides its label, as the user tells it: whether it counts, and its version."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.data.records import pick
from audit.data.sources import Source
from audit.hierarchies.coding import VERSIONS

ROW = "row:"
"""Prefix that marks the name of a column that rules read, among the names of roles."""
_VERSION = re.compile(r"i?(?:cd)?v?0?(9|10)(?:\.0+)?[a-z]*")


def version_of(value: str) -> str | None:
    """The version of ICD that a text names: 9 or 10; None if it names none.

    >>> [version_of(value) for value in ("9.0", "ICD-9-CM", " icd10 ", "I10", "A", "2019")]
    ['9', '9', '10', '10', None, None]
    """
    found = _VERSION.fullmatch(re.sub(r"[\s_-]", "", value.casefold()))
    return found and found[1]


@dataclass(frozen=True)
class RowRules:
    """Which rows count, and of which version of a classification the code of each is.

    Args:
        where: Conditions ``COLUMN=VALUE`` or ``COLUMN!=VALUE`` that rows must meet; VALUE may be a
            pattern, case is ignored. Of several values that a column may have, any will do.
        version_column: Column that says the version of a row's code.

    Raises:
        InputError: If a condition is none.
    """

    where: tuple[str, ...] = ()
    version_column: str | None = None

    def __post_init__(self) -> None:
        for stated in self.where:
            if not re.match(r"[^=!]+!?=", stated):
                raise InputError("rows are chosen by COLUMN=VALUE or COLUMN!=VALUE", found=stated)

    @property
    def conditions(self) -> dict[str, list[tuple[str, str]]]:
        """Signs and values, by column."""
        found: dict[str, list[tuple[str, str]]] = {}
        for stated in self.where:
            column, sign, value = re.split("(!?=)", stated, maxsplit=1)
            found.setdefault(column.strip(), []).append((sign, value.strip().casefold()))
        return found

    @property
    def roles(self) -> dict[str, str]:
        """Names of the columns that are read, by role."""
        version = [self.version_column] if self.version_column else []
        return {f"{ROW}{column}": column for column in (*self.conditions, *version)}

    def marked(
        self, frame: pl.DataFrame, source: Source, roles: Mapping[str, str | None]
    ) -> list[pl.Series]:
        """The column of marks of a frame that has the columns of the roles; none of `EVERY`."""
        if self == EVERY:
            return []
        picked = pick(frame, source, **roles) if roles else frame
        return [self.marks(picked, source).alias(ROW)]

    def marks(self, rows: pl.DataFrame, where: object) -> pl.Series:
        """For each row, with the columns of `roles` as tidy text, a reason to refuse it, else its
        table, else null."""
        told = [
            _told(rows[f"{ROW}{column}"], partial(_left_out, conditions))
            for column, conditions in self.conditions.items()
        ]
        if column := self.version_column:
            versions = rows[f"{ROW}{column}"]
            told.append(_told(versions, _table))
            if len(unknown := versions.filter(told[-1] == "").unique().sort()):
                raise SchemaError(
                    f"the column {column!r} must say of each code 9 or 10, as ICD-9-CM",
                    found=first_cases(unknown),
                    where=where,
                    hint="write 9 or 10 in its place, and leave out rows of other versions",
                )
        return pl.select(pl.coalesce(*map(pl.lit, told))).to_series()


EVERY = RowRules()
"""Rules by which every row counts."""


def _left_out(conditions: Sequence[tuple[str, str]], value: str | None) -> str | None:
    text = (value or "").casefold()
    fits = [(sign, fnmatchcase(text, pattern)) for sign, pattern in conditions]
    kept = any(fit for sign, fit in fits if sign == "=") or ("=", False) not in fits
    return None if kept and ("!=", True) not in fits else "left_out"


def _table(value: str | None) -> str:
    """The table of a row of that version; empty if it names none."""
    return "bad_row" if value is None else VERSIONS.get(version_of(value) or "", "")


def _told(values: pl.Series, mark: Callable[[str | None], str | None]) -> pl.Series:
    """The mark of each value, made once for each different one."""
    marks = {value: mark(value) for value in values.unique()}
    return values.replace_strict([*marks], [*marks.values()], return_dtype=pl.String)

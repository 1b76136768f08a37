"""What a row says besides its label, as the user tells it: whether it counts, and its version."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import name_among
from audit.data.records import pick
from audit.data.sources import Source
from audit.hierarchies.coding import STATED, VERSIONS

ROW = "row:"
"""Prefix that marks the name of a column that rules read, among the names of roles."""
_CONDITION = re.compile(r"([^=]+?)(!?=)(.*)", re.DOTALL)
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
        code_version: Its value on the rows to be audited; without a column, that of all rows.

    Raises:
        InputError: If a condition is none.
    """

    where: tuple[str, ...] = ()
    version_column: str | None = None
    code_version: str | None = None

    def __post_init__(self) -> None:
        wrong = [stated for stated in self.where if not _CONDITION.fullmatch(stated)]
        if wrong:
            raise InputError("rows are told by COLUMN=VALUE or COLUMN!=VALUE", found=repr(wrong[0]))

    @property
    def roles(self) -> dict[str, str | None]:
        """Names of the columns that are read, by role."""
        version = [self.version_column] if self.version_column else []
        return {f"{ROW}{column}": column for column in (*self._named, *version)}

    @property
    def _named(self) -> list[str]:
        return list(dict.fromkeys(column for column, _, _ in self._conditions))

    @property
    def _conditions(self) -> list[tuple[str, bool, str]]:
        parts = [re.fullmatch(_CONDITION, stated) for stated in self.where]
        return [(p[1].strip(), p[2] == "=", p[3].strip().casefold()) for p in parts if p]

    def marked(
        self, frame: pl.DataFrame, source: Source, roles: Mapping[str, str | None]
    ) -> list[pl.Series]:
        """The column of marks of a frame that has the columns of the roles; none of `EVERY`."""
        if self == EVERY:
            return []
        return [self.marks(pick(frame, source, **roles), source).alias(ROW)]

    def columns(self, source: Source) -> list[str]:
        """The columns that must be read, as a table writes them."""
        names = list(source.schema)
        return [name_among(names, str(name), source) for name in self.roles.values()]

    def marks(self, rows: pl.DataFrame, where: object) -> pl.Series:
        """For each row a reason to refuse it, else its table, else null.

        Args:
            rows: Those of `roles`, as tidy text.
            where: The dataset, for messages.

        Raises:
            SchemaError: If a column is missing, or values name no version.
        """
        missing = [str(name) for role, name in self.roles.items() if role not in rows.columns]
        if missing:
            raise SchemaError(
                "--where and --version-column name columns of the table that holds the labels",
                found=f"none named {first_cases(missing)}",
                where=where,
            )
        told = [_told(rows[f"{ROW}{column}"], self._left_out(column)) for column in self._named]
        if self.version_column:
            versions = rows[f"{ROW}{self.version_column}"]
            told.append(_told(versions, self._of_version))
            self._refuse_unknown(versions.filter(told[-1] == ""), where)
        elif self.code_version:
            told.append(pl.repeat(self._of_version(self.code_version), len(rows), eager=True))
        return pl.select(pl.coalesce(*map(pl.lit, told))).to_series()

    def _left_out(self, column: str) -> Callable[[str | None], str | None]:
        """Whether a value of a column leaves its row out."""
        stated = [(meets, value) for name, meets, value in self._conditions if name == column]

        def mark(value: str | None) -> str | None:
            fits = [(meets, fnmatchcase((value or "").casefold(), one)) for meets, one in stated]
            wanted = [fit for meets, fit in fits if meets] or [True]
            kept = any(wanted) and not any(fit for meets, fit in fits if not meets)
            return None if kept else "left_out"

        return mark

    def _of_version(self, value: str | None) -> str | None:
        """The table of a row with that version; empty if the value names none."""
        if value is None:
            return "bad_row"
        version, stated = version_of(value), self.code_version
        alike = stated and stated.strip().casefold() == value.casefold()
        if stated and not alike and (version is None or version != version_of(stated)):
            return "other_version"
        return VERSIONS[version] if version else STATED if stated else ""

    def _refuse_unknown(self, values: pl.Series, where: object) -> None:
        if len(values):
            raise SchemaError(
                f"the column {self.version_column!r} must say of each code 9 or 10, as ICD-9-CM",
                found=first_cases(values.unique().sort()),
                where=where,
                hint=f"--version-column {self.version_column} --code-version VALUE names the value "
                "of the rows to be audited",
            )


def _told(values: pl.Series, mark: Callable[[str | None], str | None]) -> pl.Series:
    """The mark of each value, made once for each different one."""
    different = values.unique().to_list()
    marks = pl.DataFrame({"value": different, "mark": map(mark, different)}, _MARKED)
    return values.to_frame("value").join(
        marks, on="value", how="left", nulls_equal=True, maintain_order="left"
    )["mark"]


_MARKED = {"value": pl.String, "mark": pl.String}

EVERY = RowRules()
"""Rules by which every row counts."""

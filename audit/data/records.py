"""Rows by role: which column of a table holds the id, the label, the score, as tidy text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from polars.datatypes import DataTypeClass

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.table import Table, column_among, name_among

_LISTS = (pl.List, pl.Array)


@dataclass(frozen=True, eq=False)
class Records:
    """Rows by role, and what became of the rows that cannot be used.

    Args:
        frame: The rows that can be used, with a column for each role.
        ledger: Number of the others, by reason.
        sources: The files that they were read from.
    """

    frame: pl.DataFrame
    ledger: Mapping[str, int] = field(default_factory=dict)
    sources: tuple[Path, ...] = ()

    @property
    def rows_read(self) -> int:
        """Number of rows read; each is in the frame or in the ledger."""
        return self.frame.height + sum(self.ledger.values())


def records(
    table: Table,
    roles: Mapping[str, Sequence[str]],
    named: Mapping[str, str] | None = None,
    required: Collection[str] = (),
) -> Records:
    """The rows of a table as tidy text by role, null where blank.

    Args:
        table: The table.
        roles: Names that the column of each role may have, case ignored; the first one there
            counts. The roles that the table has are the columns of the frame, in this order.
        named: Columns that the user named, by role; they overrule the names.
        required: Roles that must have a column.

    Raises:
        InputError: If it has no row, or a role is none of ``roles``.
        SchemaError: If a required column, or one that the user named, is missing; or a column holds
            something else than plain values.
    """
    named = named or {}
    unknown = [role for role in named if role not in roles]
    if unknown:
        raise InputError(f"columns are named for {', '.join(roles)}", found=first_cases(unknown))
    names, found = [*table.schema], dict[str, str]()
    for role, accepted in roles.items():
        here = [name for wanted in accepted if (name := column_among(names, wanted))]
        if role in named or (role in required and not here):
            hint = f"call the column that is meant {accepted[0]!r}"
            here = [name_among(names, named.get(role, accepted[0]), table, hint)]
        found.update({role: here[0]} if here else {})
    frame = table.frame([*dict.fromkeys(found.values())])
    if frame.is_empty():
        raise InputError("a file with rows is required", found="none", where=table)
    return Records(pick(frame, table, **found))


def sound_records(
    rows: pl.DataFrame, reasons: Collection[str], sources: Sequence[Path] = ()
) -> Records:
    """The rows whose ``refused`` is null, and how many others there are by its reasons."""
    refused = rows["refused"]
    counts = dict(refused.drop_nulls().value_counts().iter_rows())
    sound = rows.filter(refused.is_null()) if counts else rows
    ledger = {reason: counts[reason] for reason in reasons if reason in counts}
    return Records(sound.drop("refused"), ledger, tuple(sources))


def pick(frame: pl.DataFrame, where: object, **columns: str | None) -> pl.DataFrame:
    """Select columns by role, under its name, as tidy text; roles without one are left out.

    A column of the role ``labels`` may hold lists. Ids of the roles ``instance`` and ``group`` that
    became decimals, 17.0, are whole numbers.
    """
    found = {
        role: name_among(frame.columns, column, where)
        for role, column in columns.items()
        if column is not None
    }
    lists = [column for role, column in found.items() if role == "labels"]
    text = tidy(frame.select([*dict.fromkeys(found.values())]), where, lists)
    picked = [text[column].alias(role) for role, column in found.items()]
    return pl.DataFrame(
        [as_ids(one) if one.name in ("instance", "group") else one for one in picked]
    )


def as_ids(text: pl.Series) -> pl.Series:
    """Ids as text, which a spreadsheet may have made decimals, 17.0, as whole numbers."""
    return text.str.replace(r"^(-?[0-9]+)\.0$", "$1") if text.str.ends_with(".0").any() else text


def tidy(frame: pl.DataFrame, where: object, lists: Collection[str] = ()) -> pl.DataFrame:
    """Convert every value to stripped text, null if blank; whole floats are written as integers.

    Columns of ``lists`` may hold lists, and stay lists of such values. Raises SchemaError where a
    column holds other values.
    """
    for name, dtype in frame.schema.items():
        inner = dtype.inner if name in lists and isinstance(dtype, _LISTS) else dtype
        if inner.is_nested() or inner in (pl.Binary, pl.Object):
            raise SchemaError(
                f"the column {name!r} must hold plain values"
                + " or lists of them" * (name in lists),
                found=str(dtype),
                where=where,
            )
    return frame.select(_text(pl.col(name), dtype) for name, dtype in frame.schema.items())


def _text(values: pl.Expr, dtype: pl.DataType | DataTypeClass) -> pl.Expr:
    if isinstance(dtype, _LISTS):
        return values.cast(pl.List(dtype.inner)).list.eval(_text(pl.element(), dtype.inner))
    if dtype.is_float():
        values = values.fill_nan(None)
        whole = values.cast(pl.Int64, strict=False)
        written = pl.when(whole == values).then(whole.cast(pl.String))
        return written.otherwise(values.cast(pl.String))
    if dtype.is_integer():
        return values.cast(pl.String)
    if dtype == pl.Duration:
        values = values.dt.to_string("iso")
    return values.cast(pl.String).str.strip_chars().replace("", None)

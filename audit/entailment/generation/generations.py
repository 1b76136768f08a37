"""Generated concepts, as read from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.schemas import schema
from audit.data.records import Records, records
from audit.data.sources import File
from audit.entailment.reading.answer_columns import (
    sound_rows,
    with_every_role,
)
from audit.entailment.reading.values import relations

GENERATIONS = schema(("model id head relation instance text", pl.String))
"""One row per text: the first line of it that is not blank, empty if there is none. It is for the
instance of the tuple ``id``, or for that of ``head``, ``relation`` and ``instance`` where ``id`` is
null."""

MISSING_KEY, UNKNOWN_RELATION = "missing_key", "unknown_relation"
"""Why a row is refused: no id, nor head and relation; or an unknown relation."""

ROLES = {
    "id": ("id",),
    "model": ("model",),
    "head": ("head",),
    "relation": ("relation",),
    "instance": ("instance",),
    "text": ("text", "generation", "answer"),
}
"""Names of columns by role."""


def read_generations(paths: Sequence[Path], columns: Mapping[str, str] | None = None) -> Records:
    """Read generated concepts, columns `GENERATIONS`, from CSV, TSV, JSON lines or Parquet.

    A file has a ``text`` (or ``generation``, or ``answer``), and the ``id`` of a tuple whose
    instance it is for, or ``head``, ``relation`` and ``instance``; without an instance it is the
    head. ``model`` is the file's name without suffix where there is no such column.

    Args:
        paths: The files.
        columns: Column for each of `ROLES` that has another name.

    Raises:
        InputError: If a file cannot be read, or no row can be used.
        SchemaError: If a column is missing.
    """
    parts = [_read(path, columns or {}) for path in paths]
    return sound_rows(parts, GENERATIONS, "generated texts", paths)


def _read(path: Path, columns: Mapping[str, str]) -> pl.DataFrame:
    """The rows of a file with why they are refused, null if they are not."""
    table = records(File(path), ROLES, columns, ("text",)).frame
    if "id" not in table.columns and not {"head", "relation"} <= set(table.columns):
        raise SchemaError(
            "the id of a tuple, or head, relation and instance, are required",
            found=f"columns for {first_cases(table.columns)}",
            where=path,
            hint="name another with id=COLUMN",
        )
    whole = with_every_role(table, ROLES, path)
    named = pl.col("head").is_not_null() & pl.col("written").is_not_null()
    unknown = pl.col("id").is_null() & pl.col("relation").is_null()
    return whole.with_columns(
        written="relation",
        relation=relations(whole["relation"]),
        instance=pl.coalesce("instance", "head"),
        text=first_line(pl.col("text")),
    ).with_columns(
        refused=pl.when(pl.col("id").is_null() & ~named)
        .then(pl.lit(MISSING_KEY))
        .when(unknown)
        .then(pl.lit(UNKNOWN_RELATION))
    )


def first_line(text: pl.Expr) -> pl.Expr:
    """The first line that is not blank, without blanks around it; empty text if there is none."""
    line = text.str.strip_chars().str.extract(r"^([^\r\n]*)")
    return line.str.strip_chars().fill_null("")

"""Columns of files of predictions, generations, answers and ratings, as text by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.files import name_among
from audit.data.columns import present, tidy
from audit.data.sources import File
from audit.entailment.reading.columns import KINDS
from audit.entailment.reading.tables import records_in


@dataclass(frozen=True, eq=False)
class AnswerRows:
    """What models answered, or people said of it: predictions, generated texts or ratings.

    Args:
        frame: The answers, with the columns of their kind.
        rows_read: Number of rows read; each is in ``frame`` or was refused.
        refused: Number of rows refused, by reason.
        sources: The files.
    """

    frame: pl.DataFrame
    rows_read: int
    refused: Mapping[str, int] = field(default_factory=dict)
    sources: tuple[Path, ...] = ()


def text_columns(
    path: Path,
    roles: Mapping[str, Sequence[str]],
    columns: Mapping[str, str] | None = None,
    required: Sequence[str] = (),
) -> pl.DataFrame:
    """The columns of a file that have a role, as stripped text, null where blank.

    Args:
        path: CSV, TSV, JSON lines or Parquet; text may be packed with gzip.
        roles: Names that a column of each role may have, case ignored; the first one there counts.
        columns: Columns that the user named, by role; they overrule the names.
        required: Roles that the file must have a column for.

    Returns:
        A column per role that the file has, named by the role, in the order of ``roles``.

    Raises:
        InputError: If there is no such file, it is empty, or a line is not a JSON object.
        SchemaError: If a role is none of ``roles``; a required column, or one that the user named,
            is missing; or a column holds something else than plain values.
    """
    named = columns or {}
    unknown = [role for role in named if role not in roles]
    if unknown:
        raise InputError(f"columns are named for {', '.join(roles)}", found=first_cases(unknown))
    source = File(path)
    table = records_in(source, KINDS["tuples"])
    if table.is_empty():
        raise InputError("a file with rows is required", found="none", where=path)
    picked = {}
    for role, accepted in roles.items():
        here = [name for wanted in accepted if (name := present(table, wanted))]
        if role in named or (role in required and not here):
            hint = f"name another with {role}=COLUMN"
            here = [name_among(table.columns, named.get(role, accepted[0]), path, hint)]
        picked.update({role: here[0]} if here else {})
    text = tidy(table.select(list(dict.fromkeys(picked.values()))), source)
    return text.select(pl.col(name).alias(role) for role, name in picked.items())


def with_every_role(
    table: pl.DataFrame, roles: Mapping[str, Sequence[str]], path: Path
) -> pl.DataFrame:
    """The table with a column per role, null where the file has none; ``model`` is never null.

    A model that the file does not name is called as the file is, up to the first dot.
    """
    missing = [role for role in roles if role not in table.columns]
    whole = table.with_columns(pl.lit(None, pl.String).alias(role) for role in missing)
    return whole.with_columns(pl.col("model").fill_null(path.name.split(".")[0] or path.name))


def sound_rows(
    parts: Sequence[pl.DataFrame],
    schema: Mapping[str, Any],
    what: str,
    paths: Sequence[Path],
    keys: Sequence[str] = (),
) -> AnswerRows:
    """The rows of some files that can be used, with the numbers of those that cannot.

    Args:
        parts: A table per file with the columns of ``schema``, and ``refused``: why a row cannot be
            used, null if it can. Further columns are left out.
        schema: Columns with their types.
        what: What rows are, in the plural, for messages.
        paths: The files, for messages.
        keys: Columns that together name one answer, which may be given once.

    Raises:
        InputError: If no row can be used, or one model answers the same question twice.
    """
    kinds = {**schema, "refused": pl.String}
    own = (part.select(pl.col(name).cast(kind) for name, kind in kinds.items()) for part in parts)
    read = pl.concat([pl.DataFrame(schema=kinds), *own])
    refused = dict(read["refused"].drop_nulls().value_counts().sort("refused").iter_rows())
    frame = read.filter(pl.col("refused").is_null()).select(*schema)
    if frame.is_empty():
        counts = ", ".join(f"{n:,} {reason}" for reason, n in refused.items())
        raise InputError(
            f"{what} are required",
            found=f"none that can be used: {counts}" if counts else "no file",
            where=", ".join(map(str, paths)),
        )
    if keys:
        refuse_repeated(frame, keys, paths)
    return AnswerRows(frame, read.height, refused, tuple(paths))


def refuse_foreign(frame: pl.DataFrame, ids: pl.Series, paths: Sequence[Path]) -> None:
    """Raise InputError if a model answers by ids alone, and no tuple has any of them.

    Args:
        frame: Answers with ``model`` and ``id``, which is null where something else names a tuple.
        ids: Those of the tuples.
        paths: The files, for the message.
    """
    named = pl.col("id").is_null() | pl.col("id").is_in(ids.implode())
    foreign = frame.filter(~named.any().over("model"))
    if not foreign.is_empty():
        model = foreign["model"][0]
        cases = foreign.filter(model=model)["id"].unique(maintain_order=True)
        raise InputError(
            "answers must name tuples by their ids",
            found=f"of {model!r} none that a tuple has: {first_cases(cases.head(5), len(cases))}",
            where=", ".join(map(str, paths)),
            hint="tuples without a column id have the numbers of their records, from 1",
        )


def refuse_repeated(frame: pl.DataFrame, keys: Sequence[str], paths: Sequence[Path]) -> None:
    """Raise InputError if a model answers the same question twice.

    Args:
        frame: Answers.
        keys: Columns that together name one answer.
        paths: The files, for the message.
    """
    twice = frame.filter(pl.struct(*keys).is_duplicated()).unique(keys, maintain_order=True)
    if not twice.is_empty():
        cases = twice.head(5).select(pl.concat_str(keys, separator=" ", ignore_nulls=True))
        raise InputError(
            "each model must give one answer to each question",
            found=f"several answers by {first_cases(cases.to_series(), twice.height)}",
            where=", ".join(map(str, paths)),
            hint="models, or draws of one model, need names of their own in a column model",
        )

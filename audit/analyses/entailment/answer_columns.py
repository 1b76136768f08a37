"""Rows of files of predictions, generations, answers and ratings that can be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from audit.analyses.entailment.dataset import EntailmentDataset
from audit.base.errors import InputError, first_cases
from audit.base.readings import Reading, asked
from audit.data.records import Records, sound_records


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
) -> Records:
    """The rows of some files that can be used, with the numbers of those that cannot.

    Args:
        parts: A table per file with the columns of ``schema``, and ``refused``: why a row cannot be
            used, null if it can. Further columns are left out.
        keys: Columns that together name one answer, which may be given once.

    Raises:
        InputError: If no row can be used, or one model answers the same question twice.
    """
    kinds = {**schema, "refused": pl.String}
    own = (part.select(pl.col(name).cast(kind) for name, kind in kinds.items()) for part in parts)
    read = pl.concat([pl.DataFrame(schema=kinds), *own])
    found = sound_records(read, sorted(read["refused"].drop_nulls().unique()), paths)
    if found.frame.is_empty():
        counts = ", ".join(f"{n:,} {reason}" for reason, n in found.ledger.items())
        raise InputError(
            f"{what} are required",
            found=f"none that can be used: {counts}" if counts else "no file",
            where=", ".join(map(str, paths)),
        )
    if keys:
        refuse_repeated(found.frame, keys, paths)
    return found


def by_number(
    given: Records, dataset: EntailmentDataset, first: int | None, what: str, *, own: bool = True
) -> tuple[Records, tuple[Reading, ...]]:
    """Records by the ids of tuples without ids, which are the numbers of these from 0.

    Args:
        first: The number of the first tuple; None to go by whether the first or last one is named.

    Raises:
        InputError: If neither is named and there are no usual ones, or both are.
    """
    numbers, last = given.frame["id"].cast(pl.Int64, strict=False), dataset.rows_read
    if not dataset.numbered or not numbers.count():
        return given, ()
    starts = {
        start: Reading(
            f"the first tuple is number {start} in {what}",
            f"tuples have no ids, and number {start * last} is named there",
            int(numbers.is_between(start, last - 1 + start).sum()),
            f"--numbered-from {1 - start}",
            what,
        )
        for start in (0, 1)
    }
    met = [start for start in starts if (numbers == start * last).any()]
    if own and not met:
        starts[0] = replace(starts[0], evidence="prompts number them so, since they have no ids")
        met = [0]
    if first is None and len(met) != 1:
        told = [replace(one, option=f"--numbered-from {start}") for start, one in starts.items()]
        where = ", ".join(map(str, given.sources))
        raise asked("it must be known which number the first tuple has", told, where)
    start = met[0] if first is None else first
    ids = pl.coalesce((numbers - start).cast(pl.String), "id")
    found = replace(given, frame=given.frame.with_columns(id=ids))
    return found, (starts[start],) if first is None else ()


def refuse_foreign(frame: pl.DataFrame, ids: pl.Series, paths: Sequence[Path]) -> None:
    """Raise InputError if a model answers by ids alone, and no tuple has any of them."""
    named = pl.col("id").is_null() | pl.col("id").is_in(ids.implode())
    foreign = frame.filter(~named.any().over("model"))
    if not foreign.is_empty():
        model = foreign["model"][0]
        cases = foreign.filter(model=model)["id"].unique(maintain_order=True)
        raise InputError(
            "answers must name tuples by their ids",
            found=f"of {model!r}, ids that no tuple has: {first_cases(cases.head(5), len(cases))}",
            where=", ".join(map(str, paths)),
            hint="tuples without a column id have the numbers of their records, from 0",
        )


def refuse_repeated(frame: pl.DataFrame, keys: Sequence[str], paths: Sequence[Path]) -> None:
    """Raise InputError if a model answers the same question twice."""
    twice = frame.filter(pl.struct(*keys).is_duplicated()).unique(keys, maintain_order=True)
    if not twice.is_empty():
        cases = twice.head(5).select(pl.concat_str(keys, separator=" ", ignore_nulls=True))
        raise InputError(
            "each model must give one answer to each question",
            found=f"several answers by {first_cases(cases.to_series(), twice.height)}",
            where=", ".join(map(str, paths)),
            hint="models, or draws of one model, need names of their own in a column model",
        )

"""Generated concepts and what people say of them, as read, and tables of what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.entailment.answer_columns import sound_rows, with_every_role
from audit.analyses.entailment.dataset import parts_by_relation
from audit.analyses.entailment.declared import TABLES
from audit.analyses.entailment.tuple_files import relations, truths
from audit.base.dag import IntArray
from audit.base.declared import schema
from audit.base.errors import SchemaError, first_cases
from audit.base.tables import open_table
from audit.data.records import Records, records
from audit.engine.statistics.intervals import grouped_wilson
from audit.engine.statistics.raters import agreement_of_sums, agreement_terms, equal_votes
from audit.engine.statistics.resampling import group_bootstrap, with_interval

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
    table = records(open_table(path), ROLES, columns, ("text",)).frame
    if "id" not in table.columns and not {"head", "relation"} <= set(table.columns):
        raise SchemaError(
            "the id of a tuple, or head, relation and instance, are required",
            found=f"columns for {first_cases(table.columns)}",
            where=path,
            hint="call the column that holds the ids 'id'",
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


RATED = schema(("model id rater level", pl.String))
"""One row per model, text (named by the id of a tuple of its instance) and rater."""

RATING_ROLES = {
    "id": ("id",),
    "model": ("model",),
    "rater": ("rater", "annotator"),
    "rating": ("rating", "level"),
}
"""Names of columns by role."""
MISSING_ID, MISSING_RATING = "missing_id", "missing_rating"
_LEVELS = {True: "valid", False: "invalid"}


def read_ratings(paths: Sequence[Path], columns: Mapping[str, str] | None = None) -> Records:
    """Read ratings of generated texts, columns `RATED`, from CSV, TSV, JSON lines or Parquet.

    A file has the ``id`` of a tuple whose instance a text is for, and a ``rating``: 1 or 0, valid
    or invalid, yes or no, or any other names of levels. ``rater`` is one person where there is no
    such column, ``model`` the file's name without suffix.

    Args:
        paths: The files.
        columns: Column for each of `RATING_ROLES` that has another name.

    Raises:
        InputError: If a file cannot be read, no row can be used, or a rater rates a text twice.
        SchemaError: If a column is missing.
    """
    parts = [_read_rated(path, columns) for path in paths]
    keys = ("model", "id", "rater")
    given = sound_rows(parts, RATED, "ratings of texts", paths, keys)
    said = truths(given.frame["level"])
    if said.null_count():
        return given
    levels = said.replace_strict(_LEVELS, return_dtype=pl.String)
    return replace(given, frame=given.frame.with_columns(level=levels))


def rating_tables(
    ratings: Records | None, tuples: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, Mapping[str, int]]:
    """What people say of texts, how far they agree, and what became of the rows.

    Args:
        ratings: None gives empty tables.
    """
    if ratings is None:
        return (
            TABLES["generation_ratings"].frame(),
            TABLES["generation_agreement"].frame(),
            {},
        )
    known = ratings.frame.join(tuples.select("id", "relation"), on="id")
    levels = sorted(known["level"].unique().to_list())
    shares: list[dict[str, Any]] = []
    agreement: list[dict[str, Any]] = []
    for about, part in _parts(known):
        items, counts = _ratings_by_level(part, levels)
        shares += [{**about, **line} for line in _shares(counts, levels)]
        raters = part["rater"].n_unique()
        agreement += [{**about, "raters": raters, **line} for line in _agreement(items, counts)]
    ledger = {
        "rows_read": ratings.rows_read,
        "used": known.height,
        "unknown_id": ratings.frame.height - known.height,
        **ratings.ledger,
    }
    return (
        TABLES["generation_ratings"].frame(shares),
        TABLES["generation_agreement"].frame(agreement),
        ledger,
    )


def _read_rated(path: Path, columns: Mapping[str, str] | None) -> pl.DataFrame:
    table = records(open_table(path), RATING_ROLES, columns, ("id", "rating")).frame
    return with_every_role(table, RATING_ROLES, path).with_columns(
        rater=pl.col("rater").fill_null(""),
        level="rating",
        refused=pl.when(pl.col("id").is_null())
        .then(pl.lit(MISSING_ID))
        .when(pl.col("rating").is_null())
        .then(pl.lit(MISSING_RATING)),
    )


def _parts(known: pl.DataFrame) -> Iterator[tuple[dict[str, str], pl.DataFrame]]:
    """The ratings of each model by relation, and of all where there are several."""
    for (model,), own in known.sort("model").group_by("model", maintain_order=True):
        for relation, rows in parts_by_relation(own["relation"]).items():
            yield {"model": str(model), "relation": relation}, own[rows]


def _ratings_by_level(part: pl.DataFrame, levels: Sequence[str]) -> tuple[list[str], IntArray]:
    """Ids of the rated texts, and their ratings by level, shape (n_items, n_levels)."""
    by_item = part.group_by("id").agg(
        (pl.col("level") == level).sum().cast(pl.Int64).alias(str(place))
        for place, level in enumerate(levels)
    )
    ordered = by_item.sort("id")
    return ordered["id"].to_list(), ordered.drop("id").to_numpy()


def _shares(counts: IntArray, levels: Sequence[str]) -> Iterator[dict[str, Any]]:
    by_item = counts.sum(axis=1).astype(np.float64)
    for level, of_level in zip(levels, counts.T, strict=True):
        low, high = grouped_wilson(of_level.astype(np.float64), by_item)
        share = float(of_level.sum() / by_item.sum())
        sizes = {"ratings": int(by_item.sum()), "items": len(counts)}
        yield {"level": level, "share": share, "low": low, "high": high, **sizes}


def _agreement(items: Sequence[str], counts: IntArray) -> Iterator[dict[str, Any]]:
    votes = counts.sum(axis=1)
    several = votes > 1
    if not several.any():
        return
    drawn = group_bootstrap(np.arange(len(items)), items)
    found = agreement_of_sums(drawn.sums(agreement_terms(counts)), equal=equal_votes(counts))
    sizes = {"items": int(several.sum()), "ratings": int(votes[several].sum())}
    for measure in ("pairwise", "fleiss", "alpha"):
        numbers = (float(number) for number in with_interval(getattr(found, measure)))
        named = dict(zip(("value", "low", "high"), numbers, strict=True))
        known = {name: None if np.isnan(number) else number for name, number in named.items()}
        yield {"measure": measure, **known, **sizes}

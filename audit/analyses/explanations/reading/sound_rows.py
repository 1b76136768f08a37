"""Rows of attributions that can be used; what is left out is counted by reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import polars as pl

from audit.analyses.explanations.attributions import ROWS
from audit.analyses.explanations.lists import laid_out
from audit.analyses.explanations.reading.row_files import FLAG, FLAGS, NUMBER
from audit.base.dag import IntArray
from audit.base.errors import SchemaError, first_cases
from audit.data.records import ATTRIBUTION_COLUMNS, ATTRIBUTION_DEFAULTS, sound_records

KEY = ("id", "target", "method", "model", "seed", "borrowed")
"""What a row is known by, and the order of rows."""

WRONG_TYPE = "wrong_type"
MISSING = "missing_value"
LENGTHS = "length_differs"
NOT_FINITE = "not_finite"
NO_TOKENS = "no_tokens"
REPEATED = "repeated"
CONFLICTING = "conflicting"
ROW_REASONS = (WRONG_TYPE, MISSING, LENGTHS, NOT_FINITE, NO_TOKENS, REPEATED, CONFLICTING)
"""Why rows are left out, as the ledger counts them.

A value of a wrong type; no id, target, tokens or scores, or a token that is null; another number
of scores than of tokens; a score that is missing, not a number or infinite; no token that is not
special; a row that repeats another; and rows that differ but stand under one key, of which none
is kept.
"""


def sound_rows(
    rows: pl.DataFrame, special: Collection[str], where: object
) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """The sound rows, and how many were left out by reason.

    Columns that the file lacks are added; ``gold``, ``predicted`` and ``borrowed`` become true or
    false; the passage in ``text`` is called ``passage``. Rows may still repeat each other.

    Raises:
        SchemaError: If ``gold`` or ``predicted`` may be read in two ways, or holds labels of which
            none is a target.
    """
    full = _completed(rows, where)
    lacking = pl.any_horizontal(pl.col(*ATTRIBUTION_COLUMNS).is_null())
    tokens, token_starts = laid_out(full["tokens"])
    refused = (
        pl.when("fault")
        .then(pl.lit(WRONG_TYPE))
        .when(lacking | _any(tokens.is_null(), token_starts))
        .then(pl.lit(MISSING))
        .when(pl.col("tokens").list.len() != pl.col("scores").list.len())
        .then(pl.lit(LENGTHS))
        .when(_not_finite(full, special))
        .then(pl.lit(NOT_FINITE))
    )
    found = sound_records(full.with_columns(refused=refused).drop("fault"), ROW_REASONS)
    return found.frame, found.ledger


def _not_finite(rows: pl.DataFrame, special: Collection[str]) -> pl.Series:
    """Whether a score of each row is no finite number, of a token that is not special."""
    scores, starts = laid_out(rows["scores"])
    infinite = ~scores.is_finite().fill_null(False)
    if not infinite.any():
        return _any(infinite, starts)
    alike = pl.col("tokens").list.len() == pl.col("scores").list.len()
    paired = rows.select(pl.when(alike).then(pl.col("tokens", "scores")))
    tokens, starts = laid_out(paired["tokens"])
    unsaid = ~laid_out(paired["scores"])[0].is_finite().fill_null(False)
    return _any(unsaid & ~tokens.is_in(list(special)), starts)


def rows_in_order(rows: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Rows in the order of `KEY`, without repeats and contradictions, and the number of each.

    Rows that borrow another's explanation are draws: several that differ are no contradiction.
    """
    if not rows.select(KEY).is_duplicated().any():
        return rows.sort(KEY), {}
    beside = [pl.col(name).is_null() for name in ("offsets", "passage") if name in rows.columns]
    once = rows.sort(*_SAME, *beside).unique(list(_SAME), keep="first", maintain_order=True)
    clear = once.filter(pl.col("borrowed") | ~once.select(KEY).is_duplicated())
    counts = {REPEATED: rows.height - once.height, CONFLICTING: once.height - clear.height}
    return clear, {reason: count for reason, count in counts.items() if count}


_SAME = (*KEY, "scores", "gold", "predicted", "group", "given")
"""Columns in which a row agrees with one that it repeats."""


def _any(flags: pl.Series, starts: IntArray) -> pl.Series:
    """Whether any value of each list has the flag."""
    flagged = np.zeros(len(starts) - 1, dtype=bool)
    flagged[np.searchsorted(starts, flags.arg_true().to_numpy(), side="right") - 1] = True
    return pl.Series(flagged)


def _completed(rows: pl.DataFrame, where: object) -> pl.DataFrame:
    """The rows with all columns of `KEY` and with ``gold``, ``predicted`` and ``group``."""
    missing = [
        name for name in (*ATTRIBUTION_DEFAULTS, "group", *FLAGS) if name not in rows.columns
    ]
    full = rows.with_columns(pl.lit(None, ROWS[name]).alias(name) for name in missing)
    flags = [_label_or_flag(rows, name, where) for name in FLAGS if name in rows.columns]
    return (
        full.with_columns(
            *flags, *(pl.col(name).fill_null(value) for name, value in ATTRIBUTION_DEFAULTS.items())
        )
        .with_columns(pl.col("borrowed").fill_null(False))
        .rename({"text": "passage"}, strict=False)
    )


def _label_or_flag(rows: pl.DataFrame, name: str, where: object) -> pl.Series:
    """Whether each row has the flag: it is true, 1, or the label that is the row's target."""
    values, kinds = rows[name], rows[f"{name}:kind"]
    others = rows.filter(kinds != FLAG)
    written = set(others[name].drop_nulls().str.to_lowercase().unique())
    targets = set(others["target"].drop_nulls().unique()) if name != "borrowed" else set()
    for no, yes in (("0", "1"), ("false", "true")):
        if not written or not written <= {no, yes}:
            continue
        if not {no, yes} & targets:
            return values.str.to_lowercase().is_in([yes, "true"]).alias(name)
        if (kinds == NUMBER).any():
            raise SchemaError(
                f"the column {name!r} must hold true and false, or labels as text",
                found=f"the numbers {no} and {yes}, which are targets too",
                where=where,
                hint="write true and false, since 1 may also stand for the label 1",
            )
    if written and targets.isdisjoint(others[name]):
        raise SchemaError(
            f"the column {name!r} must hold true and false, or labels that are among the targets",
            found=f"{first_cases(written)} beside the targets {first_cases(targets)}",
            where=where,
            hint="write the label as the targets are written, or true or false",
        )
    frame = pl.DataFrame({"value": values, "kind": kinds, "target": rows["target"]})
    flag = pl.when(pl.col("kind") == FLAG).then(pl.col("value") == "true")
    return frame.select(flag.otherwise(pl.col("value") == pl.col("target")).alias(name)).to_series()

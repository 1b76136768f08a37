"""Attributions from files, with the texts that they share and the human evidence for these."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import cast, get_args

import numpy as np
import polars as pl

from audit.analyses.explanations.attributions import ROWS, Attributions, Evidence
from audit.analyses.explanations.evidence import (
    NO_MASK,
    UNMATCHED,
    Records,
    Texts,
    evidence_of,
    own_records,
    places_in,
    records_among,
    spans_in,
)
from audit.analyses.explanations.lists import (
    Lists,
    laid_out,
    list_column,
    lists_in,
    starts_of,
    sums,
)
from audit.analyses.explanations.row_files import COLUMNS, FLAG, FLAGS, NUMBER, read_rows
from audit.analyses.explanations.words import (
    ALL_SPECIAL,
    Merging,
    merged_scores,
    merged_tokens,
    special_tokens,
    word_starts,
    words_of,
)
from audit.analyses.explanations.words import stop_words as stop_words_named
from audit.base.dag import IntArray
from audit.base.errors import InputError, SchemaError, first_cases, refuse_unknown
from audit.base.readings import Reading
from audit.data.records import ATTRIBUTION_COLUMNS, ATTRIBUTION_DEFAULTS, sound_records

KEY = ("id", "target", "method", "model", "seed", "borrowed")
"""What a row is known by, and the order of rows."""
REPEATED, CONFLICTING = "repeated", "conflicting"
ROW_REASONS = (
    *("wrong_type", "missing_value", "length_differs", "not_finite", "no_tokens"),
    *(REPEATED, CONFLICTING),
)
"""Why rows are left out, as the ledger counts them.

A value of a wrong type; no id, target, tokens or scores, or a token that is null; another number
of scores than of tokens; a score that is missing, not a number or infinite; no token that is not
special; a row that repeats another; and rows that differ but stand under one key, of which none
is kept.
"""


def read_attributions(
    path: Path | str,
    evidence: Path | str | None = None,
    *,
    word_pieces: str | None = None,
    special: str | Collection[str] | None = None,
    stop_words: str = "paper",
) -> Attributions:
    """Read attributions, and the human evidence for the same texts, from JSON lines or Parquet.

    A row is an instance, target label, method, model and seed. Rows are sorted by these, so that
    their order in the file does not matter.

    Args:
        path: The attributions: ``id, target, tokens, scores``, and further columns.
        evidence: A file of evidence: ``id, target`` and ``marks``, ``spans`` or ``explanation``.
            Evidence that stands among the attributions is not read then. Without a column
            ``target``, evidence counts for each target of its text.
        word_pieces: Merge the pieces of words: ``sum``, ``mean`` or ``max``.
        special: Tokens that are left out, or the name of a list of them; without, those of every
            list, and those that hold no character of a text by their offsets.
        stop_words: The list of words that explanations do not hold: ``paper`` or ``clinical``.

    Raises:
        InputError: If a file is empty, holds no sound row, or no evidence fits the attributions.
        SchemaError: If a required column is missing, or has a wrong type.
    """
    path, stop = Path(path), stop_words_named(stop_words)
    if word_pieces is not None:
        refuse_unknown(word_pieces, get_args(Merging), "a rule for merging word pieces", "rules")
    named = None if special is None else special_tokens(special)
    records, sources, readings = None, [path], list[Reading]()
    if evidence is not None:
        sources.append(Path(evidence))
        held = read_rows(sources[1], ("id",))
        records = own_records(held, stop, sources[1])
        readings += _of_texts(held, sources[1])
    rows = read_rows(path, ATTRIBUTION_COLUMNS)
    unwritten = _tokens_without_text(rows) if named is None else {}
    left_out = ALL_SPECIAL.union(unwritten) if named is None else named
    readings += _readings(unwritten)
    sound, faults = sound_rows(rows, left_out, path)
    found = records_among(sound, stop, path) if records is None else records
    lists = sound.select(_LIST).unique(maintain_order=True).with_row_index("given")
    kept, repeats = _in_order(sound.join(lists, on=_LIST, maintain_order="left"))
    ledger = {"rows_read": len(rows), "rows_kept": len(kept), **faults, **repeats}
    if kept.is_empty():
        counts = _counts_as_text(ledger)
        raise InputError("a sound row of attributions is required", found=counts, where=path)
    merging = cast(Merging | None, word_pieces)
    texts, kept = _texts(kept, left_out, merging, found)
    pairs = kept.select("text", "target").unique().sort("text", "target")
    made, counted = (None, {}) if found is None else evidence_of(found, pairs, texts)
    if records is not None and made is None:
        raise _no_evidence(kept, records, counted, sources[-1])
    scores = _scores(kept, texts, merging)
    linked = _linked(kept, made)
    ledger |= {
        "texts": len(texts.left),
        "special_tokens": int(laid_out(lists["tokens"])[0].is_in(list(left_out)).sum()),
        "rows_of_one_token": int((scores.lengths == 1).sum()),
        **counted,
        "rows_without_evidence": linked["item"].null_count(),
    }
    tokens = laid_out(texts.left)[0].alias("token")
    vocabulary = texts.vocabulary.alias("word")
    return Attributions(
        linked,
        scores,
        texts.words,
        tokens,
        vocabulary,
        made,
        ledger,
        tuple(sources),
        tuple(readings),
    )


def _of_texts(held: pl.DataFrame, where: Path) -> list[Reading]:
    """That evidence names no target."""
    if "target" in held.columns:
        return []
    decision = "evidence counts for each label of its text"
    return [Reading(decision, f"{where.name} names no target", len(held), "a column target")]


def _readings(unwritten: Mapping[str, int]) -> list[Reading]:
    """That tokens are special which no list names."""
    others = {token: count for token, count in unwritten.items() if token not in ALL_SPECIAL}
    if not others:
        return []
    decision = f"tokens such as {max(others, key=lambda one: others[one])!r} are left out"
    evidence = "they hold no character of a text by their offsets"
    return [Reading(decision, evidence, sum(others.values()), "--special-tokens all", "tokens")]


def _tokens_without_text(rows: pl.DataFrame) -> dict[str, int]:
    """Tokens whose offsets are empty wherever they are known, with how often they stand there.

    A tokenizer gives such offsets to the tokens that it adds, whatever their names. A row of which
    no token has others does not count.
    """
    if "offsets" not in rows.columns:
        return {}
    known = rows.filter(pl.col("offsets").list.len() == pl.col("tokens").list.len())
    tokens, (firsts, ends) = laid_out(known["tokens"])[0], spans_in(known["offsets"])
    empty = (firsts.values == ends.values) & (firsts.values >= 0)
    frame = pl.DataFrame({"token": tokens, "empty": empty, "row": firsts.owner})
    placed = frame.filter(pl.col("empty") & ~pl.col("empty").all().over("row"))
    counts = placed.drop_nulls("token")["token"].value_counts()
    elsewhere = frame.filter(~pl.col("empty"))["token"].unique()
    return dict(counts.filter(~pl.col("token").is_in(elsewhere.implode())).iter_rows())


def sound_rows(
    rows: pl.DataFrame, special: Collection[str], where: object
) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """The sound rows, and how many were left out by reason; rows may still repeat each other.

    Columns that the file lacks are added; ``gold``, ``predicted`` and ``borrowed`` become true or
    false.

    Raises:
        SchemaError: If ``gold`` or ``predicted`` may be read in two ways, or holds labels of which
            none is a target.
    """
    missing = [name for name in COLUMNS if name not in rows.columns]
    flags = [_label_or_flag(rows, name, where) for name in FLAGS if name in rows.columns]
    full = rows.with_columns(pl.lit(None, COLUMNS[name]).alias(name) for name in missing)
    full = full.with_columns(
        *flags,
        *(pl.col(name).fill_null(value) for name, value in ATTRIBUTION_DEFAULTS.items()),
        *(pl.lit(None, pl.Boolean).alias(name) for name in FLAGS if name in missing),
    ).with_columns(pl.col("borrowed").fill_null(False))
    tokens, scores = pl.col("tokens"), pl.col("scores")
    alike = tokens.list.len() == scores.list.len()
    reasons: dict[str, pl.Expr | pl.Series] = {
        "wrong_type": pl.col("fault"),
        "missing_value": pl.any_horizontal(pl.col(*ATTRIBUTION_COLUMNS).is_null())
        | tokens.list.eval(pl.element().is_null()).list.any(),
        "length_differs": ~alike,
        "not_finite": _not_finite(full, special),
        "no_tokens": tokens.list.eval(pl.element().is_in(list(special))).list.all(),
    }
    refused = pl.coalesce(pl.when(found).then(pl.lit(reason)) for reason, found in reasons.items())
    found = sound_records(full.with_columns(refused=refused).drop("fault"), ROW_REASONS)
    return found.frame, found.ledger


def _not_finite(rows: pl.DataFrame, special: Collection[str]) -> pl.Series:
    """Whether a score of each row is no finite number, of a token that is not special."""
    alike = pl.col("tokens").list.len() == pl.col("scores").list.len()
    paired = rows.select(pl.when(alike).then(pl.col("tokens", "scores")))
    (tokens, starts), (scores, _) = laid_out(paired["tokens"]), laid_out(paired["scores"])
    unsaid = ~(scores.is_finite().fill_null(False) | tokens.is_in(list(special)))
    return pl.Series(sums(Lists(unsaid.fill_null(True).to_numpy(), starts)) > 0)


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
    said = pl.when(kinds == FLAG).then(values == "true").otherwise(values == rows["target"])
    return pl.select(said.alias(name)).to_series()


_SAME = (*KEY, "scores", "gold", "predicted", "group", "given")
"""Columns in which a row agrees with one that it repeats."""
_LIST = ["id", "model", "tokens"]
"""What token lists are told apart by: they are kept apart by instance and by model."""


def _in_order(rows: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Rows in the order of `KEY`, without repeats and contradictions, and the number of each.

    Rows that borrow another's explanation are draws: several that differ are no contradiction.
    """
    if not rows.select(KEY).is_duplicated().any():
        return rows.sort(KEY), {}
    beside = pl.col("offsets", "text").is_null()
    once = rows.sort(*_SAME, beside).unique(list(_SAME), keep="first", maintain_order=True)
    clear = once.filter(pl.col("borrowed") | ~once.select(KEY).is_duplicated())
    counts = {REPEATED: len(rows) - len(once), CONFLICTING: len(once) - len(clear)}
    return clear, {reason: count for reason, count in counts.items() if count}


def _texts(
    rows: pl.DataFrame, special: Collection[str], rule: Merging | None, records: Records | None
) -> tuple[Texts, pl.DataFrame]:
    """The texts of rows, and the rows with the places of their lists and texts."""
    passages = rows.select("given", "offsets", length=pl.col("text").str.len_chars().cast(pl.Int64))
    given = rows.unique("given", maintain_order=True).select(*_LIST, "given")
    for name in ("offsets", "length"):  # null where rows with the same tokens differ in it
        told = passages.select("given", name).drop_nulls().unique()
        clear = told.filter(~told["given"].is_duplicated())
        given = given.join(clear, on="given", how="left", maintain_order="left")
    tokens, starts = laid_out(given["tokens"])
    kept = Lists(~tokens.is_in(list(special)).to_numpy(), starts)
    tokens = tokens.filter(pl.Series(kept.values))
    begins = Lists(np.ones(len(tokens), np.bool_), starts_of(sums(kept).astype(np.int64)))
    if rule is not None:
        models = given["model"].rank("dense").to_numpy().astype(np.int64)
        breaks = np.concatenate([[True], ~kept.values[:-1]])
        breaks[starts[:-1]] = True
        own = word_starts(tokens, models[begins.owner], breaks[kept.values])
        begins, tokens = Lists(own, begins.starts), merged_tokens(tokens, own)
    left = list_column(tokens, starts_of(sums(begins).astype(np.int64)))
    given = given.drop("tokens").with_columns(tokens=left)
    each = given.select(_LIST).unique(maintain_order=True)
    found = each.with_columns(text=pl.int_range(pl.len(), dtype=pl.Int64))
    given = given.join(found, on=_LIST, maintain_order="left")
    tokens, starts = laid_out(found["tokens"])
    distinct = tokens.unique()
    said = [laid_out(records.frame["held"])[0]] if records and records.kind == "text" else []
    vocabulary = pl.concat([words_of(distinct), *said]).unique().sort()
    by_token = pl.Series(places_in(words_of(distinct), vocabulary))
    words = tokens.replace_strict(distinct, by_token, return_dtype=pl.Int64).to_numpy()
    texts = Texts(given, kept, begins, found["tokens"], Lists(words, starts), vocabulary)
    places = given.select("given", "text", place=pl.int_range(pl.len()))
    placed = rows.drop("text").join(places, on="given", maintain_order="left")
    return texts, placed.drop("given").rename({"place": "given"})


def _scores(rows: pl.DataFrame, texts: Texts, rule: Merging | None) -> Lists[np.float64]:
    """Scores of the tokens that are left."""
    given: IntArray = rows["given"].to_numpy()
    values = lists_in(rows["scores"]).values[texts.kept.take(given).values]
    if rule is not None:
        values = merged_scores(values, texts.begins.take(given).values, rule)
    return Lists(values, starts_of(texts.sizes[given]))


def _linked(rows: pl.DataFrame, evidence: Evidence | None) -> pl.DataFrame:
    """The rows with the place of their evidence in ``item``, null where there is none."""
    if evidence is None:
        linked = rows.with_columns(item=pl.lit(None, pl.Int64))
    else:
        items = evidence.items.select("text", "target").with_columns(item=pl.int_range(pl.len()))
        linked = rows.join(items, on=["text", "target"], how="left", maintain_order="left")
    return linked.select(*ROWS).cast(pl.Schema(ROWS))


def _no_evidence(
    rows: pl.DataFrame, records: Records, counts: Mapping[str, int], where: Path
) -> InputError:
    told = ""
    if counts.get(UNMATCHED):
        first, row = (first_cases(of.select(records.keys).row(0)) for of in (records.frame, rows))
        told = f"; the first is of {first}, the first row of {row}"
    return InputError(
        "evidence that fits the attributions is required",
        found=_counts_as_text(counts) + told,
        where=where,
        hint="marks are shares of 1: divide each by the largest, or by their sum"
        if counts.get(NO_MASK)
        else f"evidence is joined by {' and '.join(records.keys)}, and masks also by their length",
    )


def _counts_as_text(ledger: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in ledger.items() if count)

"""Attributions from files, with the texts that they share and the human evidence for these."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from audit.analyses.explanations.attributions import ROWS, Attributions, Evidence, EvidenceKind
from audit.analyses.explanations.lists import Lists, laid_out, lists_in
from audit.analyses.explanations.reading.human_evidence import (
    NO_MASK,
    PAYLOADS,
    UNMATCHED,
    Records,
    evidence_of,
    explanation_words,
    places_in,
)
from audit.analyses.explanations.reading.row_files import read_rows
from audit.analyses.explanations.reading.sound_rows import NO_TOKENS, rows_in_order, sound_rows
from audit.analyses.explanations.reading.spans import tokens_without_text
from audit.analyses.explanations.reading.texts import (
    ALL_SPECIAL,
    Merging,
    Texts,
    merging_named,
    special_tokens,
    texts_of,
    words_of,
)
from audit.analyses.explanations.reading.texts import stop_words as stop_words_named
from audit.base.dag import IntArray
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.readings import Reading
from audit.data.records import ATTRIBUTION_COLUMNS


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
    path, rule, stop = Path(path), merging_named(word_pieces), stop_words_named(stop_words)
    named = None if special is None else special_tokens(special)
    records, sources = None, [path]
    told: tuple[Reading, ...] = ()
    if evidence is not None:
        sources.append(Path(evidence))
        held = read_rows(sources[1], ("id",))
        records, told = _own_records(held, stop, sources[1]), _of_texts(held, sources[1])
    rows = read_rows(path, ATTRIBUTION_COLUMNS)
    read = rows.height
    unwritten = tokens_without_text(rows) if named is None else {}
    left_out = ALL_SPECIAL.union(unwritten) if named is None else named
    sound, faults = sound_rows(rows, left_out, path)
    del rows
    met = _records_among(sound, stop, path) if records is None else records
    texts = texts_of(sound, left_out, rule)
    text = texts.given["text"].gather(texts.of_row)
    placed = sound.drop("tokens").with_columns(text=text, given=pl.Series(texts.of_row))
    del sound
    kept, repeats = rows_in_order(placed.drop_nulls("text"))
    empty = {NO_TOKENS: text.null_count()} if text.null_count() else {}
    ledger = {"rows_read": read, "rows_kept": kept.height, **faults, **empty, **repeats}
    if kept.is_empty():
        raise InputError(
            "a sound row of attributions is required", found=_counts_as_text(ledger), where=path
        )
    numbers = kept["text"].unique(maintain_order=True)
    texts = texts.numbered(numbers.to_numpy())
    kept = kept.with_columns(text=texts.given["text"].gather(kept["given"]))
    made = _assembled(kept, texts, rule, met, ledger)
    if records is not None and made.evidence is None:
        raise InputError(
            "evidence that fits the attributions is required",
            found=_counts_as_text(made.ledger, "evidence_") + _first_keys(kept, records, made),
            where=sources[-1],
            hint="marks are shares of 1: divide each by the largest, or by their sum"
            if made.ledger.get(NO_MASK)
            else f"evidence is joined by {' and '.join(records.keys)}, and masks also by their "
            "length",
        )
    return replace(made, sources=tuple(sources), readings=(*told, *_readings(unwritten)))


def _of_texts(held: pl.DataFrame, where: Path) -> tuple[Reading, ...]:
    if "target" in held.columns:
        return ()
    decision = "evidence counts for each label of its text"
    return (Reading(decision, f"{where.name} names no target", len(held), "a column target"),)


def _first_keys(rows: pl.DataFrame, records: Records, made: Attributions) -> str:
    """What the first row and the first evidence are joined by, where evidence is of no row."""
    if not made.ledger.get(UNMATCHED):
        return ""
    first, row = (frame.select(records.keys).row(0) for frame in (records.frame, rows))
    return f"; the first is of {first_cases(first)}, the first row of {first_cases(row)}"


def _readings(unwritten: Mapping[str, int]) -> tuple[Reading, ...]:
    """That tokens are special which no list names."""
    others = {token: count for token, count in unwritten.items() if token not in ALL_SPECIAL}
    if not others:
        return ()
    decision = f"tokens such as {max(others, key=lambda one: others[one])!r} are left out"
    evidence = "they hold no character of a text by their offsets"
    return (Reading(decision, evidence, sum(others.values()), "--special-tokens all", "tokens"),)


def _assembled(
    rows: pl.DataFrame,
    texts: Texts,
    rule: Merging | None,
    records: Records | None,
    ledger: dict[str, int],
) -> Attributions:
    """Attributions of rows that are kept, each with its ``text`` and ``given`` list."""
    tokens, starts = laid_out(texts.left["tokens"])
    vocabulary, places = _vocabulary(tokens, records)
    words = Lists(places, starts)
    scores = texts.scores(lists_in(rows["scores"], np.float64), rows["given"].to_numpy(), rule)
    found: dict[str, int] = {}
    evidence = None
    if records is not None:
        pairs = rows.select("text", "target").unique().sort("text", "target")
        offsets = _offsets(rows, texts.given.height)
        evidence, found = evidence_of(records, pairs, texts, words, vocabulary, offsets)
    linked = _linked(rows, evidence)
    return Attributions(
        rows=linked.select(*ROWS).cast(pl.Schema(ROWS)),
        scores=scores,
        words=words,
        tokens=tokens.alias("token"),
        vocabulary=vocabulary.alias("word"),
        evidence=evidence,
        ledger={
            **ledger,
            "texts": texts.left.height,
            "special_tokens": int((~texts.kept.values).sum()),
            "rows_of_one_token": int((scores.lengths == 1).sum()),
            **found,
            "rows_without_evidence": linked["item"].null_count(),
        },
    )


def _vocabulary(tokens: pl.Series, records: Records | None) -> tuple[pl.Series, IntArray]:
    """All words in order, those of explanations among them, and the place of each token's word."""
    distinct = tokens.unique()
    words = words_of(distinct)
    given = (
        [] if records is None or records.kind != "text" else [laid_out(records.frame["words"])[0]]
    )
    vocabulary = pl.concat([words, *given]).unique().sort()
    by_token = pl.Series(places_in(words, vocabulary))
    places = tokens.replace_strict(distinct, by_token, return_dtype=pl.Int64)
    return vocabulary, places.to_numpy()


def _linked(rows: pl.DataFrame, evidence: Evidence | None) -> pl.DataFrame:
    """The rows with the place of their evidence in ``item``, null where there is none."""
    if evidence is None:
        return rows.with_columns(item=pl.lit(None, pl.Int64))
    items = evidence.items.select("text", "target").with_columns(item=pl.int_range(pl.len()))
    return rows.join(items, on=["text", "target"], how="left", maintain_order="left")


def _offsets(rows: pl.DataFrame, lists: int) -> pl.DataFrame:
    """``offsets`` of the tokens of each given list, and the ``length`` of its passage, if known.

    Both are null where rows with the same tokens differ in them.
    """
    known: dict[str, tuple[str, pl.Expr, pl.DataType]] = {
        "offsets": ("offsets", pl.col("offsets"), pl.List(pl.List(pl.Int64))),
        "length": ("passage", pl.col("passage").str.len_chars().cast(pl.Int64), pl.Int64()),
    }
    places = pl.DataFrame({"given": pl.int_range(lists, eager=True)})
    for name, (column, value, dtype) in known.items():
        if column not in rows.columns:
            places = places.with_columns(pl.lit(None, dtype).alias(name))
            continue
        once = rows.select("given", value.alias(name)).drop_nulls().unique()
        clear = once.filter(~once["given"].is_duplicated())
        places = places.join(clear, on="given", how="left", maintain_order="left")
    return places


def _own_records(rows: pl.DataFrame, stop: frozenset[str], path: Path) -> Records:
    """The evidence in a file of its own; raises SchemaError if it has no column of evidence."""
    held = _held(rows, path)
    if held is None:
        raise SchemaError(
            "a column marks, spans, explanation or explanation_tokens is required",
            found=f"none with a value, and {int(rows['evidence_fault'].sum()):,} of a wrong type",
            where=path,
        )
    model = pl.col("model") if "model" in rows.columns else pl.lit(None, pl.String)
    wrong = pl.col("fault") | pl.col("evidence_fault")
    of_texts = "target" not in rows.columns
    target = pl.lit(None, pl.String) if of_texts else pl.col("target")
    given = rows.with_columns(model=model, wrong_type=wrong, target=target)
    return replace(_records(given, *held, stop), of_texts=of_texts)


def _records_among(rows: pl.DataFrame, stop: frozenset[str], where: object) -> Records | None:
    """The evidence among attributions, each once; None if there is none.

    Masks are about the tokens of their row, so about its model; spans and explanations are about
    the text.
    """
    held = _held(rows, where)
    if held is None:
        return None
    kind, column = held
    given = rows.filter(pl.col(column).is_not_null() | pl.col("evidence_fault"))
    model = pl.col("model") if kind == "marks" else pl.lit(None, pl.String)
    records = given.select("id", "target", column, model=model, wrong_type="evidence_fault")
    return _records(_distinct(records), kind, column, stop)


def _distinct(rows: pl.DataFrame) -> pl.DataFrame:
    """Each row once, in order; some at a time, since lists take much memory to be compared."""
    distinct, done = rows.clear(), 0
    while done < rows.height:
        some = rows.slice(done, max(_AT_ONCE, distinct.height))
        distinct = pl.concat([distinct, some]).unique(maintain_order=True)
        done += some.height
    return distinct


_AT_ONCE = 100_000
"""Rows that are compared at a time, or as many as there are different ones."""


def _records(rows: pl.DataFrame, kind: EvidenceKind, column: str, stop: frozenset[str]) -> Records:
    payload = pl.col(column) if kind != "text" else pl.lit(explanation_words(rows[column], stop))
    name = "words" if kind == "text" else kind
    return Records(kind, rows.select("id", "target", "model", "wrong_type", payload.alias(name)))


def _held(rows: pl.DataFrame, where: object) -> tuple[EvidenceKind, str] | None:
    """The kind of evidence that the rows hold, and its column; None if there is none."""
    filled = [name for name in rows.columns if rows[name].null_count() < rows.height]
    found = {
        kind: next((name for name in names if name in filled), "")
        for kind, names in PAYLOADS.items()
    }
    kinds = [kind for kind in found if found[kind]]
    if len(kinds) > 1:
        raise InputError(
            "one kind of evidence is read at a time",
            found=", ".join(kinds),
            where=where,
            hint="leave the columns of the others out",
        )
    return (kinds[0], found[kinds[0]]) if kinds else None


def _counts_as_text(ledger: Mapping[str, int], of: str = "") -> str:
    """Counts of the ledger for a message: those whose names begin so."""
    reasons = [
        f"{count:,} {name}" for name, count in ledger.items() if name.startswith(of) and count
    ]
    return ", ".join(reasons)

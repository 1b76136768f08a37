"""Human evidence, from masks, spans of characters or free text to marks on the tokens of texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.explanations.words import explanation_words
from audit.base.dag import BoolArray, FloatArray
from audit.base.declared import schema
from audit.base.errors import InputError, SchemaError, first_cases

EVIDENCE_REASONS = (
    *("evidence_missing_value", "evidence_of_no_row", "evidence_length_differs"),
    *("evidence_ambiguous", "evidence_outside_0_to_1", "evidence_without_offsets"),
    *("evidence_outside_text", "evidence_conflicting"),
)
"""Why evidence is left out, as the ledger counts it.

No id, target or evidence, or one of another type; an id and target without a row; a mask as long as
no token list of the instance; a mask that fits token lists of several tokenisations alike; a mask
with a value outside of 0 to 1, or none; spans without offsets of the tokens, one pair a token;
spans that are no pair, empty, reversed or beyond the text; and different evidence for one text and
target.
"""
MISSING, UNMATCHED, UNFIT, AMBIGUOUS, NO_MASK, NO_OFFSETS, OUTSIDE, CONFLICTING = EVIDENCE_REASONS
KINDS: Mapping[str, str] = {
    "marks": "marks",
    "spans": "spans",
    "explanation_tokens": "text",
    "explanation": "text",
}
"""The columns that hold evidence, by kind; of one kind the first that is there is read."""
TEXT = ["id", "model", "tokens"]
"""What texts are told apart by: tokens without special ones, by instance and by model."""


class _UnfitError(Exception):
    """Evidence that says nothing of a text; the reason is its only argument."""


def marked(
    kept: pl.DataFrame,
    every: pl.DataFrame,
    given: pl.DataFrame | None,
    stop: Collection[str],
    where: object,
) -> tuple[str, pl.DataFrame, dict[str, int]]:
    """The kind of evidence, empty without; rows with ``marks, said, annotators``, null without; and
    how many records were read, used, and left out by reason.

    Args:
        kept: The rows, with the tokens that were ``given`` and those left.
        every: All sound rows: evidence among them, and offsets.
        given: Rows of a file of evidence; None to take the evidence among the attributions, where
            masks are about the tokens of a row's model, and all else about the text.
        stop: Words that explanations do not hold.
        where: The file of evidence, for messages.
    """
    among = given is None
    rows = every if given is None else given
    names = [one for one in KINDS if rows[one].count()]
    kinds = {KINDS[name] for name in names}
    if len(kinds) > 1 or not (kinds or among):
        raise SchemaError(
            "one kind of evidence is required: marks, spans, or explanation or explanation_tokens",
            found=first_cases(names) or "none with a value",
            where=where,
        )
    added = schema(
        ("marks", pl.List(pl.Float64)), ("said", pl.List(pl.String)), ("annotators", pl.Int64)
    )
    plain = kept.drop(*added, strict=False)
    none = plain.with_columns(pl.lit(None, kind).alias(name) for name, kind in added.items())
    if not kinds:
        return "", none, {}
    kind, keys = kinds.pop(), ["id", "target"] if among or rows["target"].count() else ["id"]
    held = pl.col(names[0])
    if kind == "text":
        held = explanation_words(held, stop, tokens=names[0] == "explanation_tokens")
    model = pl.when(pl.col("marks").is_not_null()).then("model") if among else pl.col("model")
    records = rows.select(*keys, of_model=model, held=held)
    records = records.drop_nulls("held").unique(maintain_order=True) if among else records
    fates, found = _fitted(kind, records, keys, _candidates(kept, every))
    counts = {reason: fates.count(reason) for reason in EVIDENCE_REASONS if reason in fates}
    ledger = {"evidence_read": len(records), "evidence_kept": fates.count(""), **counts}
    if not found:
        if among:
            return "", none, ledger
        first, row = (first_cases(one.select(keys).row(0)) for one in (records, kept))
        raise InputError(
            "evidence that fits the attributions is required",
            found=", ".join(f"{count:,} {name}" for name, count in ledger.items() if count)
            + f"; the first is of {first}, the first row of {row}",
            where=where,
            hint="marks are shares of 1: divide each by the largest, or by their sum"
            if NO_MASK in fates
            else f"evidence is joined by {' and '.join(keys)}, and masks also by their length",
        )
    key = [*TEXT, "target"]
    frame = pl.DataFrame(found, {**{name: kept.schema[name] for name in key}, **added})
    if kind != "text":
        ledger["one_annotator"] = int((frame["annotators"] == 1).sum())
    return kind, plain.join(frame, on=key, how="left", maintain_order="left"), ledger


def _candidates(kept: pl.DataFrame, every: pl.DataFrame) -> pl.DataFrame:
    """What evidence may be about: each list of tokens as given, with each target of its text, and
    its offsets and text where rows with the same tokens agree in them."""
    told = (
        pl.when(pl.col(name).drop_nulls().n_unique() == 1).then(pl.col(name).drop_nulls().first())
        for name in ("offsets", "text")
    )
    lists = every.group_by("id", "model", "given", maintain_order=True).agg(
        pl.col("tokens", "words").first(), *told
    )
    pairs = kept.select(*TEXT, "target").unique(maintain_order=True)
    return lists.join(pairs, on=TEXT, maintain_order="left").sort("id", "model", "target", "given")


def _fitted(
    kind: str, records: pl.DataFrame, keys: list[str], candidates: pl.DataFrame
) -> tuple[list[str], list[dict[str, Any]]]:
    """Why each record is left out, empty if it is used, and the evidence on texts and targets."""
    numbered = records.with_row_index("record")
    needed = numbered.select(pl.any_horizontal(pl.col(*keys, "held").is_null())).to_series()
    fates = [MISSING if lacking else UNMATCHED for lacking in needed]
    fit = pl.col("of_model").is_null() | (pl.col("of_model") == pl.col("model"))
    met = numbered.filter(~needed).join(candidates, on=keys, maintain_order="left").filter(fit)
    told = dict[tuple[Any, ...], dict[tuple[Any, ...], list[int]]]()
    texts = defaultdict[int, set[tuple[str, ...]]](set)
    for one in met.iter_rows(named=True):
        record, tokens = one["record"], tuple(one["tokens"])
        try:
            marks, annotators = _MARKS[kind](one)
        except _UnfitError as unfit:
            fates[record] = str(unfit) if fates[record] == UNMATCHED else fates[record]
            continue
        fates[record] = ""
        if kind == "marks" and one["of_model"] is None:
            texts[record].add(tokens)
        pointed = {word for word, mark in zip(one["words"], marks, strict=True) if mark > 0}
        said = one["held"] if kind == "text" else sorted(pointed)
        own = told.setdefault((one["id"], one["model"], tokens, one["target"]), {})
        own.setdefault((tuple(marks.tolist()), tuple(said), annotators), []).append(record)
    for record in (one for one, different in texts.items() if len(different) > 1):
        fates[record] = AMBIGUOUS
    found, used = list[dict[str, Any]](), set[int]()
    for key, evidence in told.items():
        clear = [of for of, own in evidence.items() if any(not fates[one] for one in own)]
        if len(clear) == 1:
            used.update(one for one in evidence[clear[0]] if not fates[one])
            columns = (*TEXT, "target", "marks", "said", "annotators")
            found.append(dict(zip(columns, (*key, *clear[0]), strict=True)))
    for record, fate in enumerate(fates):
        fates[record] = CONFLICTING if not fate and record not in used else fate
    return fates, found


def _of_masks(one: Mapping[str, Any]) -> tuple[FloatArray, int]:
    """The tokens' marks, the mean of the annotators' masks; and the number of these."""
    try:
        masks = np.atleast_2d(np.array(one["held"], np.float64))
    except ValueError:
        raise _UnfitError(UNFIT) from None
    if not ((masks >= 0) & (masks <= 1)).all():
        raise _UnfitError(NO_MASK)
    if masks.shape[1:] == (len(one["given"]),):
        masks = masks[:, _left(one)]
    if masks.shape[1:] != (len(one["tokens"]),):
        raise _UnfitError(UNFIT)
    return masks.mean(axis=0), len(masks)


def _left(one: Mapping[str, Any]) -> BoolArray:
    """Whether each of the ``given`` tokens is among the ``tokens`` that are not special."""
    left = {*one["tokens"]}
    return np.array([token in left for token in one["given"]])


def _of_spans(one: Mapping[str, Any]) -> tuple[FloatArray, int]:
    """The share of annotators of whom a span shares a character with each token."""
    offsets = one["offsets"] or ()
    pairs = [pair for pair in offsets if pair is not None and len(pair) == 2 and None not in pair]
    if len(pairs) != len(one["given"]) or any(not 0 <= first <= end for first, end in pairs):
        raise _UnfitError(NO_OFFSETS)
    begins, stops = np.array(pairs, np.int64).T[:, :, None]
    length = int(stops.max()) if one["text"] is None else len(one["text"])
    masks = list[BoolArray]()
    for own in one["held"] or [[]]:
        first, end = _ends(own, length)
        masks.append(((first < stops) & (begins < end) & (begins < stops)).any(axis=1))
    return np.mean(masks, axis=0)[_left(one)], len(masks)


def _ends(spans: Any, length: int) -> tuple[Any, Any]:
    """First characters of spans and those after their last; _UnfitError if beyond ``length``."""
    try:
        first, end = np.array(spans, np.int64).reshape(-1, 2).T if spans else np.empty((2, 0), int)
    except (ValueError, TypeError, OverflowError):
        raise _UnfitError(OUTSIDE) from None
    if not ((first >= 0) & (first < end) & (end <= length)).all():
        raise _UnfitError(OUTSIDE)
    return first, end


def _of_words(one: Mapping[str, Any]) -> tuple[FloatArray, int]:
    """1 for each word of the text that the explanation holds, else 0, by one annotator."""
    said = {*one["held"]}
    return np.array([word in said for word in one["words"]], np.float64), 1


_MARKS: Mapping[str, Callable[[Mapping[str, Any]], tuple[FloatArray, int]]] = {
    "marks": _of_masks,
    "spans": _of_spans,
    "text": _of_words,
}
"""How each kind of evidence marks the tokens of a text: their marks, and how many annotators."""

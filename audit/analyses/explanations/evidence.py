"""Human evidence, from masks, spans of characters or free text to marks on the tokens of texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.analyses.explanations.attributions import ITEMS, Evidence, EvidenceKind
from audit.analyses.explanations.lists import (
    Lists,
    held,
    laid_out,
    list_column,
    lists_in,
    starts_of,
)
from audit.analyses.explanations.words import explanation_words
from audit.base.dag import BoolArray, IntArray
from audit.base.errors import InputError, SchemaError

WRONG_TYPE = "evidence_wrong_type"
MISSING = "evidence_missing_value"
UNMATCHED = "evidence_of_no_row"
UNFIT = "evidence_length_differs"
AMBIGUOUS = "evidence_ambiguous"
NO_MASK = "evidence_outside_0_to_1"
NO_OFFSETS = "evidence_without_offsets"
OUTSIDE = "evidence_outside_text"
CROSSING = "evidence_spans_cross"
CONFLICTING = "evidence_conflicting"
EVIDENCE_REASONS = (
    *(WRONG_TYPE, MISSING, UNMATCHED, UNFIT, AMBIGUOUS),
    *(NO_MASK, NO_OFFSETS, OUTSIDE, CROSSING, CONFLICTING),
)
"""Why evidence is left out, as the ledger counts it.

A value of a wrong type; no id, target or evidence; an id and target without a row; a mask as long
as no token list of the instance; a mask that fits token lists of several tokenisations alike; a
mask with a value outside of 0 to 1, or none; spans without offsets of the tokens, one pair a token;
spans that are no pair, empty, reversed or beyond the text; two spans of an annotator of which each
begins outside the other; and different evidence for one text and target.
"""
PAYLOADS: Mapping[str, EvidenceKind] = {
    "marks": "marks",
    "spans": "spans",
    "explanation_tokens": "text",
    "explanation": "text",
}
"""The columns that hold evidence, by kind; of one kind the first that is there is read."""
_APART = 2**32
"""What keeps the characters of one list from those of the next."""


@dataclass(frozen=True, eq=False)
class Records:
    """Evidence as it was read, a row each.

    Args:
        frame: ``id, target``; ``model``, null for evidence on texts of any; ``wrong_type``; and
            ``held``, masks or spans with a list an annotator, or words.
        keys: What evidence is joined by, beside a model; without a target it counts for each.
    """

    kind: EvidenceKind
    frame: pl.DataFrame
    keys: tuple[str, ...]


def own_records(rows: pl.DataFrame, stop: frozenset[str], where: object) -> Records:
    """The evidence in a file of its own; SchemaError if it has no column of evidence."""
    keys = ("id", "target") if "target" in rows.columns else ("id",)
    lacking = [name for name in ("target", "model") if name not in rows.columns]
    full = rows.with_columns(pl.lit(None, pl.String).alias(name) for name in lacking)
    wrong = pl.col("fault") | pl.col("evidence_fault")
    found = _records(full.with_columns(wrong_type=wrong), keys, stop, where)
    if found is None:
        raise SchemaError(
            "a column marks, spans, explanation or explanation_tokens is required",
            found=f"none with a value, and {int(rows['evidence_fault'].sum()):,} of a wrong type",
            where=where,
        )
    return found


def records_among(rows: pl.DataFrame, stop: frozenset[str], where: object) -> Records | None:
    """The evidence among attributions, each once; None if there is none.

    Masks are about the tokens of their row, so about its model; spans and explanations are about
    the text.
    """
    given = rows.filter(pl.any_horizontal(pl.col(*PAYLOADS).is_not_null(), "evidence_fault"))
    model = pl.when(pl.col("marks").is_not_null()).then("model")
    columns = [pl.col("id", "target"), *(pl.col(name) for name in PAYLOADS)]
    once = given.select(*columns, model=model, wrong_type="evidence_fault")
    return _records(once.unique(maintain_order=True), ("id", "target"), stop, where)


def _records(
    rows: pl.DataFrame, keys: tuple[str, ...], stop: frozenset[str], where: object
) -> Records | None:
    names = [one for one in PAYLOADS if one in rows and rows[one].null_count() < len(rows)]
    kinds = list(dict.fromkeys(PAYLOADS[name] for name in names))
    if len(kinds) > 1:
        raise InputError(
            "one kind of evidence is read at a time",
            found=", ".join(kinds),
            where=where,
            hint="leave the columns of the others out",
        )
    if not names:
        return None
    held = rows[names[0]]
    held = explanation_words(held, stop) if kinds[0] == "text" else held
    own = rows.select("id", "target", "model", "wrong_type", held=held)
    return Records(kinds[0], own.with_row_index("record"), keys)


@dataclass(frozen=True, eq=False)
class Texts:
    """Token lists as they were given, and what is left of them.

    Two lists that differ in special tokens alone, or only in how words are divided where pieces
    are merged, are one text: methods that see them so can be compared.

    Args:
        given: ``id, model, text, offsets, length``: each different token list, the place of its
            text, the offsets of its tokens and the length of its passage, null if unknown.
        kept: Per given list, which tokens are not special.
        begins: Per given list, which of the kept tokens begin a word.
        left: ``tokens`` of each text.
        words: The word of each token of the texts, as a place in the ``vocabulary``.
    """

    given: pl.DataFrame
    kept: Lists[np.bool_]
    begins: Lists[np.bool_]
    left: pl.Series
    words: Lists[np.int64]
    vocabulary: pl.Series

    @property
    def sizes(self) -> IntArray:
        """Number of tokens that are left of each given list, words merged."""
        return np.asarray(self.words.lengths[self.given["text"].to_numpy()])

    def reduced(self, masks: Lists[np.float64], given: IntArray, stage: int) -> Lists[np.float64]:
        """Masks on given lists (stage 0), without special tokens (1) or on words (2), on words."""
        if stage < 1:
            kept = self.kept.take(given).values
            masks = Lists(masks.values[kept], starts_of(self.begins.lengths[given]))
        if stage < 2:
            begins = np.flatnonzero(self.begins.take(given).values)
            highest = np.maximum.reduceat(masks.values, begins)
            masks = Lists(highest, starts_of(self.sizes[given]))
        return masks


class _Left:
    """Candidates, ``record, given, text, target``, and why records have none left."""

    def __init__(self, records: Records, pairs: pl.DataFrame, texts: Texts) -> None:
        frame = records.frame
        needed = pl.any_horizontal(pl.col(*records.keys, "held").is_null())
        self.fates: NDArray[np.object_] = np.full(len(frame), "", dtype=object)
        self.fates[frame.select(needed).to_series().to_numpy()] = MISSING
        self.fates[frame["wrong_type"].to_numpy()] = WRONG_TYPE
        given = texts.given.select("id", "model", "text").with_row_index("given")
        places = given.join(pairs, on="text")
        sound = frame.filter(pl.Series(self.fates == "")).drop("held", "wrong_type")
        if "target" not in records.keys:
            sound = sound.drop("target")
        named = sound.drop_nulls("model").join(places, on=[*records.keys, "model"])
        free = sound.filter(pl.col("model").is_null()).drop("model")
        of_any = free.join(places, on=[*records.keys])
        columns = ["record", "given", "text", "target"]
        found = (
            part.select(columns).with_columns(any_model=pl.lit(any_model))
            for part, any_model in ((named, False), (of_any, True))
        )
        self.frame = pl.concat(found).sort("record", "given", "target")
        self.settle(UNMATCHED)

    def __getitem__(self, name: str) -> IntArray:
        return np.asarray(self.frame[name].to_numpy())

    def settle(self, reason: str, left: pl.DataFrame | None = None) -> None:
        """Note why records without a fate fell out, which are those that are not left."""
        self.frame = self.frame if left is None else left
        gone = self.fates == ""
        gone[self["record"]] = False
        self.fates[gone] = reason

    def keep(self, sound: BoolArray, by: str, reason: str) -> None:
        """Keep the candidates whose record, or given list, is sound."""
        self.settle(reason, self.frame.filter(pl.Series(sound[self[by]])))


def evidence_of(
    records: Records, pairs: pl.DataFrame, texts: Texts
) -> tuple[Evidence | None, dict[str, int]]:
    """The evidence on texts, and what was left out of it.

    Args:
        records: What was read.
        pairs: ``text, target``: what evidence is sought for, each once.
        texts: The texts.

    Returns:
        The evidence, items in the order of ``pairs``, or None if there is none; and how many
        records were read, used, and left out by reason.
    """
    left, frame = _Left(records, pairs, texts), records.frame
    if records.kind == "text":
        told, starts = laid_out(frame["held"])
        of_record = Lists(places_in(told, texts.vocabulary), starts)
        found = left.frame.unique(["record", "text", "target"], maintain_order=True)
        words = of_record.take(found["record"].to_numpy())
        marked = held(texts.words.take(found["text"].to_numpy()), words)
        marks = Lists(marked.values.astype(np.float64), marked.starts)
        found = found.with_columns(annotators=pl.lit(1, pl.Int64))
    else:
        masked = _of_masks if records.kind == "marks" else _of_spans
        found, marks = masked(frame["held"], left, texts)
        words = _marked_words(marks, texts.words.take(found["text"].to_numpy()))
    chosen = _one_per_pair(found, words if records.kind == "text" else marks, pairs, left)
    ledger = {"evidence_read": len(frame), "evidence_kept": int((left.fates == "").sum())}
    counts = {reason: int((left.fates == reason).sum()) for reason in EVIDENCE_REASONS}
    ledger |= {reason: count for reason, count in counts.items() if count}
    if chosen.is_empty():
        return None, ledger
    places, items = chosen["place"].to_numpy(), chosen.select(*ITEMS).cast(pl.Schema(ITEMS))
    if records.kind != "text":
        ledger["one_annotator"] = int((items["annotators"] == 1).sum())
    return Evidence(records.kind, items, marks.take(places), words.take(places)), ledger


def places_in(words: pl.Series, vocabulary: pl.Series) -> IntArray:
    """The place of each word in the vocabulary, which holds all of them, in order."""
    return vocabulary.search_sorted(words).to_numpy().astype(np.int64)


def _marked_words(marks: Lists[np.float64], words: Lists[np.int64]) -> Lists[np.int64]:
    """The different words of the marked tokens of each list, ascending."""
    number, marked = int(words.values.max(initial=0)) + 1, marks.values > 0
    pairs = np.unique(words.owner[marked] * number + words.values[marked])
    return Lists(pairs % number, starts_of(np.bincount(pairs // number, minlength=len(words))))


def _one_per_pair(
    found: pl.DataFrame, said: Lists[np.float64] | Lists[np.int64], pairs: pl.DataFrame, left: _Left
) -> pl.DataFrame:
    """The ``place`` of the evidence on each pair; where there is different evidence, none."""
    told = list_column(pl.Series(said.values), said.starts)
    placed = found.with_columns(pl.int_range(pl.len()).alias("place"), told=told)
    same = ["text", "target", "annotators", "told"]
    once = placed.unique(same, keep="first", maintain_order=True)
    clear = once.filter(~pl.struct("text", "target").is_duplicated())
    left.settle(CONFLICTING, found.join(clear, on=["text", "target"], how="semi"))
    return pairs.join(clear, on=["text", "target"], maintain_order="left")


def _of_masks(
    column: pl.Series, left: _Left, texts: Texts
) -> tuple[pl.DataFrame, Lists[np.float64]]:
    inner, first = laid_out(column)
    masks = lists_in(inner)
    left.keep(
        _all((masks.values >= 0) & (masks.values <= 1), masks.starts[first]), "record", NO_MASK
    )
    length = pl.col("held").list.eval(pl.element().list.len())
    sizes = column.to_frame("held").select(
        low=length.list.min().fill_null(0), high=length.list.max().fill_null(0)
    )
    record, given = left["record"], left["given"]
    shortest, longest = sizes["low"].to_numpy()[record], sizes["high"].to_numpy()[record]
    stages = [
        of[given] == longest for of in (texts.kept.lengths, texts.begins.lengths, texts.sizes)
    ]
    stage = np.where(shortest == longest, np.select(stages, range(3), default=-1), -1)
    left.settle(UNFIT, left.frame.with_columns(stage=stage).filter(pl.col("stage") >= 0))
    several = left.frame.filter("any_model").filter(pl.col("text").n_unique().over("record") > 1)
    lists = several.with_columns(tokens=texts.left.gather(several["text"]))
    torn = lists.unique(["record", "tokens"]).filter(pl.col("record").is_duplicated())["record"]
    left.settle(AMBIGUOUS, left.frame.filter(~pl.col("record").is_in(torn.unique().implode())))
    readers = Lists(np.arange(len(masks)), first).take(left["record"])
    return _shares(left.frame, readers.lengths, masks.take(readers.values), texts)


def _of_spans(
    column: pl.Series, left: _Left, texts: Texts
) -> tuple[pl.DataFrame, Lists[np.float64]]:
    """Tokens that share a character with a span are marked."""
    firsts, ends = tokens = spans_in(texts.given["offsets"])
    whole = _all((firsts.values >= 0) & (firsts.values <= ends.values), firsts.starts)
    left.keep(whole & (firsts.lengths == texts.kept.lengths), "given", NO_OFFSETS)
    inner, first = laid_out(column)
    starts, stops = spans = spans_in(inner)
    of_record = starts.starts[first]
    sound = _all((starts.values >= 0) & (starts.values < stops.values), of_record)
    known = texts.given["length"].fill_null(-1).to_numpy()
    last = np.where(known >= 0, known, _largest(ends.values, ends.starts))
    furthest, record = _largest(stops.values, of_record), left["record"]
    inside = sound[record] & (furthest[record] <= last[left["given"]])
    left.settle(OUTSIDE, left.frame.filter(pl.Series(inside)))
    cross = [crossing(starts[place], stops[place]) for place in range(len(inner))]
    left.keep(_all(~np.array(cross, np.bool_), first), "record", CROSSING)
    readers = Lists(np.arange(len(inner)), first).take(left["record"])
    given = np.repeat(left["given"], readers.lengths)
    seen = tuple(one.take(given) for one in tokens)
    marked = marked_tokens(tuple(one.take(readers.values) for one in spans), seen)
    masks = Lists(marked.astype(np.float64), seen[0].starts)
    return _shares(left.frame.with_columns(stage=0), readers.lengths, masks, texts)


def _shares(
    found: pl.DataFrame, annotators: IntArray, masks: Lists[np.float64], texts: Texts
) -> tuple[pl.DataFrame, Lists[np.float64]]:
    """Candidates with ``annotators``, and the share of these that mark each token of its text.

    Args:
        found: Candidates with the ``stage`` of their masks, as in `Texts.reduced`.
        annotators: How many masks each has.
        masks: The masks, candidate after candidate.
        texts: The texts.
    """
    found = found.with_columns(annotators=pl.Series(annotators, dtype=pl.Int64))
    stages, given = found["stage"].to_numpy(), found["given"].to_numpy()
    of = Lists(np.arange(len(masks)), starts_of(annotators))
    frames, lengths, values = [found.clear()], [annotators[:0]], [masks.values[:0]]
    for stage in np.unique(stages).tolist():
        chosen = np.flatnonzero(stages == stage)
        own, lists = of.take(chosen), given[chosen]
        reduced = texts.reduced(masks.take(own.values), np.repeat(lists, own.lengths), stage)
        starts = starts_of(texts.sizes[lists])
        within = np.arange(len(reduced.values)) - reduced.starts[reduced.owner]
        total = np.bincount(starts[own.owner[reduced.owner]] + within, reduced.values, starts[-1])
        values.append(total / np.repeat(own.lengths, np.diff(starts)))
        lengths.append(np.diff(starts))
        frames.append(found[chosen])
    return pl.concat(frames), Lists(np.concatenate(values), starts_of(np.concatenate(lengths)))


Spans = tuple[Lists[np.int64], ...]
"""The first character of each span and the one after its last, in lists; -1 where it is no pair."""


def spans_in(column: pl.Series) -> Spans:
    """The spans in a column of lists of ``[first, end]``; null is an empty list."""
    pairs, starts = laid_out(column)
    sound = ((pairs.list.len() == 2) & (pairs.list.drop_nulls().list.len() == 2)).to_numpy()
    ends = (pairs.list.get(end, null_on_oob=True).fill_null(-1).to_numpy() for end in (0, 1))
    return tuple(Lists(np.clip(np.where(sound, one, -1), -1, 2**31), starts) for one in ends)


def marked_tokens(spans: Spans, tokens: Spans) -> BoolArray:
    """Which tokens share a character with a span of their list.

    Spans that end before a token's beginning also begin before its end; their number, taken from
    that of those that begin before its end, leaves those that share a character.

    Args:
        spans: Spans that hold a character each, a list a reader.
        tokens: Where tokens stand, a list a reader.
    """
    firsts, ends = (np.sort(one.owner * _APART + one.values) for one in spans)
    begins, stops = (one.owner * _APART + one.values for one in tokens)
    shared = np.searchsorted(firsts, stops, "left") > np.searchsorted(ends, begins, "right")
    return np.asarray(shared & (begins < stops))


def crossing(firsts: IntArray, ends: IntArray) -> bool:
    """Whether two spans share characters and neither holds the other."""
    around = list[int]()
    order = np.lexsort((-ends, firsts))
    for first, end in zip(firsts[order].tolist(), ends[order].tolist(), strict=True):
        while around and around[-1] <= first:
            around.pop()
        if around and end > around[-1]:
            return True
        around.append(end)
    return False


def _all(flags: BoolArray, starts: IntArray) -> BoolArray:
    """Whether all flags of each list are true; of an empty list they are."""
    return np.asarray(np.diff(starts_of((~flags).astype(np.int64))[starts]) == 0)


def _largest(values: IntArray, starts: IntArray) -> IntArray:
    """The greatest value of each list; 0 of an empty one."""
    found = list_column(pl.Series(values), starts).list.max().fill_null(0)
    return found.to_numpy().astype(np.int64)

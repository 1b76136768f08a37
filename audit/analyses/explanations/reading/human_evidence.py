"""Human evidence, from masks, spans of characters or free text to marks on the tokens of texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.analyses.explanations.attributions import ITEMS, Evidence, EvidenceKind
from audit.analyses.explanations.lists import Lists, laid_out, list_column, lists_in, starts_of
from audit.analyses.explanations.reading.spans import lists_with_crossing, marked_tokens, spans_in
from audit.analyses.explanations.reading.texts import Texts, marked_words, words_in, words_of
from audit.base.dag import IntArray

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
    WRONG_TYPE,
    MISSING,
    UNMATCHED,
    UNFIT,
    AMBIGUOUS,
    NO_MASK,
    NO_OFFSETS,
    OUTSIDE,
    CROSSING,
    CONFLICTING,
)
"""Why evidence is left out, as the ledger counts it.

A value of a wrong type; no id, target or evidence; an id and target without a row; a mask as long
as no token list of the instance; a mask that fits token lists of several tokenisations alike; a
mask with a value outside of 0 to 1, or none; spans without offsets of the tokens, one pair a token;
spans that are empty, reversed or beyond the text; two spans of an annotator of which each begins
outside the other; and different evidence for one text and target.
"""
PAYLOADS: Mapping[EvidenceKind, tuple[str, ...]] = {
    "marks": ("marks",),
    "spans": ("spans",),
    "text": ("explanation_tokens", "explanation"),
}
"""The columns that hold evidence of each kind; the first that is there is read."""


@dataclass(frozen=True, eq=False)
class Records:
    """Evidence as it was read, a row each.

    Args:
        frame: ``id, target``; ``model``, null for evidence on texts of any; ``wrong_type``; and
            the payload, ``marks`` or ``spans`` with a list an annotator, or ``words``.
        of_texts: Whether no target is told, so that evidence counts for each of a text.
    """

    kind: EvidenceKind
    frame: pl.DataFrame
    of_texts: bool = False

    @property
    def keys(self) -> list[str]:
        """What evidence is joined by, beside a model."""
        return ["id"] if self.of_texts else ["id", "target"]

    @property
    def payload(self) -> str:
        """The column that holds the evidence."""
        return "words" if self.kind == "text" else self.kind


@dataclass(frozen=True, eq=False)
class _Marked:
    """Evidence on texts, one a record and given token list that it fits.

    Args:
        marks: Per text the share of annotators that mark each token.
        words: For free text the words of the explanation; else None.
    """

    found: pl.DataFrame
    marks: Lists[np.float64]
    words: Lists[np.int64] | None = None


def evidence_of(
    records: Records,
    pairs: pl.DataFrame,
    texts: Texts,
    words: Lists[np.int64],
    vocabulary: pl.Series,
    offsets: pl.DataFrame,
) -> tuple[Evidence | None, dict[str, int]]:
    """The evidence on texts, and what was left out of it.

    Args:
        pairs: ``text, target``: what evidence is sought for, each once.
        words: Per text the word of each token.
        offsets: Per given list the ``offsets`` of its tokens and the ``length`` of its passage,
            null if unknown; spans need them.

    Returns:
        The evidence, items in the order of ``pairs``, or None if there is none; and how many
        records were read, used, and left out by reason.
    """
    frame = records.frame.with_columns(pl.int_range(pl.len()).alias("record"))
    fates = np.full(frame.height, "", dtype=object)
    lacking = frame.select(pl.any_horizontal(pl.col(*records.keys, records.payload).is_null()))
    fates[lacking.to_series().to_numpy()] = MISSING
    fates[frame["wrong_type"].to_numpy()] = WRONG_TYPE
    candidates = _candidates(frame.filter(pl.Series(fates == "")), records.keys, pairs, texts)
    _settle(fates, candidates, UNMATCHED)
    if records.kind == "marks":
        marked = _by_masks(frame["marks"], candidates, texts, fates)
    elif records.kind == "spans":
        marked = _by_spans(frame["spans"], candidates, texts, offsets, fates)
    else:
        marked = _by_words(frame["words"], candidates, words, vocabulary)
    chosen = _one_per_pair(marked, pairs, fates)
    ledger = {"evidence_read": frame.height, "evidence_kept": int((fates == "").sum())}
    counts = {reason: int((fates == reason).sum()) for reason in EVIDENCE_REASONS}
    ledger |= {reason: count for reason, count in counts.items() if count}
    if chosen.is_empty():
        return None, ledger
    evidence = _evidence(records.kind, chosen, marked, words)
    if records.kind != "text":
        ledger["one_annotator"] = int((evidence.items["annotators"] == 1).sum())
    return evidence, ledger


def explanation_words(explanations: pl.Series, stop: frozenset[str]) -> pl.Series:
    """The different words of each explanation, without stop words, as lists in order."""
    if explanations.dtype == pl.String:
        words = words_in(explanations)
    else:
        tokens, starts = laid_out(explanations)
        words = list_column(words_of(tokens), starts)
    left = pl.element().filter(~pl.element().is_in(list(stop))).drop_nulls().unique().sort()
    frame = pl.DataFrame({"words": words, "given": explanations.is_not_null()})
    return frame.select(pl.when("given").then(pl.col("words").list.eval(left))).to_series()


def _candidates(
    records: pl.DataFrame, by: list[str], pairs: pl.DataFrame, texts: Texts
) -> pl.DataFrame:
    """``record, given, text, target, any_model`` of each record and list that it may be about."""
    given = texts.given.select("id", "model", "text").with_columns(
        pl.int_range(pl.len()).alias("given")
    )
    places = given.join(pairs, on="text")
    keys = records.select("record", *by, "model")
    named = keys.drop_nulls("model").join(places, on=[*by, "model"])
    free = keys.filter(pl.col("model").is_null()).drop("model").join(places, on=by)
    columns = ["record", "given", "text", "target"]
    both = pl.concat(
        [
            named.select(columns).with_columns(any_model=pl.lit(False)),
            free.select(columns).with_columns(any_model=pl.lit(True)),
        ]
    )
    return both.sort("record", "given", "target")


def _by_masks(
    column: pl.Series, candidates: pl.DataFrame, texts: Texts, fates: NDArray[np.object_]
) -> _Marked:
    inner, first = laid_out(column)
    masks = lists_in(inner, np.float64)
    graded = _all_of(_all_of((masks.values >= 0) & (masks.values <= 1), masks.starts), first)
    candidates = _left(candidates, "record", graded, fates, NO_MASK)
    shortest, longest = _extremes(masks.lengths, first)
    record, given = candidates["record"].to_numpy(), candidates["given"].to_numpy()
    sizes = [texts.kept.lengths, texts.begins.lengths, texts.sizes]
    fits = [size[given] == longest[record] for size in sizes]
    stage = np.select(fits, range(len(fits)), default=-1)
    stage[shortest[record] != longest[record]] = -1
    fitting = candidates.with_columns(stage=pl.Series(stage)).filter(pl.col("stage") >= 0)
    _settle(fates, fitting, UNFIT)
    clear = _unambiguous(fitting, texts)
    _settle(fates, clear, AMBIGUOUS)
    readers = Lists(np.arange(len(masks)), first).take(clear["record"].to_numpy())
    return _shares(clear, readers.lengths, masks.take(readers.values), texts)


def _unambiguous(fitting: pl.DataFrame, texts: Texts) -> pl.DataFrame:
    """Without records that name no model and fit different token lists."""
    several = fitting.filter("any_model").filter(pl.col("text").n_unique().over("record") > 1)
    if several.is_empty():
        return fitting
    tokens = texts.left["tokens"].gather(several["text"])
    lists = several.with_columns(tokens=tokens).unique(["record", "tokens"])
    torn = lists.filter(lists["record"].is_duplicated())["record"].unique()
    return fitting.filter(~pl.col("record").is_in(torn.implode()))


def _by_spans(
    column: pl.Series,
    candidates: pl.DataFrame,
    texts: Texts,
    offsets: pl.DataFrame,
    fates: NDArray[np.object_],
) -> _Marked:
    tokens = spans_in(offsets["offsets"])
    whole = _all_of((tokens.firsts >= 0) & (tokens.firsts <= tokens.ends), tokens.starts)
    whole &= np.diff(tokens.starts) == texts.kept.lengths
    candidates = _left(candidates, "given", whole, fates, NO_OFFSETS)
    inner, first = laid_out(column)
    spans = spans_in(inner)
    sound = _all_of((spans.firsts >= 0) & (spans.firsts < spans.ends), spans.starts)
    known = offsets["length"].fill_null(-1).to_numpy()
    last = np.where(known >= 0, known, _extremes(tokens.ends, tokens.starts)[1])
    furthest = _extremes(_extremes(spans.ends, spans.starts)[1], first)[1]
    record, given = candidates["record"].to_numpy(), candidates["given"].to_numpy()
    within = _all_of(sound, first)[record] & (furthest[record] <= last[given])
    inside = candidates.filter(pl.Series(within))
    _settle(fates, inside, OUTSIDE)
    clear = _left(inside, "record", _all_of(~lists_with_crossing(spans), first), fates, CROSSING)
    readers = Lists(np.arange(len(inner)), first).take(clear["record"].to_numpy())
    seen = tokens.take(np.repeat(clear["given"].to_numpy(), readers.lengths))
    marked = marked_tokens(spans.take(readers.values), seen)
    masks = Lists(marked.astype(np.float64), seen.starts)
    return _shares(clear.with_columns(stage=pl.lit(0)), readers.lengths, masks, texts)


def _shares(
    candidates: pl.DataFrame, readers: IntArray, masks: Lists[np.float64], texts: Texts
) -> _Marked:
    """The share of annotators that mark each token that is left of a text.

    Args:
        candidates: With ``stage``: what the masks are as long as, 0 the given list, 1 the list
            without special tokens, 2 the list with words merged, too.
        readers: How many annotators each candidate has.
    """
    given = np.repeat(candidates["given"].to_numpy(), readers)
    stage = np.repeat(candidates["stage"].to_numpy(), readers)
    kept = _flags(texts.kept, given, stage < 1, masks.lengths)
    marks = masks.values[kept]
    lengths = np.where(stage < 1, texts.begins.lengths[given], masks.lengths)
    begins = _flags(texts.begins, given, stage < 2, lengths)
    if not begins.all():
        marks = np.maximum.reduceat(marks, np.flatnonzero(begins))
    lengths = texts.sizes[given]
    starts = starts_of(texts.sizes[candidates["given"].to_numpy()])
    own = np.arange(len(marks)) - np.repeat(starts_of(lengths)[:-1], lengths)
    places = own + np.repeat(np.repeat(starts[:-1], readers), lengths)
    sums = np.bincount(places, weights=marks, minlength=int(starts[-1]))
    shares = Lists(sums / np.repeat(readers, np.diff(starts)), starts)
    found = candidates.select("record", "text", "target", annotators=pl.Series(readers))
    return _Marked(found, shares)


def _flags(
    flags: Lists[np.bool_], given: IntArray, chosen: NDArray[np.bool_], lengths: IntArray
) -> NDArray[np.bool_]:
    """Flags of the tokens of the chosen lists, laid end to end with true for those of others."""
    all_flags = np.ones(int(lengths.sum()), dtype=bool)
    all_flags[np.repeat(chosen, lengths)] = flags.take(given[chosen]).values
    return all_flags


def _by_words(
    column: pl.Series, candidates: pl.DataFrame, words: Lists[np.int64], vocabulary: pl.Series
) -> _Marked:
    told, starts = laid_out(column)
    of_record = Lists(places_in(told, vocabulary), starts)
    found = candidates.select("record", "text", "target").unique(maintain_order=True)
    record, seen = found["record"].to_numpy(), words.take(found["text"].to_numpy())
    keys = of_record.owner * len(vocabulary) + of_record.values
    held = np.isin(np.repeat(record, seen.lengths) * len(vocabulary) + seen.values, keys)
    marks = Lists(held.astype(np.float64), seen.starts)
    one = pl.lit(1, pl.Int64).alias("annotators")
    return _Marked(found.with_columns(one), marks, of_record.take(record))


def places_in(words: pl.Series, vocabulary: pl.Series) -> IntArray:
    """The place of each word in the vocabulary, which holds all of them."""
    if words.is_empty():
        return np.empty(0, dtype=np.int64)
    places = pl.int_range(len(vocabulary), eager=True)
    return words.replace_strict(vocabulary, places, return_dtype=pl.Int64).to_numpy()


def _one_per_pair(marked: _Marked, pairs: pl.DataFrame, fates: NDArray[np.object_]) -> pl.DataFrame:
    """The ``place`` of the evidence on each text and target, in the order of the pairs.

    Where there is different evidence, none is chosen, and its records have that fate.
    """
    found = marked.found.with_columns(pl.int_range(pl.len()).alias("place"))
    pair = pl.struct("text", "target")
    if found.select(pair.is_duplicated().any()).item():
        if marked.words is None:
            held = list_column(pl.Series(marked.marks.values), marked.marks.starts)
        else:
            held = list_column(pl.Series(marked.words.values), marked.words.starts)
        distinct = found.with_columns(held=held).unique(
            ["text", "target", "annotators", "held"], keep="first", maintain_order=True
        )
        clear = distinct.filter(~pair.is_duplicated())
        _settle(fates, found.join(clear, on=["text", "target"], how="semi"), CONFLICTING)
        found = clear
    return pairs.join(found, on=["text", "target"], maintain_order="left")


def _evidence(
    kind: EvidenceKind, chosen: pl.DataFrame, marked: _Marked, words: Lists[np.int64]
) -> Evidence:
    places = chosen["place"].to_numpy()
    marks = marked.marks.take(places)
    if marked.words is not None:
        held = marked.words.take(places)
    else:
        held = marked_words(marks.values > 0, words.take(chosen["text"].to_numpy()))
    return Evidence(kind, chosen.select(*ITEMS).cast(pl.Schema(ITEMS)), marks, held)


def _left(
    candidates: pl.DataFrame,
    by: str,
    sound: NDArray[np.bool_],
    fates: NDArray[np.object_],
    reason: str,
) -> pl.DataFrame:
    """The candidates whose record, or given list, is sound; those without one have that fate."""
    left = candidates.filter(pl.Series(sound[candidates[by].to_numpy()]))
    _settle(fates, left, reason)
    return left


def _settle(fates: NDArray[np.object_], left: pl.DataFrame, reason: str) -> None:
    """Note why records without a fate fell out, which are those that are not left."""
    gone = fates == ""
    gone[left["record"].to_numpy()] = False
    fates[gone] = reason


def _all_of(flags: NDArray[np.bool_], starts: IntArray) -> NDArray[np.bool_]:
    """Whether all flags of each list are true; of an empty list they are."""
    missed = starts_of((~flags).astype(np.int64))[starts]
    return np.asarray(np.diff(missed) == 0)


def _extremes(values: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """The least and the greatest value of each list; 0 of an empty one."""
    least, greatest = (np.zeros(len(starts) - 1, dtype=np.int64) for _ in range(2))
    filled = np.diff(starts) > 0
    if filled.any():
        least[filled] = np.minimum.reduceat(values, starts[:-1][filled])
        greatest[filled] = np.maximum.reduceat(values, starts[:-1][filled])
    return least, greatest

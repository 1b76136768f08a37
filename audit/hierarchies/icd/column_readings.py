"""One reading of a column of codes: of which code sets they are, and how these are written."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import reduce
from typing import NamedTuple

import numpy as np
import polars as pl

from audit.base.dag import FloatArray, IntArray
from audit.hierarchies.icd.built_in import SAID, code_sets
from audit.hierarchies.icd.icd9 import TABLES
from audit.hierarchies.icd.writers import AFFIXES, AS_WRITTEN, WRITERS, Affix, written

NOISE = 1e-8
"""Likelihood of a label that is no code."""
_ROUNDS, _BEAM = 12, 6
_FURTHER, _OTHERWISE = 8.0, 12.0
"""Nats that each further set costs, and that sets cost which are written in different ways."""


class Sources(NamedTuple):
    """What labels may come from: each source is a code set as one writer writes it.

    ``likelihood`` of each pattern of labels has the shape (n_patterns, n_sources); the ``sets``,
    ``writers`` and ``costs`` in nats of the sources are (n_sources,).
    """

    likelihood: FloatArray
    sets: IntArray
    writers: IntArray
    costs: FloatArray


class Mixture(NamedTuple):
    """The log likelihood of some sources less their costs, their shares, and that of none."""

    score: float
    sources: tuple[int, ...]
    shares: tuple[float, ...]
    noise: float
    affix: int = 0


def mixtures(sources: Sources, weights: FloatArray, alone: int | None) -> Iterator[Mixture]:
    """All mixtures that are tried: of one source, and of two and three by a beam.

    ``weights`` are those of patterns, shape (n_patterns,); a source ``alone`` is tried by itself.
    """
    some = np.flatnonzero(weights)
    sources, weights = sources._replace(likelihood=sources.likelihood[some]), weights[some]
    usable = np.flatnonzero(sources.likelihood.any(axis=0))
    wider: set[tuple[int, ...]] = {(source,) for source in usable.tolist()}
    while wider:
        found = list(_fitted(sources, weights, np.array(sorted(wider))))
        yield from found
        best = sorted((one for one in found if one.sources != (alone,)), reverse=True)[:_BEAM]
        wider = {
            tuple(sorted((*one.sources, source)))
            for one in best
            for source in usable.tolist()
            if source != alone and sources.sets[source] not in sources.sets[list(one.sources)]
            if len(one.sources) < 3
        }


def _fitted(sources: Sources, weights: FloatArray, chosen: IntArray) -> Iterator[Mixture]:
    """The mixtures of chosen sources, shape (n_mixtures, n_sources of each), by EM."""
    of_pattern, size = sources.likelihood[:, chosen], chosen.shape[1]
    shares, noise = np.full(chosen.shape, 1 / (size + 1)), np.full(len(chosen), 1 / (size + 1))
    for _ in range(_ROUNDS):
        by = weights[:, None] / ((of_pattern * shares).sum(axis=2) + noise * NOISE)
        shares = shares * np.einsum("pms,pm->ms", of_pattern, by) / weights.sum()
        noise = np.maximum(1 - shares.sum(axis=1), np.finfo(float).tiny)
    density = (of_pattern * shares).sum(axis=2) + noise * NOISE
    written = sources.writers[chosen]
    costs = sources.costs[chosen].sum(axis=1) + _FURTHER * (size - 1)
    costs += _OTHERWISE * (written != written[:, :1]).any(axis=1)
    score = weights @ np.log(density) - costs
    for row, own in enumerate(chosen.tolist()):
        yield Mixture(float(score[row]), tuple(own), tuple(shares[row].tolist()), float(noise[row]))


_CODE, _HEADING = 1 / 15_000, 1 / 60
"""Likelihood of each code of a set, and of a heading beside a code."""
_UNSURE, _AFFIXED, _CLEARLY = 7.0, 12.0, 7.0
"""Nats that a damaged or mixed writer costs, and an affix; and those that decide."""
_SURE, _FEW, _PART, _NEARLY_ALL = 0.9, 0.01, 0.05, 0.9
"""Least posterior of a code. Shares: too few to decide, enough for a name, nearly all."""
_NAMED = 5
"""Number of different marks around codes that are named."""
_IS_WRITTEN = pl.col("writer") < len(AS_WRITTEN)
_AS_CATEGORY = pl.col("writer").is_in([n for n, writer in enumerate(WRITERS) if writer.headings])
_IS_UNLIKELY = pl.col("heading") & ~(_AS_CATEGORY & ~pl.col("code").str.contains(".", literal=True))
_IS_DAMAGED = pl.col("writer").is_in([n for n, writer in enumerate(WRITERS) if writer.damage])


class ColumnReading(NamedTuple):
    """What a column of labels is read as.

    Args:
        sets: The code sets, those with most of the labels first; empty if labels are numbers that
            are no codes.
        said: The reading as a clause.
        codes: ``label, rows, table, code, version, likely, sure``: what each label is that is a
            code of a set; where it is not ``sure``, it may as well be another one.
        plain: Whether codes stand alone and are as they should be, or without dots.
    """

    sets: tuple[str, ...]
    said: str
    codes: pl.DataFrame
    plain: bool

    @property
    def rows(self) -> int:
        """Number of rows that are surely one code."""
        return int(self.codes.filter("sure")["rows"].sum())

    def otherwise(self, other: ColumnReading) -> pl.Series:
        """Whether each label in `codes` is surely another code in the other reading."""
        sure = other.codes.filter("sure").select("label", "version", "code")
        both = self.codes.join(sure, on="label", how="left", maintain_order="left")
        same = (both["code"] == both["code_right"]) & (both["version"] == both["version_right"])
        return ~same.fill_null(True)

    def beside(self, other: ColumnReading) -> ColumnReading:
        """The same, sure of no label that another code is likely to be in the other reading."""
        known = other.codes.select("label", "version", "code", "likely")
        both = self.codes.join(known, on="label", how="left", maintain_order="left")
        same = (both["code"] == both["code_right"]) & (both["version"] == both["version_right"])
        clear = (same & both["likely_right"]).fill_null(True)
        return self._replace(codes=self.codes.with_columns(sure=pl.col("sure") & clear))


def column_readings(labels: pl.DataFrame, tables: Collection[str]) -> list[ColumnReading]:
    """The readings of a column: the likeliest, then those that are an alternative to it.

    An alternative gives other codes to more than 1 % of the rows, and is less than 1,000 times less
    likely. The likeliest is sure of no label that may be another code of its sets by any so likely.
    There is no reading where most labels are no codes in any way of writing.
    docs/methods/hierarchy.md, says how likely a reading is.

    Args:
        labels: ``label, rows``: each distinct label as written.
        tables: The code sets that the labels may be of, of `SAID`; if these are all, labels may
            also be numbers that are no codes.

    Time grows with the number of labels: some .3 s for 10,000.
    """
    text = pl.col("label").str.strip_chars().str.to_uppercase()
    nothing = ~text.str.contains("[0-9]") | text.str.contains(r"^[0.\-]+$")
    column = _column(labels.select("label", "rows", text=text).filter(~nothing), tables)
    tried = sorted(column.mixtures(), key=lambda one: -one.score) if column else []
    if column is None or tried[0].noise > 1 / 2:
        return []
    near = [column.reading(one) for one in tried if tried[0].score - one.score < _CLEARLY]
    found: list[ColumnReading] = []
    for reading in near:
        if all(_differ(reading, known) for known in found):
            found.append(reading)
    own = [one for one in near if set(one.sets) == set(near[0].sets)]
    return [reduce(ColumnReading.beside, own), *found[1:]]


def _differ(one: ColumnReading, other: ColumnReading) -> bool:
    if not one.sets or not other.sets:
        return one.sets != other.sets
    rows = one.codes.filter(one.otherwise(other) & one.codes["sure"])["rows"].sum()
    return int(rows) > _FEW * int(one.codes["rows"].sum())


class _Column(NamedTuple):
    """The labels of a column, and what each text in them may be.

    Args:
        affixed: ``text`` and ``cost`` of each of the labels without each affix; first without none.
        found: `written` of all texts, with ``source, version, likelihood``.
        pattern: ``text`` and ``pattern``, its place in ``sources``.
        whole: The number of the source that is whole numbers; None if it is not tried.
    """

    labels: pl.DataFrame
    affixed: list[tuple[Affix | None, pl.DataFrame]]
    found: pl.DataFrame
    pattern: pl.DataFrame
    sources: Sources
    whole: int | None

    def mixtures(self) -> Iterator[Mixture]:
        """All mixtures that are tried, of labels without each of the affixes."""
        weight = 1 + np.log(self.labels["rows"].to_numpy())
        for number, (affix, texts) in enumerate(self.affixed):
            at = texts.join(self.pattern, on="text", how="left", maintain_order="left")["pattern"]
            weights = np.zeros(len(self.sources.likelihood))
            np.add.at(weights, at.to_numpy(), weight)
            lost = float(weight @ np.log(texts["cost"].to_numpy())) - _AFFIXED * bool(affix)
            for one in mixtures(self.sources, weights, self.whole):
                if affix is None or one.sources != (self.whole,):
                    yield one._replace(affix=number, score=one.score + lost)

    def reading(self, mixture: Mixture) -> ColumnReading:
        """What a mixture takes the column to be, and each label."""
        affix, texts = self.affixed[mixture.affix]
        schema = {"source": pl.Int64, "part": pl.Float64}
        parts = pl.DataFrame({"source": mixture.sources, "part": mixture.shares}, schema)
        of_text = self._likeliest(self.found.join(parts, on="source"), mixture.noise)
        codes = self.labels.hstack(texts.select("text")).join(self._doubted(of_text, texts), "text")
        if mixture.sources == (self.whole,):
            return ColumnReading((), "whole numbers that are no codes", codes, plain=False)
        kinds = self.found.select("source", "table", "writer").unique()
        named = parts.join(kinds, on="source").filter(pl.col("part") >= _PART)
        own = named.sort("part", "table", descending=[True, False])["table", "writer"].rows()
        said = "; ".join(f"{SAID[table]} {WRITERS[writer].said}" for table, writer in own)
        return ColumnReading(
            tuple(table for table, _ in own),
            f"{said}, {affix.said}{_marks(codes)}" if affix else said,
            codes,
            affix is None and all(WRITERS[writer] in AS_WRITTEN for _, writer in own),
        )

    def _likeliest(self, found: pl.DataFrame, noise: float) -> pl.DataFrame:
        """``text, table, writer, code, version, likely, sure``: the likeliest code of each text."""
        likely = pl.col("likelihood") * pl.col("part")
        of_best = pl.col("table", "writer", "heading").sort_by(likely).last()
        codes = found.group_by("text", "version", "code").agg(of_best, likely=likely.sum())
        total = pl.col("likely").sum().over("text") + noise * NOISE
        best = codes.with_columns(posterior=pl.col("likely") / total)
        best = best.sort("text", "posterior", "code").unique("text", keep="last")
        best = best.with_columns(likely=pl.col("posterior") >= _SURE)
        ends = code_sets().filter(~pl.col("heading"), pl.col("code").str.ends_with("0"))
        shorter = ends.select("table", pl.col("code").str.head(-1), zeros=True)
        best = best.join(shorter, on=["table", "code"], how="left", maintain_order="left")
        cut = (_IS_UNLIKELY & _IS_DAMAGED) | (_AS_CATEGORY & pl.col("zeros").is_not_null())
        return best.with_columns(sure=pl.col("likely") & ~(cut & pl.col("version")))

    def _doubted(self, codes: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
        """The same, but for damaged codes that are another code as they stand, or a category of
        another set, and for all of a set of which more than few labels are codes as they stand that
        the damage would change."""
        sound = self.found.filter(_IS_WRITTEN & ~pl.col("heading"))
        sound = sound.select("text", "table", as_written="code").unique()
        own = texts.select("text").unique().join(sound, on="text")
        intact = own.join(codes, on="text", how="anti").group_by("table").len()
        intact = intact.filter(pl.col("len") > _FEW * len(texts)).select("table")
        joined = codes.join(sound, on=["text", "table"], how="left").filter(_IS_DAMAGED)
        another = joined.filter(pl.col("as_written") != pl.col("code"))
        heading = pl.col("heading") & (pl.col("text") == pl.col("code"))
        category = self.found.filter(_IS_WRITTEN & heading).join(codes, on="table", how="semi")
        other_set = joined.join(category.select("text", of="table").unique(), on="text")
        other_set = other_set.filter((pl.col("of") == TABLES[0]) & (pl.col("table") != TABLES[0]))
        changed = joined.filter(pl.col("as_written").is_null()).join(intact, on="table", how="semi")
        doubted = pl.concat([another["text"], changed["text"], other_set["text"]])
        sure = pl.col("sure") & ~pl.col("text").is_in(doubted.implode())
        return codes.select("text", "table", "code", "version", "likely", sure=sure)


def _marks(codes: pl.DataFrame) -> str:
    """What stands around codes, in brackets, where that is a few things."""
    pairs = codes.select(pl.col("label").str.strip_chars(), "text").iter_rows()
    around = {a.replace(text, "…", 1) for a, text in pairs if text in a and text != a}
    few = 0 < len(around) <= _NAMED
    return f" ({', '.join(map(repr, sorted(around)))})" if few else ""


def _column(labels: pl.DataFrame, tables: Collection[str]) -> _Column | None:
    """A column of ``label, rows, text``; None if no label may be a code."""
    codes = code_sets().filter(pl.col("table").is_in(list(tables)))
    plain = written(labels.select("text").unique(), codes)
    sound = plain.filter(_IS_WRITTEN)
    variants = [(one, one.without(labels["text"], sound["text"])) for one in AFFIXES]
    unaffixed = labels.select("text", cost=pl.lit(1.0))
    every = pl.concat([unaffixed, *(texts for _, texts in variants)]).select("text").unique()
    further = written(every.join(unaffixed, on="text", how="anti"), codes)
    found = pl.concat([plain, further]).sort("table", "writer", "text", "code")
    if found.is_empty():
        return None
    affixed: list[tuple[Affix | None, pl.DataFrame]] = [(None, unaffixed)]
    for affix, texts in variants:
        carrying = texts.filter(pl.col("cost") < 1).join(found, on="text", how="semi")
        if len(carrying) >= max(1, _FEW * len(labels)):
            affixed.append((affix, texts))
    found = found.with_columns(
        source=pl.struct("table", "writer").rle_id().cast(pl.Int64),
        version=pl.col("table").is_in(TABLES),
        likelihood=_CODE * pl.col("share") * pl.when(_IS_UNLIKELY).then(_HEADING).otherwise(1.0),
    )
    most = sound.group_by("table").agg(pl.col("text").n_unique())["text"]
    nearly_all = bool((most >= _NEARLY_ALL * labels["text"].n_unique()).any())
    codes_alone = len(tables) < len(SAID) or nearly_all
    numbers = labels["text"].clear() if codes_alone else labels["text"]
    return _Column(labels.drop("text"), affixed, found, *_sources(found, every, numbers))


def _sources(
    found: pl.DataFrame, texts: pl.DataFrame, numbers: pl.Series
) -> tuple[pl.DataFrame, Sources, int | None]:
    """Pattern of each text, the sources, and the number of the index of whole numbers, if any."""
    kinds = found.select("source", "table", "writer").unique().sort("source")
    place = texts.with_row_index("place")
    at = found.join(place, on="text", maintain_order="left")
    likelihood = np.zeros((len(texts), len(kinds) + 1))
    np.add.at(likelihood, (at["place"], at["source"]), at["likelihood"].to_numpy())
    whole = numbers.str.extract("^([1-9][0-9]*)$").cast(pl.Float64)
    if whole.count():
        of_whole = place.join(pl.DataFrame({"text": numbers.filter(whole.is_not_null())}), "text")
        likelihood[of_whole["place"].to_numpy(), -1] = 1 / (10 * whole.max())  # type: ignore[operator]
    distinct, pattern = np.unique(likelihood, axis=0, return_inverse=True)
    patterns = place.with_columns(pattern=pl.Series(pattern.ravel())).drop("place")
    costs = [_UNSURE * WRITERS[writer].doubts for writer in kinds["writer"]]
    sources = Sources(
        distinct,
        np.append(kinds["table"].rank("dense").cast(pl.Int64).to_numpy(), -1),
        np.append(kinds["writer"].cast(pl.Int64).to_numpy(), -1),
        np.array([*costs, _UNSURE]),
    )
    return patterns, sources, len(kinds) if whole.count() else None

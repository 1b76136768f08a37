"""Instances by what their labels are described as, their classes, and resampled splits of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.facets import refuse_unfit
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.errors import InputError, SchemaError, first_cases
from audit.engine.statistics.resampling import unit_keys

NONE, SEVERAL = -1, -2
"""Instead of a concept: the labels have none in the dimension, or they have different ones."""
MOST_AMBIGUOUS = 0.5
"""Share of the instances with concepts in a dimension that may have several; above it no test of
the dimension is applicable."""
BETWEEN = " / "
MOST_FOLDS = 10
"""Largest number of folds of classes of a nested dimension."""
MOST_ROWS = 10_000
"""Instances that a split draws; the most frequent classes are cut first."""


@dataclass(frozen=True, eq=False)
class Described:
    """Instances with the concepts of their labels.

    Args:
        dimensions: Names of dimensions.
        crossed: Whether each dimension is crossed, shape (dimensions,); others are nested.
        concepts: Per dimension its concepts; numbers stand for their places.
        codes: The concept of each instance in each dimension, `NONE` or `SEVERAL`; shape
            ``(instances, dimensions)``.
        class_of: The class of each instance, shape (instances,); -1 if it takes part in no test.
        class_codes: The concept of each class in each dimension, or `NONE`.
        classes: The table ``classes``, a row per class.
        ledger: Instances that are used, and left out, by reason.
    """

    dimensions: tuple[str, ...]
    crossed: BoolArray
    concepts: tuple[tuple[str, ...], ...]
    codes: IntArray
    class_of: IntArray
    class_codes: IntArray
    classes: pl.DataFrame
    ledger: Mapping[str, int]

    @property
    def places(self) -> list[int]:
        """The crossed dimensions."""
        return np.flatnonzero(self.crossed).tolist()

    def why_unfit(self, place: int) -> str | None:
        """Why a dimension takes part in no test; None if it does."""
        codes = self.codes[:, place]
        several, one = int((codes == SEVERAL).sum()), int((codes >= 0).sum())
        if several > MOST_AMBIGUOUS * (several + one):
            return (
                f"{several:,} of {several + one:,} instances have labels of different concepts,"
                f" more than {MOST_AMBIGUOUS:.0%}"
            )
        if len(np.unique(codes[(codes >= 0) & (self.class_of >= 0)])) < 2:
            return "the instances that take part have fewer than two of its concepts"
        return None

    def combinations(self, places: Sequence[int]) -> tuple[IntArray, IntArray]:
        """Combinations of concepts of classes in some dimensions, and that of each class."""
        codes = np.full_like(self.class_codes, NONE)
        codes[:, places] = self.class_codes[:, places]
        unique, of_class = np.unique(codes, axis=0, return_inverse=True)
        return unique, of_class.reshape(-1)

    def parts(self, place: int, seed: int) -> list[IntArray]:
        """The slices of a crossed dimension, or the folds of a nested one, as classes.

        A slice is the classes equal in all other crossed dimensions, those with no concept there
        included; it has at least two concepts. Folds are dealt by the seed, and each holds some of
        every concept that has two classes.
        """
        codes = self.class_codes[:, place]
        if not self.crossed[place]:
            keys = unit_keys(self.classes["class"].to_list(), seed)
            of = [np.flatnonzero(codes == one) for one in range(len(self.concepts[place]))]
            dealt = [own[np.argsort(keys[own], kind="stable")] for own in of if len(own) > 1]
            number = min([MOST_FOLDS, *map(len, dealt)]) if dealt else 0
            return [np.concatenate([own[fold::number] for own in dealt]) for fold in range(number)]
        others = self.crossed & (np.arange(len(self.crossed)) != place)
        groups: dict[tuple[int, ...], list[int]] = {}
        for one in np.flatnonzero(codes >= 0).tolist():
            groups.setdefault(tuple(self.class_codes[one, others].tolist()), []).append(one)
        several = map(np.array, groups.values())
        return [group for group in several if len(np.unique(codes[group])) > 1]

    def frame(self, fit: Sequence[int], seed: int) -> pl.DataFrame:
        """The table ``dimensions``, with the number of slices of each that takes part in tests."""
        rows = []
        for place, name in enumerate(self.dimensions):
            codes = self.codes[:, place]
            counts = np.bincount(codes[codes >= 0])
            rows.append(
                {
                    "dimension": name,
                    "kind": "crossed" if self.crossed[place] else "nested",
                    "concepts": int((counts > 0).sum()),
                    "slices": len(self.parts(place, seed)) if place in fit else 0,
                    "instances": int(counts.sum()),
                    "without_concept": int((codes == NONE).sum()),
                    "several_concepts": int((codes == SEVERAL).sum()),
                    "chance": counts.max() / counts.sum() if counts.sum() else None,
                    "reason": self.why_unfit(place),
                }
            )
        return TABLES["dimensions"].frame(rows)


def describe(labels: pl.Series, facets: pl.DataFrame) -> Described:
    """Find the concepts and the class of every instance.

    Labels that are described alike form a class; where a dimension is nested and no instance has
    several labels, each label is a class. A class of one instance is refused, or, where all
    dimensions are nested, left out and counted; and so is a label without concepts.

    Args:
        labels: The labels of each instance, lists.
        facets: Columns `audit.analyses.concepts.facets.FACETS`.

    Raises:
        SchemaError: If a node has two concepts in a dimension, or a dimension has one concept.
        InputError: If a label has no concept, or a class has one instance.
    """
    kinds = facets.select("dimension", "nested").unique(maintain_order=True)
    if kinds["dimension"].is_duplicated().any():
        found = first_cases(kinds.filter(pl.col("dimension").is_duplicated())["dimension"].unique())
        raise SchemaError("every dimension must have a name of its own", found=found)
    refuse_unfit(facets)
    crossed, partial = ~kinds["nested"].to_numpy(), bool(kinds["nested"].all())
    missing = sorted({*labels.explode().drop_nulls()} - {*facets["node"]})
    if missing and not partial:
        raise InputError(
            "the facet table must describe every label of the representations",
            found=f"no row for {first_cases(missing)}",
            hint="add the labels to the table, or leave their instances out",
        )
    concepts, codes = _codes(labels, facets, kinds["dimension"].to_list())
    torn = (codes[:, crossed] == SEVERAL).any(axis=1)
    fit = ~torn & (codes >= 0).any(axis=1)
    keys = [np.maximum(codes, NONE)]
    if not crossed.all() and (labels.list.len() <= 1).all():
        keys.append(labels.list.first().rank("dense").fill_null(0).to_numpy()[:, None])
    unique, inverse, counts = np.unique(
        np.hstack(keys)[fit], axis=0, return_inverse=True, return_counts=True
    )
    class_of = np.full(len(codes), -1)
    class_of[fit] = inverse.reshape(-1)
    class_codes = unique[:, : len(concepts)].astype(np.int64)
    classes, large = _class_frame(labels, class_of, class_codes, concepts), counts > 1
    if not (partial or large.all()):
        raise InputError(
            "a class must have at least 2 instances, one for each half of a split",
            found=f"one instance of {first_cases(classes['class'].filter(pl.Series(~large)))}",
            hint="leave the class out, or give more instances of it",
        )
    class_of = np.append(np.where(large, np.cumsum(large) - 1, -1), -1)[class_of].astype(np.int64)
    used = int((class_of >= 0).sum())
    return Described(
        tuple(kinds["dimension"]),
        crossed,
        concepts,
        codes,
        class_of,
        class_codes[large],
        classes.filter(pl.Series(large)),
        {
            "used": used,
            "labels_without_concepts": int((~torn & ~fit).sum()),
            "labels_of_several_concepts": int(torn.sum()),
            "class_too_small": int(fit.sum()) - used,
        },
    )


def _codes(
    labels: pl.Series, facets: pl.DataFrame, dimensions: Sequence[str]
) -> tuple[tuple[tuple[str, ...], ...], IntArray]:
    """The concepts of each dimension, and their places for each instance."""
    rows = pl.DataFrame({"row": np.arange(len(labels)), "node": labels}).explode("node")
    every, codes = [], np.full((len(labels), len(dimensions)), NONE, np.int64)
    for place, name in enumerate(dimensions):
        table = facets.filter(dimension=name).unique(maintain_order=True)
        concepts = table["concept"].unique(maintain_order=True)
        code = pl.col("concept").replace_strict(concepts, np.arange(len(concepts)))
        known = rows.join(table.select("node", code=code), on="node").group_by("row")
        found = known.agg(pl.col("code").first(), one=pl.col("code").n_unique() == 1)
        codes[found["row"], place] = np.where(found["one"], found["code"], SEVERAL)
        every.append(tuple(concepts))
    return tuple(every), codes


def _class_frame(
    labels: pl.Series,
    class_of: IntArray,
    class_codes: IntArray,
    concepts: Sequence[Sequence[str]],
) -> pl.DataFrame:
    """The table ``classes``, called by concepts, and by their labels where these are not enough."""
    named = [
        [own[code] if code >= 0 else None for own, code in zip(concepts, codes, strict=True)]
        for codes in class_codes.tolist()
    ]
    of_class = pl.DataFrame({"place": class_of, "labels": labels}).group_by("place")
    found = of_class.agg(
        pl.col("labels").explode().drop_nulls().unique().sort(), instances=pl.len()
    )
    frame = pl.DataFrame(
        {"place": np.arange(len(named)), "concepts": named},
        schema_overrides={"concepts": pl.List(pl.String)},
    ).join(found, on="place", maintain_order="left")
    name = pl.col("concepts").list.eval(pl.element().fill_null("-")).list.join(BETWEEN)
    by_label = pl.format("{}" + BETWEEN + "{}", "class", pl.col("labels").list.first())
    called = pl.when(pl.col("class").is_duplicated()).then(by_label).otherwise("class")
    return (
        frame.with_columns(name.alias("class"))
        .with_columns(called.alias("class"))
        .pipe(TABLES["classes"].cast)
    )


def centre(layer: FloatArray) -> tuple[FloatArray, float]:
    """Mean features, and the root of their mean variance, 1 if all rows are equal.

    It is one number for all features, so that angles stay.
    """
    size = float(np.sqrt(layer.var(axis=0).mean()))
    return layer.mean(axis=0), size if size > 0 else 1.0


def scaled(layer: FloatArray) -> FloatArray:
    """Rows of a layer about their `centre`, shape (n, features)."""
    mean, size = centre(layer)
    return np.asarray((layer - mean) / size)


@dataclass(frozen=True, eq=False)
class Split:
    """The instances of one seed, in an order that their ids and the seed alone decide.

    Args:
        seed: The seed.
        rows: Their rows in the representations.
        codes: Their concepts, shape ``(rows, dimensions)``.
        class_of: Their classes.
        quarter: 0 to 3, dealt in turn within each class. Ablation is fitted on the even half, where
            its classes are seen, and all is judged there; probes are fitted on the odd half.
    """

    seed: int
    rows: IntArray
    codes: IntArray
    class_of: IntArray
    quarter: IntArray

    @property
    def ablating(self) -> BoolArray:
        """The half that ablation is fitted on and all is judged on."""
        return np.asarray(self.quarter % 2 == 0)

    @property
    def probing(self) -> BoolArray:
        """The half that probes and predictions are fitted on."""
        return np.asarray(self.quarter % 2 == 1)


def draw_split(described: Described, ids: Sequence[str], seed: int) -> Split:
    """Draw the split of a seed from the instances that take part in tests."""
    used = np.flatnonzero(described.class_of >= 0)
    keys = unit_keys([ids[row] for row in used.tolist()], seed)
    rows = used[np.argsort(keys, kind="stable")]
    class_of = pl.DataFrame({"class": described.class_of[rows]})
    rank = class_of.select(pl.int_range(pl.len()).over("class")).to_series().to_numpy()
    kept = rank < most_of_a_class(np.bincount(described.class_of[rows]))
    rows, rank = rows[kept], rank[kept]
    return Split(seed, rows, described.codes[rows], described.class_of[rows], rank % 4)


def most_of_a_class(counts: IntArray) -> int:
    """The number of instances of a class beyond which the rest is left out, at least 4."""
    if counts.sum() <= MOST_ROWS:
        return int(counts.max(initial=0))
    sizes = range(1, MOST_ROWS + 1)
    return max(bisect_right(sizes, MOST_ROWS, key=lambda n: np.minimum(counts, n).sum()), 4)

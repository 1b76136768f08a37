"""Instances by what their labels are described as, their classes, and resampled splits of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.facets import Facets, check_facets
from audit.analyses.concepts.representations import Representations
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.errors import InputError, first_cases
from audit.engine.statistics.resampling import unit_keys

NONE, SEVERAL = -1, -2
"""Instead of a concept: the labels have none in the dimension, or they have different ones."""
LEAST_INSTANCES = 2
"""Instances that a class must have, one for each half of a split."""
MOST_AMBIGUOUS = 0.5
"""Share of the instances with concepts in a dimension that may have several; above it no test of
the dimension is applicable."""
BETWEEN = " / "


@dataclass(frozen=True, eq=False)
class Described:
    """Instances with the concepts of their labels.

    Args:
        dimensions: Names of dimensions.
        crossed: Whether each dimension is crossed; others are nested.
        concepts: Per dimension its concepts; numbers stand for their places.
        codes: The concept of each instance in each dimension, `NONE` or `SEVERAL`; shape
            ``(instances, dimensions)``.
        class_of: The class of each instance, shape (instances,); -1 if it takes part in no test.
        class_codes: The concept of each class in each dimension, or `NONE`.
        classes: The table ``classes``, a row per class.
        ledger: Instances read, used, and left out, by reason.
    """

    dimensions: tuple[str, ...]
    crossed: tuple[bool, ...]
    concepts: tuple[tuple[str, ...], ...]
    codes: IntArray
    class_of: IntArray
    class_codes: IntArray
    classes: pl.DataFrame
    ledger: Mapping[str, int]

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
        """Combinations of concepts that classes have in some dimensions.

        Returns:
            Their concepts, `NONE` in other dimensions, shape ``(combinations, dimensions)``; and
            the combination of each class.
        """
        codes = np.full_like(self.class_codes, NONE)
        codes[:, places] = self.class_codes[:, places]
        unique, of_class = np.unique(codes, axis=0, return_inverse=True)
        return unique, of_class.reshape(-1)

    def frame(self, slices: Mapping[int, int]) -> pl.DataFrame:
        """The table ``dimensions``.

        Args:
            slices: The number of slices of each dimension, by place.
        """
        rows = []
        for place, name in enumerate(self.dimensions):
            codes = self.codes[:, place]
            counts = np.bincount(codes[codes >= 0])
            rows.append(
                {
                    "dimension": name,
                    "kind": "crossed" if self.crossed[place] else "nested",
                    "concepts": int((counts > 0).sum()),
                    "slices": slices.get(place, 0),
                    "instances": int(counts.sum()),
                    "without_concept": int((codes == NONE).sum()),
                    "several_concepts": int((codes == SEVERAL).sum()),
                    "chance": counts.max() / counts.sum() if counts.sum() else None,
                    "reason": self.why_unfit(place),
                }
            )
        return TABLES["dimensions"].frame(rows)


def describe(representations: Representations, facets: Facets) -> Described:
    """Find the concepts and the class of every instance.

    Labels that are described alike form a class; where a dimension is nested and no instance has
    several labels, each label is a class. A class that is too small for a split is refused, or,
    where the facets are partial, left out and counted.

    Raises:
        InputError: As in `check_facets`, or if a class has one instance.
    """
    labels = representations.instances["labels"]
    check_facets(facets, labels.explode().drop_nulls().unique().to_list())
    dimensions = tuple(facets.kinds)
    crossed = tuple(kind == "crossed" for kind in facets.kinds.values())
    concepts, codes = _codes(labels, facets, dimensions)
    torn = (codes[:, np.array(crossed)] == SEVERAL).any(axis=1)
    fit = ~torn & (codes >= 0).any(axis=1)
    keys = [np.maximum(codes, NONE)]
    if not all(crossed) and (labels.list.len() <= 1).all():
        keys.append(labels.list.first().rank("dense").fill_null(0).to_numpy()[:, None])
    unique, inverse = np.unique(np.hstack(keys)[fit], axis=0, return_inverse=True)
    class_of = np.full(len(codes), -1)
    class_of[fit] = inverse.reshape(-1)
    class_codes = unique[:, : len(dimensions)].astype(np.int64)
    small = np.bincount(class_of[fit], minlength=len(unique)) < LEAST_INSTANCES
    classes = _class_frame(labels, class_of, class_codes, concepts)
    if small.any() and not facets.partial:
        raise InputError(
            f"a class must have at least {LEAST_INSTANCES} instances, one for each half of a split",
            found=f"one instance of {first_cases(classes['class'].filter(pl.Series(small)))}",
            hint="leave the class out, or give more instances of it",
        )
    place = np.append(np.where(small, -1, np.cumsum(~small) - 1), -1)
    class_of = place[class_of].astype(np.int64)
    ledger = {
        "read": len(codes),
        "used": int((class_of >= 0).sum()),
        "labels_without_concepts": int((~torn & ~fit).sum()),
        "labels_of_several_concepts": int(torn.sum()),
        "class_too_small": int(fit.sum() - (class_of >= 0).sum()),
    }
    return Described(
        dimensions,
        crossed,
        concepts,
        codes,
        class_of,
        class_codes[~small],
        classes.filter(pl.Series(~small)),
        ledger,
    )


def _codes(
    labels: pl.Series, facets: Facets, dimensions: tuple[str, ...]
) -> tuple[tuple[tuple[str, ...], ...], IntArray]:
    """The concepts of each dimension, and their places for each instance."""
    rows = pl.DataFrame({"row": np.arange(len(labels)), "node": labels}).explode("node")
    every, columns = [], []
    for name in dimensions:
        table = facets.table.filter(pl.col("dimension") == name).unique(maintain_order=True)
        concepts = table["concept"].unique(maintain_order=True)
        table = table.select(
            "node",
            code=pl.col("concept").replace_strict(
                concepts, np.arange(len(concepts)), return_dtype=pl.Int64
            ),
        )
        known = (
            rows.join(table, on="node")
            .group_by("row")
            .agg(
                pl.when(pl.col("code").n_unique() == 1)
                .then(pl.col("code").first())
                .otherwise(SEVERAL)
                .alias("code")
            )
        )
        column = np.full(len(labels), NONE, np.int64)
        column[known["row"].to_numpy()] = known["code"].to_numpy()
        every.append(tuple(concepts.to_list()))
        columns.append(column)
    return tuple(every), np.column_stack(columns)


def _class_frame(
    labels: pl.Series,
    class_of: IntArray,
    class_codes: IntArray,
    concepts: tuple[tuple[str, ...], ...],
) -> pl.DataFrame:
    named = [
        [concepts[place][code] if code >= 0 else None for place, code in enumerate(codes)]
        for codes in class_codes.tolist()
    ]
    of_class = pl.DataFrame({"place": class_of, "label": labels}).filter(pl.col("place") >= 0)
    counts = of_class.group_by("place").agg(instances=pl.len())
    own = of_class.explode("label").group_by("place").agg(pl.col("label").unique().sort())
    frame = (
        pl.DataFrame(
            {"place": np.arange(len(named)), "concepts": named},
            schema_overrides={"concepts": pl.List(pl.String)},
        )
        .join(counts, on="place", maintain_order="left")
        .join(own, on="place", maintain_order="left")
        .with_columns(
            pl.col("concepts")
            .list.eval(pl.element().fill_null("-"))
            .list.join(BETWEEN)
            .alias("class")
        )
    )
    nested = frame["class"].is_duplicated()
    return (
        frame.with_columns(
            pl.when(nested)
            .then(pl.format("{}" + BETWEEN + "{}", "class", pl.col("label").list.first()))
            .otherwise("class")
            .alias("class")
        )
        .select(
            pl.col("class"),
            pl.col("label").alias("labels"),
            "concepts",
            pl.col("instances").cast(pl.Int64),
        )
        .pipe(TABLES["classes"].cast)
    )


MOST_FOLDS = 10
"""Largest number of folds of classes of a nested dimension."""


def slices(described: Described, place: int) -> list[IntArray]:
    """Classes that differ in one dimension alone, as arrays of their places.

    Along a crossed dimension, a slice is the classes equal in all other crossed dimensions, those
    with no concept there included; it has at least two concepts.
    """
    others = [k for k, crossed in enumerate(described.crossed) if crossed and k != place]
    here = np.flatnonzero(described.class_codes[:, place] >= 0)
    groups: dict[tuple[int, ...], list[int]] = {}
    for one in here.tolist():
        groups.setdefault(tuple(described.class_codes[one, others].tolist()), []).append(one)
    several = [np.array(group) for group in groups.values()]
    return [group for group in several if len(np.unique(described.class_codes[group, place])) > 1]


def folds(described: Described, place: int, seed: int) -> list[IntArray]:
    """Classes of a nested dimension, dealt into folds that hold some of each concept.

    A concept of one class cannot be held out and is in no fold. Empty if no concept has two.
    """
    keys = unit_keys(described.classes["class"].to_list(), seed)
    codes = described.class_codes[:, place]
    dealt = [
        members[np.argsort(keys[members], kind="stable")]
        for concept in range(len(described.concepts[place]))
        if len(members := np.flatnonzero(codes == concept)) > 1
    ]
    if not dealt:
        return []
    number = min(MOST_FOLDS, *(len(members) for members in dealt))
    return [np.concatenate([members[fold::number] for members in dealt]) for fold in range(number)]


MOST_ROWS = 10_000
"""Instances that a split draws; the most frequent classes are cut first."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Centre and scale of a layer: one number for all features, so that angles stay.

    Args:
        mean: Shape (features,).
        size: Root of the mean squared distance of a feature from its mean.
    """

    mean: FloatArray
    size: float

    def __call__(self, layer: FloatArray) -> FloatArray:
        """Features with mean 0 and, all together, mean square 1."""
        return np.asarray((layer - self.mean) / self.size)


def scaling_of(layer: FloatArray) -> Scaling:
    """The scaling of rows of a layer, shape (n, features); size 1 if all rows are equal."""
    size = float(np.sqrt(layer.var(axis=0).mean()))
    return Scaling(layer.mean(axis=0), size if size > 0 else 1.0)


@dataclass(frozen=True, eq=False)
class Split:
    """The instances of one seed, in an order that their ids and the seed alone decide.

    Args:
        seed: The seed.
        rows: Their rows in the representations.
        codes: Their concepts, shape ``(rows, dimensions)``.
        class_of: Their classes.
        quarter: 0 to 3, dealt in turn within each class. Ablation is fitted on the even half and
            judged there; probes are fitted on the odd half.
    """

    seed: int
    rows: IntArray
    codes: IntArray
    class_of: IntArray
    quarter: IntArray

    @property
    def ablating(self) -> BoolArray:
        """The half that ablation is fitted on, where its classes are seen, and all is judged on."""
        return np.asarray(self.quarter % 2 == 0)

    @property
    def probing(self) -> BoolArray:
        """The half that probes and predictions are fitted on."""
        return np.asarray(self.quarter % 2 == 1)


def draw_split(described: Described, ids: list[str], seed: int) -> Split:
    """Draw the split of a seed from the instances that take part in tests."""
    used = np.flatnonzero(described.class_of >= 0)
    keys = unit_keys([ids[row] for row in used.tolist()], seed)
    used = used[np.argsort(keys, kind="stable")]
    rank = _rank_in_class(described.class_of[used])
    kept = rank < _cut(np.bincount(described.class_of[used]))
    rows, rank = used[kept], rank[kept]
    return Split(seed, rows, described.codes[rows], described.class_of[rows], rank % 4)


def _rank_in_class(class_of: IntArray) -> IntArray:
    order = np.argsort(class_of, kind="stable")
    starts = np.searchsorted(class_of[order], class_of[order])
    rank = np.empty(len(class_of), np.int64)
    rank[order] = np.arange(len(class_of)) - starts
    return rank


def _cut(counts: IntArray) -> int:
    """The number of instances of a class beyond which the rest is left out."""
    ordered = np.sort(counts)[::-1]
    below = np.concatenate([np.cumsum(ordered[::-1])[::-1][1:], [0]])
    for k, rest in enumerate(below.tolist(), start=1):
        cut = (MOST_ROWS - rest) // k
        if k == len(ordered) or ordered[k] <= cut:
            return max(int(cut), 4) if counts.sum() > MOST_ROWS else int(ordered[0])
    return 0

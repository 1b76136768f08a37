"""What labels are described as: facets of a file or of depths, and the classes that they make."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from audit.analyses.concepts.declared import TABLES
from audit.base.dag import BoolArray, IntArray
from audit.base.declared import schema
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.tables import open_table
from audit.data.records import pick
from audit.engine.statistics.resampling import unit_keys
from audit.hierarchies.hierarchy import Hierarchy

FACETS = schema(("node dimension concept", pl.String()), ("nested", pl.Boolean()))
"""Columns of facets. Dimensions are crossed, which vary freely, or nested: ancestors at a depth of
a hierarchy."""
NONE, SEVERAL = -1, -2
"""Instead of a concept: the labels have none in the dimension, or they have different ones."""
UNFIT = "the instances that take part have fewer than two of its concepts"
MOST_FOLDS = 10
"""Largest number of folds of classes of a nested dimension."""
MOST_ROWS = 10_000
"""Instances that a split draws; the most frequent classes are cut first."""
BETWEEN = " / "


def read_facets(path: Path | str) -> pl.DataFrame:
    """Read the columns ``node, dimension, concept`` of a table as `FACETS`; all are crossed.

    SchemaError if there is no row, a column is missing, or a value is blank.
    """
    source = open_table(Path(path))
    table = pick(source.frame(), source, node="node", dimension="dimension", concept="concept")
    blank = table.select(pl.any_horizontal(pl.all().is_null())).to_series().arg_true()
    if len(blank) or table.is_empty():
        required = "rows with a node, a dimension and a concept are required"
        found = f"a blank in row {blank[0] + 1}" if len(blank) else "no row"
        raise SchemaError(required, found=found, where=source)
    return table.unique(maintain_order=True).with_columns(nested=pl.lit(False))


def facets_from_depths(hierarchy: Hierarchy, depths: Sequence[int]) -> pl.DataFrame:
    """Nested dimensions: the ancestors of nodes at depths of a hierarchy, the node itself included.

    A node with no ancestor at a depth, or with several, has no concept there. Depths (longest path
    from the root) at which there are no two concepts are left out.
    """
    ends, names = hierarchy.closure.tocoo(), pl.Series(hierarchy.nodes, dtype=pl.String)
    above = pl.DataFrame({"node": names.gather(ends.row), "concept": names.gather(ends.col)})
    tables = [
        above.filter(pl.Series(hierarchy.depth[ends.col] == depth))
        .filter(pl.col("node").is_unique())
        .sort("node")
        .select("node", pl.lit(f"depth {depth}").alias("dimension"), "concept", nested=True)
        for depth in depths
    ]
    told = [table for table in tables if table["concept"].n_unique() > 1]
    return pl.concat([pl.DataFrame(schema=FACETS), *told])


@dataclass(frozen=True, eq=False)
class Described:
    """Instances with the concepts of their labels.

    Args:
        codes: The concept of each instance in each dimension as a number, `NONE` or `SEVERAL`;
            shape ``(instances, dimensions)``.
        class_of: The class of each instance, shape (instances,); `NONE` if it is in no test.
        class_codes: The concept of each class in each dimension, or `NONE`.
        ledger: Instances that are used, and left out, by reason.
    """

    dimensions: Sequence[str]
    crossed: BoolArray
    codes: IntArray
    class_of: IntArray
    class_codes: IntArray
    classes: pl.DataFrame
    ledger: Mapping[str, int]

    @property
    def places(self) -> list[int]:
        """Numbers of the crossed dimensions."""
        return np.flatnonzero(self.crossed).tolist()

    @property
    def fit(self) -> list[int]:
        """Numbers of the dimensions that are tested: classes have two of their concepts or more."""
        codes = enumerate(self.class_codes.T)
        return [place for place, own in codes if len(np.unique(own[own >= 0])) > 1]

    def combinations(self, places: Sequence[int]) -> tuple[IntArray, IntArray]:
        """Combinations of concepts in some dimensions, a row each, and the row of each class."""
        codes = np.full_like(self.class_codes, NONE)
        codes[:, places] = self.class_codes[:, places]
        unique, of_class = np.unique(codes, axis=0, return_inverse=True)
        return unique, of_class.reshape(-1)

    def parts(self, place: int, seed: int) -> list[IntArray]:
        """The slices of a crossed dimension, or the folds of a nested one, as numbers of classes.

        A slice is the classes equal in all other crossed dimensions, those with no concept there
        included; it has at least two concepts. Folds are dealt by the seed, and each holds some of
        every concept that has two classes.
        """
        codes = self.class_codes[:, place]
        there = np.flatnonzero(codes >= 0)
        if self.crossed[place]:
            others = self.combinations([one for one in self.places if one != place])[1][there]
            slices = [there[others == one] for one in dict.fromkeys(others.tolist())]
            return [part for part in slices if len(np.unique(codes[part])) > 1]
        keys = unit_keys(self.classes["class"].to_list(), seed)
        of = [np.flatnonzero(codes == one) for one in np.unique(codes[there])]
        dealt = [own[np.argsort(keys[own], kind="stable")] for own in of if len(own) > 1]
        number = min([MOST_FOLDS, *map(len, dealt)]) if dealt else 0
        return [np.concatenate([own[fold::number] for own in dealt]) for fold in range(number)]

    def frame(self, seed: int) -> pl.DataFrame:
        """The table ``dimensions``, with the number of slices of each that takes part in tests."""
        rows = []
        for place, name in enumerate(self.dimensions):
            codes, is_fit = self.codes[:, place], place in self.fit
            counts = np.bincount(codes[codes >= 0])
            rows.append({
                "dimension": name,
                "kind": "crossed" if self.crossed[place] else "nested",
                "concepts": (counts > 0).sum(),
                "slices": len(self.parts(place, seed)) if is_fit else 0,
                "instances": counts.sum(),
                "without_concept": (codes == NONE).sum(),
                "several_concepts": (codes == SEVERAL).sum(),
                "chance": counts.max() / counts.sum() if len(counts) else None,
                "reason": None if is_fit else UNFIT,
            })  # fmt: skip
        return TABLES["dimensions"].frame(rows)

    def draw(self, ids: Sequence[str], seed: int) -> tuple[IntArray, IntArray]:
        """Instances of a split, in an order that ids and seed alone decide, and their quarters.

        Quarters, 0 to 3, are dealt in turn within each class. Beyond `MOST_ROWS` the most frequent
        classes are cut to one size, at least 4.
        """
        used = np.flatnonzero(self.class_of >= 0)
        keys = unit_keys([ids[row] for row in used.tolist()], seed)
        rows = used[np.argsort(keys, kind="stable")]
        classes = pl.Series("class", self.class_of[rows]).to_frame()
        rank = classes.select(pl.int_range(pl.len()).over("class")).to_series().to_numpy()
        counts, sizes = np.bincount(self.class_of[rows]), range(1, max(len(rows), 1) + 1)
        most = bisect_right(sizes, MOST_ROWS, key=lambda n: np.minimum(counts, n).sum())
        kept = rank < max(most, 4)
        return rows[kept], rank[kept] % 4


def describe(labels: pl.Series, facets: pl.DataFrame) -> Described:
    """Find the concepts and the class of every instance by its labels, a list, and `FACETS`.

    Labels that are described alike form a class; where a dimension is nested and no instance has
    several labels, each label is a class. Instances without concepts, with several in a crossed
    dimension, or alone in their class are left out and counted. InputError if no class of two
    instances is described.
    """
    kinds, codes = _kinds(facets), codes_of(labels, facets)
    crossed = ~kinds["nested"].to_numpy()
    torn = (codes[:, crossed] == SEVERAL).any(axis=1)
    fit = ~torn & (codes >= 0).any(axis=1)
    keys = [np.maximum(codes, NONE)]
    if not crossed.all() and (labels.list.len() <= 1).all():
        keys.append(labels.list.first().rank("dense").fill_null(0).to_numpy()[:, None])
    unique, inverse, counts = np.unique(
        np.hstack(keys)[fit], axis=0, return_inverse=True, return_counts=True
    )
    large, class_of = counts > 1, np.full(len(codes), NONE, np.int64)
    class_of[fit] = np.where(large, np.cumsum(large) - 1, NONE)[inverse.reshape(-1)]
    if not large.any():
        raise InputError(
            "facets that describe the labels of the representations are required, and two instances"
            " of one class",
            found=f"the labels {first_cases(labels.explode().drop_nulls().unique().sort())}, and"
            f" facets of {first_cases(facets['node'].unique(maintain_order=True)) or 'none'}",
        )
    class_codes = unique[large, : len(kinds)].astype(np.int64)
    ledger = {
        "used": int((class_of >= 0).sum()),
        "labels_without_concepts": int((~torn & ~fit).sum()),
        "labels_of_several_concepts": int(torn.sum()),
        "class_too_small": int((fit & (class_of < 0)).sum()),
    }
    classes = _class_frame(labels, class_of, class_codes, list(kinds["concept"]))
    names = kinds["dimension"].to_list()
    return Described(names, crossed, codes, class_of, class_codes, classes, ledger)


def _kinds(facets: pl.DataFrame) -> pl.DataFrame:
    """A row a ``dimension``: whether it is ``nested``, and the list of its ``concept``."""
    concepts = pl.col("concept").unique(maintain_order=True)
    return facets.group_by("dimension", maintain_order=True).agg(pl.col("nested").any(), concepts)


def codes_of(labels: pl.Series, facets: pl.DataFrame) -> IntArray:
    """The place of the concept of each of some lists of labels in each dimension, `NONE` or
    `SEVERAL`, shape (labels, dimensions)."""
    numbers, kinds = pl.int_ranges(pl.col("concept").list.len()), _kinds(facets)
    places = kinds.with_row_index("place").with_columns(code=numbers).explode("concept", "code")
    known = facets.unique().join(places, on=["dimension", "concept"])
    rows = labels.alias("node").to_frame().with_row_index("row").explode("node")
    alone, code = pl.col("code").n_unique() == 1, pl.col("code").first()
    found = rows.join(known, on="node").group_by("row", "place")
    told = found.agg(pl.when(alone).then(code).otherwise(SEVERAL).alias("code"))
    codes = np.full((len(labels), len(kinds)), NONE, np.int64)
    codes[told["row"], told["place"]] = told["code"]
    return codes


def _class_frame(
    labels: pl.Series, class_of: IntArray, class_codes: IntArray, concepts: Sequence[pl.Series]
) -> pl.DataFrame:
    """The table ``classes``, called by concepts, and by their labels where these are not enough."""
    named = [
        [own[code] if code >= 0 else None for own, code in zip(concepts, codes, strict=True)]
        for codes in class_codes.tolist()
    ]
    name = pl.col("concepts").list.eval(pl.element().fill_null("-")).list.join(BETWEEN)
    by_label = pl.concat_str(name, pl.col("labels").list.first(), separator=BETWEEN)
    frame = pl.DataFrame({"place": class_of, "labels": labels}).filter(pl.col("place") >= 0)
    of_class = frame.group_by("place").agg(
        pl.col("labels").explode().drop_nulls().unique().sort(), instances=pl.len()
    )
    told = of_class.sort("place").with_columns(pl.Series("concepts", named, pl.List(pl.String)))
    called = pl.when(name.is_duplicated()).then(by_label).otherwise(name)
    return TABLES["classes"].cast(told.with_columns(called.alias("class")))

"""`is_grounded`: answers on counterfactual minimal pairs."""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.concepts.answers import GROUNDED, Answers, Part, count_answers
from audit.concepts.classes import Described
from audit.concepts.representations import Representations
from audit.concepts.unseen_classes import Scene

NO_PAIRS = (
    "no minimal pairs: instances of different classes with equal values in the column pair are"
    " needed"
)


def paired(representations: Representations, described: Described) -> IntArray:
    """Instances of classes that have a counterpart of another class in their pair, ascending."""
    table = pl.DataFrame(
        {"pair": representations.instances["pair"], "class": described.class_of}
    ).with_row_index("row")
    kept = table.filter(pl.col("pair").is_not_null() & (pl.col("class") >= 0)).filter(
        pl.col("class").n_unique().over("pair") > 1
    )
    return kept["row"].to_numpy().astype(np.int64)


def given_answers(
    predictions: pl.Series,
    representations: Representations,
    described: Described,
    rows: IntArray,
    seed: int,
) -> Answers:
    """Compare predicted labels with the labels of instances; one that is missing is wrong."""
    right = (
        pl.DataFrame({"labels": representations.instances["labels"], "prediction": predictions})[
            rows
        ]
        .select(pl.col("labels").list.contains(pl.col("prediction")).fill_null(False))
        .to_series()
        .to_numpy()
    )
    part, classes = Part(GROUNDED), len(described.class_codes)
    return count_answers(part, seed, classes, described.class_of[rows], right)


def probed_answers(scene: Scene, rows: IntArray) -> Answers | None:
    """Compare what a probe predicts with the concepts of instances that it was not fitted on."""
    split = scene.split
    judged = np.flatnonzero(split.ablating & np.isin(split.rows, rows))
    if scene.predict is None or not len(judged):
        return None
    crossed = np.flatnonzero(scene.described.crossed)
    truth = np.maximum(split.codes[judged], -1)
    right = (scene.predict(scene.z[judged]) == truth)[:, crossed].all(axis=1)
    classes = len(scene.described.class_codes)
    return count_answers(Part(GROUNDED), split.seed, classes, split.class_of[judged], right)

"""Importance alignment: do models decide for the reasons that people give?

Definitions are those of *To what extent do human explanations of model behavior align with actual
model behavior?* (Prasad et al.), equations 1 to 7; docs/methods/importance.md says what was
decided where the paper leaves room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, IntArray
from audit.base.errors import InputError
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.explanations.attributions import Attributions, Evidence
from audit.explanations.importance.delta_a import delta_a
from audit.explanations.importance.oracles import (
    SUBSETS,
    Informed,
    OracleName,
    Subset,
    codes,
    examples_of,
    human_oracle,
    judged_rows,
    members,
    soft_oracle,
)
from audit.explanations.importance.row_alignment import (
    Cells,
    RowAlignment,
    align_with_model,
    align_with_people,
)

DRAWS = 10
"""Other explanations that each example meets; the paper draws one."""

PERMUTATIONS = 999
"""Whole reassignments of the permutation test, at most."""

_TIE = 1e-12

BY = ("method", "model", "oracle", "subset")
"""What a line of the summary is about."""


@dataclass(frozen=True, eq=False)
class ImportanceAlignment:
    """Importance alignment of all methods and models with all oracles.

    Args:
        summary: A line per method, model, oracle and subset: the columns of `delta_a`;
            ``permutations``, the number of reassignments with a mean; ``p_permutation``, one-sided
            against a mean C no higher than by reassignment, and ``p_permutation_two_sided``;
            ``q``, p_t after Benjamini and Hochberg over the lines of a subset that have one, and
            ``family``, how many these are; ``absent``, why there is no Delta-A, null where there
            is.
        rows: A line per judged row and oracle: ``row``, its place in the attributions; ``oracle``;
            ``c``, ``c_random``, ``difference``, and ``difference_zeros`` with 0 for undefined
            draws; ``draws`` and how many of them are ``undefined``; ``dropped``, why there is no
            difference; ``method, model, seed, target, example, cluster``; and whether it is
            ``right``, ``wrong`` or ``common``.
    """

    summary: pl.DataFrame
    rows: pl.DataFrame


def importance_alignment(
    attributions: Attributions,
    *,
    evidence: Sequence[Evidence] = (),
    informed: Informed | None = None,
    draws: int = DRAWS,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> ImportanceAlignment:
    """Importance alignment of each method and model with each oracle.

    Args:
        attributions: Rows; their own evidence makes the first oracle.
        evidence: Further evidence on the same texts, such as expert marks beside explanations.
        informed: Per model the explanation-informed models that make its soft oracle; their rows
            and borrowed ones are not judged themselves.
        draws: Number of other examples whose explanations each example meets.
        permutations: Number of reassignments of the permutation test, at most; 0 leaves it out.
        seed: Seed of draws and reassignments, which all methods and models share.

    Raises:
        InputError: Without any oracle, without draws, with two of the same kind, or if an informed
            model has no rows.
    """
    if draws < 1:
        raise InputError("the baseline needs one draw at least", found=f"draws={draws}")
    given = [one for one in (attributions.evidence, *evidence) if one is not None]
    people = [human_oracle(attributions, one) for one in given]
    _check_names([oracle.name for oracle in people], informed or {})
    row = judged_rows(attributions, informed or {})
    examples = examples_of(attributions.rows)
    judged = attributions.rows[row]
    belongs = members(judged, examples.of_row[row])
    cells, keys = _cells(judged, belongs, row)
    parts = [
        align_with_people(
            attributions,
            oracle,
            row,
            examples,
            cells,
            draws=draws,
            permutations=permutations,
            seed=seed,
        )
        for oracle in people
    ]
    if informed:
        parts.append(align_with_model(attributions, soft_oracle(attributions, informed), row))
    about = judged.select("method", "model", "seed", "target").with_columns(
        example=examples.of_row[row],
        cluster=examples.cluster[examples.of_row[row]],
        **{name: belongs[name] for name in SUBSETS[1:]},
    )
    rows = pl.concat([part.frame().hstack(about) for part in parts])
    summary = delta_a(in_subsets(rows), BY)
    example = examples.of_row[row]
    tests = pl.concat([_permutation_tests(part, cells, keys, example) for part in parts])
    summary = summary.join(tests, on=BY, how="left", maintain_order="left")
    return ImportanceAlignment(_in_order(_with_q(summary)).with_columns(absent=_absent()), rows)


def alignment_by_seed(rows: pl.DataFrame) -> pl.DataFrame:
    """Delta-A per method, model, oracle, subset and seed: `delta_a` of the rows of an alignment."""
    return delta_a(in_subsets(rows), (*BY, "seed"))


def _check_names(names: Sequence[OracleName], informed: Informed) -> None:
    if not names and not informed:
        raise InputError(
            "importance alignment needs human evidence or explanation-informed models",
            found="neither",
            hint="give marks, spans or explanations with --evidence",
        )
    if len(set(names)) < len(names):
        raise InputError(
            "each kind of oracle may be given once", found=f"oracles {', '.join(names)}"
        )


def _cells(
    judged: pl.DataFrame, belongs: Mapping[Subset, BoolArray], row: IntArray
) -> tuple[Cells, pl.DataFrame]:
    """The means of a summary, and method, model and subset of each."""
    pair = codes(judged, ("method", "model"))
    names = judged.select("method", "model").unique().sort("method", "model")
    keys = pl.concat([names.with_columns(subset=pl.lit(subset, pl.String)) for subset in SUBSETS])
    cell = np.concatenate(
        [pair[belongs[subset]] + place * len(names) for place, subset in enumerate(SUBSETS)]
    )
    return Cells(cell, np.concatenate([row[belongs[name]] for name in SUBSETS]), len(keys)), keys


def in_subsets(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows once for each subset that they belong to, in the column ``subset``."""
    return pl.concat(
        [
            rows.filter(pl.lit(True) if name == "all" else pl.col(name)).with_columns(
                subset=pl.lit(name, pl.String)
            )
            for name in SUBSETS
        ]
    )


def _permutation_tests(
    part: RowAlignment, cells: Cells, keys: pl.DataFrame, example: IntArray
) -> pl.DataFrame:
    """The mean C of each cell, ranked among the means of whole reassignments."""
    used = part.reason < 0
    weights = cells.weights(part.row[used], example[used])
    total = np.asarray(weights.sum(axis=1)).ravel()
    mean = np.divide(
        weights @ part.c[used], total, out=np.full(len(total), np.nan), where=total > 0
    )
    known = np.count_nonzero(~np.isnan(part.permuted), axis=0)
    above, below = (
        (1 + np.count_nonzero(sign * (part.permuted - mean) >= -_TIE, axis=0)) / (1 + known)
        for sign in (1, -1)
    )
    tested = (known > 0) & (total > 0)
    two_sided = np.minimum(2 * np.minimum(above, below), 1)
    return keys.with_columns(
        oracle=pl.lit(part.oracle, pl.String),
        permutations=pl.Series(np.where(tested, known, 0)),
        p_permutation=pl.Series(np.where(tested, above, np.nan)).fill_nan(None),
        p_permutation_two_sided=pl.Series(np.where(tested, two_sided, np.nan)).fill_nan(None),
    )


def _with_q(summary: pl.DataFrame) -> pl.DataFrame:
    """Add q and the size of its family: the lines of a subset that have a p."""
    p, subset = summary["p_t"].fill_null(np.nan).to_numpy(), codes(summary, ("subset",))
    tested = ~np.isnan(p)
    family = np.bincount(subset[tested], minlength=len(SUBSETS))[subset]
    q = np.full(len(p), np.nan)
    for one in np.unique(subset[tested]):
        here = tested & (subset == one)
        q[here] = benjamini_hochberg(p[here], int(here.sum()))
    return summary.with_columns(q=pl.Series(q).fill_nan(None), family=pl.Series(family))


def _absent() -> pl.Expr:
    """Why a line has no Delta-A."""
    baseline = (pl.col("oracle") == "soft") & (pl.col("dropped_no_baseline") > 0)
    return (
        pl.when(pl.col("examples") > 0)
        .then(None)
        .when(baseline)
        .then(pl.lit("no informed model read the explanation of another example (borrowed)"))
        .otherwise(pl.lit("no example has both a correlation and a baseline"))
        .cast(pl.String)
    )


def _in_order(summary: pl.DataFrame) -> pl.DataFrame:
    """Lines by method, model and oracle, and the subsets of each in their order."""
    order = pl.col("subset").replace_strict({name: i for i, name in enumerate(SUBSETS)})
    return summary.sort("method", "model", "oracle", order)

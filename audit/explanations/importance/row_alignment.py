"""Agreement of each row's attributions with an oracle, beside other examples' explanations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, IntArray
from audit.base.machine import cores
from audit.engine.statistics.association import ratio
from audit.explanations.attributions import Attributions
from audit.explanations.importance.oracles import (
    Examples,
    HumanOracle,
    OracleName,
    SoftOracle,
    pairs_of,
    soft_scores,
)
from audit.explanations.importance.random_explanations import (
    Donors,
    ItemsOfExamples,
    RowBatch,
    WordSets,
    row_batch,
    rows_in_batches,
)
from audit.explanations.lists import (
    LEAST_TOKENS,
    Lists,
    batches,
    fisher,
    is_perfect,
    pearson,
    varies,
)

Reason = Literal[
    "no_evidence",
    "other_tokens",
    "too_short",
    "constant_scores",
    "constant_oracle",
    "perfect",
    "no_baseline",
]

REASONS: tuple[Reason, ...] = get_args(Reason)
"""Why a row has no difference; the first that applies is counted."""

PERMUTATION_TOKENS = 1_000_000_000
"""Tokens that all reassignments of a permutation test look at together, at most."""


@dataclass(frozen=True, eq=False)
class RowAlignment:
    """Alignment of rows with one oracle; every array but ``permuted`` has shape (n_rows,).

    Args:
        c: Fisher's transform of the correlation with the oracle; NaN where it is undefined.
        c_random: Its mean over the defined draws of another example's explanation; NaN where there
            is none.
        c_random_zeros: The same with 0 for undefined draws; NaN where there are no draws.
        draws: Number of draws: other explanations that the row met.
        undefined: How many of them have no correlation.
        reason: The place in `REASONS` of why there is no difference; -1 where there is one.
        permuted: Per reassignment and cell the mean C that the explanations of other examples give,
            shape (n_permutations, n_cells); NaN where none is defined. Empty for the soft oracle,
            whose explanations were reassigned when the informed models read them.
    """

    oracle: OracleName
    row: IntArray
    c: FloatArray
    c_random: FloatArray
    c_random_zeros: FloatArray
    draws: IntArray
    undefined: IntArray
    reason: IntArray
    permuted: FloatArray

    def frame(self) -> pl.DataFrame:
        """One row per row of attributions, as `ImportanceAlignment.rows` has them."""
        columns = {
            "c": self.c,
            "c_random": self.c_random,
            "difference": self.c - self.c_random,
            "difference_zeros": self.c - self.c_random_zeros,
        }
        return pl.DataFrame(
            {
                "row": self.row,
                "oracle": pl.Series([self.oracle], dtype=pl.String).new_from_index(
                    0, len(self.row)
                ),
                **{name: pl.Series(of).fill_nan(None) for name, of in columns.items()},
                "draws": self.draws,
                "undefined": self.undefined,
                "dropped": pl.Series(self.reason).replace_strict(
                    {-1: None, **dict(enumerate(REASONS))}, return_dtype=pl.String
                ),
            }
        )


@dataclass(frozen=True, eq=False)
class Cells:
    """Which rows each mean is over, such as those of one model and subset.

    Args:
        cell: Cell of each membership, shape (n_memberships,).
        row: Row of the attributions of each membership.
        number: Number of cells.
    """

    cell: IntArray
    row: IntArray
    number: int

    def weights(self, row: IntArray, example: IntArray) -> csr_array:
        """Weight of each row in each cell, 1 an example, shape (n_cells, len(row))."""
        column = np.full(max(int(self.row.max(initial=-1)), int(row.max(initial=-1))) + 1, -1)
        column[row] = np.arange(len(row))
        here = column[self.row] >= 0
        cell, place = self.cell[here], column[self.row[here]]
        pairs = pairs_of(cell, example[place])
        weight = 1 / np.bincount(pairs.of_row)[pairs.of_row]
        return csr_array((weight, (cell, place)), shape=(self.number, len(row)))


def align_with_people(
    attributions: Attributions,
    oracle: HumanOracle,
    row: IntArray,
    examples: Examples,
    cells: Cells,
    *,
    draws: int,
    permutations: int,
    seed: int,
) -> RowAlignment:
    """Equations 5 and 6 with an oracle that people make.

    Args:
        draws: Number of other examples whose explanations each row meets.
        permutations: Number of reassignments of the permutation test; fewer where they would look
            at more than `PERMUTATION_TOKENS` tokens.
    """
    scores, item = attributions.scores, oracle.item[row]
    c, reason = np.full(len(row), np.nan), np.full(len(row), REASONS.index("no_evidence"))
    present = np.flatnonzero(item >= 0)
    for part in batches(scores.lengths[row[present]]):
        place = present[part]
        marks = oracle.evidence.marks.take(item[place])
        c[place], reason[place] = _correlate(scores.take(row[place]), marks)
    sets = WordSets.of(oracle.evidence.words, len(attributions.vocabulary))
    items = ItemsOfExamples.of(attributions, oracle, row, examples.of_row)
    defined = row[reason < 0]
    affordable = PERMUTATION_TOKENS // max(int(scores.lengths[defined].sum()), 1)
    number = min(permutations, affordable)
    pool = np.flatnonzero(items.any_item >= 0)
    donors = Donors.random(pool, examples.cluster, draws, number, seed)
    baseline = _Baseline(len(scores), number, cells.number)
    own = np.full(len(scores), np.nan)
    own[row] = c

    def add(rows: IntArray) -> FloatArray:
        batch = row_batch(attributions, sets, items, rows, examples.of_row)
        return baseline.add(batch, sets, items, donors, cells, own[batch.row])

    with ThreadPoolExecutor(cores()) as threads:
        parts = rows_in_batches(attributions, items, defined, examples.of_row)
        for sums in threads.map(add, parts):
            baseline.sums += sums
    return _alignment(oracle.name, row, c, reason, baseline)


def align_with_model(attributions: Attributions, oracle: SoftOracle, row: IntArray) -> RowAlignment:
    """Equations 5 and 6 with an explanation-informed model: means over its rows and seeds.

    Without rows that borrowed an explanation there is C, and no difference.
    """
    number = len(attributions.scores)
    c, why = np.full(len(oracle.row), np.nan), np.full(len(oracle.row), -1)
    for part in batches(attributions.scores.lengths[oracle.row]):
        pairs = oracle.only(part)
        scores = attributions.scores.take(pairs.row)
        c[part], why[part] = _correlate(scores, soft_scores(attributions, pairs))
    known, own = why < 0, ~oracle.borrowed
    total = np.bincount(oracle.row[own & known], c[own & known], minlength=number)
    times = np.bincount(oracle.row[own & known], minlength=number)
    reason = np.full(number, REASONS.index("no_evidence"))
    reason[oracle.other_tokens] = REASONS.index("other_tokens")
    reason[oracle.row[own]] = why[own]
    reason[times > 0] = -1
    baseline = _Baseline(number, 0, 1)
    baseline.draws += np.bincount(oracle.row[~own], minlength=number)
    baseline.defined += np.bincount(oracle.row[~own & known], minlength=number)
    baseline.total += np.bincount(oracle.row[~own & known], c[~own & known], minlength=number)
    return _alignment("soft", row, ratio(total, times)[row], reason[row], baseline)


def _correlate(
    scores: Lists[np.float64], importance: Lists[np.float64]
) -> tuple[FloatArray, IntArray]:
    """C of each pair of lists, and the place in `REASONS` of why there is none, else -1."""
    size = Lists(np.abs(scores.values), scores.starts)
    r = pearson(size, importance)
    reason = np.full(len(r), -1)
    for name, applies in (
        ("perfect", is_perfect(r)),
        ("constant_oracle", ~varies(importance)),
        ("constant_scores", ~varies(size)),
        ("too_short", size.lengths < LEAST_TOKENS),
    ):
        reason[applies] = REASONS.index(name)
    return np.where(reason < 0, fisher(r), np.nan), reason


class _Baseline:
    """Sums over draws of other examples' explanations, per row; and means of reassignments."""

    def __init__(self, rows: int, permutations: int, cells: int) -> None:
        self.total = np.zeros(rows)
        self.defined = np.zeros(rows, np.int64)
        self.draws = np.zeros(rows, np.int64)
        self.sums = np.zeros((2, permutations, cells))

    @property
    def permuted(self) -> FloatArray:
        """Mean of each reassignment and cell, NaN where none of its rows is defined."""
        return ratio(*self.sums)

    def add(
        self,
        batch: RowBatch,
        sets: WordSets,
        items: ItemsOfExamples,
        donors: Donors,
        cells: Cells,
        own: FloatArray,
    ) -> FloatArray:
        """Let the rows of a batch, whose own C is known, meet the explanations of donors.

        Returns:
            What the batch adds to ``sums``: batches are added in order, whatever ends first.
        """
        example = np.repeat(batch.example, np.diff(batch.first))
        drawn = np.stack([batch.correlate(sets, items, donor) for donor in donors.drawn])
        self.total[batch.row] = np.nansum(drawn, axis=0)
        self.defined[batch.row] = np.count_nonzero(~np.isnan(drawn), axis=0)
        self.draws[batch.row] = np.count_nonzero(donors.drawn[:, example] >= 0, axis=0)
        used = self.defined[batch.row] > 0
        weights = cells.weights(batch.row[used], example[used])
        sums = np.zeros(self.sums.shape)
        for place, donor in enumerate(donors.permuted):
            c = batch.correlate(sets, items, donor)
            c = np.where(donor[example] == example, own, c)[used]
            known = ~np.isnan(c)
            sums[0, place] = weights @ np.where(known, c, 0.0)
            sums[1, place] = weights @ known.astype(np.float64)
        return sums


def _alignment(
    name: OracleName, row: IntArray, c: FloatArray, reason: IntArray, baseline: _Baseline
) -> RowAlignment:
    total, defined, draws = baseline.total[row], baseline.defined[row], baseline.draws[row]
    return RowAlignment(
        oracle=name,
        row=row,
        c=c,
        c_random=ratio(total, defined),
        c_random_zeros=ratio(total, draws),
        draws=draws,
        undefined=draws - defined,
        reason=np.where((reason < 0) & (defined == 0), REASONS.index("no_baseline"), reason),
        permuted=baseline.permuted,
    )

"""Agreement of each row's attributions with an oracle, beside other examples' explanations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.dag import FloatArray, IntArray
from audit.base.machine import cores
from audit.engine.statistics.association import ratio
from audit.explanations.attributions import Attributions
from audit.explanations.importance.oracles import (
    Examples,
    HumanOracle,
    OracleName,
    SoftOracle,
    soft_scores,
)
from audit.explanations.importance.random_explanations import (
    ItemsOfExamples,
    RowBatch,
    WordSets,
    random_donors,
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


@dataclass(frozen=True, eq=False)
class RowAlignment:
    """Alignment of rows with one oracle; every array has shape (n_rows,).

    Args:
        c: Fisher's transform of the correlation with the oracle; NaN where it is undefined.
        c_random: Its mean over the defined draws of another example's explanation; NaN where there
            is none.
        c_random_zeros: The same with 0 for undefined draws; NaN where there are no draws.
        draws: Number of draws: other explanations that the row met.
        undefined: How many of them have no correlation.
        reason: The place in `REASONS` of why there is no difference; -1 where there is one.
    """

    oracle: OracleName
    row: IntArray
    c: FloatArray
    c_random: FloatArray
    c_random_zeros: FloatArray
    draws: IntArray
    undefined: IntArray
    reason: IntArray

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


def align_with_people(
    attributions: Attributions,
    oracle: HumanOracle,
    row: IntArray,
    examples: Examples,
    *,
    draws: int,
    seed: int,
) -> RowAlignment:
    """Equations 5 and 6 with an oracle that people make.

    Args:
        draws: Number of other examples whose explanations each row meets.
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
    pool = np.flatnonzero(items.any_item >= 0)
    donors = random_donors(pool, examples.cluster, draws, seed)
    baseline = _Baseline(len(scores))

    def add(rows: IntArray) -> None:
        batch = row_batch(attributions, sets, items, rows, examples.of_row)
        baseline.add(batch, sets, items, donors)

    with ThreadPoolExecutor(cores()) as threads:
        parts = rows_in_batches(attributions, items, row[reason < 0], examples.of_row)
        list(threads.map(add, parts))
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
    baseline = _Baseline(number)
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
    """Sums over draws of other examples' explanations, per row."""

    def __init__(self, rows: int) -> None:
        self.total = np.zeros(rows)
        self.defined = np.zeros(rows, np.int64)
        self.draws = np.zeros(rows, np.int64)

    def add(
        self,
        batch: RowBatch,
        sets: WordSets,
        items: ItemsOfExamples,
        donors: NDArray[np.int32],
    ) -> None:
        """Let the rows of a batch meet the explanations of donors."""
        example = np.repeat(batch.example, np.diff(batch.first))
        drawn = np.stack([batch.correlate(sets, items, donor) for donor in donors])
        self.total[batch.row] = np.nansum(drawn, axis=0)
        self.defined[batch.row] = np.count_nonzero(~np.isnan(drawn), axis=0)
        self.draws[batch.row] = np.count_nonzero(donors[:, example] >= 0, axis=0)


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
    )

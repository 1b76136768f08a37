"""What a run over questions found: one row a metric, as in table 1 of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from audit.engine.statistics.intervals import wilson

ACCURACY = "Acc@{k}"
SPECIFIC_OR_GENERAL = "P(s, g)"
BELOW_OR_ABOVE = "P(s-down, s-up)"
RELATED_OR_TASK = "P(s-updown, t)"


@dataclass(frozen=True)
class PreferenceRow:
    """One metric: a share of questions.

    Args:
        metric: Its name, as in the paper.
        value: The share of n in which the first side wins strictly; None where n is 0.
        low: Lower bound of its 95 % Wilson interval; None where n is 0.
        high: Upper bound.
        n: Questions that count.
        ties: Those of them that an equal score decides; they are no wins.
        left_out: Questions that do not count: n + left_out is their number, in every row.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    ties: int
    left_out: int


@dataclass(frozen=True)
class PreferenceResult:
    """The metrics of one model on the questions of one predicate.

    Args:
        predicate: What was asked: ``P106``.
        relation: The relation of the hierarchy that was used; None: its own.
        hierarchy: Name of the hierarchy.
        k: Of accuracy among the k highest tokens.
        questions: Questions in the file.
        unscored: Those of them without scores; left out of every metric.
        tokens: Tokens of the vocabulary: all that some question gives a score.
        answers: Different specific answers.
        unmapped: Specific answers that are no node, with the number of their questions; left out
            of the two metrics over subgraphs.
        rows: The metrics, in the order of the paper's table 1.
    """

    predicate: str
    relation: str | None
    hierarchy: str
    k: int
    questions: int
    unscored: int
    tokens: int
    answers: int
    unmapped: Mapping[str, int]
    rows: tuple[PreferenceRow, ...]

    def to_frame(self) -> pl.DataFrame:
        """``metric, value, low, high, n, ties, left_out``, a row a metric."""
        return pl.DataFrame([asdict(row) for row in self.rows], schema=_SCHEMA)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values that JSON can hold."""
        return asdict(self) | {
            "unmapped": dict(self.unmapped),
            "rows": list(map(asdict, self.rows)),
        }


def share(metric: str, wins: int, ties: int, n: int, questions: int) -> PreferenceRow:
    """A row from counts; value and interval are None where n is 0."""
    low, high = wilson(wins, n) if n else (None, None)
    return PreferenceRow(metric, wins / n if n else None, low, high, n, ties, questions - n)


_SCHEMA = {
    "metric": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "ties": pl.Int64,
    "left_out": pl.Int64,
}

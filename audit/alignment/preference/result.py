"""Result of a run over questions: one row per metric, as in table 1 of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from audit.base.schemas import schema
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
        value: Share of the n questions in which the first side strictly wins; None if n is 0.
        low: Lower bound of its 95 % Wilson interval; None if n is 0.
        high: Upper bound of the interval.
        n: Number of questions that count.
        ties: Number of those that a tie decides; they are not wins.
        left_out: Number of questions that do not count; n + left_out is the same in every row.
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
        predicate: Predicate of the questions, such as ``P106``.
        relation: The relation of the hierarchy that was used; None for its only one.
        hierarchy: Name of the hierarchy.
        k: Rank for the accuracy among the k highest tokens.
        questions: Number of questions in the file.
        unscored: Number of questions without scores; left out of every metric.
        tokens: Size of the vocabulary: number of tokens with a score in some question.
        answers: Number of different specific answers.
        unmapped: Specific answers that are not in the hierarchy, with the number of their
            questions; left out of the two metrics over subgraphs.
        rows: The metrics, in the order of the paper's table 1.
        released: Whether the rules of the paper's released code were followed.
        chosen: Specific answers whose sense was chosen by a file.
        dropped: Numbers of dangling ``edges`` that the hierarchy was built without, and of the
            nodes, ``tops``, that lost all parents by that; empty if there were none.
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
    released: bool = False
    chosen: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)

    def to_frame(self) -> pl.DataFrame:
        """The columns ``metric, value, low, high, n, ties, left_out``, one row per metric."""
        return pl.DataFrame([asdict(row) for row in self.rows], schema=_SCHEMA)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that can be written as JSON."""
        return asdict(self) | {
            "unmapped": dict(self.unmapped),
            "dropped": dict(self.dropped),
            "rows": list(map(asdict, self.rows)),
        }


def share(metric: str, wins: int, ties: int, n: int, questions: int) -> PreferenceRow:
    """Make a row from counts; value and interval are None if n is 0."""
    low, high = wilson(wins, n) if n else (None, None)
    return PreferenceRow(metric, wins / n if n else None, low, high, n, ties, questions - n)


_SCHEMA = schema(
    ("metric", pl.String),
    ("value low high", pl.Float64),
    ("n ties left_out", pl.Int64),
)

"""Preference of a language model in a run: questions read, measured, and kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl

from audit.analyses.preference import PreferenceResult, run_preference
from audit.analyses.preference.run import METRICS, OUTCOMES
from audit.base.declared import NONE, Columns, Mark, Table, count, setting, share, text, whole
from audit.base.progress import Progress
from audit.base.settings import Stored
from audit.checks.analysis import FileAnalysis
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.labels_alone import labels_alone
from audit.measure.measure import Found, Measurements
from audit.results.parts import Headline
from audit.results.shared_tables import Sentence

SHOWN = 20
"""Specific answers that are shared, those of most questions; a run keeps every question."""
TABLES: Mapping[str, Table] = {
    "measured": Table(
        Columns(
            text("metric relation", "Metric"),
            share("value", "Share", of="won n", ends="low high", mark=Mark()),
            count("n won lost tied left_out", "Questions|Won|Lost|Tied|Left out"),
        ),
        title="Which answers the model prefers",
        row="a metric and relation",
    ),
    "by_answer": Table(
        Columns(
            text("answer relation metric", "Answer||Metric"),
            count("n won lost tied", "Questions|Won|Lost|Tied"),
        ),
        title="By specific answer",
        row="a specific answer and metric",
        records=True,
        fold=True,
    ),
}
"""Each table, whose columns docs/preference.md says."""
FACTS = Columns(
    text("predicate relation hierarchy released", "Predicate|Relation|Hierarchy|Released code"),
    setting("k", "k"),
    count("questions unscored", "Questions|Without scores"),
    whole("tokens", "Tokens"),
    count("answers chosen", "Specific answers|Senses from a file", of=NONE),
)
"""What each fact is."""
SAYS = (Sentence("{metric} prefers the first side in {won} of {n} questions.", "measured"),)


@dataclass(frozen=True, kw_only=True)
class Preferring(Stored):
    """The settings for measuring which answers a language model prefers.

    Args:
        scores: Token scores of each question.
        questions: Questions in the S-TEST layout.
        words: WordNet folder, or a hierarchy file with words as titles.
        relation: The relation that edges represent.
        senses: File of the node of each specific answer.
        released: Whether to follow the paper's released code.
        k: Accuracy is measured among the k highest tokens.
    """

    scores: Path
    questions: Path
    words: Path
    relation: str | None = None
    senses: Path | None = None
    released: bool = False
    k: int = 10


@dataclass(frozen=True, eq=False)
class Preference(FileAnalysis):
    """Which answers a language model prefers, question by question."""

    name: ClassVar[str] = "preference"
    format: ClassVar[str] = "questions"
    stated_by: ClassVar[type[Preferring]] = Preferring
    tables = TABLES
    facts = FACTS
    says = SAYS
    headlines = (Headline("measured", "value", "n", (("relation", "relation"),), called="metric"),)
    called = "questions"

    result: PreferenceResult
    source: Path

    @classmethod
    def read(cls, settings: Preferring, progress: Progress) -> Self:
        """Read questions and scores, and measure."""
        progress("comparing")
        stated = {"relation", "senses", "released", "k"}
        result = run_preference(
            settings.scores,
            settings.questions,
            settings.words,
            **{name: value for name, value in vars(settings).items() if name in stated},
        )
        return cls(result, settings.questions)

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The questions as instances, each with its specific answer as label."""
        asked = self.result.by_question.select(instance="question", label="specific")
        ids = asked["instance"]
        return labels_alone(asked, ids, self.format, (self.source,), hierarchy)

    def measure(self, measured: Measurements, seed: int, progress: Progress) -> Found:
        """The metrics, the most frequent answers, and every question, measured when it was read."""
        found = self.result
        facts = {
            name: one for name, one in found.to_dict().items() if name not in ("rows", "unmapped")
        }
        questions = found.by_question.rename({"question": "id"})
        frames = {"measured": _measured(found), "by_answer": _by_answer(found)}
        return Found({**frames, "questions": questions}, facts)


def _counts(outcomes: pl.Series) -> dict[str, int]:
    """How many questions count, and what they say."""
    counted = {name: int((outcomes == name).sum()) for name in OUTCOMES.values()}
    left_out = counted.pop("left out")
    return {"n": len(outcomes) - left_out, **counted, "left_out": left_out}


def _measured(found: PreferenceResult) -> pl.DataFrame:
    asked = found.by_question
    rows: list[dict[str, Any]] = [
        {
            "metric": row.metric,
            "relation": found.predicate,
            **{name: getattr(row, name) for name in ("value", "low", "high")},
            **_counts(asked[column]),
        }
        for row, column in zip(found.rows, METRICS, strict=True)
    ]
    return pl.DataFrame(rows)


def _by_answer(found: PreferenceResult) -> pl.DataFrame:
    """What the questions of the most frequent specific answers say, in the order of these."""
    asked = found.by_question
    often = asked.group_by("specific").len().sort(["len", "specific"], descending=[True, False])
    return pl.DataFrame(list(_answers(found, sorted(often["specific"].head(SHOWN)))))


def _answers(found: PreferenceResult, answers: list[str]) -> Iterator[dict[str, Any]]:
    for answer in answers:
        own = found.by_question.filter(pl.col("specific") == answer)
        for row, column in zip(found.rows, METRICS, strict=True):
            counts = _counts(own[column])
            del counts["left_out"]
            yield {
                "answer": answer,
                "relation": found.predicate,
                "metric": row.metric,
                **counts,
            }

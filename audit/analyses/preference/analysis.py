"""Preference of a language model in a run: questions read, measured, and kept.

Table 1 of *Abstraction Alignment* (section 4.2), by the paper's text or by its released code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import polars as pl

from audit.analyses.preference.measure import LEFT_OUT, METRICS, SAID, outcomes
from audit.analyses.preference.questions import read_questions, read_scores, read_senses
from audit.analyses.preference.settings import Preferring
from audit.analyses.preference.words import meaning
from audit.analyses.tables import table
from audit.base.declared import Columns, Mark, Table, count, setting, share, text
from audit.base.progress import Progress
from audit.checks.analysis import FileAnalysis
from audit.data.dataset import LabelDataset
from audit.engine.statistics.intervals import wilson
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.labels_alone import labels_alone
from audit.measure.measure import Found, Measurements
from audit.results.parts import Headline
from audit.results.shared_tables import Sentence

TABLES: Mapping[str, Table] = {
    "measured": table(
        "Which answers the model prefers",
        "a metric and relation",
        text("metric relation", "Metric"),
        share("value", "Share", of="won n", ends="low high", mark=Mark()),
        count("n won lost tied left_out", "Questions|Won|Lost|Tied|Left out"),
    )
}
"""Each table, whose columns docs/preference.md says."""
FACTS = Columns(
    text("predicate relation hierarchy released", "Predicate|Relation|Hierarchy|Released code"),
    setting("k", "k"),
    count("questions unscored", "Questions|Without scores"),
)
"""What each fact is."""


@dataclass(frozen=True, eq=False)
class Preference(FileAnalysis):
    """Which answers a language model prefers, question by question."""

    name: ClassVar[str] = "preference"
    format: ClassVar[str] = "questions"
    stated_by: ClassVar[type[Preferring]] = Preferring
    tables = TABLES
    facts = FACTS
    says = (Sentence("{metric} prefers the first side in {won} of {n} questions.", "measured"),)
    headlines = (Headline("measured", "value", "n", (("relation", "relation"),), called="metric"),)
    called = "questions"

    found: Found
    source: Path

    @classmethod
    def read(cls, settings: Preferring, progress: Progress) -> Self:
        """Read questions and scores, and measure."""
        progress("comparing")
        return cls(measure_preference(settings), settings.questions)

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The questions as instances, each with its specific answer as label."""
        asked = self.found.frames["questions"].select(instance="id", label="specific")
        return labels_alone(asked, asked["instance"], self.format, (self.source,), hierarchy)

    def measure(self, measured: Measurements, seed: int, progress: Progress) -> Found:
        """The metrics and every question, measured when it was read."""
        return self.found


def measure_preference(settings: Preferring) -> Found:
    """Measure which answers a language model prefers.

    Returns:
        `TABLES`, and ``questions``: ``id`` (row, from 0), ``subject, relation, specific, general,
        node``, and what each says of each metric: ``won``, ``lost``, ``tied`` or ``left out``.

    Raises:
        InputError: If a file cannot be read, or as `audit.analyses.preference.words.meaning`.

    Time grows with the tokens read, memory with the number of questions and the hierarchy.
    """
    asked = read_questions(settings.questions)
    stated = read_senses(settings.senses) if settings.senses else {}
    hierarchy, relation, nodes, sides = meaning(asked, stated, settings)
    rows = read_scores(settings.scores, asked)
    said = outcomes(sides, rows, settings.k, released=settings.released)
    questions = asked.drop("uri").with_columns(
        pl.int_range(pl.len()).cast(pl.String).alias("id"),
        pl.Series("node", nodes, pl.String),
        *(pl.Series(name, of) for name, of in said.items()),
    )
    counts = pl.DataFrame(
        {
            "metric": METRICS[name].format(k=settings.k),
            "relation": asked["relation"][0],
            **{word.replace(" ", "_"): of.count(word) for word in SAID},
        }
        for name, of in said.items()
    ).with_columns(n=pl.col("won") + pl.col("lost") + pl.col("tied"))
    low, high = wilson(counts["won"].to_numpy(), counts["n"].to_numpy())
    ends = counts.with_columns(value=pl.col("won") / pl.col("n"), low=low, high=high)
    some = pl.when(pl.col("n") > 0).then(pl.col("value", "low", "high")).name.keep()
    facts = {
        "predicate": asked["relation"][0],
        "relation": relation,
        "hierarchy": hierarchy,
        "released": settings.released,
        "k": settings.k,
        "questions": len(asked),
        "unscored": said["accuracy"].count(LEFT_OUT),
    }
    measured = TABLES["measured"].cast(ends.with_columns(some))
    return Found({"measured": measured, "questions": questions}, facts)

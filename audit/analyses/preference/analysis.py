"""Preference of a language model in a run: questions read, measured, and kept.

Table 1 of *Abstraction Alignment* (section 4.2), by the paper's text or by its released code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import polars as pl

from audit.analyses.preference.measure import METRICS, outcomes
from audit.analyses.preference.questions import read_questions, read_scores, read_senses
from audit.analyses.preference.settings import Preferring
from audit.analyses.preference.words import plain, sides_of
from audit.base.declared import NONE, Columns, Mark, Table, count, setting, share, text, whole
from audit.base.progress import Progress
from audit.checks.analysis import FileAnalysis
from audit.data.dataset import LabelDataset
from audit.engine.statistics.intervals import wilson
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
        """The metrics, the most frequent answers, and every question, measured when it was read."""
        return self.found


def measure_preference(settings: Preferring) -> Found:
    """Measure which answers a language model prefers.

    Returns:
        `TABLES`, and ``questions``: ``id`` (row, from 0), ``subject, relation, specific, general,
        node``, and what each says of each metric: ``won``, ``lost``, ``tied`` or ``left out``.

    Raises:
        InputError: If a file cannot be read, or as `audit.analyses.preference.words.sides_of`.

    Time grows with the tokens read, memory with the number of questions and the hierarchy.
    """
    asked = read_questions(settings.questions)
    stated = read_senses(settings.senses) if settings.senses else {}
    sides = sides_of(
        asked, settings.words, settings.relation, settings.senses, stated,
        released=settings.released,
    )  # fmt: skip
    rows = read_scores(settings.scores, asked)
    said = outcomes(sides, rows, settings.k, released=settings.released)
    questions = asked.select(
        pl.int_range(pl.len()).cast(pl.String).alias("id"), "subject", "relation", "specific",
        "general", pl.Series("node", sides.nodes, pl.String),
    ).with_columns(**{name: pl.Series(of) for name, of in said.told.items()})  # fmt: skip
    often = asked.group_by("specific").len().sort(["len", "specific"], descending=[True, False])
    shown = often["specific"].head(SHOWN)
    form = str if settings.released else plain
    named = {form(answer) for answer in stated}
    facts = {
        "predicate": asked["relation"][0],
        "relation": sides.relation,
        "hierarchy": sides.hierarchy,
        "k": settings.k,
        "questions": len(asked),
        "unscored": int((~said.scored).sum()),
        "tokens": said.tokens,
        "answers": asked["specific"].n_unique(),
        "released": settings.released,
        "chosen": sum(form(one) in named for one in asked["specific"].unique()),
    }
    every = _counted(questions, ["relation"], settings.k)
    answered = _counted(questions.filter(pl.col("specific").is_in(shown.implode())),
                        ["specific", "relation"], settings.k)  # fmt: skip
    low, high = wilson(every["won"].to_numpy(), every["n"].to_numpy())
    ends = [pl.when(pl.col("n") > 0).then(pl.Series(of)).alias(name)
            for name, of in (("low", low), ("high", high))]  # fmt: skip
    measured = every.with_columns(*ends, value=(pl.col("won") / pl.col("n")).fill_nan(None))
    frames = {"measured": TABLES["measured"].cast(measured)}
    frames["by_answer"] = TABLES["by_answer"].cast(answered.rename({"specific": "answer"}))
    return Found({**frames, "questions": questions}, facts)


def _counted(questions: pl.DataFrame, keys: list[str], k: int) -> pl.DataFrame:
    """How many questions count, and what they say, by keys and metric in the paper's order."""
    rows = questions.unpivot([*METRICS], index=keys, variable_name="name", value_name="said")
    said = {name: (pl.col("said") == name.replace("_", " ")).sum().alias(name)
            for name in ("won", "lost", "tied", "left_out")}  # fmt: skip
    names = pl.DataFrame(
        {"name": [*METRICS], "metric": [one.format(k=k) for one in METRICS.values()]}
    )
    told = (
        rows.group_by(*keys, "name")
        .agg(*said.values())
        .with_columns(n=pl.col("won") + pl.col("lost") + pl.col("tied"))
    )
    place = pl.col("name").replace_strict([*METRICS], range(len(METRICS)))
    return told.join(names, on="name").sort(*keys, place)

"""Entailment graphs in a run: tuples read, measured, checked, and kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import ClassVar, Self

import polars as pl

from audit.base.declared import (
    NONE,
    Columns,
    Table,
    chance,
    count,
    estimate,
    mean,
    ratio,
    setting,
    share,
    text,
    whole,
)
from audit.base.errors import InputError
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.checks.analysis import FileAnalysis
from audit.checks.check import Check
from audit.data.class_lists import Shared
from audit.data.dataset import LabelDataset
from audit.data.records import Records
from audit.entailment.answer_columns import by_number, refuse_foreign
from audit.entailment.answers import answer_texts, read_answers
from audit.entailment.checks import dataset_checks, graph_checks, vote_checks
from audit.entailment.dataset import ALL, EntailmentDataset
from audit.entailment.facts import FACTS, facts_of
from audit.entailment.generations import read_generations, read_ratings
from audit.entailment.measure import Beside, EntailmentMeasurements, measure_entailment
from audit.entailment.predictions import read_validity_predictions, together
from audit.entailment.reading import read_entailment
from audit.entailment.settings import Entailing
from audit.entailment.tuple_files import ELEMENTS
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.labels_alone import labels_alone
from audit.measure.measure import Measurements
from audit.results.parts import AnalysisPart, Headline

SHOWN = 20
"""Rows of a table of cases that are shared, the first of each relation; a run keeps all."""
_cases = partial(Table, most=SHOWN, each="relation")
_ANSWERED = "model trained_on relation split"
SHARED: Mapping[str, Table] = {
    "quality_totals": Table(
        Columns(
            text("relation split"),
            share("share", of="valid tuples", ends="low high"),
            count("tuples valid"),
        )
    ),
    "quality_diversity": Table(
        Columns(
            text("relation"),
            mean("unique unique_without_penalty", n="tuples"),
            mean("unique_edges unique_edges_without_penalty", n="edges"),
            share("social", of="social_heads heads", ends="social_low social_high"),
            count("tuples"),
            count("vocabulary edges heads social_heads", of=NONE),
        )
    ),
    "quality_references": Table(
        Columns(
            text("relation split"),
            ratio("references", of="valid instances"),
            count("valid"),
            count("instances identified", of=NONE),
        )
    ),
    "quality_generation_set": Table(
        Columns(
            text("relation"),
            count("valid"),
            count("generation", of=NONE),
            count("both only_detection"),
            count("only_generation not_valid", of=NONE),
        )
    ),
    "quality_consistency": Table(
        Columns(
            text("relation fault"),
            share("share", of="faulty tuples", ends="low high"),
            count("tuples faulty"),
        )
    ),
    "quality_shared_keys": Table(
        Columns(
            text("split other"),
            share("share", of="shared keys", ends="low high"),
            count("keys shared", of=NONE),
        )
    ),
    "quality_agreement": Table(
        Columns(
            text("relation measure"),
            chance("reason"),
            mean("value", n="tuples", low=-1.0, ends="low high"),
            count("tuples"),
            count("votes", of=NONE),
        )
    ),
    "quality_weak": Table(
        Columns(
            text("relation"),
            share("share", of="weak tuples", ends="low high"),
            count("tuples weak ties against"),
        )
    ),
    "graph_relations": Table(
        Columns(
            text("relation"),
            chance("deepest"),
            estimate("mean_depth mean_children", n="texts", reason="they have no fixed bounds"),
            count("tuples self_edges"),
            count(
                "texts edges valid_edges denied_edges contradictory_edges components"
                " synonym_components texts_on_cycles chains chains_valid chains_denied"
                " chains_open redundant_edges tops leaves most_children",
                of=NONE,
            ),
        )
    ),
    "graph_shape": Table(
        Columns(text("relation measure"), whole("value"), count("texts", of=NONE)), records=True
    ),
    "graph_components": _cases(
        Columns(
            text("relation first synonyms one_context head cycle"), count("texts edges", of=NONE)
        ),
        order="texts",
    ),
    "graph_contradictions": _cases(
        Columns(text("relation instance concept kind one_context head"), count("valid invalid"))
    ),
    "graph_violations": _cases(
        Columns(
            text("relation instance concept through one_context head"),
            count("invalid"),
            count("chains", of=NONE),
        )
    ),
    "graph_redundant": _cases(Columns(text("relation instance concept through"), count("valid"))),
    "graph_concepts": _cases(
        Columns(
            text("relation concept says_nothing"),
            share("share", of="edges of", ends="share_low share_high"),
            count("edges of", of=NONE),
        ),
        order="edges",
        listed="edges",
    ),
    "graph_lint": Table(Columns(text("relation rule severity unit first"), count("n of", of=NONE))),
    "graph_neighbourhoods": Table(
        Columns(text("finding relation child parent"), count("valid invalid")), records=True
    ),
    "detection_measured": Table(
        Columns(
            text(f"kind {_ANSWERED} measure"),
            chance("absent"),
            mean("value", n="n", ends="low high"),
            mean("expected positive_share", n="n"),
            count("n"),
            count("groups", of=NONE),
        )
    ),
    "detection_differences": Table(
        Columns(
            text(f"{_ANSWERED} measure against"),
            mean("difference", n="n", low=-1.0, ends="low high"),
            count("n"),
        )
    ),
    "detection_reliability": Table(
        Columns(
            text(f"kind {_ANSWERED}"),
            setting("from to"),
            mean("mean_score", n="n"),
            mean("valid_share", n="n", ends="low high"),
            count("n"),
        ),
        listed="n",
    ),
    "detection_consistency": Table(
        Columns(
            text("kind model trained_on relation"),
            chance("closed_share"),
            count("chains closed broken open", of=NONE),
        )
    ),
    "detection_coverage": Table(
        Columns(text(_ANSWERED), count("tuples answered unparsable missing"))
    ),
    "generation_measured": Table(
        Columns(
            text("model relation split measure"),
            mean("value", n="n", ends="low high"),
            estimate("references", n="n", reason="it has no fixed bounds"),
            count("n", of=NONE),
        )
    ),
    "generation_coverage": Table(
        Columns(text("model relation split"), count("instances generated blank missing", of=NONE))
    ),
    "generation_ratings": Table(
        Columns(
            text("model relation level"),
            mean("share", n="ratings", ends="low high"),
            count("ratings items", of=NONE),
        )
    ),
    "generation_agreement": Table(
        Columns(
            text("model relation measure"),
            mean("value", n="items", low=-1.0, ends="low high"),
            count("items ratings raters", of=NONE),
        )
    ),
}
"""What is shared of every table, by what measured it and its name there, where its columns are
documented.
"""
_OF = tuple((name, name) for name in ("model", "trained_on", "relation", "split"))
HEADLINES = (
    Headline("quality_totals", "share", "tuples", _OF[2:3], "valid", where={"split": [ALL]}),
    Headline("detection_measured", "value", "n", _OF, "answered_right",
             where={"kind": ["model"], "measure": ["accuracy"]}),
)  # fmt: skip
"""The share of valid tuples, and of the tuples that a model answers rightly, of each relation."""


@dataclass(frozen=True, eq=False)
class Entailment(FileAnalysis[EntailmentMeasurements]):
    """Tuples as read, and what is measured with them."""

    name: ClassVar[str] = "entailment"
    format: ClassVar[str] = "entailment"
    stated_by: ClassVar[type[Entailing]] = Entailing
    checks: ClassVar[tuple[Check, ...]] = (
        dataset_checks.TAIL_MISMATCH,
        dataset_checks.HEAD_IN_TWO_SPLITS,
        dataset_checks.DUPLICATE_TUPLE,
        dataset_checks.GENERATION_MISMATCH,
        vote_checks.WEAK_LABEL,
        graph_checks.CONTRADICTION,
        graph_checks.CYCLE,
        graph_checks.TRANSITIVITY,
        graph_checks.REDUNDANT_EDGE,
    )

    dataset: EntailmentDataset
    beside: Beside
    settings: Entailing
    readings: tuple[Reading, ...] = ()

    @classmethod
    def read(cls, settings: Entailing, progress: Progress) -> Self:
        """Read tuples, and what comes with them."""
        if settings.ratings is not None and not settings.generations:
            raise InputError("--ratings needs --generations", found="no generated concepts")
        progress("reading tuples")
        dataset = _dataset(settings)
        if settings.numbered_from is not None and not dataset.numbered:
            raise InputError("--numbered-from needs tuples without ids", found="tuples with ids")
        first = settings.numbered_from
        predictions, readings = _predictions(settings, dataset)
        generations, ratings = None, None
        if settings.generations:
            generations = read_generations(settings.generations)
            generations, told = by_number(generations, dataset, first, "generations")
            readings += told
        if settings.ratings is not None:
            ratings = read_ratings([settings.ratings])
            ratings, told = by_number(ratings, dataset, first, "ratings")
            readings += told
        ids = dataset.tuples["id"]
        refuse_foreign(predictions.frame, ids, predictions.sources)
        if generations is not None:
            refuse_foreign(generations.frame, ids, generations.sources)
        beside = Beside(
            positives=_positives(settings),
            predictions=predictions,
            generations=generations,
            ratings=ratings,
            meteor=settings.meteor,
        )
        return cls(dataset, beside, settings, readings)

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The tuples as instances, each with its relation as label; refused ones are bad rows."""
        rows = self.dataset.tuples.select(instance="id", label="relation").sort("instance")
        refused = pl.DataFrame({"refused": ["bad_row"] * sum(self.dataset.refused.values())})
        return labels_alone(
            pl.concat([rows, refused.cast(pl.String)], how="diagonal"),
            rows["instance"],
            self.format,
            self.dataset.sources,
            hierarchy,
        )

    def measure(
        self, measured: Measurements, seed: int, progress: Progress
    ) -> EntailmentMeasurements:
        """Measure the graph, its dataset, and predictions on it."""
        return measure_entailment(self.dataset, self.beside, progress)

    def kept(self, found: EntailmentMeasurements, measured: Measurements) -> AnalysisPart:
        """Every table; of cases the first ones are shared."""
        tables = dict(_tables(found))
        if self.settings.answers:
            paths, first = self.settings.answers, self.settings.numbered_from
            texts = Records(answer_texts(paths), {}, paths)
            tables["answers"] = by_number(texts, self.dataset, first, "answers")[0].frame
        restricted = {name: frame for name, frame in tables.items() if name not in SHARED}
        return AnalysisPart(
            name=self.name,
            facts=facts_of(self.dataset, self.settings, found, restricted),
            facts_columns=FACTS,
            frames={name: frame for name, frame in tables.items() if name in SHARED},
            rules=SHARED,
            restricted=restricted,
            headlines=HEADLINES,
            called="tuples",
        )


def _positives(settings: Entailing) -> EntailmentDataset | None:
    """The generation set, its elements in columns of the same names as those of the tuples."""
    if settings.positives is None:
        return None
    columns = {name: column for name, column in settings.columns.items() if name in ELEMENTS}
    return read_entailment(settings.positives, settings.kind, columns, labelled=False)


def _predictions(
    settings: Entailing, dataset: EntailmentDataset
) -> tuple[Records, tuple[Reading, ...]]:
    """Predicted validity, and answers."""
    read, readings, first = list[Records](), dataset.readings, settings.numbered_from
    if settings.predictions:
        in_order = dataset.rows_read if dataset.numbered else None
        given = read_validity_predictions(
            settings.predictions, in_order=in_order, classes=settings.classes
        )
        given, told = by_number(given, dataset, first, "predictions", own=False)
        read, readings = [given], (*readings, *told)
    if settings.answers:
        given, told = by_number(read_answers(settings.answers), dataset, first, "answers")
        read, readings = [*read, given], (*readings, *told)
    return together(read), readings


def _dataset(settings: Entailing) -> EntailmentDataset:
    shared = settings.classes and settings.predictions and Shared(settings.classes)
    return read_entailment(
        settings.files, settings.kind, settings.columns, classes=shared or settings.classes
    )


def _tables(entailed: EntailmentMeasurements) -> Iterator[tuple[str, pl.DataFrame]]:
    """Every table, named by what measured it."""
    for room in ("quality", "graph", "detection", "generation"):
        measured = getattr(entailed, room)
        if measured is None:
            continue
        for field in fields(measured):
            value = getattr(measured, field.name)
            if isinstance(value, pl.DataFrame):
                yield f"{room}_{field.name}", value

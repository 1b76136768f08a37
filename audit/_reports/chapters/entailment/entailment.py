"""The chapters on an entailment graph: what was read, and what models answer and generate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit._reports.chapters.entailment.dataset import dataset, votes
from audit._reports.chapters.entailment.detection import detection, further, reliability
from audit._reports.chapters.entailment.graph import cases, graph, neighbourhoods
from audit._reports.words.entailment_words import (
    AGREEMENT,
    ALL,
    GENERATION,
    KINDS,
    LEFT_OUT,
    READ,
)
from audit._reports.words.parts import Chapter, Facts, Figure, Named, Table, chapter
from audit._reports.words.shown_numbers import Row, Rows, names, plain
from audit._reports.words.table_specs import (
    across,
    decimals,
    interval_below,
    numbers,
    optional_table,
    pivoted,
    shares,
    table,
    texts,
    written,
)
from audit._reports.words.words import UNDEFINED, counted, number, words

KEPT = {"rows_read": "read", "used": "used"}


@dataclass(frozen=True, slots=True)
class Entailment:
    """What the report says of a graph; a chapter is None where there is nothing to say."""

    facts: Facts
    by: tuple[str, ...]
    read: Table
    around: Chapter | None
    dataset: Chapter | None
    votes: Chapter | None
    graph: Chapter | None
    cases: tuple[Table, ...]
    detection: Chapter | None
    further: tuple[Table, ...]
    generation: Chapter | None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All pictures, in report order."""
        chapters = (self.around, self.votes, self.detection)
        return tuple(figure for one in chapters if one for figure in one.figures)


def entailment(shared: Mapping[str, Any]) -> Entailment | None:
    """The chapters; None for an audit without an entailment graph."""
    measured = shared.get("entailment")
    if measured is None:
        return None
    facts = measured["facts"]
    around = neighbourhoods(measured)
    return Entailment(
        facts=_facts(facts, measured["quality_totals"]),
        by=tuple(_by(facts, measured)),
        read=_read(facts),
        around=Chapter(around, ()) if around else None,
        dataset=dataset(measured),
        votes=votes(measured),
        graph=graph(measured),
        cases=cases(measured),
        detection=_with_reliability(detection(measured), reliability(measured)),
        further=further(measured),
        generation=generation(measured),
    )


def _with_reliability(found: Chapter | None, figure: Figure | None) -> Chapter | None:
    if found is None or figure is None:
        return found
    return Chapter((*found.figures, figure), found.tables)


def _facts(facts: Mapping[str, Any], totals: Rows) -> Facts:
    whole = [row for row in totals if row["split"] == ALL]
    valid = next((row["valid"] for row in whole if row["relation"] == ALL), None)
    valid = whole[0]["valid"] if valid is None and whole else valid
    annotators = facts["annotators"]
    return (
        ("Tuples", number(facts["tuples"])),
        ("Of them valid", number(valid)),
        ("Relations", number(facts["relations"])),
        ("Splits", number(facts["splits"]) if facts["splits"] else "none"),
        ("Tuples with votes", number(facts["voted"])),
        *((("Annotators", number(annotators)),) if annotators else ()),
        ("Models", number(facts["models"])),
        ("Generation set", "given" if facts["generation_set"] else "none"),
    )


def _by(facts: Mapping[str, Any], measured: Mapping[str, Any]) -> Iterator[str]:
    files, kind = counted(facts["files"], "file"), words(facts["kind"], KINDS)
    yield f"They were read from {files} of {kind}."
    names_ = [row["relation"] for row in measured["graph_relations"]]
    yield f"The {'relation is' if len(names_) == 1 else 'relations are'} {names(names_)}."
    predicting = list(dict.fromkeys(row["model"] for row in measured["detection_coverage"]))
    if predicting:
        yield f"Validity is predicted by {names(predicting)}."
    naming = dict.fromkeys(row["model"] for row in measured.get("generation_coverage", ()))
    if naming:
        yield f"Concepts are named by {names(naming)}."


def _read(facts: Mapping[str, Any]) -> Table:
    return table(
        "entailment-read",
        "What was read, and what was left out of it",
        _ledger(facts),
        texts("Of", "of"),
        texts("What", "what"),
        numbers("Number", "rows"),
    )


def _ledger(facts: Mapping[str, Any]) -> Iterator[Row]:
    """Rows read and kept, and a line for each reason why some were left out."""
    tuples = {"rows_read": facts["rows_read"], "used": facts["tuples"], **facts["refused"]}
    given = {"tuples": tuples} | {
        name: facts.get(name) for name in ("predictions", "generations", "ratings")
    }
    for name, ledger in given.items():
        if not ledger or not ledger["rows_read"]:
            continue
        for key, rows in ledger.items():
            if key in KEPT:
                yield {"of": READ[name], "what": KEPT[key], "rows": rows}
            elif rows:
                left_out = Named(f"left out: {words(key, LEFT_OUT)}", key)
                yield {"of": READ[name], "what": left_out, "rows": rows}


OF_BLEU = ("bleu_1", "bleu_2", "brevity_penalty")
"""Measures in a table of their own, beside those that the paper prints."""


def generation(entailment: Mapping[str, Any]) -> Chapter | None:
    """Measures by model and relation, and ratings; None without generated concepts."""
    rows = entailment.get("generation_measured", ())
    printed = [name for name in GENERATION if name not in OF_BLEU]
    return chapter(
        (),
        (
            _measures(rows, printed, "printed", "Generated concepts against the references"),
            _measures(
                rows, OF_BLEU, "bleu", "BLEU as defined, cumulative and with the brevity penalty"
            ),
            _coverage(entailment.get("generation_coverage", ()), rows),
            _ratings(entailment.get("generation_ratings", ())),
            _agreement(entailment.get("generation_agreement", ())),
        ),
    )


def _measures(rows: Rows, names: Sequence[str], id_: str, caption: str) -> Table | None:
    kept = [name for name in names if any(row["measure"] == name for row in rows)]
    lines = pivoted(rows, ["model", "relation"], "measure")
    return optional_table(
        f"entailment-generation-{id_}",
        f"{caption}, with 95% intervals",
        lines if kept else (),
        texts("Model", "model"),
        texts("Relation", "relation"),
        *(
            across("measure", name, interval_below(decimals(GENERATION[name], "value")))
            for name in kept
        ),
        *(across("measure", name, numbers("Instances", "n")) for name in kept[:1]),
    )


def _coverage(rows: Rows, measured: Rows) -> Table | None:
    of = {(row["model"], row["relation"]): plain(row, "references", 2) for row in measured}
    return optional_table(
        "entailment-generated",
        "Instances for which models have a text; a blank one scores 0",
        rows,
        texts("Model", "model"),
        texts("Relation", "relation"),
        numbers("With a text", "generated"),
        numbers("Of them blank", "blank"),
        numbers("Without a text", "missing"),
        numbers("Instances with a reference", "instances"),
        written(
            "References of those with a text, mean",
            lambda row: of.get((row["model"], row["relation"]), UNDEFINED),
        ),
    )


def _ratings(rows: Rows) -> Table | None:
    levels = sorted({row["level"] for row in rows})
    return optional_table(
        "entailment-ratings",
        "How people rate generated concepts: the share of ratings at each level, with its 95% "
        "interval",
        pivoted(rows, ["model", "relation"], "level"),
        texts("Model", "model"),
        texts("Relation", "relation"),
        *(across("level", level, interval_below(shares(level))) for level in levels),
        numbers("Ratings", "ratings"),
        numbers("Texts", "items"),
    )


def _agreement(rows: Rows) -> Table | None:
    return optional_table(
        "entailment-raters",
        "How far they agree, on texts with two ratings or more",
        rows,
        texts("Model", "model"),
        texts("Relation", "relation"),
        texts("Measure", "measure", AGREEMENT),
        interval_below(decimals("Agreement", "value")),
        numbers("Texts", "items"),
        numbers("Ratings", "ratings"),
        numbers("Raters", "raters"),
    )

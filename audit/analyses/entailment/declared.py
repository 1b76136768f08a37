"""What is measured of entailment graphs, table by table: what columns are, and how shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from audit.base.declared import (
    NONE,
    Column,
    Columns,
    Mark,
    Table,
    chance,
    count,
    estimate,
    flag,
    key,
    mean,
    ratio,
    setting,
    share,
    text,
    texts,
    whole,
)
from audit.base.figures import Curve, Dots, Graph
from audit.results.parts import Headline
from audit.results.shared_tables import Sentence

ALL = "All"
"""In place of a relation or a split: all of them together."""
SHOWN = 20
"""Rows of a table of cases that are shared, the first of each relation; a run keeps all."""


def _table(title: str, row: str, *columns: tuple[Column, ...], **more: Any) -> Table:
    return Table(Columns(*columns), title=title, row=row, **more)


_cases = partial(_table, most=SHOWN, each="relation", fold=True)
_ANSWERED = "model trained_on relation split"
_ANSWERED_SAID = "Model|Trained on|Relation|Split"
TABLES: Mapping[str, Table] = {
    "quality_totals": _table(
        "Tuples that are valid",
        "a relation and split",
        text("relation split", "Relation|Split"),
        share("share", "Valid", of="valid tuples", ends="low high"),
        count("tuples valid"),
        across="split",
    ),
    "quality_agreement": _table(
        "Agreement of votes",
        "a relation and measure",
        text("relation", "Relation"),
        key("measure", "Measure"),
        chance("reason", type="string"),
        mean("value", "Agreement", n="tuples", low=-1.0, ends="low high"),
        count("tuples"),
        count("votes", of=NONE),
        across="measure",
    ),
    "graph_relations": _table(
        "The graph of each relation",
        "a relation",
        text("relation", "Relation"),
        chance("deepest", "Depth", type="integer"),
        estimate("mean_depth mean_children", n="texts", reason="they have no fixed bounds"),
        count("tuples self_edges"),
        count(
            "texts edges valid_edges denied_edges contradictory_edges components"
            " synonym_components texts_on_cycles chains chains_valid chains_denied"
            " chains_open redundant_edges tops leaves most_children",
            "Texts|Edges|Valid|Denied|Both|||On cycles|Chains||Broken",
            of=NONE,
        ),
    ),
    "graph_neighbourhoods": _table(
        "The graph around findings",
        "an edge around a finding",
        text("finding relation child parent", "Around|Relation|Text|Below"),
        count("valid invalid", "Valid|Invalid"),
        records=True,
        figures=(
            Graph(
                title="Arrows lead to what is entailed, as wide as many answers are valid",
                source="child",
                target="parent",
                value="valid",
            ),
        ),
    ),
    "detection_measured": _table(
        "Separating valid from invalid",
        "a model or baseline, relation, split and measure",
        key("kind", "By"),
        text(_ANSWERED, _ANSWERED_SAID),
        key("measure", "Measure"),
        chance("absent", type="string"),
        mean("value", "Value", n="n", ends="low high", mark=Mark("", "expected")),
        mean("expected positive_share", n="n"),
        count("n"),
        count("groups", of=NONE),
        across="relation",
        first=9,
        figures=(
            Dots(
                title="Macro F1 with its interval, beside what is expected by chance",
                value="value",
                name="model trained_on",
                series="relation",
                where=("measure", "macro_f1"),
            ),
        ),
    ),
    "generation_measured": _table(
        "Generated concepts against references",
        "a model, relation, split and measure",
        text("model relation split", "Model|Relation|Split"),
        key("measure", "Measure"),
        mean("value", "Value", n="n", ends="low high"),
        estimate("references", n="n", reason="it has no fixed bounds"),
        count("n", of=NONE),
        first=9,
        across="relation",
    ),
    "quality_diversity": _table(
        "Words, unique concepts and social heads",
        "a relation",
        text("relation", "Relation"),
        mean(
            "unique unique_without_penalty",
            "Unique concepts|Without penalty",
            n="tuples",
        ),
        mean("unique_edges unique_edges_without_penalty", n="edges"),
        share("social", "Social", of="social_heads heads", ends="social_low social_high"),
        count("tuples", "Tuples"),
        count("vocabulary edges heads social_heads", "Words|Edges|Heads", of=NONE),
        fold=True,
    ),
    "quality_references": _table(
        "Valid tuples of an instance",
        "a relation and split",
        text("relation split", "Relation|Split"),
        ratio("references", "Tuples", of="valid instances"),
        count("valid"),
        count("instances identified", of=NONE),
        across="split",
        fold=True,
    ),
    "quality_generation_set": _table(
        "The generation set beside the valid tuples",
        "a relation",
        text("relation", "Relation"),
        count("valid", "Valid"),
        count("generation", "In the generation set", of=NONE),
        count("both only_detection", "In both|Valid alone"),
        count("only_generation not_valid", "In the set alone|Not valid", of=NONE),
        fold=True,
    ),
    "quality_consistency": _table(
        "Elements that do not fit each other",
        "a relation and fault",
        text("relation", "Relation"),
        key("fault", "What"),
        share("share", "Share", of="faulty tuples", ends="low high"),
        count("tuples faulty", "Tuples|Faulty"),
        fold=True,
    ),
    "quality_shared_keys": _table(
        "Heads with an instance that two splits share",
        "two splits",
        text("split other", "Split|With"),
        share("share", "Share", of="shared keys", ends="low high"),
        count("keys shared", "Heads|Shared", of=NONE),
        fold=True,
    ),
    "quality_weak": _table(
        "Labels that few votes support",
        "a relation",
        text("relation", "Relation"),
        share("share", "Share", of="weak tuples", ends="low high"),
        count("tuples weak ties against", "Tuples|Weak|Ties|Against"),
        fold=True,
    ),
    "graph_shape": Table(
        Columns(text("relation measure"), whole("value"), count("texts", of=NONE)), records=True
    ),
    "graph_components": _cases(
        "Texts that entail each other",
        "a cycle of texts",
        text("relation first", "Relation"),
        flag("synonyms one_context", "Synonyms|One head"),
        text("head", "Head"),
        texts("cycle", "Cycle"),
        count("texts edges", "Texts|Edges", of=NONE),
        order="texts",
    ),
    "graph_contradictions": _cases(
        "Edges whose answers contradict each other",
        "an edge",
        text("relation instance concept kind", "Relation|Text|Below"),
        flag("one_context", "One head"),
        text("head", "Head"),
        count("valid invalid", "Valid|Invalid"),
    ),
    "graph_violations": _cases(
        "Denied edges that follow from two valid ones",
        "an edge and a path it follows from",
        text("relation instance concept through", "Relation|Text|Below|Through"),
        flag("one_context", "One head"),
        text("head", "Head"),
        count("invalid", "Denied"),
        count("chains", "Chains", of=NONE),
    ),
    "graph_redundant": _cases(
        "Valid edges beside a longer path",
        "an edge",
        text("relation instance concept through", "Relation|Text|Below|Through"),
        count("valid", "Valid"),
    ),
    "graph_concepts": _cases(
        "Concepts with the most valid edges",
        "a concept of a relation",
        text("relation concept", "Relation|Concept"),
        flag("says_nothing", "Says nothing"),
        share("share", "Share of edges", of="edges of", ends="share_low share_high"),
        count("edges of", "Edges|Out of", of=NONE),
        order="edges",
        listed="edges",
    ),
    "graph_lint": _table(
        "What audit lint says of the graph",
        "a relation and rule",
        text("relation", "Relation"),
        key("rule severity unit", "Rule|Severity|Of"),
        texts("first", "First"),
        count("n of", "Number|Out of", of=NONE),
        fold=True,
    ),
    "detection_differences": _table(
        "Models less baselines",
        "a model, relation, split, measure and baseline",
        text(_ANSWERED, _ANSWERED_SAID),
        key("measure against", "Measure|Against"),
        mean("difference", "Difference", n="n", low=-1.0, ends="low high", mark=Mark()),
        count("n"),
        fold=True,
    ),
    "detection_reliability": _table(
        "Are scores what they say?",
        "a model and range of scores",
        key("kind", "By"),
        text(_ANSWERED, _ANSWERED_SAID),
        setting("from to", "Scores from|To", type="number"),
        mean("mean_score", "Mean score", n="n"),
        mean("valid_share", "Valid", n="n", ends="low high"),
        count("n", "Tuples"),
        listed="n",
        fold=True,
        figures=(Curve(x="from", value="valid_share", series="model", where=("relation", ALL)),),
    ),
    "detection_consistency": _table(
        "Chains of predicted edges that are closed",
        "a model and relation",
        key("kind", "By"),
        text("model trained_on relation", "Model|Trained on|Relation"),
        chance("closed_share", "Closed, of judged"),
        count("chains closed broken open", "Chains|Closed|Broken|Open", of=NONE),
        fold=True,
    ),
    "detection_coverage": _table(
        "What models answered",
        "a model, relation and split",
        text(_ANSWERED, _ANSWERED_SAID),
        count("tuples answered unparsable missing", "Tuples|Answered|Unparsable|Missing"),
        fold=True,
    ),
    "generation_coverage": _table(
        "Instances for which models have a text",
        "a model, relation and split",
        text("model relation split", "Model|Relation|Split"),
        count(
            "instances generated blank missing",
            "Instances|Generated|Blank|Missing",
            of=NONE,
        ),
        fold=True,
    ),
    "generation_ratings": _table(
        "Ratings of people",
        "a model, relation and level",
        text("model relation level", "Model|Relation|Level"),
        mean("share", "Share", n="ratings", ends="low high"),
        count("ratings items", of=NONE),
        across="level",
        fold=True,
    ),
    "generation_agreement": _table(
        "Agreement of raters",
        "a model, relation and measure",
        text("model relation", "Model|Relation"),
        key("measure", "Measure"),
        mean("value", "Agreement", n="items", low=-1.0, ends="low high"),
        count("items ratings raters", of=NONE),
        across="measure",
        fold=True,
    ),
}
"""Every table, by what measured it and its name there, where its columns are documented."""
_OF_ALL = {"relation": [ALL], "measure": ["accuracy"]}
_RIGHT = "[Accuracy of {model}: {value} ({low} to {high}) on {n} tuples.]"
SAYS = (
    Sentence("{valid} of {tuples} tuples are valid ({share}).", "quality_totals",
             {"relation": [ALL], "split": [ALL]}),
    Sentence(_RIGHT, "detection_measured", _OF_ALL | {"kind": ["model"]}),
    Sentence(_RIGHT, "detection_measured", _OF_ALL | {"model": ["concept_alone"]}),
)  # fmt: skip
"""How many tuples are valid, and how well models answer beside the baseline that they have to
beat, the concept alone.
"""
_OF = tuple((name, name) for name in ("model", "trained_on", "relation", "split"))
HEADLINES = (
    Headline("quality_totals", "share", "tuples", _OF[2:3], "valid", where={"split": [ALL]}),
    Headline("detection_measured", "value", "n", _OF, "answered_right",
             where={"kind": ["model"], "measure": ["accuracy"]}),
)  # fmt: skip
"""The share of valid tuples, and of the tuples that a model answers rightly, of each relation."""

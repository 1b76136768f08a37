"""What is measured of entailment graphs, table by table: what columns are, and how shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from audit.analyses.tables import folded, table
from audit.base.declared import (
    NONE,
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
from audit.base.figures import Dots, Graph
from audit.results.parts import Headline
from audit.results.shared_tables import Sentence

ALL = "All"
"""In place of a relation or a split: all of them together."""
SHOWN = 20
"""Rows of a table of cases that are shared, the first of each relation; a run keeps all."""
_cases = partial(folded, most=SHOWN, each="relation")
_relation = text("relation", "Relation")
_split = text("relation split", "Relation|Split")
_model = text("model trained_on relation split", "Model|Trained on|Relation|Split")
_writer = text("model relation split", "Model|Relation|Split")
_share = partial(share, "share", "Share", ends="low high")
_edge = text("relation instance concept", "Relation|Text|Below")
_context = (*flag("one_context", "One head"), *text("head", "Head"))

TABLES: Mapping[str, Table] = {
    "quality_totals": table(
        "Tuples that are valid",
        "a relation and split",
        _split,
        share("share", "Valid", of="valid tuples", ends="low high"),
        count("tuples valid"),
        across="split",
    ),
    "quality_agreement": table(
        "Agreement of votes",
        "a relation and measure",
        _relation,
        key("measure", "Measure"),
        chance("reason", type="string"),
        mean("value", "Agreement", n="tuples", low=-1.0, ends="low high"),
        count("tuples"),
        count("votes", of=NONE),
        across="measure",
    ),
    "graph_relations": table(
        "The graph of each relation",
        "a relation",
        _relation,
        count("tuples"),
        count(
            "texts edges valid_edges denied_edges contradictory_edges components"
            " synonym_components texts_on_cycles chains chains_valid chains_denied chains_open",
            "Texts|Edges|Valid|Denied|Both|||On cycles|Chains||Broken",
            of=NONE,
        ),
    ),
    "graph_neighbourhoods": table(
        "The graph around findings",
        "an edge between texts of findings",
        text("relation child parent", "Relation|Text|Below"),
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
    "detection_measured": table(
        "Separating valid from invalid",
        "a model or baseline, relation, split and measure",
        key("kind", "By"),
        _model,
        key("measure", "Measure"),
        chance("absent", type="string"),
        mean("value", "Value", n="n", ends="low high", mark=Mark("", "expected")),
        mean("expected positive_share", n="n"),
        count("n"),
        count("groups", of=NONE),
        count("tuples unparsable"),
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
    "generation_measured": table(
        "Generated concepts against references",
        "a model, relation, split and measure",
        _writer,
        key("measure", "Measure"),
        mean("value", "Value", n="n", ends="low high"),
        estimate("references", n="n", reason="it has no fixed bounds"),
        count("n instances", of=NONE),
        first=9,
        across="relation",
    ),
    "quality_diversity": folded(
        "Words, unique concepts and social heads",
        "a relation",
        _relation,
        mean("unique unique_without_penalty", "Unique concepts|Without penalty", n="tuples"),
        mean("unique_edges unique_edges_without_penalty", n="edges"),
        share("social", "Social", of="social_heads heads", ends="social_low social_high"),
        count("tuples", "Tuples"),
        count("vocabulary edges heads social_heads", "Words|Edges|Heads", of=NONE),
    ),
    "quality_references": folded(
        "Valid tuples of an instance",
        "a relation and split",
        _split,
        ratio("references", "Tuples", of="valid instances"),
        count("valid"),
        count("instances identified", of=NONE),
        across="split",
    ),
    "quality_generation_set": folded(
        "The generation set beside the valid tuples",
        "a relation",
        _relation,
        count("valid", "Valid"),
        count("generation", "In the generation set", of=NONE),
        count("both only_detection", "In both|Valid alone"),
        count("only_generation not_valid", "In the set alone|Not valid", of=NONE),
    ),
    "quality_consistency": folded(
        "Elements that do not fit each other",
        "a relation and fault",
        _relation,
        key("fault", "What"),
        _share(of="faulty tuples"),
        count("tuples faulty", "Tuples|Faulty"),
    ),
    "quality_shared_keys": folded(
        "Heads with an instance that two splits share",
        "two splits",
        text("split other", "Split|With"),
        _share(of="shared keys"),
        count("keys shared", "Heads|Shared", of=NONE),
    ),
    "quality_weak": folded(
        "Labels that few votes support",
        "a relation",
        _relation,
        _share(of="weak tuples"),
        count("tuples weak ties against", "Tuples|Weak|Ties|Against"),
    ),
    "graph_components": _cases(
        "Texts that entail each other",
        "a cycle of texts",
        text("relation first", "Relation"),
        flag("synonyms", "Synonyms"),
        _context,
        texts("cycle", "Cycle"),
        count("texts edges", "Texts|Edges", of=NONE),
        order="texts",
    ),
    "graph_contradictions": _cases(
        "Edges whose answers contradict each other",
        "an edge",
        _edge,
        text("kind"),
        _context,
        count("valid invalid", "Valid|Invalid"),
    ),
    "graph_violations": _cases(
        "Denied edges that follow from two valid ones",
        "an edge and a path it follows from",
        _edge,
        text("through", "Through"),
        _context,
        count("invalid", "Denied"),
        count("chains", "Chains", of=NONE),
    ),
    "graph_lint": folded(
        "What audit lint says of the graph",
        "a relation and rule",
        _relation,
        key("rule severity unit", "Rule|Severity|Of"),
        texts("first", "First"),
        count("n of", "Number|Out of", of=NONE),
    ),
    "generation_ratings": folded(
        "Ratings of people",
        "a model, relation and level",
        text("model relation level", "Model|Relation|Level"),
        mean("share", "Share", n="ratings", ends="low high"),
        count("ratings items", of=NONE),
        across="level",
    ),
}
"""Every table, by what measured it and its name there, where its columns are documented."""
FACTS = Columns(
    count("tuples voted", "Tuples|With votes"),
    count("rows_read refused", "Rows read|Refused", of="rows"),
    whole("files models", "Files|Models"),
    text("kind generation_set restricted"),
    count(
        "relations splits annotators predictions generations ratings",
        "Relations|Splits|Annotators|Predictions|Generated concepts|Ratings",
        of=NONE,
    ),
    setting("parameters threshold"),
)
"""What each fact is."""
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

"""Wording of the tables behind explanations, concepts and tuples: what a row is, and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from reports.words.words import capitalised


class Described(NamedTuple):
    """A table in words.

    Args:
        title: What it is called.
        row: What a row of it is.
    """

    title: str
    row: str


Groups = Mapping[str, Mapping[str, Described]]
"""Tables by name, by what they are about, in the order in which they are shown."""

EXPLANATIONS: Groups = {
    "Nodes": {
        "nodes": Described("Measures by node", "a node, model, method or pair, and measure"),
        "branches": Described("Nodes compared with the rest", "a node, model, method and measure"),
    },
    "Reasons": {
        "alignment": Described("Importance alignment", "a method, model, oracle and subset"),
        "accuracy": Described("Alignment and accuracy", "a method, oracle and subset"),
        "models": Described("Models compared with a reference", "a method, oracle and model"),
        "oracles": Described("Oracles compared", "two oracles"),
        "examples": Described("Examples, most and least aligned", "an explained label"),
    },
    "Methods": {
        "agreement": Described("Agreement", "two methods or a set of them, a rule and k"),
        "lengths": Described("Agreement by length of text", "the same for texts of one length"),
        "differences": Described("Peaks against a fixed k", "two methods"),
        "gains": Described("What peaks gain", "a method and k"),
        "chosen": Described("Tokens chosen", "a method"),
        "runs": Described("Runs of models", "a run of a model"),
    },
    "Evidence and model": {
        "plausibility": Described("Plausibility", "a method and metric"),
        "faithfulness": Described("Faithfulness", "a method and metric"),
        "randomised": Described("Against shuffled parameters", "a method and model"),
    },
}
CONCEPTS: Groups = {
    "Nodes": {"nodes": Described("Nodes", "a node with enough instances")},
    "Tests": {
        "tests": Described("Verdicts", "a test, dimension, what is seen, ablation and probe"),
        "parts": Described("Numbers behind the verdicts", "an accuracy"),
        "values": Described("The same by split", "an accuracy of one split"),
        "points": Described("The same by class", "an accuracy of one split and unseen class"),
    },
    "Concepts": {
        "dimensions": Described("Dimensions", "a dimension"),
        "classes": Described("Classes", "labels that are described alike"),
    },
    "Controls and layers": {
        "controls": Described("Controls", "a dimension, seen or unseen, of one split"),
        "layer_curves": Described("Layers", "a layer and measure"),
        "iterations": Described("Further ablation", "an iteration and what is read then"),
    },
}
ENTAILMENT: Groups = {
    "Corrections": {
        "corrections": Described("Corrections proposed", "what to do with a tuple, and why"),
    },
    "Tuples that are wrong": {
        "quality_mismatches": Described("Elements that do not fit", "a tuple and its fault"),
        "quality_misplaced": Described(
            "Heads in two splits", "a tuple and the split it belongs to"
        ),
        "quality_repeats": Described("Tuples that repeat others", "a tuple, and the first such"),
        "quality_near_heads": Described("Heads that are nearly the same", "two heads"),
        "quality_weak_labels": Described("Labels that few votes support", "a tuple"),
        "quality_doubted": Described("Labels that are doubted", "a tuple"),
        "quality_dissents": Described("Votes against the majority", "a vote"),
        "graph_contradictions": Described("Edges valid and invalid", "an edge"),
        "graph_violations": Described(
            "Edges denied that follow", "an edge and the path it follows from"
        ),
        "graph_components": Described("Texts that entail each other", "a cycle of texts"),
        "graph_members": Described("The same, text by text", "a text of a cycle"),
        "graph_redundant": Described("Edges that follow from others", "an edge"),
        "graph_twins": Described("Texts that behave alike", "two texts"),
    },
    "The graph": {
        "graph_edges": Described("Edges", "an instance and a concept of a relation"),
        "graph_concepts": Described("Concepts", "a concept of a relation"),
        "graph_neighbourhoods": Described("Around findings", "an edge around a finding"),
        "graph_relations": Described("Relations", "a relation"),
        "graph_shape": Described(
            "Shape", "a number of children or a depth, and how many texts have it"
        ),
        "graph_wordnet": Described("Against WordNet", "a relation, edges stated or denied"),
        "graph_lint": Described("What a lint says", "a relation and rule"),
    },
    "The dataset": {
        "quality_totals": Described("Tuples", "a relation and split"),
        "quality_diversity": Described("Diversity", "a relation"),
        "quality_references": Described("Valid tuples of an instance", "a relation and split"),
        "quality_generation_set": Described("The generation set", "a relation"),
        "quality_consistency": Described("Faults of tuples", "a relation and fault"),
        "quality_shared_keys": Described("Heads that splits share", "two splits"),
        "quality_near": Described("Nearly the same heads of splits", "two splits"),
        "quality_agreement": Described("Agreement of votes", "a relation and measure"),
        "quality_weak": Described("Weak labels", "a relation"),
        "quality_annotators": Described("Annotators", "an annotator"),
    },
    "Models": {
        "detection_measured": Described(
            "Separating valid from invalid", "a model, split and measure"
        ),
        "detection_differences": Described("Models against baselines", "a model and baseline"),
        "detection_reliability": Described("Calibration", "a model and range of scores"),
        "detection_consistency": Described("Consistency of predictions", "a model and relation"),
        "detection_coverage": Described("Tuples answered", "a model, relation and split"),
        "generation_measured": Described("Generated concepts", "a model, split and measure"),
        "generation_coverage": Described("Instances answered", "a model, relation and split"),
        "generation_ratings": Described("Ratings", "a model, relation and level"),
        "generation_agreement": Described("Agreement of ratings", "a model and measure"),
        "answers": Described("What models answered", "an answer"),
    },
}

HEADINGS: Mapping[str, str] = {
    "auc": "Area under the curve",
    "delta_a": "Delta-A",
    "delta_a_zeros": "Delta-A, undefined draws as 0",
    "head_word": "Last word",
    "high": "To",
    "high_90": "90% to",
    "id": "Instance",
    "low": "From",
    "low_90": "90% from",
    "n": "Number",
    "of": "Out of",
    "q": "q-value",
    "row": "Record",
    "sd": "Standard deviation",
}
"""Headings of columns; those of others are their names."""
ENDINGS: Mapping[str, str] = {
    "low": "from",
    "high": "to",
    "p": "p-value",
    "q": "q-value",
}
"""The last word of the name of a column, as headings have it."""


def heading(column: str) -> str:
    """Heading of a column.

    >>> heading("absent_q"), heading("instances")
    ('Absent, q-value', 'Instances')
    """
    if column in HEADINGS:
        return HEADINGS[column]
    first, _, last = column.rpartition("_")
    text = f"{first}, {ENDINGS[last]}" if first and last in ENDINGS else column
    return capitalised(text.replace("_", " "))

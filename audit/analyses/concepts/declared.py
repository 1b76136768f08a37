"""What the tests of concepts measure, table by table: what each column is, and how it is shown."""

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
    key,
    mean,
    node,
    setting,
    text,
    texts,
    total,
    whole,
)
from audit.base.figures import Curve
from audit.results.parts import Headline
from audit.results.shared_tables import Sentence

_of_sides = partial(estimate, n="instances sibling_instances")
_measured = partial(mean, n="instances", ends="low high", mark=Mark("", "chance"))
_chance = mean("chance", "Chance", n="instances")
_ASKED = "test dimension seen ablation probe"
TABLES: Mapping[str, Table] = {
    "tests": table(
        "Does the model have the concepts?",
        "a test, dimension, what is seen, ablation and probe",
        key(_ASKED, "Test|Dimension|Seen|Ablation"),
        chance("verdict interval_verdict reason", "Verdict", type="string"),
        chance("parts", type="integer"),
        across="test",
        first=13,
    ),
    "parts": table(
        "Accuracies that the verdicts rest on",
        "an accuracy, over all splits",
        key(f"{_ASKED} read requirement", "Test|Dimension|Seen|Ablation||Read"),
        chance("verdict interval_verdict", "|By interval", type="string"),
        total("classes"),
        setting("seeds"),
        _measured("accuracy", "Accuracy"),
        chance("low_90 high_90"),
        _chance,
        count("instances", of=NONE),
        first=8,
    ),
    "layer_curves": table(
        "What is read, layer by layer",
        "a layer and measure",
        text("layer", "Layer"),
        whole("place"),
        key("measure dimension", "Measure|Dimension"),
        setting("seeds"),
        _measured("value", "Value"),
        _chance,
        count("instances", "Instances"),
        figures=(Curve(x="layer", value="value", series="measure dimension"),),
    ),
    "nodes": table(
        "Node by node",
        "a node with enough instances",
        node("node", "Node", title="title"),
        whole("depth"),
        text("parent"),
        total("siblings"),
        text("sibling best_layer", "Hardest sibling"),
        _of_sides(
            "separable",
            "Told from it",
            reason="an area",
            ends="separable_low separable_high",
            mark=Mark(),
        ),
        _of_sides("probed predicted", reason="accuracies of two sides"),
        _of_sides(
            "unused",
            "Probe less answers",
            reason="a difference of accuracies of two sides",
            ends="unused_low unused_high",
        ),
        _of_sides("best_separable", reason="an area"),
        chance("readable", "Read", ends="readable_low readable_high"),
        count("instances", "Instances"),
        count("groups", of="groups", under="instances"),
        count("sibling_instances"),
        first=6,
    ),
    "controls": folded(
        "Controls beside the probes",
        "a dimension, on seen classes, of one split",
        key("dimension", "Dimension"),
        setting("seed", "Split"),
        chance("chance linear control_task selectivity", "Chance|Probe|Control task|Selectivity"),
        records=True,
    ),
    "iterations": folded(
        "Further ablation",
        "an iteration and what is read then",
        key("dimension ablation", "Removed|Ablation"),
        setting("iteration", "Iteration"),
        key("read probe", "Read|Probe"),
        setting("seed removed", "Split"),
        chance("accuracy chance variance_kept", "Accuracy|Chance|Variance kept"),
        records=True,
    ),
    "dimensions": folded(
        "Dimensions of concepts",
        "a dimension",
        key("dimension kind", "Dimension|Kind"),
        total("concepts slices", "Concepts|Slices"),
        chance("reason", "Why it is not tested", type="string"),
        _chance,
        count(
            "instances without_concept several_concepts", "With one concept|With none|With several"
        ),
    ),
    "classes": folded(
        "Classes: labels that are described alike",
        "a class",
        text("class", "Class"),
        texts("labels concepts", "Labels"),
        count("instances", "Instances"),
        listed="instances",
    ),
}
"""Every table by its name; `measurements` says what the columns mean."""
FACTS = Columns(
    count("instances used left_out", "Instances|In tests|Left out"),
    count("labels classes", "Labels|Classes", of=NONE),
    text("layers layer answers_from", "Layers|Layer tested|Nodes are compared with"),
    setting("parameters"),
    chance("tests passed failed undecided"),
)
"""What each fact is."""
SAYS = (
    Sentence(
        "[Of {tests} tests of concepts on unseen classes {passed} pass, {failed} fail and"
        " {undecided} are undecided.]"
    ),
)
_OF = (("dimension", "dimension"), ("seen", "seen"))
HEADLINES = (
    Headline("parts", "accuracy", "instances", (), "pairs_told", where={"test": ["is_grounded"]}),
    Headline("parts", "accuracy", "instances", _OF, "concepts_read",
             where={"test": ["is_token_of_type"]}),
)  # fmt: skip
"""How often minimal pairs are told apart, and concepts read on unseen classes."""

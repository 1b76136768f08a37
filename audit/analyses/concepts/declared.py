"""What the tests of concepts measure, table by table: what each column is, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping

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

_BOTH = "instances sibling_instances"
_ASKED = "test dimension seen ablation probe"
TABLES: Mapping[str, Table] = {
    "tests": Table(
        Columns(
            key(_ASKED, "Test|Dimension|Seen|Ablation"),
            chance("verdict interval_verdict reason", "Verdict", type="string"),
            chance("parts", type="integer"),
        ),
        title="Does the model have the concepts?",
        row="a test, dimension, what is seen, ablation and probe",
        across="test",
        first=13,
    ),
    "parts": Table(
        Columns(
            key(f"{_ASKED} read requirement", "Test|Dimension|Seen|Ablation||Read"),
            chance("verdict interval_verdict", "|By interval", type="string"),
            total("classes"),
            setting("seeds"),
            mean("accuracy", "Accuracy", n="instances", ends="low high", mark=Mark("", "chance")),
            chance("low_90 high_90"),
            mean("chance", "Chance", n="instances"),
            count("instances", of=NONE),
        ),
        title="Accuracies that the verdicts rest on",
        row="an accuracy, over all splits",
        first=8,
    ),
    "layer_curves": Table(
        Columns(
            text("layer", "Layer"),
            whole("place"),
            key("measure dimension", "Measure|Dimension"),
            setting("seeds"),
            mean("value", "Value", n="instances", ends="low high", mark=Mark("", "chance")),
            mean("chance", "Chance", n="instances"),
            count("instances", "Instances"),
        ),
        title="What is read, layer by layer",
        row="a layer and measure",
        figures=(Curve(x="layer", value="value", series="measure dimension"),),
    ),
    "nodes": Table(
        Columns(
            node("node", "Node", title="title"),
            whole("depth"),
            text("parent"),
            total("siblings"),
            text("sibling best_layer", "Hardest sibling"),
            estimate(
                "separable",
                "Told from it",
                n=_BOTH,
                reason="an area",
                ends="separable_low separable_high",
                mark=Mark(),
            ),
            estimate("probed predicted", n=_BOTH, reason="accuracies of two sides"),
            estimate(
                "unused",
                "Answers less probe",
                n=_BOTH,
                reason="a difference of accuracies of two sides",
                ends="unused_low unused_high",
            ),
            estimate("best_separable", n=_BOTH, reason="an area"),
            chance("readable", "Read", ends="readable_low readable_high"),
            count("instances", "Instances"),
            count("groups", of="groups", under="instances"),
            count("sibling_instances"),
        ),
        title="Node by node",
        row="a node with enough instances",
        first=6,
    ),
    "controls": Table(
        Columns(
            key("dimension", "Dimension"),
            setting("seed", "Split"),
            chance(
                "chance linear control_task selectivity", "Chance|Probe|Control task|Selectivity"
            ),
        ),
        title="Controls beside the probes",
        row="a dimension, on seen classes, of one split",
        records=True,
        fold=True,
    ),
    "iterations": Table(
        Columns(
            key("dimension ablation", "Removed|Ablation"),
            setting("iteration", "Iteration"),
            key("read probe", "Read|Probe"),
            setting("seed removed", "Split"),
            chance("accuracy chance variance_kept", "Accuracy|Chance|Variance kept"),
        ),
        title="Further ablation",
        row="an iteration and what is read then",
        records=True,
        fold=True,
    ),
    "dimensions": Table(
        Columns(
            key("dimension kind", "Dimension|Kind"),
            total("concepts slices", "Concepts|Slices"),
            chance("reason", "Why it is not tested", type="string"),
            mean("chance", "Chance", n="instances"),
            count(
                "instances without_concept several_concepts",
                "With one concept|With none|With several",
            ),
        ),
        title="Dimensions of concepts",
        row="a dimension",
        fold=True,
    ),
    "classes": Table(
        Columns(
            text("class", "Class"),
            texts("labels concepts", "Labels"),
            count("instances", "Instances"),
        ),
        title="Classes: labels that are described alike",
        row="a class",
        listed="instances",
        fold=True,
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

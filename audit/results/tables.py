"""The tables of the view beside findings: what their rows and columns are, and how they show."""

from __future__ import annotations

from dataclasses import replace

from audit.base.declared import (
    NONE,
    Columns,
    Mark,
    Table,
    chance,
    count,
    difference,
    estimate,
    exact,
    factor,
    flag,
    mean,
    metric,
    node,
    ratio,
    setting,
    share,
    text,
    texts,
    total,
    whole,
)
from audit.base.figures import Icicle

_PAIR = node("a b", "Node|With", title="title_a title_b")
_LENGTHS = (
    *count("support_a support_b"),
    *factor("expected_length", of="support_a support_b"),
)

TREE = Table(
    Columns(
        node("node", "Part", title="title"),
        text("parent"),
        whole("depth", "Depth"),
        count("instances", "Instances"),
        share("residual_share", of="instances instances"),
        text("found", "Worst found"),
    ),
    row="a part of the hierarchy in use",
    first=12,
    figures=(
        Icicle(
            title="Instances by part, coloured by the worst found",
            node="node",
            parent="parent",
            value="instances",
            tone="found",
        ),
    ),
)
RESIDUALS = Table(
    Columns(
        node("node", "Below", title="title"),
        share(
            "share",
            'Nothing more specific than "other"',
            of="instances of",
            ends="low high",
            mark=Mark(limit="limit"),
        ),
        count("instances", "Instances", among="of"),
        count("of"),
    ),
    title="Catch-alls",
    row="a parent",
    first=5,
)
PAIRS = Table(
    Columns(
        _PAIR,
        text("relation"),
        count("instances", "Instances"),
        _LENGTHS,
        factor("explained", "Expected", of="support_a support_b"),
        total("observed effective", type="number"),
        ratio(
            "shrunk_ratio",
            "Times expected",
            of="instances explained",
            ends="ratio_low ratio_high",
            mark=Mark(),
        ),
    ),
    title="Pairs beyond what the length of records explains",
    row="two nodes",
    first=5,
)
FREQUENT_PAIRS = Table(
    Columns(
        whole("depth", "Depth"),
        _PAIR,
        text("relation"),
        count("instances", "Instances"),
        share("share", of="instances instances"),
        _LENGTHS,
        ratio("shrunk_ratio", "Times expected", of="instances expected_length"),
        estimate("ratio_low ratio_high", n="instances", reason="ends of a ratio"),
    ),
    title="Most frequent pairs of a depth",
    row="two nodes of one depth",
    first=5,
)
BRANCHES = Table(
    Columns(
        node("node", "Branch", title="title"),
        whole("assignable", "Assignable nodes"),
        whole("in_use", "In use"),
    ),
    title="Branches",
    row="a branch",
    first=6,
)
DEPTHS = Table(
    Columns(
        whole("depth", "Depth"),
        whole("nodes", "Nodes"),
        whole("in_use", "In use"),
        count("labels", of=NONE),
        share("share", "Share of labels", of="labels labels"),
        share("before", "In the reference", of="labels labels"),
    ),
    title="Depths of labels",
    row="a depth",
    first=8,
)
DRIFT = Table(
    Columns(
        text("column value", "Column|Value"),
        count("instances", "Instances"),
        mean("labels_per_instance", "Labels each", n="instances"),
        whole("differing", "Nodes that differ"),
    ),
    title="Drift: use of nodes by values of columns",
    row="a value of a column",
    first=10,
)
METRICS = Table(
    Columns(
        text("title at", "Metric|Answers"),
        metric("value", "Value", by="name", n="n", ends="low high", mark=Mark()),
        count("n"),
    ),
    title="Metrics",
    row="a metric at a level",
    first=15,
    headline="value",
)
ANSWERED = Table(
    Columns(
        count("answers labels right wrong related beside within elsewhere missed", of=NONE),
        share("precision", of="right answers"),
        share("recall", of="right labels"),
        texts("branches branch_titles"),
    ),
    row="all answers, the wrong ones by the first place that fits",
)
BEHAVIOURS = Table(
    Columns(
        text("name title", "|Behaviour"),
        share("share", "Share", of="instances of", ends="low high", mark=Mark()),
        count("instances", "Instances", among="of"),
        count("of"),
    ),
    title="Behaviours",
    row="a kind of behaviour",
)
ANSWERS = Table(
    Columns(
        node("node", "Label", title="title"),
        count("falsely missed labelled", "Falsely given|Missed|Labelled"),
        text("most", "Mostly in place of"),
        count("hits answers"),
        share("share", of="falsely answers"),
    ),
    title="Answers given too often",
    row="an answer",
    first=5,
    order="falsely",
    listed="falsely",
)
_EXCHANGED = Columns(
    node("a b", "Label|With", title="title_a title_b"),
    text("relation"),
    count("counted", "Confused", of=NONE),
    total("expected", "Expected", type="number"),
    chance("excess"),
    chance("passes", type="boolean"),
)
EXCHANGED_PAIRS = Table(
    _EXCHANGED,
    title="Confusions in both directions",
    row="two labels",
    first=4,
    order="counted",
    listed="counted",
)
EXCHANGED_IN_LINE = replace(EXCHANGED_PAIRS, title="Confusions with a label above or below")
SUSPECTS = Table(
    Columns(
        text("instance", "Instance"),
        node("node", "Label", title="title"),
        node("other", "Scores are for", title="title_other"),
        text("kind", "Kind"),
        chance("margin", "Margin"),
    ),
    title="Labels that scores contradict",
    row="a label",
    records=True,
    first=10,
)
MODEL = {
    "answered": ANSWERED,
    "behaviours": BEHAVIOURS,
    "answers": ANSWERS,
    "exchanged_pairs": EXCHANGED_PAIRS,
    "exchanged_in_line": EXCHANGED_IN_LINE,
    "suspects": SUSPECTS,
}
"""What is told of the tables of a model, by name."""
DATA_BESIDE_MODEL = Table(
    Columns(
        _PAIR,
        text("relation"),
        count("joint co_predicted"),
        share("rate", "Together in the data", of="joint instances"),
        share("co_predicted_rate", "In the answers", of="co_predicted instances"),
        estimate(
            "confusion",
            "Confusion",
            n="joint",
            reason="a mean of entropies",
            ends="confusion_low confusion_high",
            mark=Mark(),
        ),
    ),
    title="Concept confusion (equation 4) beside the data",
    row="two labels",
    first=5,
)
MOVED = Table(
    Columns(
        text("what", "What"),
        share("before", "Before", of="of of"),
        share("now", "Now", of="of of"),
        difference("difference", "Points", of="now before"),
    ),
    title="Shares that moved",
    row="a finding",
    first=5,
)
CHANGED_CHECKS = Table(
    Columns(
        text("title", "Check"),
        text("status_before status", "Before|Now"),
        whole("new worse gone", "New|Worse|Gone"),
    ),
    title="Checks that changed",
    row="a check",
    first=8,
)
ROWS = Table(
    Columns(text("what", "Rows"), count("rows", "Number", of="rows")),
    title="Where the rows went",
    row="a reason",
    first=12,
)
READINGS = Table(
    Columns(
        text("decision evidence", "Read as|Since"),
        count("rows", "Touches"),
        text("unit"),
        text("option", "Otherwise"),
    ),
    title="Decisions in reading",
    row="a decision",
    first=30,
)
CHECKED = Table(
    Columns(text("name looked_at", "Check|Looked at")),
    title="Checks that found nothing",
    row="a check",
    first=60,
)
NOT_APPLICABLE = Table(
    Columns(text("name looked_at", "Check|Why")),
    title="Checks without a result",
    row="a check",
    first=60,
)
THRESHOLDS = Table(
    Columns(
        text("name", "Threshold"),
        setting("value", "Value", type="number"),
        text("unit reason", "Of|Why"),
    ),
    title="Thresholds",
    row="a threshold",
    first=40,
)
BRANCH_RULES = Table(
    Columns(text("a b rule reason", "Branch|With|Judgement|Why")),
    title="Rules on branches: the first that fits decides",
    row="a rule",
    first=20,
)
EXCLUSIVE = Table(
    Columns(text("nodes severity reason", "Nodes|Severity|Why")),
    title="Nodes that exclude each other",
    row="a rule",
    first=20,
)
COMPANIONS = Table(
    Columns(text("if needs unless source", "Nodes|Need one of|Unless|Rule")),
    title="Nodes that need another",
    row="a rule",
    first=20,
)
WAIVERS = Table(
    Columns(
        text("check covers decision owner reason expires", "Check|Covers|Decision|By|Why|Until"),
        flag("expired", "Expired"),
        whole("used", "Findings"),
    ),
    title="Waivers",
    row="a waiver",
    first=50,
)
MENDED_FINDINGS = Table(
    Columns(
        text("id", "Finding of the reference"),
        text("became", "Now"),
        count("records", "Records changed", of=NONE),
    ),
    title="What was mended",
    row="a finding",
    first=10,
)
MENDED_DECISIONS = Table(
    Columns(text("decision by", "Decision|By"), count("records", "Records", of=NONE)),
    title="Who decided",
    row="a decision",
    first=10,
)
DIGESTS = Table(
    Columns(text("what value", "What|Version or SHA-256")),
    title="Versions and digests",
    row="an input",
    first=20,
)
READ = Columns(
    exact("rows_read", "Rows read", of="rows", reason="a total"),
    count("rows_mapped", "Mapped to a node", of="rows"),
    exact("instances", "Instances", reason="a total"),
    count("instances_without_labels", "Without labels"),
    exact("groups", "Groups", of="groups", reason="a total"),
    count("labels", "Labels", of=NONE),
    whole("repeated_edges", "Repeated edges, counted once"),
)
READ_PREDICTIONS = Columns(
    whole("classes_read classes_mapped", "Classes predicted|Mapped to a node"),
    count("instances_matched", "Predictions with labels"),
    count(
        "predictions_without_labels labels_without_predictions",
        "Predictions without labels|Labels without predictions",
    ),
    text("decision_threshold confusion_threshold", "Score of an answer|Score of a confusion"),
)
TABLES = {
    "tree": TREE,
    "residuals": RESIDUALS,
    "pairs": PAIRS,
    "frequent_pairs": FREQUENT_PAIRS,
    **MODEL,
    "data_beside_model": DATA_BESIDE_MODEL,
}
"""Tables of ``overview``, by name."""

"""The tables of comparisons and of histories: what their rows and columns are, and how shown."""

from __future__ import annotations

from audit.base.declared import (
    NONE,
    Columns,
    Mark,
    Table,
    chance,
    count,
    difference,
    exact,
    key,
    metric,
    node,
    setting,
    share,
    text,
    whole,
)

_FOUND = "findings, which are no persons"
_NODE = node("node", "Node", title="title")
_PAIR = node("a b", "Node|With", title="title_a title_b")
_RATES = (
    *count("support_old support_new"),
    *share("rate_old", "Before", of="support_old of_old"),
    *share("rate_new", "After", of="support_new of_new"),
    *difference("difference", "Points", of="rate_new rate_old", ends="low high", mark=Mark()),
)
_MEANS = chance("mean_old mean_new", "Mean of groups, before|Mean of groups, after")

CAUSES = Table(
    Columns(key("name", "What"), text("changed statement", "|What follows")),
    row="what may make two runs differ",
)
EXCHANGES = Table(
    Columns(
        node("parent", "Below", title="title"),
        text("fewer more", "Used less|Used more"),
        share("moved", "Of the instances", of="support_new of_new", ends="low high", mark=Mark()),
    ),
    title="Siblings of which one is used for the other, while their parent did not change",
    row="an exchange",
)
BRANCHES = Table(
    Columns(_NODE, whole("below", "Nodes below"), _RATES, _MEANS, chance("odds_ratio q_value")),
    title="Branches that changed as a whole, with the nodes below that changed by their factor",
    row="a node with what is below it",
)
NODES = Table(
    Columns(_NODE, _RATES, _MEANS, chance("odds_ratio q_value", "Odds|q")),
    title="Nodes whose use changed most",
    row="a node",
)
PAIRS = Table(
    Columns(
        _PAIR,
        key("relation", "Relation"),
        count("joint_old joint_new", "Before|After"),
        difference("difference", "Points", of="joint_new joint_old", ends="low high", mark=Mark()),
        _MEANS,
        chance(
            "lift_change ratio_old ratio_new nodes_q_value",
            "Lift|Times expected, before|Times expected, after|q",
        ),
    ),
    title="Pairs that changed beyond what their nodes explain",
    row="two nodes",
)
CHECKS = Table(
    Columns(
        text("name", "Check"),
        key("status_old status_new", "Before|After"),
        exact("new gone worse better limit", "New|Gone|Worse|Better|At the limit", reason=_FOUND),
    ),
    title="Checks whose result changed",
    row="a check",
)
FINDINGS = Table(
    Columns(
        key("change", "Change"),
        node("id", "Finding", title="found"),
        count("count_old", "Before", among="of_old"),
        count("count_new", "After", among="of_new"),
        count("of_old of_new"),
        share("effect_old", "Before", of="count_old of_old"),
        share("effect_new", "After", of="count_new of_new"),
        difference(
            "difference", "Points", of="effect_new effect_old", ends="low high", mark=Mark()
        ),
    ),
    title="Findings that changed",
    row="a finding",
    first=25,
)
_MEASURED = (
    *text("title at", "Metric|Of"),
    *text("name"),
    *metric("old", "Before", by="name", n="n_old"),
    *metric("new", "After", by="name", n="n_new"),
    *metric(
        "difference",
        "Difference",
        by="name",
        n="n_new",
        ends="low high",
        unit="points",
        mark=Mark(),
    ),
    *count("n_old n_new"),
)
METRICS = Table(Columns(_MEASURED), title="Metrics over all instances", row="a metric", first=12)
MEASURES = Table(
    Columns(_MEASURED), title="What analyses measured", row="a number of an analysis", first=12
)
EDITS = Table(
    Columns(
        _NODE,
        key("edit", "Edit"),
        text("old new counted_at", "Was|Is|Counted at"),
        count("support_old support_new", "Before|After"),
    ),
    title="Edits of the hierarchy",
    row="a node",
)
RECORDS = Table(
    Columns(
        node("label_old label_new", "Label before|Label now", title="title_old title_new"),
        count("records", "Records", of=NONE),
    ),
    title="Labels that changed on the same records",
    row="a label that records lost, gained, or exchanged for another",
    listed="records",
)
TERMS = Table(
    Columns(
        key("name", "Limit"),
        setting("value", "Value", type="number"),
        text("unit reason", "Of|Why"),
    ),
    title="What counts as a change",
    row="a limit",
)
SIDES = Table(
    Columns(text("what old new", "What|Before|After")), title="The two runs", row="a fact"
)

RUNS = Table(
    Columns(
        setting("run", "Run"),
        text("name day", "Folder|Day"),
        key("status", "Result"),
        exact("instances", "Instances", reason="a total"),
        exact("appeared disappeared persisting not_asked",
              "Listed now|No longer|Persisting|Not asked", reason=_FOUND),
        text("differ", "Differs"),
    ),
    row="a run",
    first=50,
)  # fmt: skip
CHECKS_BY_RUN = Table(
    Columns(text("check", "Check"), setting("run"), exact("found", "Findings", reason=_FOUND)),
    title="Findings by run",
    row="a check",
    across="run",
    first=60,
)
METRICS_BY_RUN = Table(
    Columns(
        text("title at", "Metric|Of"),
        text("name"),
        setting("run"),
        metric("value", "Value", by="name", n="n", ends="low high", mark=Mark()),
        count("n"),
    ),
    title="Metrics by run",
    row="a metric over all instances",
    across="run",
    first=30,
)
CAME_OR_WENT = Table(
    Columns(
        key("severity", "Severity"),
        node("id", "Finding", title="found"),
        setting("first last", "First run|Last"),
        text("states", "From one run to the next"),
    ),
    title="Findings that came or went",
    row="a finding",
    first=25,
)

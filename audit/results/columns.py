"""What the columns of a run's tables are."""

from __future__ import annotations

from audit.base.declared import (
    NONE,
    Columns,
    chance,
    count,
    difference,
    estimate,
    exact,
    factor,
    ratio,
    share,
    text,
    total,
    whole,
)

NODES = Columns(
    text("node title branch branches assignable residual residual_rule"),
    whole("depth height level"),
    count("direct support"),
    chance("group_sum group_squares"),
)
PAIRS = Columns(
    text("a b relation lca found_rank"),
    count("support_a support_b joint joint_entailed"),
    factor("expected", of="support_a support_b"),
    ratio("lift", of="joint expected"),
    factor("expected_length", of="support_a support_b"),
    factor("explained", of="support_a support_b"),
    total("observed", under="joint"),
    total("effective", under="joint"),
    ratio("ratio", of="observed expected_length", effective="effective"),
    ratio(
        "shrunk_ratio", of="observed explained", effective="effective", ends="ratio_low ratio_high"
    ),
    chance("rate p_value q_value group_sum group_squares"),
    count("groups", of="groups", under="joint"),
    estimate("confusion", n="joint", reason="a mean of entropies"),
)
RESIDUALS = Columns(
    text("parent residual"),
    count("k n at_parent"),
    count("groups", of="groups", under="n"),
    count("n_effective", under="n"),
    share("share", of="k n", effective="n_effective", ends="low high"),
)
DRIFT_VALUES = Columns(text("column value"), count("instances"), count("labels", of=NONE))
DRIFT_NODES = Columns(
    text("column value node differs"),
    count("instances of elsewhere of_elsewhere"),
    share("share", of="instances of"),
    share("elsewhere_share", of="elsewhere of_elsewhere"),
    difference("difference", of="share elsewhere_share", ends="low high"),
    chance("p_value q_value smallest worth"),
)
LEDGER = Columns(
    exact("rows_read", of="rows", reason="a total"),
    exact("instances", reason="a total"),
    exact("groups", of="groups", reason="a total"),
    count("rows_mapped", of="rows"),
    count("instances_without_labels"),
    count("labels", of=NONE),
    whole("repeated_edges"),
)
PREDICTIONS = Columns(
    whole("classes_read classes_mapped unknown_classes"),
    count("instances_matched predictions_without_labels labels_without_predictions"),
    text("set_valued single_label confusion_threshold decision_threshold"),
)
MENDED = Columns(
    text("run finding decision by"),
    count("changes records proposals", of=NONE),
)
"""Digest of the reference; per finding of it, decision and decider the labels that were changed and
the records with such; and how many proposals the finding had."""
MODEL_PAIRS = Columns(
    PAIRS.values(),
    count("co_predicted"),
    estimate("confusion_low confusion_high", n="joint", reason="ends of a mean of entropies"),
)

"""evidence_ignored: nodes below which a model looks less at people's evidence than elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray
from audit.checks.check import Check, Limit, Outcome
from audit.disclosure import Quantity, coarse, rounded
from audit.engine.statistics.means import node_means
from audit.explanations.branches import LEAST_INSTANCES, mean_examples
from audit.explanations.measure import ALIGNMENT, MASS, ExplanationMeasurements
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.results.findings import Finding, Part, finding_id

_NAME = "evidence_ignored"
LEAST_GAP = 0.2
"""How much lower the mean C - C_R must be for sure, by its 95 % interval: labels that are named by
other words always differ a little.
"""


def run(measured: Measurements) -> Outcome:
    """Report nodes that are less aligned than all other labels, one of each chain."""
    explained = measured.of(ExplanationMeasurements)
    tested = _tested(explained)
    return Outcome(
        denominator=len(tested),
        denominator_unit="nodes with ten explained instances below them, and ten elsewhere, "
        "by model",
        findings=tuple(_findings(measured, tested)),
        not_applicable=_why_not(explained, tested),
    )


def _why_not(explained: ExplanationMeasurements, tested: pl.DataFrame) -> str:
    if explained.alignment is None or explained.attributions.evidence is None:
        return "no human evidence was given"
    return "" if len(tested) else "no node has ten explained instances, and ten elsewhere"


def _tested(explained: ExplanationMeasurements) -> pl.DataFrame:
    """Rows of all methods together that were tested, one per node and model."""
    return explained.branches.filter(
        pl.col("method").is_null()
        & (pl.col("measure") == ALIGNMENT)
        & pl.col("p_value").is_not_null()
    )


def _findings(measured: Measurements, tested: pl.DataFrame) -> Iterator[Finding]:
    rate = measured.policy.false_discovery_rate.value
    low = tested.filter((pl.col("q_value") <= rate) & (pl.col("difference_high") <= -LEAST_GAP))
    for (model,), rows in low.group_by("model", maintain_order=True):
        examples = mean_examples(measured.of(ExplanationMeasurements).values, ALIGNMENT, str(model))
        into = _folded(examples, rows["node"].to_list(), measured.hierarchy)
        for row in rows.iter_rows(named=True):
            yield _finding(measured, row, into.get(row["node"], ()))


def _folded(
    examples: pl.DataFrame, nodes: list[str], hierarchy: Hierarchy
) -> dict[str, tuple[str, ...]]:
    """The nodes that explain each folded node, the deepest looked at first.

    A node that is still low without the standing nodes below it explains them, and so does one that
    several of them leave hardly an instance of; else they explain it.
    """
    standing: list[str] = []
    into: dict[str, tuple[str, ...]] = {}
    for node in sorted(nodes, key=lambda one: -int(hierarchy.depth[hierarchy.index(one)])):
        below = [one for one in standing if one in hierarchy.descendants(node)]
        if not below or _is_low_without(examples, node, below, hierarchy):
            into |= dict.fromkeys(below, (node,))
            standing = [one for one in standing if one not in below] + [node]
        else:
            into[node] = tuple(below)
    return into


def _is_low_without(
    examples: pl.DataFrame, node: str, without: list[str], hierarchy: Hierarchy
) -> bool:
    left_out = np.logical_or.reduce([_below(examples, one, hierarchy) for one in without])
    rest = examples.filter(~pl.Series(left_out))
    inside = _below(rest, node, hierarchy)
    if rest.filter(pl.Series(inside))["id"].n_unique() < LEAST_INSTANCES:
        return len(without) > 1
    _, cluster = np.unique(rest["id"].to_numpy(), return_inverse=True)
    means = node_means(
        rest["value"].to_numpy(), cluster, csr_array(inside[:, None].astype(np.int64))
    )
    _, high = means.interval
    return bool(high[0] <= -LEAST_GAP)


def _below(examples: pl.DataFrame, node: str, hierarchy: Hierarchy) -> BoolArray:
    nodes = hierarchy.descendants(node, with_self=True)
    return examples["target"].is_in(nodes).to_numpy()


def _finding(measured: Measurements, row: Mapping[str, Any], into: tuple[str, ...]) -> Finding:
    explained, model = measured.of(ExplanationMeasurements), row["model"]
    of_model = f" of {model}" if explained.several_models else ""
    where = measured.hierarchy.describe(measured.hierarchy.index(row["node"]))
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(row["node"],),
        statement=f"Below {where}, the explanations{of_model} agree less with people’s evidence "
        "than elsewhere: Delta-A is {alignment} on {instances} instances with such a label, and "
        "{elsewhere} for other labels.",
        evidence={
            "instances": coarse(row["instances"], explained.instances),
            "alignment": rounded(math.tanh(row["mean"])),
            "elsewhere": rounded(math.tanh(row["rest"])),
            "difference": rounded(row["difference"]),
            "difference_low": rounded(row["difference_low"]),
            "difference_high": rounded(row["difference_high"]),
            "smallest_difference": rounded(row["smallest"]),
            **_mass(explained, row),
            "q_value": Quantity(float(f"{row['q_value']:.0e}")),
            "family": Quantity(row["family"]),
        },
        curator="Look at explained instances of this branch beside their evidence: the model may "
        "use a word that goes with the label in this collection, such as one of a "
        "template, in place of the evidence. Take it out of the texts, or collect texts "
        "without it.",
        data_user="Do not rely on the model here for texts that may lack such words.",
        touched=row["instances"],
        strength=-row["difference"],
        parts=_by_method(explained, row),
        key=(model, row["node"]),
        folded_into=tuple(finding_id(_NAME, model, one) for one in into),
    )


def _row_of(
    explained: ExplanationMeasurements, row: Mapping[str, Any], measure: str
) -> pl.DataFrame:
    return explained.branches.filter(
        (pl.col("node") == row["node"])
        & (pl.col("model") == row["model"])
        & (pl.col("measure") == measure)
    )


def _mass(explained: ExplanationMeasurements, row: Mapping[str, Any]) -> dict[str, Quantity]:
    """Share of scores inside the evidence beyond the share of tokens, here and elsewhere."""
    found = _row_of(explained, row, MASS).filter(pl.col("method").is_null())
    if found.is_empty():
        return {}
    one = found.row(0, named=True)
    return {"mass": rounded(one["mean"]), "mass_elsewhere": rounded(one["rest"])}


def _by_method(explained: ExplanationMeasurements, row: Mapping[str, Any]) -> tuple[Part, ...]:
    methods = _row_of(explained, row, ALIGNMENT).filter(pl.col("method").is_not_null())
    return tuple(
        Part(
            (one["method"],),
            {
                "alignment": rounded(math.tanh(one["mean"])),
                "elsewhere": rounded(math.tanh(one["rest"])),
            },
        )
        for one in methods.sort("difference", "method").iter_rows(named=True)
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with a label at or below the node whose alignment with evidence is defined."""
    examples = mean_examples(measured.of(ExplanationMeasurements).values, ALIGNMENT, finding.key[0])
    below = examples.filter(pl.Series(_below(examples, finding.nodes[0], measured.hierarchy)))
    instances = measured.loaded.dataset.instances["instance"]
    return np.flatnonzero(instances.is_in(below["id"].unique().implode()).to_numpy())


CHECK = Check(
    _NAME,
    "Are there branches where the model looks less at people's evidence than elsewhere?",
    run,
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    reads=ExplanationMeasurements,
    cases=cases,
)

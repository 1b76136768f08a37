"""Checks of explanations: branches where evidence is ignored, methods no better than chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.explanations.agreement import HUMAN
from audit.analyses.explanations.by_node import (
    LEAST_CONCORDANCE,
    LEAST_INSTANCES,
    compared,
    examples_of,
)
from audit.base.dag import BoolArray, IntArray
from audit.base.declared import Columns, chance, count, estimate, mean, setting
from audit.checks.check import Check, Outcome, first_unmet
from audit.engine.statistics.means import smallest_difference
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.results.findings import Finding, Part, finding_id, times_limit

DIGITS = 3
"""Decimals of numbers in evidence."""
EXPLANATIONS = "explanations"
_IGNORED = "evidence_ignored"
_UNIT = "nodes with eleven explained instances below them, and as many elsewhere, by model"


def _run_evidence_ignored(measured: Measurements) -> Outcome:
    """Report nodes whose scores follow evidence less than elsewhere, one of each chain."""
    found = measured.of(EXPLANATIONS)
    table = found.frames["evidence"]
    tested = table.filter(pl.col("p_value").is_not_null())
    return Outcome(
        denominator=len(tested),
        denominator_unit=_UNIT
        + "; others cannot be compared: other lengths or marks" * (len(table) > len(tested)),
        findings=tuple(_findings(measured, tested)),
        not_applicable=first_unmet(("plausibility" in found.frames, "no human evidence was given")),
    )


def _several_models(measured: Measurements) -> bool:
    """Whether nodes are compared of more than one model."""
    return measured.of(EXPLANATIONS).frames["branches"]["model"].n_unique() > 1


def _findings(measured: Measurements, tested: pl.DataFrame) -> Iterator[Finding]:
    rate = measured.policy.false_discovery_rate.value
    low = tested.filter((pl.col("q_value") <= rate) & pl.col("low")).sort("p_value", "node")
    for (model,), rows in low.group_by("model", maintain_order=True):
        own = _examples(measured, str(model))
        into = _folded(own, rows["node"].to_list(), measured.hierarchy)
        for row in rows.iter_rows(named=True):
            yield _ignored(measured, row, into.get(row["node"], ()))


def _examples(measured: Measurements, model: str) -> pl.DataFrame:
    """The examples of a model, as means of all methods."""
    every: pl.DataFrame = measured.of(EXPLANATIONS).behind
    return every.filter((pl.col("model") == model) & pl.col("method").is_null())


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
    found = compared(examples_of(rest), inside)
    return found is not None and found["low"]


def _below(examples: pl.DataFrame, node: str, hierarchy: Hierarchy) -> BoolArray:
    nodes = hierarchy.descendants(node, with_self=True)
    return examples["target"].is_in(nodes).to_numpy()


def _ignored(measured: Measurements, row: Mapping[str, Any], into: tuple[str, ...]) -> Finding:
    model = row["model"]
    of_model = f" of {model}" if _several_models(measured) else ""
    where = measured.hierarchy.describe(measured.hierarchy.index(row["node"]))
    return Finding(
        check=_IGNORED,
        severity="warning",
        nodes=(row["node"],),
        statement=f"Below {where}, the explanations{of_model} follow people’s evidence less than "
        "those of other labels[. Of two tokens, the one that people mark more has the higher score "
        "in {concordance} of the cases, on {instances} instances with such a label][; among texts "
        "and evidence of equal length in {concordance_elsewhere}; guessing would give 0.5].",
        evidence={
            "instances": row["instances"],
            **{name: round(row[column], DIGITS) for name, column in _SHOWN.items()},
            "q_value": float(f"{row['q_value']:.0e}"),
            "family": row["family"],
        },
        curator="Look at explained instances of this branch beside their evidence, and ask whether "
        "its marks were made in the same way: the model may use a word that goes with the label in "
        "this collection, such as one of a template, in place of the evidence. Take it out of the "
        "texts, or collect texts without it.",
        data_user="Do not rely on the model here for texts that may lack such words.",
        touched=row["instances"],
        strength=-row["concordance_difference"],
        beyond=times_limit(-row["concordance_high"], LEAST_CONCORDANCE),
        parts=_by_method(measured, row),
        key=(model, row["node"]),
        folded_into=tuple(finding_id(_IGNORED, model, one) for one in into),
    )


_SHOWN = {
    name: name for one in ("concordance", "marked", "tokens") for name in (one, f"{one}_elsewhere")
} | {
    "concordance_difference": "concordance_difference",
    "concordance_difference_low": "concordance_low",
    "concordance_difference_high": "concordance_high",
}
"""Evidence by the columns of the table that hold it."""


def _by_method(measured: Measurements, row: Mapping[str, Any]) -> tuple[Part, ...]:
    """Concordance of each method, as it is, the lowest first."""
    examples: pl.DataFrame = measured.of(EXPLANATIONS).behind
    of_model = examples.filter((pl.col("model") == row["model"]) & pl.col("method").is_not_null())
    below = pl.Series(_below(of_model, row["node"], measured.hierarchy))
    here, there = (
        dict(of_model.filter(side).group_by("method").agg(pl.col("concordance").mean()).iter_rows())
        for side in (below, ~below)
    )
    names = sorted({*here} & {*there}, key=lambda name: (here[name] - there[name], name))
    return tuple(
        Part(
            (name,),
            {
                "concordance": round(here[name], DIGITS),
                "concordance_elsewhere": round(there[name], DIGITS),
            },
        )
        for name in names
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with a label at or below the node whose evidence can be followed."""
    examples = _examples(measured, finding.key[0])
    below = examples.filter(pl.Series(_below(examples, finding.nodes[0], measured.hierarchy)))
    instances = measured.loaded.dataset.instances["instance"]
    return np.flatnonzero(instances.is_in(below["id"].unique().implode()).to_numpy())


EVIDENCE_IGNORED = Check(
    _IGNORED,
    "In which branches does the model look less at people's evidence than elsewhere?",
    _run_evidence_ignored,
    reads=EXPLANATIONS,
    cases=cases,
    nodes="Node",
    evidence=Columns(
        chance(f"{' '.join(_SHOWN)} q_value family"),
        mean("concordance marked", "In the order of people’s marks", n="instances"),
        count("instances", "Instances"),
        estimate("tokens", n="instances", reason="they have no fixed bounds"),
    ),
    of_parts=Columns(chance("concordance concordance_elsewhere")),
    denominator="untold",
)


_DISAGREE = "methods_disagree"
LEAST_AGREEMENT = 0.05
"""Agreement above chance that is hardly any, where the 95 % interval is below it."""


def _run_methods_disagree(measured: Measurements) -> Outcome:
    """Report pairs of methods whose peaks agree hardly more than random sets of the same sizes."""
    frames = measured.of(EXPLANATIONS).frames
    methods = frames["chosen"].filter(pl.col("method") != HUMAN)["method"].n_unique()
    pairs = frames["agreement"].filter(
        (pl.col("rule") == "dynamic")
        & (pl.col("second") != HUMAN)
        & (pl.col("n") >= LEAST_INSTANCES)
        & pl.col("above_high").is_not_null()
    )
    return Outcome(
        denominator=len(pairs),
        denominator_unit="pairs of attribution methods on eleven instances or more, by model",
        findings=tuple(
            _disagreement(measured, row)
            for row in pairs.filter(pl.col("above_high") <= LEAST_AGREEMENT).iter_rows(named=True)
        ),
        not_applicable=first_unmet((methods > 1, "one method alone was given")),
    )


def _disagreement(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    of_model = f", for {row['model']}" if _several_models(measured) else ""
    low, high, n = row["above_low"], row["above_high"], row["n"]
    return Finding(
        check=_DISAGREE,
        severity="note",
        nodes=(),
        statement=f"{row['first']} and {row['second']} choose the same tokens hardly more often "
        f"than by chance{of_model}[: their peaks have an agreement of {{agreement}}, and "
        "random sets of the same sizes {chance}, on {instances} instances].",
        evidence={
            "instances": n,
            "agreement": round(row["agreement"], DIGITS),
            "chance": round(row["chance_sizes"], DIGITS),
            "above_chance": round(row["above_chance"], DIGITS),
            "above_low": round(low, DIGITS),
            "above_high": round(high, DIGITS),
            "smallest_difference": round(smallest_difference(low, high, n), DIGITS),
            "margin": LEAST_AGREEMENT,
        },
        curator="Find out which of the two follows the model: take the tokens "
        "that each puts first away, and leave the other one out.",
        data_user="Do not show either by itself as the reason for an answer.",
        touched=n,
        strength=max(0.0, LEAST_AGREEMENT - row["above_chance"]),
        beyond=times_limit(high, LEAST_AGREEMENT, below=True),
        key=(row["model"], row["first"], row["second"]),
    )


METHODS_DISAGREE = Check(
    _DISAGREE,
    "Do two attribution methods agree hardly more than by chance?",
    _run_methods_disagree,
    reads=EXPLANATIONS,
    evidence=Columns(
        count("instances"),
        mean("agreement chance", n="instances"),
        mean("above_chance", n="instances", low=-1.0, ends="above_low above_high"),
        estimate("smallest_difference", n="instances", reason="it is half an interval"),
        setting("margin"),
    ),
    denominator="untold",
)

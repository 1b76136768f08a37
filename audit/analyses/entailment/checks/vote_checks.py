"""The check of votes: labels that few of them carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.analyses.entailment.checks.edges import (
    OF_TUPLES,
    edge_of,
    entailment_check,
    quoted_cases,
    with_bounds,
)
from audit.analyses.entailment.declared import ALL
from audit.analyses.entailment.measure import EntailmentMeasurements, entailed_in
from audit.analyses.entailment.votes import CARRYING
from audit.base.declared import Columns, count, setting
from audit.checks.check import Outcome
from audit.measure.measure import Measurements
from audit.results.findings import Finding


def _run_weak_label(measured: Measurements) -> Outcome:
    """Report the weak labels of each relation."""
    weak = entailed_in(measured).frames["quality_weak"]
    relations = weak.filter((pl.col("relation") != ALL) & (pl.col("weak") > 0))
    voted = int(weak.filter(relation=ALL)["tuples"].sum())
    return Outcome(
        denominator=voted,
        denominator_unit="tuples with votes",
        findings=tuple(_weak(measured, row) for row in relations.iter_rows(named=True)),
        not_applicable="" if voted else "no tuple has votes",
    )


def _weak(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    relation, entailed = row["relation"], entailed_in(measured)
    return Finding(
        check=WEAK_LABEL.name,
        severity="error" if row["against"] else "warning",
        nodes=(relation,),
        statement=f"{{tuples}} of {{of}} tuples of {relation} with votes ({{share}}) "
        "{tuples|has|have} less than four fifths of them for the label; {ties} of these "
        f"{{ties|is a tie|are ties}}, and {{against}} {{against|has|have}} most votes against it: "
        f"{quoted_cases(_weakest_first(entailed, relation), _carried)}.",
        evidence={
            "instances": row["weak"],
            **with_bounds("tuples", row["weak"], row["tuples"]),
            "ties": row["ties"],
            "against": row["against"],
            "carrying": CARRYING,
        },
        curator="Have these tuples judged again, and leave out those that stay split.",
        data_user="Leave these tuples out of test sets: a model cannot be right where annotators "
        "do not agree.",
        touched=row["weak"],
        strength=row["share"],
        key=(relation,),
    )


def _carried(case: Mapping[str, Any]) -> str:
    label = "valid" if case["valid"] else "invalid"
    return f"{edge_of(case)} is {label} by {case['for_label']} of {case['votes']} votes"


def _weakest_first(entailed: EntailmentMeasurements, relation: str) -> pl.DataFrame:
    weak = entailed.frames["quality_weak_labels"].filter(relation=relation)
    texts = entailed.dataset.tuples.select("id", "instance", "concept")
    joined = weak.join(texts, on="id", how="left", maintain_order="left")
    return joined.sort(pl.col("for_label") / pl.col("votes"), "row")


WEAK_LABEL = entailment_check(
    "weak_label",
    "Do at least four of five votes support each label?",
    _run_weak_label,
    lambda entailed, finding: _weakest_first(entailed, *finding.key),
    Columns(OF_TUPLES, count("ties against"), setting("carrying")),
    "instances",
)

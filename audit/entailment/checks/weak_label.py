"""weak_label: labels that fewer than four of five votes carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.disclosure import Quantity, coarse, count
from audit.entailment.checks.edges import OF_RELATION, QUOTED, arrows, cases_of, share_of
from audit.entailment.dataset import ALL
from audit.entailment.measure import EntailmentMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import Finding

_NAME = "weak_label"


def run(measured: Measurements) -> Outcome:
    """Report the weak labels of each relation."""
    weak = measured.of(EntailmentMeasurements).quality.weak
    relations = weak.filter((pl.col("relation") != ALL) & (pl.col("weak") > 0))
    voted = int(weak.filter(relation=ALL)["tuples"].sum())
    return Outcome(
        denominator=voted,
        denominator_unit="tuples with votes",
        findings=tuple(_finding(measured, row) for row in relations.iter_rows(named=True)),
        not_applicable="" if voted else "no tuple has votes",
    )


def _finding(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    relation = row["relation"]
    first = _tuples(measured, relation).head(QUOTED)
    said = "; ".join(_case(case) for case in first.iter_rows(named=True))
    return Finding(
        check=_NAME,
        severity="error" if row["against"] else "warning",
        nodes=(relation,),
        statement=f"{{tuples}} of {{of}} tuples of {relation} with votes ({{share}}) "
        "{tuples|has|have} less than four fifths of them for the label; {ties} of these "
        f"{{ties|is a tie|are ties}}, and {{against}} {{against|has|have}} most votes against it: "
        f"{said}.",
        evidence={
            "instances": coarse(row["weak"], measured.n_instances),
            **share_of("tuples", row["weak"], row["tuples"], row),
            "ties": count(row["ties"], row["tuples"]),
            "against": count(row["against"], row["tuples"]),
            "carrying": Quantity(
                measured.of(EntailmentMeasurements).quality.parameters["carrying_share"]
            ),
        },
        curator="Have these tuples judged again, and leave out those that stay split; --fix drops "
        "them, and reverses labels that four of five votes are against.",
        data_user="Leave these tuples out of test sets: a model cannot be right where annotators "
        "do not agree.",
        touched=row["weak"],
        strength=row["share"],
        key=(relation,),
    )


def _case(case: Mapping[str, Any]) -> str:
    label = "valid" if case["valid"] else "invalid"
    edge = arrows((case["instance"], case["concept"]))
    return f"{edge} is {label} by {case['for_label']} of {case['votes']} votes"


def _tuples(measured: Measurements, relation: str) -> pl.DataFrame:
    """Weak tuples of a relation, the weakest first."""
    weak = measured.of(EntailmentMeasurements).quality.weak_labels.filter(relation=relation)
    texts = measured.of(EntailmentMeasurements).dataset.tuples.select("id", "instance", "concept")
    joined = weak.join(texts, on="id", how="left", maintain_order="left")
    return joined.sort(pl.col("for_label") / pl.col("votes"), "row")


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The tuples of the relation whose label is weak."""
    return cases_of(measured, _tuples(measured, *finding.key))


CHECK = Check(
    _NAME,
    "Do at least four of five votes support each label?",
    run,
    reads=EntailmentMeasurements,
    cases=cases,
    columns=OF_RELATION,
)

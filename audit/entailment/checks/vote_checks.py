"""Checks of votes: labels that few of them carry, annotators who agree with the others least."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.checks.check import Limit, Outcome
from audit.disclosure import Quantity, coarse, count, derived
from audit.entailment.checks.edges import (
    edge_of,
    entailment_check,
    quoted,
    quoted_cases,
    share_of,
)
from audit.entailment.dataset import ALL
from audit.entailment.measure import EntailmentMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import SHARE, Column, Finding, times_limit


def _run_weak_label(measured: Measurements) -> Outcome:
    """Report the weak labels of each relation."""
    weak = measured.of(EntailmentMeasurements).quality.weak
    relations = weak.filter((pl.col("relation") != ALL) & (pl.col("weak") > 0))
    voted = int(weak.filter(relation=ALL)["tuples"].sum())
    return Outcome(
        denominator=voted,
        denominator_unit="tuples with votes",
        findings=tuple(_weak(measured, row) for row in relations.iter_rows(named=True)),
        not_applicable="" if voted else "no tuple has votes",
    )


def _weak(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    relation, entailed = row["relation"], measured.of(EntailmentMeasurements)
    return Finding(
        check=WEAK_LABEL.name,
        severity="error" if row["against"] else "warning",
        nodes=(relation,),
        statement=f"{{tuples}} of {{of}} tuples of {relation} with votes ({{share}}) "
        "{tuples|has|have} less than four fifths of them for the label; {ties} of these "
        f"{{ties|is a tie|are ties}}, and {{against}} {{against|has|have}} most votes against it: "
        f"{quoted_cases(_weakest_first(entailed, relation), _carried)}.",
        evidence={
            "instances": coarse(row["weak"], measured.n_instances),
            **share_of("tuples", row["weak"], row["tuples"], row),
            "ties": count(row["ties"], row["tuples"]),
            "against": count(row["against"], row["tuples"]),
            "carrying": Quantity(entailed.quality.parameters["carrying_share"]),
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
    weak = entailed.quality.weak_labels.filter(relation=relation)
    texts = entailed.dataset.tuples.select("id", "instance", "concept")
    joined = weak.join(texts, on="id", how="left", maintain_order="left")
    return joined.sort(pl.col("for_label") / pl.col("votes"), "row")


WEAK_LABEL = entailment_check(
    "weak_label",
    "Do at least four of five votes support each label?",
    _run_weak_label,
    lambda entailed, finding: _weakest_first(entailed, *finding.key),
)


def _run_annotator_outlier(measured: Measurements) -> Outcome:
    """Report annotators whose rate of agreement is too low for chance, at the policy's rate."""
    entailed = measured.of(EntailmentMeasurements)
    tested = entailed.quality.annotators.drop_nulls("q_value")
    rate = measured.policy.false_discovery_rate.value
    found = tested.filter(pl.col("q_value") <= rate).sort("q_value", "annotator")
    return Outcome(
        denominator=len(tested),
        denominator_unit="annotators with enough votes",
        findings=tuple(_outlier(measured, row, len(tested)) for row in found.to_dicts()),
        not_applicable="" if len(tested) else _lacking(entailed),
    )


def _lacking(entailed: EntailmentMeasurements) -> str:
    if entailed.dataset.votes.is_empty():
        return "it is not known who voted"
    least = entailed.quality.parameters["least_compared"]
    return (
        f"fewer than four annotators have {least:.0f} votes on tuples where the others have a "
        "majority"
    )


def _outlier(measured: Measurements, row: Mapping[str, Any], family: int) -> Finding:
    tuples = _dissents(measured.of(EntailmentMeasurements), row["annotator"])
    shares = {
        "share": "rate",
        "low": "low",
        "high": "high",
        "valid_share": "sensitivity",
        "invalid_share": "specificity",
    }
    return Finding(
        check=ANNOTATOR_OUTLIER.name,
        severity="warning",
        nodes=(),
        statement=f"The annotator {quoted(row['annotator'])} agrees with the majority of the "
        "others on {agreeing} of {compared} tuples ({share})[, all others on {others_share}].[ "
        "Dawid and Skene’s model has them find {valid_share} of valid and {invalid_share} of "
        f"invalid tuples.] First disagreements: {quoted_cases(tuples, _dissent)}.",
        evidence={
            "annotator": Quantity(quoted(row["annotator"])),
            "instances": coarse(len(tuples), measured.n_instances),
            "agreeing": count(row["agreeing"], row["compared"]),
            "compared": Quantity(row["compared"]),
            **{name: derived(row[column], "agreeing") for name, column in shares.items()},
            "others_share": derived(row["others"], "agreeing"),
            **{
                name: derived(row[name], "agreeing")
                for name in ("difference", "difference_low", "difference_high")
            },
            "q_value": derived(float(f"{row['q_value']:.0e}"), "agreeing"),
            "family": Quantity(family),
        },
        curator="Read some of these votes: if they show no care, discard all votes of this "
        "annotator and have the tuples judged again; if the others are wrong, keep them.",
        data_user="Count agreement and labels without this annotator too.",
        touched=len(tuples),
        strength=-row["difference"],
        beyond=times_limit(row["high"], row["others"], below=True),
        key=(row["annotator"],),
    )


def _dissent(case: Mapping[str, Any]) -> str:
    return f"{edge_of(case)} is {'valid' if case['vote'] else 'invalid'}"


def _dissents(entailed: EntailmentMeasurements, annotator: str) -> pl.DataFrame:
    """The tuples on which an annotator votes against the majority of the others."""
    votes = entailed.quality.dissents.filter(annotator=annotator)
    against = votes.select("id", vote="valid")
    return entailed.dataset.tuples.join(against, on="id", maintain_order="left")


ANNOTATOR_OUTLIER = entailment_check(
    "annotator_outlier",
    "Does an annotator agree with the others less than all others do?",
    _run_annotator_outlier,
    lambda entailed, finding: _dissents(entailed, *finding.key),
    limits=(Limit("q_value", "<=", "false_discovery_rate"),),
    columns=(
        Column("Annotator", "annotator"),
        SHARE,
        Column("Others", "others_share"),
        Column("With the majority", "agreeing", of="compared"),
    ),
)

"""near_duplicate: heads of one split that are nearly those of another, and repeated tuples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.disclosure import Quantity, coarse, count
from audit.engine.statistics.intervals import wilson
from audit.entailment.checks.edges import OF_RELATION, QUOTED, cases_of, quoted, share_of
from audit.entailment.measure import EntailmentMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import Finding

_NAME = "near_duplicate"
REPEATED = "repeated"
"""Key of the finding of a relation's repeated tuples, beside the relation."""


def run(measured: Measurements) -> Outcome:
    """Report pairs of splits with near duplicates, and relations with repeated tuples.

    Near duplicates none of which shares an instance are a note: splits keep a head and its instance
    together, so that a head may be in two splits with two instances anyway.
    """
    quality = measured.of(EntailmentMeasurements).quality
    near = quality.near.filter(pl.col("near") > 0)
    repeated = quality.repeats["relation"].unique(maintain_order=True).sort()
    return Outcome(
        denominator=measured.of(EntailmentMeasurements).dataset.tuples["head"].n_unique(),
        denominator_unit="heads",
        findings=(
            *(_near(measured, row) for row in near.iter_rows(named=True)),
            *(_repeated(measured, relation) for relation in repeated),
        ),
    )


def _near(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    split, other = row["split"], row["other"]
    heads = _heads(measured, split, other)
    said = "; ".join(
        f"{quoted(one)}, and {quoted(nearly)} in {split}"
        for one, nearly in heads.head(QUOTED).select("head", "other_head").iter_rows()
    )
    tuples = len(_with_near_heads(measured, split, other))
    limit = measured.of(EntailmentMeasurements).quality.parameters["near_similarity"]
    return Finding(
        check=_NAME,
        severity="warning" if row["same_instance"] else "note",
        nodes=(),
        statement=f"{{heads}} of {{of}} heads of the {other} split ({{share}}) {{heads|is|are}} "
        f"nearly a head of the {split} split, {{same_instance}} of them with the same instance: "
        f"{said}.",
        evidence={
            "instances": coarse(tuples, measured.n_instances),
            **share_of("heads", row["near"], row["heads"], row),
            "same_instance": count(row["same_instance"], row["heads"]),
            "similarity": Quantity(limit),
        },
        curator="Put heads that are nearly the same into one split, or keep one of each; --fix "
        "moves those that have an instance in common.",
        data_user=f"Report numbers without these heads of {other} too: a model may know the "
        "answer by heart.",
        touched=tuples,
        strength=row["share"],
        key=(split, other),
    )


def _repeated(measured: Measurements, relation: str) -> Finding:
    repeats = measured.of(EntailmentMeasurements).quality.repeats.filter(relation=relation)
    n = measured.of(EntailmentMeasurements).dataset.tuples.filter(relation=relation).height
    low, high = wilson(len(repeats), n)
    across = int((repeats["split"] != repeats["first_split"]).sum())
    said = "; ".join(
        f"{quoted(again)} repeats {quoted(first)}"
        for again, first in repeats.head(QUOTED).select("id", "first").iter_rows()
    )
    shares = {"share": len(repeats) / n, "low": low, "high": high}
    return Finding(
        check=_NAME,
        severity="error" if across else "warning",
        nodes=(relation,),
        statement=f"{{tuples}} of {{of}} tuples of {relation} ({{share}}) "
        f"{{tuples|repeats|repeat}} an earlier one in all elements and the label, {{across}} of "
        f"them from another split: {said}.",
        evidence={
            "instances": coarse(len(repeats), measured.n_instances),
            **share_of("tuples", len(repeats), n, shares),
            "across": count(across, n),
        },
        curator="Keep the first of each; --fix leaves the others out of its copy.",
        data_user="Drop the repeats before training: they count as if more people had given the "
        "label.",
        touched=len(repeats),
        strength=len(repeats) / n,
        key=(REPEATED, relation),
    )


def _heads(measured: Measurements, split: str, other: str) -> pl.DataFrame:
    heads = measured.of(EntailmentMeasurements).quality.near_heads.filter(split=split, other=other)
    return heads.sort(pl.col("same_instance").not_(), -pl.col("similarity"), "head")


def _with_near_heads(measured: Measurements, split: str, other: str) -> pl.DataFrame:
    heads = _heads(measured, split, other)["head"]
    tuples = measured.of(EntailmentMeasurements).dataset.tuples.filter(split=other)
    return tuples.filter(pl.col("head").is_in(heads.implode()))


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The tuples of the later split under near duplicates, or the repeated tuples."""
    first, second = finding.key
    if finding.nodes:
        return cases_of(
            measured, measured.of(EntailmentMeasurements).quality.repeats.filter(relation=second)
        )
    return cases_of(measured, _with_near_heads(measured, first, second))


CHECK = Check(
    _NAME,
    "Do splits share nearly equal heads, or do tuples repeat others?",
    run,
    reads=EntailmentMeasurements,
    cases=cases,
    columns=OF_RELATION,
)

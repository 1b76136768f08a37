"""head_in_two_splits: heads with the same instance in two splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from audit.base.dag import IntArray
from audit.checks.check import Check, Outcome
from audit.disclosure import coarse
from audit.entailment.checks.edges import QUOTED, cases_of, quoted, share_of
from audit.entailment.content.near_duplicates import KEY, SAME_KEY
from audit.entailment.measure import EntailmentMeasurements
from audit.measure.measure import Measurements
from audit.results.findings import SHARE, Column, Finding

_NAME = "head_in_two_splits"


def run(measured: Measurements) -> Outcome:
    """Report pairs of splits that share a (head, instance)."""
    shared = measured.of(EntailmentMeasurements).quality.shared_keys
    found = shared.filter(pl.col("shared") > 0).iter_rows(named=True)
    return Outcome(
        denominator=len(shared),
        denominator_unit="pairs of splits",
        findings=tuple(_finding(measured, row) for row in found),
        not_applicable="" if len(shared) else "there are no two splits",
    )


def _finding(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    tuples = _tuples(measured, row["split"], row["other"])
    keys = tuples.unique(SAME_KEY, maintain_order=True).head(QUOTED)
    said = "; ".join(
        f"{quoted(head)} with {quoted(instance)}" for head, instance in keys.select(KEY).iter_rows()
    )
    astray = tuples.filter(pl.col("split") != pl.col("home")).height
    return Finding(
        check=_NAME,
        severity="error",
        nodes=(),
        statement=f"{{keys}} of {{of}} heads with an instance in the {row['other']} split "
        f"({{share}}) {{keys|is|are}} in the {row['split']} split too: {said}.",
        evidence={
            "instances": coarse(len(tuples), measured.n_instances),
            **share_of("keys", row["shared"], row["keys"], row),
            "astray": coarse(astray, measured.n_instances),
        },
        curator="Put all tuples of a head and an instance into the split that has most of them; "
        "--fix writes such a copy, and audit entailment split makes new splits.",
        data_user=f"Leave these tuples out of the {row['other']} split before you report a "
        "number: a model has seen the other concepts of the same instance.",
        touched=len(tuples),
        strength=row["share"],
        key=(row["split"], row["other"]),
    )


def _tuples(measured: Measurements, split: str, other: str) -> pl.DataFrame:
    """Tuples in either split whose head and instance are in both."""
    within = measured.of(EntailmentMeasurements).quality.misplaced.filter(
        pl.col("split").is_in([split, other])
    )
    return within.filter(pl.col("split").n_unique().over(SAME_KEY) > 1)


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The tuples of both splits with one of the heads and its instance."""
    return cases_of(measured, _tuples(measured, *finding.key))


CHECK = Check(
    _NAME,
    "Is any head with the same instance in two splits?",
    run,
    reads=EntailmentMeasurements,
    cases=cases,
    columns=(
        Column("Splits", "sentence"),
        SHARE,
        Column("Heads with an instance", "keys", of="of"),
        Column("Tuples", "instances"),
    ),
)

"""Checks of what a dataset holds: unfit elements, splits that share, the generation set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import polars as pl

from audit.analyses.entailment.checks.edges import (
    OF_TUPLES,
    edge_of,
    entailment_check,
    quoted,
    quoted_apart,
    quoted_cases,
    with_bounds,
)
from audit.analyses.entailment.consistency import SAME_KEY
from audit.analyses.entailment.dataset_counts import beyond, wrongly_generated, wrongly_left_out
from audit.analyses.entailment.declared import ALL
from audit.analyses.entailment.measure import EntailmentMeasurements, entailed_in
from audit.base.declared import NONE, Columns, count, share
from audit.checks.check import Outcome
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Measurements
from audit.results.findings import Finding

_MISMATCHES: Mapping[str, str] = MappingProxyType(
    {
        "instance_not_head": "an instance that is not the head",
        "tail_not_concept": "a tail that is not the concept",
        "head_lacks_instance": "an instance that is not a word of the head",
        "tail_repeats_head": "a tail that repeats the head",
        "tail_differs": "a tail that is not the head with its instance replaced by the concept",
    }
)


def _run_tail_mismatch(measured: Measurements) -> Outcome:
    """Report each fault of each relation."""
    entailed = entailed_in(measured)
    found = (
        entailed.frames["quality_consistency"].filter(pl.col("faulty") > 0).iter_rows(named=True)
    )
    return Outcome(
        denominator=entailed.dataset.tuples.height,
        denominator_unit="tuples",
        findings=tuple(_mismatch(measured, row) for row in found),
    )


def _mismatch(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    relation, fault = row["relation"], row["fault"]
    rows = _mismatched(entailed_in(measured), relation, fault)
    return Finding(
        check=TAIL_MISMATCH.name,
        severity="warning",
        nodes=(relation,),
        statement=f"{{tuples}} of {{of}} tuples of {relation} ({{share}}) {{tuples|has|have}} "
        f"{_MISMATCHES[fault]}: {quoted_cases(rows, _unfit)}.",
        evidence={
            "instances": row["faulty"],
            **with_bounds("tuples", row["faulty"], row["tuples"]),
        },
        curator="Find out where the instance was taken from, and correct the head or the instance."
        if fault == "head_lacks_instance"
        else "Look at a few, since the label was given for the text that annotators saw; then "
        "take the proposed text.",
        data_user="Leave these tuples out, or build the tail from the other elements: a model "
        "that reads the tail is asked about another text than the annotators were.",
        touched=row["faulty"],
        strength=row["share"],
        key=(relation, fault),
    )


def _unfit(case: Mapping[str, Any]) -> str:
    column, value, proposed = case["column"], case["value"], case["proposed"]
    if proposed is None:
        return f"{quoted(value)} in {quoted(case['head'])}"
    return f"{column} {' and not '.join(quoted_apart(value, proposed))}"


def _mismatched(entailed: EntailmentMeasurements, relation: str, fault: str) -> pl.DataFrame:
    """The tuples of a relation with a fault."""
    rows = entailed.frames["quality_mismatches"].filter(relation=relation, fault=fault)
    heads = entailed.dataset.tuples.select("id", "head")
    return rows.join(heads, on="id", maintain_order="left")


TAIL_MISMATCH = entailment_check(
    "tail_mismatch",
    "Do the elements of each tuple fit each other?",
    _run_tail_mismatch,
    lambda entailed, finding: _mismatched(entailed, *finding.key),
    Columns(OF_TUPLES),
    "instances",
)


def _run_head_in_two_splits(measured: Measurements) -> Outcome:
    """Report pairs of splits that share a (head, instance)."""
    shared = entailed_in(measured).frames["quality_shared_keys"]
    found = shared.filter(pl.col("shared") > 0).iter_rows(named=True)
    return Outcome(
        denominator=len(shared),
        denominator_unit="pairs of splits",
        findings=tuple(_shared_heads(measured, row) for row in found),
        not_applicable="" if len(shared) else "there are no two splits",
    )


def _shared_heads(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    tuples = _with_shared_key(entailed_in(measured), row["split"], row["other"])
    said = quoted_cases(
        tuples.unique(SAME_KEY, maintain_order=True),
        lambda case: f"{quoted(case['head'])} with {quoted(case['instance'])}",
    )
    astray = tuples.filter(pl.col("split") != pl.col("home")).height
    return Finding(
        check=HEAD_IN_TWO_SPLITS.name,
        severity="error",
        nodes=(),
        statement=f"{{keys}} of {{of}} heads with an instance in the {row['other']} split "
        f"({{share}}) {{keys|is|are}} in the {row['split']} split too: {said}.",
        evidence={
            "instances": len(tuples),
            **with_bounds("keys", row["shared"], row["keys"]),
            "astray": astray,
        },
        curator="Put all tuples of a head and an instance into the split that has most of them, "
        "or split anew by a hash of both.",
        data_user=f"Leave these tuples out of the {row['other']} split before you report a "
        "number: a model has seen the other concepts of the same instance.",
        touched=len(tuples),
        strength=row["share"],
        key=(row["split"], row["other"]),
    )


def _with_shared_key(entailed: EntailmentMeasurements, split: str, other: str) -> pl.DataFrame:
    """Tuples in either split whose head and instance are in both."""
    within = entailed.frames["quality_misplaced"].filter(pl.col("split").is_in([split, other]))
    return within.filter(pl.col("split").n_unique().over(SAME_KEY) > 1)


HEAD_IN_TWO_SPLITS = entailment_check(
    "head_in_two_splits",
    "Is any head with the same instance in two splits?",
    _run_head_in_two_splits,
    lambda entailed, finding: _with_shared_key(entailed, *finding.key),
    Columns(
        count("instances astray"),
        count("keys of", of=NONE),
        share("share", of="keys of", ends="low high"),
    ),
    "whole",
)


def _run_duplicate_tuple(measured: Measurements) -> Outcome:
    """Report relations with repeated tuples."""
    entailed = entailed_in(measured)
    repeated = entailed.frames["quality_repeats"]["relation"].unique(maintain_order=True).sort()
    return Outcome(
        denominator=entailed.dataset.tuples.height,
        denominator_unit="tuples",
        findings=tuple(_repeated(measured, relation) for relation in repeated),
    )


def _repeated(measured: Measurements, relation: str) -> Finding:
    entailed = entailed_in(measured)
    repeats = entailed.frames["quality_repeats"].filter(relation=relation)
    n = entailed.dataset.tuples.filter(relation=relation).height
    across = int((repeats["split"] != repeats["first_split"]).sum())
    said = quoted_cases(
        repeats, lambda case: f"{quoted(case['id'])} repeats {quoted(case['first'])}"
    )
    return Finding(
        check=DUPLICATE_TUPLE.name,
        severity="error" if across else "warning",
        nodes=(relation,),
        statement=f"{{tuples}} of {{of}} tuples of {relation} ({{share}}) "
        f"{{tuples|repeats|repeat}} an earlier one in all elements and the label, {{across}} of "
        f"them from another split: {said}.",
        evidence={
            "instances": len(repeats),
            **with_bounds("tuples", len(repeats), n),
            "across": across,
        },
        curator="Keep the first of each.",
        data_user="Drop the repeats before training: they count as if more people had given the "
        "label.",
        touched=len(repeats),
        strength=len(repeats) / n,
        key=(relation,),
    )


DUPLICATE_TUPLE = entailment_check(
    "duplicate_tuple",
    "Do tuples repeat others?",
    _run_duplicate_tuple,
    lambda entailed, finding: entailed.frames["quality_repeats"].filter(relation=finding.key[0]),
    Columns(OF_TUPLES, count("across")),
    "instances",
)


def _run_generation_mismatch(measured: Measurements) -> Outcome:
    """Report relations whose generation set lacks valid tuples, or has others."""
    table = entailed_in(measured).frames["quality_generation_set"]
    rows = table.filter(table["relation"] != ALL).to_dicts()
    wrong = ("only_detection", "only_generation", "not_valid")
    return Outcome(
        denominator=sum(row["valid"] for row in rows),
        denominator_unit="valid tuples",
        findings=tuple(
            _other_set(measured, row) for row in rows if any(row[name] for name in wrong)
        ),
        not_applicable="" if rows else "no generation set was given",
    )


def _other_set(measured: Measurements, row: Mapping[str, Any]) -> Finding:
    relation, lacking, valid = row["relation"], row["only_detection"], row["valid"]
    low, high = wilson(lacking, valid) if valid else (0.0, 1.0)
    shares = {"share": lacking / valid if valid else 0.0, "low": low, "high": high}
    others = row["only_generation"] + row["not_valid"]
    return Finding(
        check=GENERATION_MISMATCH.name,
        severity="warning",
        nodes=(relation,),
        statement=f"The generation set lacks {{lacking}} of {{of}} valid tuples of {relation} "
        "({share}), and has {more} that are not valid tuples of the detection set."
        + "".join(_first_cases(entailed_in(measured), relation)),
        evidence={
            "instances": lacking,
            "lacking": lacking,
            "of": valid,
            **shares,
            "more": others,
        },
        curator="Make the generation set anew from the valid tuples.",
        data_user="Take the references from the detection set, and leave out tuples that it does "
        "not have.",
        touched=lacking,
        strength=(lacking + others) / max(valid + others, 1),
        key=(relation,),
    )


def _first_cases(entailed: EntailmentMeasurements, relation: str) -> Iterator[str]:
    """The first tuple that is lacking, and the first that is too much, as sentences."""
    for said, differing in (("lacking", wrongly_left_out), ("too much", beyond)):
        tuples = differing(entailed.dataset, entailed.positives).filter(relation=relation)
        for row in tuples.head(1).iter_rows(named=True):
            yield f" The first that is {said}: {edge_of(row)} in {quoted(row['head'])}."


def _differing(entailed: EntailmentMeasurements, finding: Finding) -> pl.DataFrame:
    """The valid tuples that the generation set lacks, and the denied ones that it has."""
    return pl.concat(
        of(entailed.dataset, entailed.positives).filter(relation=finding.key[0])
        for of in (wrongly_left_out, wrongly_generated)
    )


GENERATION_MISMATCH = entailment_check(
    "generation_mismatch",
    "Does the generation set hold exactly the valid tuples of the detection set?",
    _run_generation_mismatch,
    _differing,
    Columns(
        count("instances lacking of"),
        share("share", of="lacking of", ends="low high"),
        count("more", of=NONE),
    ),
    "instances",
)

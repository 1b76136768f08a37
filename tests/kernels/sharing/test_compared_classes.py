"""What a comparison shares is a function of told counts, and of what tests chose."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import polars as pl
import pytest

from audit.base.declared import Columns
from audit.results.compared import RECORDS
from audit.results.result import AuditResult, to_json_bytes
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import Comparison, compare_runs
from audit.runs.compare.models import ModelChanges
from audit.runs.compare.records import RecordChanges
from audit.runs.compare.told import EDITS, columns_of
from audit.runs.instances import instance_frame
from fixtures.labelled import labelled, tree
from fixtures.moved_counts import moved, moved_frame
from fixtures.predicted import predicted
from tests.kernels.sharing.test_equal_classes import first_difference

LEAVES = ("asthma", "cough", "other_lung", "attack", "angina", "saw")
OLD = tree("asthma cough other_lung < lung", "attack angina < heart", "lung heart saw < top",
           titles={"other_lung": "Other lung disease"}, labelled_ancestors="fault")  # fmt: skip
NEW = tree("asthma cough other_lung < lung", "attack angina flu < heart", "lung heart saw < top",
           titles={"other_lung": "Other lung disease"}, labelled_ancestors="fault")  # fmt: skip
KINDS = ("plain", "groups", "edited", "model", "kept")


def _run(seed: int, kind: str, weights: list[int]) -> AuditResult:
    chance = Random(seed)
    ids = [f"i{n}" for n in range(500 + 40 * seed)]
    sets = {one: [*{*chance.choices(LEAVES, weights, k=chance.randint(0, 3))}] for one in ids}
    for one in ids[: 30 * seed]:
        sets[one] = ["lung", "asthma"]
    groups = {one: f"g{chance.randint(0, 300)}" for one in ids} if kind == "groups" else None
    tree_ = NEW if kind == "edited" and seed > 1 else OLD
    data = labelled(tree_, sets, groups=groups, persons=True)
    if kind not in ("model", "kept"):
        return run_audit(data)
    scores = {one: {chance.choice([*own, *LEAVES[:seed]]): 0.9, "saw": 0.2}
              for one, own in sets.items()}  # fmt: skip
    made = predicted(data, scores)
    run = run_audit(data, predictions=made)
    return replace(run, instances=instance_frame(data, made).lazy()) if kind == "kept" else run


@cache
def comparison(kind: str) -> Comparison:
    """A comparison of two releases of persons, in which much changed."""
    return compare_runs(_run(1, kind, [9, 7, 8, 6, 2, 1]), _run(2, kind, [3, 9, 20, 6, 6, 1]))


def other_members(of: Comparison, seed: int) -> Comparison:
    """The same comparison, with another member of the class of each count."""
    chance, rounding = Random(seed), of.told.rounding

    def table(exact: pl.DataFrame, columns: Columns) -> pl.DataFrame:
        kept = exact.select(name for name in exact.columns if name in columns)
        return moved_frame(kept, columns, rounding, seed)

    def count(n: int | None, side: str) -> int | None:
        told = None if n is None else rounding.count(n, side)
        return n if told is None else chance.randint(*rounding.bins(side).ends(told))

    def found(row: dict[str, Any]) -> dict[str, Any]:
        if row["of_all"] is None:
            return row
        counts = ["count_old", "count_new", *(() if row["of_all"] else ("of_old", "of_new"))]
        moved = {name: count(row[name], name[-3:]) for name in counts}
        return row | moved | {"p_value": 0.5, "low": 0.0, "high": 1.0}

    def models(one: ModelChanges) -> ModelChanges:
        names = ("common", "scores_differ", "answers_differ")
        return replace(one, **{name: count(getattr(one, name), "old") for name in names})

    def records(one: RecordChanges) -> RecordChanges:
        counts = {name: count(getattr(one, name), "old") for name in ("common", "changed")}
        return replace(one, labels=table(one.labels, RECORDS.columns), **counts)

    findings = map(found, of.findings.iter_rows(named=True))
    return replace(
        of,
        old=moved(of.old, seed),
        new=moved(of.new, seed + 100),
        edits=table(of.edits, EDITS),
        model=of.model and models(of.model),
        records=of.records and records(of.records),
        nodes=table(of.nodes, columns_of("support")),
        pairs=table(of.pairs, columns_of("joint")),
        findings=pl.DataFrame(list(findings), of.findings.schema),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_comparisons_of_equal_classes_share_equal_bytes(kind: str) -> None:
    told = comparison(kind).shared()
    assert told["exchanges"]
    assert kind == "groups" or told["totals"]["worse"]
    assert kind != "kept" or told["records"]["rows"]
    for seed in range(6):
        other = other_members(comparison(kind), seed)
        assert not other.nodes.equals(comparison(kind).nodes)
        differing = first_difference(told, other.shared())
        assert not differing, (seed, differing)
        assert to_json_bytes(other.shared()) == to_json_bytes(told), seed

"""What is proposed: planted faults get their code back, or have it among their candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import audit
from audit import AuditResult
from audit.checks import CHECKS
from audit.checks.shared.proposals import PROPOSED
from fixtures.coded import icd9cm

CODES = {"cardiac": ["401.9", "427.31", "428.0", "414.01"], "sugar": ["250.00", "272.4", "585.9"]}
EVERY = [code for own in CODES.values() for code in own]
BESIDE = ["038.9", "008.45", "486", "599.0"]
"""Codes that say nothing of the two kinds of records."""


def release(n: int, seed: int) -> dict[str, list[str]]:
    """Records of two kinds: most codes of each are of its kind."""
    draws = np.random.default_rng(seed)
    found = {}
    for number in range(n):
        kind = list(CODES)[number % 2]
        weights = [4 if code in CODES[kind] else 1 for code in EVERY]
        some = draws.choice(EVERY, 3, replace=False, p=np.array(weights) / sum(weights))
        found[f"r{number}"] = [*some, *draws.choice(BESIDE, 2, replace=False)]
    return found


def audited(records: dict[str, list[str]], **read: Any) -> AuditResult:
    rows = [(one, label) for one, own in records.items() for label in own]
    frame = pl.DataFrame(rows, schema=["id", "label"], orient="row")
    return audit.run_audit(audit.load_labels(frame, icd9cm(), **read))


def proposed(result: AuditResult) -> pl.DataFrame:
    assert result.proposals is not None
    return result.proposals.collect()


def test_zeros_that_were_lost_are_put_back_for_certain() -> None:
    records = release(400, 1)
    damaged = {"008.45": "8.45"}
    records |= {
        one: [damaged.get(label, label) for label in own] for one, own in list(records.items())[:60]
    }

    certain = proposed(audited(records)).filter(pl.col("certainty") == "certain")

    truth = {(one, new): old for one, own in records.items() for old, new in damaged.items()}
    found = {(row["instance"], row["label"]): row["proposed"] for row in certain.to_dicts()}
    planted = {(one, x) for one, own in records.items() for x in own if x in damaged.values()}
    assert planted
    assert {key: truth[key] for key in planted} == found


def test_where_zeros_were_lost_no_heading_is_surely_one() -> None:
    """389 is a heading, or what is left of 038.9, 42 what is left of 042 rather than a slip of 412;
    7054 is no code, so that zeros were lost."""
    records = {one: [x.replace(".", "") for x in own] for one, own in release(400, 1).items()}
    for number in range(2, 9):
        records[f"r{number}"] += ["07054", "042"]
        records[f"r{number + 50}"] += ["412"]
    lost = {one: [label.lstrip("0") for label in own] for one, own in records.items()}

    found = proposed(audited(lost))

    truth = {(one, x.lstrip("0")): x for one, own in records.items() for x in own if x[0] == "0"}
    rows = [row for row in found.to_dicts() if (row["instance"], row["label"]) in truth]
    sure = [row for row in rows if row["certainty"] != "review"]
    assert {(row["label"], row["proposed"]) for row in sure} == {("7054", "07054")}
    asked = [row for row in rows if row not in sure]
    assert {row["label"] for row in asked} <= {"389", "845", "42"}
    assert all(truth[row["instance"], row["label"]] in row["candidates"] for row in asked)


def test_a_heading_beside_its_padded_form_surely_lost_its_zero_and_a_slip_is_never_sure() -> None:
    """Among many labels that are no code, zeros are not lost everywhere; 0389 stands in the column,
    and 4O19 is one edit from 4019."""
    records = {one: [x.replace(".", "") for x in own] for one, own in release(200, 2).items()}
    records |= {f"r{number}": ["0389", "4280"] for number in range(20)}
    records |= {f"r{number}": ["389", "4O19", "4280"] for number in range(20, 30)}

    rows = proposed(audited(records)).to_dicts()

    sure = {(row["label"], row["proposed"]) for row in rows if row["certainty"] == "certain"}
    asked = [row for row in rows if row["label"] == "4O19"]
    assert sure == {("389", "0389")}
    assert asked
    assert {row["certainty"] for row in asked} == {"review"}
    assert all("4019" in (row["candidates"] or [row["proposed"]]) for row in asked)


def test_of_a_label_that_a_record_repeats_one_stays_for_certain() -> None:
    records = release(50, 2)
    records["r1"] = ["401.9", "401.9", "401.9", "428.0"]

    (row,) = (r for r in proposed(audited(records)).to_dicts() if r["instance"] == "r1")

    assert (row["label"], row["change"], row["certainty"]) == ("401.9", "remove", "certain")
    assert row["keep"] == 1


def test_a_catch_all_is_no_proposal_a_record() -> None:
    records = {f"r{number}": ["285.9", "272.0"] for number in range(200)}

    result = audited(records)

    assert any(check.name == "residual_overuse" and check.findings for check in result.checks)
    assert proposed(result).is_empty()


def test_a_label_above_another_one_is_to_go_and_nothing_else() -> None:
    records = release(100, 3)
    records["r1"] = ["250.00", "250", "401.9"]

    found = proposed(audited(records)).filter(pl.col("certainty") == "certain")

    assert found.select("instance", "label", "change").rows() == [("r1", "250", "remove")]


@pytest.mark.parametrize("check", [one for one in CHECKS if one.proposes], ids=lambda one: one.name)
def test_a_check_proposes_for_instances_that_are_behind_its_finding(
    check: Any, sample_run: AuditResult
) -> None:
    found = proposed(sample_run)
    assert sample_run.cases is not None
    cases = sample_run.cases.with_columns(pl.col("finding").cast(pl.String)).collect()
    of_check = found.filter(pl.col("finding").str.starts_with(f"{check.name}:"))

    assert found.schema == {"finding": pl.String, **PROPOSED, "instance": pl.String}
    behind = of_check.join(cases, on=["finding", "instance"], how="anti")
    assert behind.is_empty()


@pytest.fixture(scope="module")
def sample_run() -> AuditResult:
    records = release(300, 4)
    records["r1"] = ["250.00", "250", "250.00", "38.9", "4O1.9"]
    return audited(records)

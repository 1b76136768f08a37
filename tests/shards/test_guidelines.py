"""Rules of the ICD-9-CM guidelines on real records: a plain search finds the same records."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from fixtures.checked import CHECK_OF
from fixtures.coded import icd9cm
from fixtures.guideline_cases import APART, MISSING, admissions, with_planted
from fixtures.labelled import labelled
from fixtures.registered import Check, Measurements, built_in_policy, measure

DATA = os.environ.get("AUDIT_DATA", "")
pytestmark = pytest.mark.skipif(not DATA, reason="AUDIT_DATA names no folder with the releases")


@cache
def records() -> dict[str, list[str]]:
    return with_planted(admissions(Path(DATA) / "mimic-iii-demo" / "DIAGNOSES_ICD.csv"))


@cache
def measured() -> Measurements:
    hierarchy = icd9cm()
    dataset = labelled(hierarchy, records(), positions=True, table="diagnoses")
    return measure(dataset, built_in_policy("icd9cm"))


def found(check: Check, beginning: str) -> set[str]:
    """The records behind the findings whose ids begin so, notes on their order left out."""
    own = measured()
    ids = own.loaded.dataset.instances["instance"].to_list()
    assert check.cases
    return {
        ids[i]
        for finding in check.run(own).findings
        if finding.id.startswith(f"{check.name}:{beginning}") and "order" not in finding.key
        for i in check.cases(own, finding).tolist()
    }


@pytest.mark.parametrize("node", MISSING)
def test_records_without_a_companion_are_those_of_a_plain_search(node: str) -> None:
    meant = {name for name, codes in records().items() if MISSING[node](codes)}
    broken = {name for name in records() if name.startswith(f"broken:{node}:")}

    assert found(CHECK_OF["missing_companion"], f"{node}:") == meant
    assert broken <= meant
    assert not any(name.startswith(f"near:{node}:") for name in meant)


@pytest.mark.parametrize("sides", APART)
def test_records_with_codes_kept_apart_are_those_of_a_plain_search(sides: str) -> None:
    meant = {name for name, codes in records().items() if APART[sides](codes)}

    assert found(CHECK_OF["sibling_exclusive"], sides.replace(",", "%2C")) == meant


def test_without_planted_records_the_demo_breaks_five_rules_ten_times() -> None:
    own = {name: codes for name, codes in records().items() if ":" not in name}
    broken = {node: sum(map(asks, own.values())) for node, asks in MISSING.items()}

    assert len(own) == 129
    assert {node: times for node, times in broken.items() if times} == {
        "403.01": 2,
        "785.52": 1,
        "707.0": 3,
        "800-804": 2,
    }
    assert {sides: sum(map(both, own.values())) for sides, both in APART.items()} == {
        "401:585": 2,
        **dict.fromkeys(list(APART)[1:], 0),
    }

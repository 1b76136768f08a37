"""missing_companion: which instances lack what a rule asks for, by hand and by a plain search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit.measure.measure import Measurements, measure
from audit.measure.rule_book import at_or_below
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.policy.rules import Companion
from audit.policy.statements import CodeDates, Spell
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.coded import icd9cm, icd10cm
from fixtures.guideline_cases import APART, BROKEN, MISSING, NEAR, admissions, with_planted
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["missing_companion"]
EXCLUSIVE = CHECK_OF["sibling_exclusive"]

BODY = tree("a b c d < top", "a1 a2 < a", "b1 b2 < b", "both < a1", "both < b1")
DATES = CodeDates(column="day", file="dates.csv", spells=(Spell("a", None, None),))


def rule(asks: Any, needs: Any, **more: Any) -> Companion:
    return Companion.model_validate({"if": asks, "needs": needs, "source": "A book.", **more})


def measured(
    labels: Mapping[str, Sequence[str]], *rules: Companion, days: Mapping[str, str] | None = None
) -> Measurements:
    strata = None if days is None else {"day": days}
    dataset = labelled(BODY, labels, positions=True, strata=strata)
    dates = None if days is None else DATES
    return measure(dataset, Policy(companions=rules, code_dates=dates))


def checked(
    labels: Mapping[str, Sequence[str]], *rules: Companion, days: Mapping[str, str] | None = None
) -> CheckResult:
    return CHECK.run(measured(labels, *rules, days=days))


def kinds(found: CheckResult) -> dict[tuple[str, ...], tuple[str, int]]:
    """Severity and instances of each finding, by what its key says beside the rule."""
    return {f.key[2:]: (f.severity, f.touched) for f in found.findings}


@pytest.mark.parametrize(
    ("position", "labels", "misplaced"),
    [
        ("before", ["b1", "c", "a1"], False),
        ("before", ["a1", "b1"], True),
        ("before", ["a2", "b1", "a1"], True),
        ("before", ["b1", "a1", "b2"], False),
        ("after", ["a1", "b1"], False),
        ("after", ["b1", "a1"], True),
        ("after", ["b1", "a1", "b2"], False),
        ("any", ["b1", "a1"], False),
    ],
)
def test_a_companion_in_the_wrong_place_is_a_note(
    position: str, labels: list[str], misplaced: bool
) -> None:
    found = checked({"x": labels}, rule("a", "b", position=position))

    assert kinds(found) == ({("order",): ("note", 1)} if misplaced else {})


DAYS = {"w": "2005-09-30", "x": "2005-10-01", "y": "2007-10-01", "z": "2007-09-30"}


def dated(**more: Any) -> Companion:
    return rule("a", "b", valid_from=date(2005, 10, 1), valid_to=date(2007, 9, 30), **more)


def test_a_rule_holds_from_its_first_to_its_last_day() -> None:
    labels = {instance: ["a1"] for instance in "vwxyz"}
    found = measured(labels, dated(), days=DAYS)
    result = CHECK.run(found)

    assert kinds(result) == {("missing",): ("warning", 2), ("missing", "undated"): ("note", 1)}
    assert [CHECK.cases(found, f).tolist() for f in result.findings if CHECK.cases] == [[2, 4], [0]]
    assert result.denominator == 3
    assert "It holds from 2005-10-01 to 2007-09-30" in result.findings[1].statement


def test_without_true_days_what_began_on_a_day_is_a_note() -> None:
    labels = {"x": ["a1"], "y": ["a1", "b1"]}

    assert kinds(checked(labels, dated(severity="error"))) == {("missing", "undated"): ("note", 1)}
    assert kinds(checked(labels, dated(position="before"))) == {
        ("missing", "undated"): ("note", 1),
        ("order", "undated"): ("note", 1),
    }


# --- the guidelines for ICD-9-CM --------------------------------------------------------------

SAMPLE = Path(__file__).parents[3] / "sample_data" / "release_1" / "DIAGNOSES_ICD.csv"


@cache
def records() -> dict[str, list[str]]:
    return with_planted(admissions(SAMPLE))


@cache
def guideline_audit() -> Measurements:
    hierarchy = icd9cm()
    dataset = labelled(hierarchy, records(), positions=True, table="diagnoses")
    return measure(dataset, built_in_policy("icd9cm"))


def found_by(node: str) -> set[str]:
    """The records that a finding on the rule of this node names."""
    own = guideline_audit()
    ids = own.loaded.dataset.instances["instance"].to_list()
    findings = [f for f in CHECK.run(own).findings if f.key[0] == node and f.key[2] == "missing"]
    assert CHECK.cases
    return {ids[i] for finding in findings for i in CHECK.cases(own, finding).tolist()}


def test_every_rule_has_its_cases() -> None:
    rules = {rule.asking[0] for rule in built_in_policy("icd9cm").companions}

    assert rules == set(MISSING) == set(BROKEN) == set(NEAR)


@cache
def leaves() -> dict[str, int]:
    """Every diagnosis as a file writes it, with its node."""
    hierarchy = guideline_audit().hierarchy
    procedures = set(hierarchy.descendants("00-99", with_self=True))
    names = ((i, hierarchy.nodes[i]) for i in np.flatnonzero(hierarchy.leaf))
    return {node.replace(".", ""): int(i) for i, node in names if node not in procedures}


@pytest.mark.parametrize("node", MISSING)
def test_each_code_asks_and_is_enough_where_a_plain_search_says_so(node: str) -> None:
    hierarchy = guideline_audit().hierarchy
    (one,) = (r for r in built_in_policy("icd9cm").companions if r.asking[0] == node)
    asking, needed = (at_or_below(hierarchy, side) for side in one.sides)
    asks = {code for code, i in leaves().items() if asking[i]}
    some = min(asks)

    assert asks == {code for code in leaves() if MISSING[node]([code])}
    assert {code for code, i in leaves().items() if needed[i]} == {
        code for code in leaves() if not MISSING[node]([some, code])
    }


@pytest.mark.parametrize("node", MISSING)
def test_planted_violations_are_found_and_near_misses_are_not(node: str) -> None:
    found = found_by(node)
    broken = {name for name in records() if name.startswith(f"broken:{node}:")}
    near = {name for name in records() if name.startswith(f"near:{node}:")}

    assert all(MISSING[node](records()[name]) for name in broken)
    assert not any(MISSING[node](records()[name]) for name in near)
    assert broken <= found
    assert not near & found
    assert found == {name for name, codes in records().items() if MISSING[node](codes)}


@pytest.mark.parametrize("beginning", APART)
def test_codes_that_the_guidelines_keep_apart_are_found(beginning: str) -> None:
    planted = {
        "401:585": (["4019", "5859"], ["40391", "5859"]),
        "401:402,403,404": (["4019", "40290"], ["40390", "5853"]),
        "042:795.71,V08": (["042", "V08"], ["V08", "79579"]),
        "491,492,493:496": (["496", "49121"], ["490", "496"]),
        "250.0:": (["25000", "25060", "3572"], ["25000", "24900"]),
    }[beginning]
    dataset = labelled(icd9cm(), dict(zip("ab", planted, strict=True)))
    told = [f.id for f in EXCLUSIVE.run(measure(dataset, built_in_policy("icd9cm"))).findings]
    meant = f"sibling_exclusive:{beginning}".replace(",", "%2C")

    assert [APART[beginning](record) for record in planted] == [True, False]
    assert sum(name.startswith(meant) for name in told) == 1
    assert len(told) == 1


@pytest.mark.slow
def test_icd10cm_asks_for_the_stage_and_for_what_underlies() -> None:
    hierarchy = icd10cm()
    records = {
        "a": ["I129", "E119"],
        "b": ["I129", "N183"],
        "c": ["E1122", "N189"],
        "d": ["D631"],
        "e": ["D631", "N186"],
        "f": ["R6520", "A419"],
    }
    dataset = labelled(hierarchy, records, positions=True, table="diagnoses-10")
    found = CHECK.run(measure(dataset, built_in_policy("icd10cm")))

    assert {(f.key[0], *f.key[2:]): (f.severity, f.touched) for f in found.findings} == {
        ("I12.9", "missing"): ("note", 1),
        ("D63.1", "missing"): ("warning", 1),
        ("D63.1", "order"): ("note", 1),
    }
    assert all(f"note at {f.key[0]}: “" in f.statement for f in found.findings)

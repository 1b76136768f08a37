"""unknown_code: refused labels, and kept ones that no complete list holds."""

from __future__ import annotations

import pytest

from audit.checks.rules.codes import LOOKED_UP
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.coded import icd9cm, measured
from fixtures.labelled import labelled

CHECK = CHECK_OF["unknown_code"]


def checked(hierarchy: Hierarchy, labels: dict[str, list[str | None]], **given: str) -> CheckResult:
    return CHECK.run(measure(labelled(hierarchy, labels, **given), Policy()))  # type: ignore[arg-type]


def test_labels_that_are_no_nodes_are_one_error(toy_hierarchy: Hierarchy) -> None:
    labels = {"a": ["elf", "elf", "cow"], "b": ["elf", "orc"], "c": [None, "dog"]}
    found = checked(toy_hierarchy, labels)  # type: ignore[arg-type]
    (finding,) = found.findings

    assert found.status == "fail"
    assert (found.denominator, found.denominator_unit) == (7, LOOKED_UP)
    assert finding.id == "unknown_code:refused"
    assert finding.evidence == {
        "rows": 4, "of": 7, "share": 4 / 7, "labels": 2,
    }  # fmt: skip
    assert [(p.nodes, p.evidence["instances"]) for p in finding.parts] == [
        (("elf",), 2),
        (("orc",), 1),
    ]
    assert finding.touched == 4


def test_known_labels_pass(toy_hierarchy: Hierarchy) -> None:
    assert checked(toy_hierarchy, {"a": ["cow", "object"]}).status == "pass"


def test_a_missing_label_is_not_an_unknown_one(toy_hierarchy: Hierarchy) -> None:
    assert checked(toy_hierarchy, {"a": ["cow", None]}).status == "pass"


@pytest.mark.parametrize(
    ("code", "table"),
    [("718.60", "diagnoses"), ("401.9", "diagnoses"), ("36.01", "procedures")],
)
def test_a_code_that_a_dated_list_lacks_is_left_to_retired_code(code: str, table: str) -> None:
    assert checked(icd9cm(), {"a": [code]}, table=table).status == "pass"


def test_ten_labels_are_shown_and_all_are_counted(toy_hierarchy: Hierarchy) -> None:
    (finding,) = checked(toy_hierarchy, {"a": [f"elf {n:02}" for n in range(14)]}).findings

    assert [part.nodes for part in finding.parts] == [(f"elf {n:02}",) for n in range(10)]
    assert finding.evidence["labels"] == 14


def test_rows_of_a_classification_without_a_list_are_counted_beside() -> None:
    some = {"diagnoses": {"a": ["4019", "xyz"]}, "procedures-10": {"a": ["0SRB04Z"] * 3}}
    found = [check.run(measured(some)) for check in (CHECK, CHECK_OF["malformed_code"])]
    alone = measured({"procedures-10": {"a": ["0SRB04Z"] * 3}})
    none = [check.run(alone) for check in (CHECK, CHECK_OF["malformed_code"])]

    for result in found:
        assert result.denominator == 2
    assert [finding.evidence["of"] for finding in found[1].findings] == [2]
    for result in none:
        assert (result.status, result.denominator) == ("pass", 0)

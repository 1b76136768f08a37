"""retired_code: codes that the list of an edition lacks, told by no other check."""

from __future__ import annotations

from audit.checks import lost_zero, unknown_code, wrong_table
from audit.checks.retired_code import CHECK
from audit.hierarchy import Hierarchy
from audit.measure import measure
from audit.policy import Policy
from fixtures.coded import icd9cm_and_procedures, measured
from fixtures.labelled import labelled


def test_a_code_that_stands_in_no_list_of_the_edition_is_a_note() -> None:
    found = CHECK.run(measured({"diagnoses": {"a": ["2509", "4019"], "b": ["25094", "25094"]}}))
    (finding,) = found.findings

    assert (finding.id, finding.severity) == ("retired_code:unlisted", "note")
    assert (found.denominator, found.denominator_unit) == (4, "rows")
    assert finding.evidence["rows"].value == 2
    assert [part.nodes for part in finding.parts] == [("250.94",)]
    assert "version 32 (FY2015)" in finding.statement
    assert "may have been valid when coded" in finding.statement


def test_assignable_codes_and_headings_are_none() -> None:
    labels = ["486", "4019", "0414", "2765", "585", "V3000", "E8120", "496"]

    assert CHECK.run(measured({"diagnoses": {"a": labels}})).status == "pass"


def test_procedures_are_left_to_unknown_code() -> None:
    asked = measured({"procedures": {"a": ["3601", "3606"]}}, icd9cm_and_procedures())

    assert CHECK.run(asked).status == "pass"
    (finding,) = unknown_code.CHECK.run(asked).findings
    assert (finding.id, finding.nodes) == ("unknown_code:unlisted", ("36.01",))


def test_no_label_is_told_by_two_checks() -> None:
    """A lost zero, a code of the other table, a retired one, and a procedure without a list."""
    tables = {
        "diagnoses": {"a": ["42", "0389", "3893", "25094", "000", "N/A", "4019", "4280"]},
        "procedures": {"a": ["3601", "3893", "0331"]},
    }
    asked = measured(tables, icd9cm_and_procedures())
    checks = (unknown_code.CHECK, lost_zero.CHECK, wrong_table.CHECK, CHECK)
    told = {
        finding.id: {part.nodes[0] for part in finding.parts}
        for check in checks
        for finding in check.run(asked).findings
    }

    assert told == {
        "unknown_code:refused": {"000"},
        "unknown_code:unlisted": {"36.01"},
        "lost_zero:diagnoses": {"42"},
        "wrong_table:diagnoses": {"3893"},
        "retired_code:unlisted": {"250.94"},
    }


def test_it_does_not_apply_without_an_edition(toy_hierarchy: Hierarchy) -> None:
    found = CHECK.run(measure(labelled(toy_hierarchy, {"a": ["cow"]}), Policy()))

    assert "no edition" in found.not_applicable
    assert CHECK.run(measured({"diagnoses": {"a": []}})).not_applicable == "no row was read"

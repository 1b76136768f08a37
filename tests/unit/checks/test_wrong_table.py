"""wrong_table: rows that are a code of the other table alone, and tables that are the other."""

from __future__ import annotations

import pytest

from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.coded import Tables, icd9cm, measured, of_release
from fixtures.labelled import labelled
from fixtures.synthetic import WrongTable, icd9cm_usage, make_release, with_procedures

CHECK = CHECK_OF["wrong_table"]


def checked(tables: Tables) -> CheckResult:
    return CHECK.run(measured(tables))


def test_a_procedure_among_diagnoses_is_found() -> None:
    found = checked({"diagnoses": {"a": ["4019", "3893", "25000"], "b": ["3893", "0389"]}})
    (finding,) = found.findings

    assert (finding.id, finding.severity) == ("wrong_table:diagnoses", "warning")
    assert (found.denominator, found.denominator_unit) == (5, "rows of a known table")
    assert finding.evidence == {"rows": 2, "of": 5, "share": 0.4, "labels": 1}
    assert finding.parts[0].nodes == ("3893",)
    assert (
        finding.parts[0].evidence["may_stand_for"]
        == "Venous catheterization, not elsewhere classified (38.93)"
    )


def test_a_diagnosis_among_procedures_is_found() -> None:
    rows = {"a": ["3606", "25000", "3893"], "b": ["V3000", "3893", "0331"]}
    (finding,) = checked({"procedures": rows}).findings

    assert finding.id == "wrong_table:procedures"
    assert {part.nodes for part in finding.parts} == {("25000",), ("V3000",)}


HERE = {
    "diagnoses": {
        "3606": "a heading as 360.6",
        "9999": "valid as 999.9",
        "4011": "valid as 401.1",
        "99999": "a code of no table",
    },
    "procedures": {"3606": "valid as 36.06", "3896": "a code of no table"},
    None: {"3606": "its table is not known"},
}


def test_only_what_is_no_code_here_and_valid_there_is_found() -> None:
    tables = {table: {"a": [*labels, "3893"]} for table, labels in HERE.items()}
    (finding,) = checked(tables).findings

    assert (finding.id, finding.nodes) == ("wrong_table:diagnoses", ("3893",))


def test_most_rows_of_a_table_are_one_error_about_the_table() -> None:
    tables = {"diagnoses": {"a": ["3893", "8856", "4019"]}, "procedures": {"a": ["3606"]}}
    (finding,) = checked(tables).findings

    assert (finding.id, finding.severity) == ("wrong_table:all%20diagnoses", "error")
    assert finding.evidence == {"rows": 2, "of": 3, "share": 2 / 3, "labels": 2}


def test_the_fewer_of_the_malformed_labels_may_be_slips() -> None:
    """3893 is refused among diagnoses, as are labels that are a code of no table."""
    slips = ["99999", "99998"]
    (finding,) = checked({"diagnoses": {"a": ["3893", slips[0], "4019", "25000"]}}).findings

    assert finding.aside
    assert not checked({"diagnoses": {"a": ["3893", *slips, "4019", "25000"]}}).findings


def test_exactly_half_of_a_table_is_not_most() -> None:
    (finding,) = checked({"diagnoses": {"a": ["3893", "4019"]}}).findings

    assert finding.id == "wrong_table:diagnoses"


def test_headings_count_where_the_table_is_asked_about() -> None:
    """3606 stands as the heading 360.6; in a table of which most is foreign it is one more."""
    rows = {"a": ["3606", "3606", "3893", "4019"]}
    (finding,) = checked({"diagnoses": rows}).findings

    assert finding.id == "wrong_table:all%20diagnoses"
    assert finding.evidence["rows"] == 3


def test_exchanged_tables_are_two_errors() -> None:
    tables = {
        "procedures": {"a": ["25000", "4019", "V3000"]},
        "diagnoses": {"a": ["3606", "3893", "8856"]},
    }

    assert [finding.id for finding in checked(tables).findings] == [
        "wrong_table:all%20diagnoses",
        "wrong_table:all%20procedures",
    ]


def test_a_code_that_only_labels_speak_for_is_not_valid() -> None:
    """No list holds 88.99; that another row uses it as a procedure proves nothing."""
    tables = {"diagnoses": {"a": ["8899"]}, "procedures": {"a": ["8899"]}}

    assert CHECK.run(measured(tables)).status == "pass"


@pytest.mark.slow
def test_rows_planted_in_a_synthetic_release_are_found_where_they_do_not_fit() -> None:
    hierarchy = with_procedures(icd9cm())
    usage = icd9cm_usage(hierarchy, seed=5, diagnoses=1500)
    clean, faulty = (
        make_release(hierarchy, instances=1000, seed=5, usage=usage, faults=faults)
        for faults in ((), (WrongTable(count=80),))
    )
    rewritten = set(faulty.planted[0].rewritten)
    labels = [label for row, label in faulty.rows.select("row", "label").iter_rows()
              if row in rewritten]  # fmt: skip
    procedures = {code.replace(".", "") for code in icd9cm().nodes if code[2:3] == "."}
    foreign = sum(label.replace(".", "") not in procedures for label in labels)
    (finding,) = CHECK.run(of_release(faulty)).findings

    assert CHECK.run(of_release(clean)).status == "pass"
    assert 0 < foreign < 80
    assert finding.evidence["rows"] == foreign


def test_it_does_not_apply_where_no_row_names_its_table(toy_hierarchy: Hierarchy) -> None:
    toy = CHECK.run(measure(labelled(toy_hierarchy, {"a": ["cow"]}), Policy()))
    long = CHECK.run(measured({None: {"a": ["401.9"]}}))

    assert "one code set" in toy.not_applicable
    assert "no row says" in long.not_applicable
    assert toy.status == long.status == "not_applicable"

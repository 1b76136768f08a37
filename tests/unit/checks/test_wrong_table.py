"""wrong_table: rows that are a code of the other table alone, and tables that are the other."""

from __future__ import annotations

import pytest

from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.coded import Tables, icd9cm, measured, of_release
from fixtures.synthetic import WrongTable, icd9cm_usage, make_release, with_procedures

CHECK = CHECK_OF["wrong_table"]


def checked(tables: Tables) -> CheckResult:
    return CHECK.run(measured(tables))


def test_a_diagnosis_among_procedures_is_found() -> None:
    rows = {"a": ["3606", "25000", "3893"], "b": ["V3000", "3893", "0331"]}
    (finding,) = checked({"procedures": rows}).findings

    assert finding.id == "wrong_table:procedures"
    assert {part.nodes for part in finding.parts} == {("25000",), ("V3000",)}


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

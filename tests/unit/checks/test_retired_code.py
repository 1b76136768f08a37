"""retired_code: codes that the list of an edition lacks, told by no other check."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import polars as pl

from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import ICD9Coding
from audit.hierarchies.reading import load_hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.statements import CodeDates, Spell
from fixtures.checked import CHECK_OF
from fixtures.coded import SPELLS, icd9cm, in_tables, measured, on_days
from fixtures.labelled import labelled

CHECK = CHECK_OF["retired_code"]


def test_a_code_that_stands_in_no_list_of_the_edition_is_a_note() -> None:
    found = CHECK.run(measured({"diagnoses": {"a": ["2509", "4019"], "b": ["71860", "71860"]}}))
    (finding,) = found.findings

    assert (finding.id, finding.severity) == ("retired_code:unlisted", "note")
    assert (found.denominator, found.denominator_unit) == (4, "rows")
    assert finding.evidence["rows"] == 2
    assert [part.nodes for part in finding.parts] == [("718.60",)]
    assert finding.parts[0].evidence["valid"] == "FY1997 to FY2011"
    assert "that version 32 (FY2015) does not list, though other" in finding.statement


def test_assignable_codes_and_headings_are_none() -> None:
    labels = ["486", "4019", "0414", "2765", "585", "V3000", "E8120", "496"]

    assert CHECK.run(measured({"diagnoses": {"a": labels}})).status == "pass"


def test_procedures_are_asked_of_the_edition_too() -> None:
    (finding,) = CHECK.run(measured({"procedures": {"a": ["3601", "3606"]}})).findings

    assert (finding.id, finding.nodes) == ("retired_code:unlisted", ("36.01",))


def test_no_label_is_told_by_two_checks() -> None:
    """A lost zero, a code of the other table, retired ones and one that never was valid."""
    tables = {
        "diagnoses": {"a": ["42", "0389", "3893", "71860", "V99", "N/A", "4019", "4280"]},
        "procedures": {"a": ["3601", "3893", "0331"]},
    }
    asked = measured(tables)
    checks = (
        CHECK_OF["unknown_code"],
        CHECK_OF["malformed_code"],
        CHECK_OF["lost_zero"],
        CHECK_OF["wrong_table"],
        CHECK,
    )
    told = {
        finding.id: {part.nodes[0] for part in finding.parts}
        for check in checks
        for finding in check.run(asked).findings
    }

    assert told == {
        "malformed_code:refused": {"42", "V99", "3893", "N/A"},
        "lost_zero:diagnoses": {"42"},
        "wrong_table:diagnoses": {"3893"},
        "retired_code:unlisted": {"718.60", "36.01"},
    }


def test_it_does_not_apply_without_an_edition(toy_hierarchy: Hierarchy) -> None:
    found = CHECK.run(measure(labelled(toy_hierarchy, {"a": ["cow"]}), Policy()))

    assert "neither an edition" in found.not_applicable
    assert CHECK.run(measured({"diagnoses": {"a": []}})).status == "pass"


# --- with code dates ----------------------------------------------------------------------------


def test_a_code_is_judged_on_its_day() -> None:
    """585 was valid to September 2005, 585.6 from then to September 2015; 718.60 has no dates.

    i1 to i3: 585.6 too early, in time, too late. i4, i5: 585 in time, and late with nothing left
    below. i6: 585 as a heading, which is told by another check. i7: no day. i8: no dates.
    """
    found = CHECK.run(
        on_days(
            ("i1", "5856", "2004-03-01"), ("i2", "585.6", "2005-10-01"),
            ("i3", "5856", "2015-10-01"), ("i4", "585", "2005-09-30"), ("i5", "585", "2016-01-01"),
            ("i6", "585", "2005-10-01"), ("i7", "5856", None), ("i8", "71860", "2004-03-01"),
            spells=SPELLS,
        )
    )  # fmt: skip
    on_day, unlisted = found.findings

    assert (on_day.id, on_day.severity) == ("retired_code:on%20their%20day", "warning")
    assert on_day.evidence == {
        "rows": 3, "of": 6, "share": 0.5, "labels": 2, "column": "day", "not_dated": 2,
    }  # fmt: skip
    assert [(part.nodes, part.evidence["instances"]) for part in on_day.parts] == [
        (("585.6",), 2),
        (("585",), 1),
    ]
    assert on_day.parts[0].evidence["valid"] == "2005-10-01 to 2015-09-30"
    assert (unlisted.id, unlisted.severity) == ("retired_code:unlisted", "note")
    assert {**unlisted.evidence, "share": None} == {
        "rows": 1, "of": 8, "share": None, "labels": 1, "not_dated": 2,
    }  # fmt: skip
    assert (found.denominator, found.status) == (8, "warn")


def test_an_unlisted_code_that_was_valid_on_its_day_is_no_finding() -> None:
    spells = (Spell("71860", None, date(2005, 9, 30)),)
    measured = on_days(("i", "718.60", "2004-03-01"), spells=spells)

    assert CHECK.run(measured).status == "pass"


def test_a_code_of_the_wrong_table_is_not_told_as_retired() -> None:
    spells = (Spell("389.3", None, date(2005, 9, 30)),)
    without_years = replace(icd9cm(), coding=ICD9Coding())
    dataset = in_tables(without_years, {"diagnoses": {"a": ["3893"]}})
    days = dataset.instances.with_columns(day=pl.lit("2010-01-01"))
    dates = CodeDates(column="day", file="d.csv", spells=spells)
    measured = measure(replace(dataset, instances=days), Policy(code_dates=dates))

    assert measured.validity["on_day"].to_list() == ["invalid"]
    assert CHECK.run(measured).findings == ()
    assert [finding.nodes for finding in CHECK_OF["wrong_table"].run(measured).findings] == [
        ("3893",)
    ]


def test_dates_are_enough_without_an_edition(toy_hierarchy: Hierarchy) -> None:
    spells = (Spell("cow", None, date(2005, 9, 30)),)
    measured = on_days(("a", "cow", "2006-01-01"), spells=spells, hierarchy=toy_hierarchy)
    (finding,) = CHECK.run(measured).findings

    assert finding.nodes == ("cow",)


ONTOLOGY = """[Term]
id: T:0
name: root
[Term]
id: T:1
name: one
is_a: T:0
alt_id: T:9
[Term]
id: T:2
name: two
is_a: T:0
[Term]
id: T:5
is_obsolete: true
replaced_by: T:2
[Term]
id: T:6
is_obsolete: true
consider: T:1
consider: T:2
[Term]
id: T:7
is_obsolete: true
"""


def test_labels_that_the_hierarchy_retired_are_told_with_their_successors(tmp_path: Path) -> None:
    (tmp_path / "toy.obo").write_text(ONTOLOGY)
    hierarchy = load_hierarchy(tmp_path / "toy.obo")
    labels = {"a": ["T:1", "T:9"], "b": ["T:5"], "c": ["T:6", "T:2"], "d": ["T:7"], "e": ["T:8"]}
    dataset = labelled(hierarchy, labels)
    counted = measure(dataset, Policy())

    (finding,) = CHECK.run(counted).findings

    assert (finding.id, finding.severity) == ("retired_code:replaced", "warning")
    assert {part.nodes[0]: part.evidence["may_stand_for"] for part in finding.parts} == {
        "T:5": "two (T:2)",
        "T:6": "one (T:1) or two (T:2)",
        "T:7": "nothing that the hierarchy names",
        "T:9": "one (T:1)",
    }
    assert {
        "rows": 4,
        "of": 7,
        "labels": 4,
        "kept": 2,
        "refused": 2,
    }.items() <= finding.evidence.items()
    assert dict(dataset.ledger.refused) == {"unknown_code": 1, "retired_code": 2}
    assert CHECK.cases is not None
    assert CHECK.cases(counted, finding).tolist() == [0, 1, 2, 3]
    (unknown,) = CHECK_OF["unknown_code"].run(counted).findings
    assert [part.nodes[0] for part in unknown.parts] == ["T:8"]


def test_a_hierarchy_that_retired_labels_passes_where_none_is_used(tmp_path: Path) -> None:
    (tmp_path / "toy.obo").write_text(ONTOLOGY)
    counted = measure(labelled(load_hierarchy(tmp_path / "toy.obo"), {"a": ["T:1"]}), Policy())
    assert CHECK.run(counted).status == "pass"

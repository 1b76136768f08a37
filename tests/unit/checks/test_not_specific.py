"""not_specific: labels at headings of a complete list, never an assignable code."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import date

import polars as pl
import pytest

from audit.checks.rules.not_specific import CHECK
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9cm import DATA
from audit.measure.measure import measure
from audit.policy.code_dates import Spell
from audit.policy.policy import Policy
from audit.results.findings import Finding
from fixtures.coded import SPELLS, icd9cm, measured, on_days
from fixtures.labelled import labelled, tree


def values(finding: Finding) -> dict[str, object]:
    return {name: quantity.value for name, quantity in finding.evidence.items()}


def test_a_label_at_a_heading_is_a_note() -> None:
    labels = {"a": ["0414", "2765", "4019"], "b": ["0414", "585"], "c": ["486", "N/A"]}
    found = CHECK.run(measured({"diagnoses": labels}))
    (finding,) = found.findings

    assert (finding.id, finding.severity) == ("not_specific:diagnoses", "note")
    assert (found.denominator, found.denominator_unit) == (7, "rows")
    assert {name: q.value for name, q in finding.evidence.items()} == {
        "rows": 4, "of": 7, "share": 4 / 7, "labels": 3,
    }  # fmt: skip
    assert [part.nodes for part in finding.parts] == [("041.4",), ("276.5",), ("585",)]
    assert "not assignable in version 32 (FY2015)" in finding.statement


@pytest.fixture(scope="module")
def published() -> pl.DataFrame:
    return pl.read_csv(gzip.decompress(DATA.read_bytes()), infer_schema=False)


def one_each(codes: pl.Series) -> dict[str, list[str]]:
    return {f"i{number:05}": [code] for number, code in enumerate(codes)}


@pytest.mark.slow
def test_no_assignable_code_of_the_list_is_ever_found(published: pl.DataFrame) -> None:
    codes = published.filter(pl.col("assignable") == "true")["node"]

    assert codes.str.len_chars().eq(3).sum() > 50
    assert CHECK.run(measured({"diagnoses": one_each(codes)})).status == "pass"


def test_every_heading_of_the_list_is_found(published: pl.DataFrame) -> None:
    shape = r"^(?:\d{3}|V\d{2}|E\d{3})(?:\.\d)?$"
    headings = published.filter(
        (pl.col("assignable") == "false") & pl.col("node").str.contains(shape)
    )["node"]
    (finding,) = CHECK.run(measured({"diagnoses": one_each(headings)})).findings

    assert finding.evidence["rows"].value == len(headings) > 1000


def test_a_range_as_a_label_is_a_heading_too() -> None:
    (finding,) = CHECK.run(measured({None: {"a": ["390-459", "4019"]}})).findings

    assert finding.nodes == ("390-459",)


def test_an_unlisted_code_below_a_code_makes_it_no_heading() -> None:
    assert CHECK.run(measured({"diagnoses": {"a": ["4019", "40199"]}})).status == "pass"


def test_procedures_are_told_apart_and_only_with_a_list() -> None:
    tables = {"procedures": {"a": ["360", "3606"]}, "diagnoses": {"a": ["585"]}}
    diagnoses_alone = replace(icd9cm(), complete_tables=frozenset({"diagnoses"}))
    with_list = CHECK.run(measured(tables)).findings
    without = CHECK.run(measured(tables, diagnoses_alone)).findings

    assert [finding.id for finding in with_list] == [
        "not_specific:diagnoses",
        "not_specific:procedures",
    ]
    assert [finding.id for finding in without] == ["not_specific:diagnoses"]


def test_it_does_not_apply_to_no_row_nor_to_one_node() -> None:
    edges = pl.DataFrame(schema={"child": pl.String, "parent": pl.String})
    single = Hierarchy.build(edges, pl.DataFrame({"node": ["only"]}), name="one")
    found = CHECK.run(measure(labelled(single, {"a": ["only"]}), Policy()))

    assert "one node" in found.not_applicable
    assert CHECK.run(measured({"diagnoses": {"a": []}})).not_applicable == "no row was read"


# --- roots, of any hierarchy --------------------------------------------------------------------

TERMS = tree("a b c d < part", "e f < process", "part process < top", "other < top")


def test_instances_with_no_label_but_a_root_are_told() -> None:
    labels = {"i": ["top"], "j": ["top", "part"], "k": ["top", "a"], "l": ["process"], "m": []}
    found = CHECK.run(measure(labelled(TERMS, labels), Policy()))
    (finding,) = found.findings

    assert (finding.id, finding.severity) == ("not_specific:uninformative", "note")
    assert values(finding) == {
        "instances": 2, "of": 4, "share": 0.5, "labels": 4, "of_labels": 6, "label_share": 4 / 6,
    }  # fmt: skip
    assert [(p.nodes, p.evidence["instances"].value) for p in finding.parts] == [
        (("top",), 3),
        (("part",), 1),
    ]


def test_of_several_roots_each_is_one() -> None:
    roots = tree("a b < part", "c d e f < process", "g < function")
    labels = {"i": ["part", "process"], "j": ["part", "c"], "k": ["function"], "l": ["g"]}
    measured_roots = measure(labelled(roots, labels), Policy())
    (finding,) = CHECK.run(measured_roots).findings

    assert finding.evidence["instances"].value == 2
    assert CHECK.cases
    assert CHECK.cases(measured_roots, finding).tolist() == [0, 2]


def test_specific_labels_alone_pass() -> None:
    found = CHECK.run(measure(labelled(TERMS, {"i": ["top", "a"], "j": ["process"]}), Policy()))

    assert (found.status, found.denominator) == ("pass", 3)


def test_with_a_complete_list_headings_are_told_once() -> None:
    (finding,) = CHECK.run(measured({"diagnoses": {"a": ["001-999"]}})).findings

    assert finding.id == "not_specific:diagnoses"


# --- with code dates ----------------------------------------------------------------------------


def test_a_heading_is_judged_on_its_day() -> None:
    """585 was valid to September 2005, 585.6 from then to September 2015.

    i1: in time. i2, i3: late, with 585.6 valid below it. i4: later than both, told by another
    check. i5: no day. i6: 250.9 is a heading of the list, and has no dates.
    """
    found = CHECK.run(
        on_days(
            ("i1", "585", "2005-09-30"), ("i2", "585", "2005-10-01"), ("i3", "585", "2015-09-30"),
            ("i4", "585", "2015-10-01"), ("i5", "585", None), ("i6", "2509", "2010-01-01"),
            spells=SPELLS,
        )
    )  # fmt: skip
    on_day, listed = found.findings

    assert (on_day.id, on_day.severity) == ("not_specific:on%20their%20day", "warning")
    assert values(on_day) == {
        "rows": 2, "of": 4, "share": 0.5, "labels": 1, "column": "day", "not_dated": 2,
    }  # fmt: skip
    assert on_day.nodes == ("585",)
    assert on_day.parts[0].evidence["valid"].value == "1979-01-01 to 2005-09-30"
    assert (listed.id, listed.severity, set(listed.nodes)) == (
        "not_specific:diagnoses",
        "note",
        {"585", "250.9"},
    )
    assert values(listed) == {"rows": 2, "of": 6, "share": 2 / 6, "labels": 2, "not_dated": 2}
    assert (found.denominator, found.status) == (6, "warn")


def test_a_retired_code_below_makes_a_heading_of_its_day() -> None:
    """250.94 stands in no list, and was valid in 2004."""
    spells = (Spell("250.9", date(2006, 1, 1), None), Spell("250.94", None, date(2005, 9, 30)))
    (finding,) = CHECK.run(on_days(("i", "2509", "2004-01-01"), spells=spells)).findings

    assert finding.severity == "warning"


def test_every_row_valid_on_its_day_passes() -> None:
    spells = (Spell("585", None, None),)

    assert CHECK.run(on_days(("i", "585", "2010-01-01"), spells=spells)).status == "pass"

"""not_specific: labels at headings of a complete list, never an assignable code."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

from audit.checks.not_specific import CHECK
from audit.hierarchies.icd9cm import DATA
from audit.hierarchy import Hierarchy
from audit.measure import measure
from audit.policy import Policy
from fixtures.coded import icd9cm_and_procedures, measured
from fixtures.labelled import labelled


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
    with_list = CHECK.run(measured(tables, icd9cm_and_procedures())).findings
    without = CHECK.run(measured(tables)).findings

    assert [finding.id for finding in with_list] == [
        "not_specific:diagnoses",
        "not_specific:procedures",
    ]
    assert "the list of procedures at hand" in with_list[1].statement
    assert [finding.id for finding in without] == ["not_specific:diagnoses"]


def test_it_does_not_apply_without_a_complete_list(toy_hierarchy: Hierarchy) -> None:
    found = CHECK.run(measure(labelled(toy_hierarchy, {"a": ["pet"]}), Policy()))

    assert "no complete list" in found.not_applicable
    assert CHECK.run(measured({"diagnoses": {"a": []}})).not_applicable == "no row was read"

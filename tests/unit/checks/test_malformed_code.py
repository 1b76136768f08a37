"""malformed_code: only where there are rules for the shape of a label."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import audit
from audit.counting.residual_nodes import residual_nodes
from audit.hierarchies.icd.icd9 import ICD9Coding
from audit.hierarchies.titles import read_titles, with_titles
from audit.measure.measure import measure
from audit.policy.policy import Policy
from fixtures.checked import CHECK_OF
from fixtures.coded import icd9cm
from fixtures.labelled import labelled

CHECK = CHECK_OF["malformed_code"]


def test_labels_without_the_shape_of_a_code_are_one_error() -> None:
    labels = {"a": ["4019", "40I9"], "b": ["hypertension", "000.9"], "c": ["40I9"]}
    found = CHECK.run(measure(labelled(icd9cm(), labels, table="diagnoses"), Policy()))
    (finding,) = found.findings

    assert (found.status, finding.severity) == ("fail", "error")
    assert found.denominator == 5
    assert {"rows": 4, "labels": 3, "never_valid": 1}.items() <= finding.evidence.items()
    assert finding.nodes == ("40I9", "000.9", "hypertension")


NEVER = {
    "icd9cm": ["250.99", "V45.99", "000.1", "V99", "E812.97", "36.08"],
    "icd10cm": ["N17.O", "K35.7777", "J18XYZ9", "I10ZZZZ", "E11QQ", "U99.9", "B20.1"],
}
ONCE = {"icd9cm": ["36.01", "3605", "718.60", "V23.6"], "icd10cm": ["T81.4XXA", "h4011x0"]}


@pytest.mark.parametrize("name", ["icd9cm", "icd10cm"])
def test_a_code_of_no_edition_is_refused_and_one_of_an_earlier_edition_is_kept(name: str) -> None:
    labels = {"a": NEVER[name], "b": ONCE[name]}
    counted = measure(labelled(audit.load_hierarchy(name), labels), Policy())
    (never,) = CHECK.run(counted).findings
    (retired,) = CHECK_OF["retired_code"].run(counted).findings

    assert never.severity == "error"
    assert f"no edition from FY{1997 if name == 'icd9cm' else 2014} to" in never.statement
    of_who = 1 if name == "icd10cm" else None
    assert (never.evidence.get("of_who"), "of the WHO" in never.statement) == (
        of_who, bool(of_who)
    )  # fmt: skip
    assert set(counted.counts.refusals["label"]) == set(NEVER[name])
    assert counted.ledger.rows_mapped == len(ONCE[name])
    assert retired.severity == "note"
    assert all("FY" in str(part.evidence["valid"]) for part in retired.parts)
    assert CHECK_OF["unknown_code"].run(counted).status == "pass"
    assert CHECK.cases is not None
    assert CHECK.cases(counted, never).tolist() == [0]


def test_a_code_of_no_edition_is_kept_where_a_dictionary_lists_it(tmp_path: Path) -> None:
    path = tmp_path / "local.csv"
    path.write_text("code,title\n250.99,Ours\n")
    hierarchy = with_titles(icd9cm(), [read_titles(path)])
    counted = measure(labelled(hierarchy, {"a": ["250.99", "250.98"]}), Policy())

    assert set(counted.counts.refusals["label"]) == {"250.98"}


def test_without_a_list_of_years_a_code_below_a_leaf_is_kept_and_not_residual() -> None:
    without_years = replace(icd9cm(), coding=ICD9Coding())
    dataset = labelled(without_years, {"a": ["401.99", "401.9", "428.98"]})
    residual = residual_nodes(dataset.hierarchy, Policy())

    assert dataset.ledger.rows_mapped == 3
    assert dataset.hierarchy.index("401.99") not in residual
    assert dataset.hierarchy.index("401.9") in residual

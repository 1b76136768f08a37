import csv
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.hierarchies.coding import Placement
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import (
    ICD9,
    TABLES,
    dotted,
    nearest_prefix,
    prefixes,
    readings,
    table_of,
)
from fixtures.coded import icd9cm

REAL = os.environ.get("AUDIT_DATA")
needs_data = pytest.mark.skipif(not REAL, reason="AUDIT_DATA does not name the folder of real data")

HIERARCHY = icd9cm()

tables = st.sampled_from([*TABLES, None])
diagnoses = st.from_regex(
    r"([0-9]{3}|V[0-9]{2})(\.[0-9]{1,2})?|E[0-9]{3}(\.[0-9])?", fullmatch=True
)
procedures = st.from_regex(r"[0-9]{2}(\.[0-9]{1,2})?", fullmatch=True)
labels = st.text() | st.text("0123456789.VEve -", max_size=8) | diagnoses | procedures


@pytest.mark.parametrize(
    ("written", "table", "code"),
    [
        ("4019", "diagnoses", "401.9"),
        ("401.9", "diagnoses", "401.9"),
        (" v3000 ", "diagnoses", "V30.00"),
        ("e8120", "diagnoses", "E812.0"),
        ("E030", "diagnoses", "E030"),
        ("0031", "diagnoses", "003.1"),
        ("0031", "procedures", "00.31"),
        ("042", "diagnoses", "042"),
        ("3605", "procedures", "36.05"),
        ("36", "procedures", "36"),
    ],
)
def test_the_dot_goes_where_the_table_says(written: str, table: str, code: str) -> None:
    assert dotted(written, table) == code


@given(st.text(), st.sampled_from(TABLES))
def test_spelling_is_idempotent(code: str, table: str) -> None:
    assert dotted(dotted(code, table), table) == dotted(code, table)


@given(diagnoses, procedures)
def test_with_dots_diagnoses_and_procedures_never_collide(diagnosis: str, procedure: str) -> None:
    assert diagnosis != procedure
    assert (table_of(diagnosis), table_of(procedure)) == TABLES


@given(diagnoses)
def test_a_diagnosis_survives_the_loss_of_its_dot(code: str) -> None:
    assert readings(code.replace(".", ""), "diagnoses") == (code,)


@given(procedures)
def test_a_procedure_survives_the_loss_of_its_dot(code: str) -> None:
    assert readings(code.replace(".", ""), "procedures") == (code,)


@given(diagnoses | procedures)
def test_prefixes_shorten_down_to_the_category(code: str) -> None:
    above = prefixes(code)
    assert all(code.startswith(prefix) for prefix in above)
    assert [len(prefix) for prefix in above] == sorted({len(p) for p in above}, reverse=True)
    assert above[-1:] == ((code.partition(".")[0],) if "." in code else ())


def test_the_nearest_prefix_is_the_longest_that_is_a_node() -> None:
    assert nearest_prefix("250.01", {"250", "250.0"}) == "250.0"
    assert nearest_prefix("250.01", {"250"}) == "250"
    assert nearest_prefix("250", {"250"}) is None


@given(labels, tables)
def test_placing_is_total(label: str, table: str | None) -> None:
    found = ICD9.place(label, table, HIERARCHY)
    assert (found.node is None) == (found.reason is not None)
    assert found.parent is None or found.parent in HIERARCHY
    assert (found.node in HIERARCHY) == (found.node is not None and found.parent is None)


@given(labels, tables)
def test_a_placed_label_stays_where_it_is(label: str, table: str | None) -> None:
    found = ICD9.place(label, table, HIERARCHY)
    if found.node is not None:
        assert ICD9.place(found.node, None, HIERARCHY) == found


@pytest.mark.parametrize(
    ("label", "table", "placement"),
    [
        ("4019", "diagnoses", Placement("401.9")),
        ("250.0", None, Placement("250.0")),
        ("001-009", None, Placement("001-009")),
        ("585", "diagnoses", Placement("585")),
        ("4010", None, Placement("401.0")),
        ("4002", None, Placement("40.02", "40.0")),
        ("36", None, Placement("36")),
        ("36.05", None, Placement("36.05", "36.0")),
        ("3606", "procedures", Placement("36.06")),
        ("250.09", "diagnoses", Placement("250.09", "250.0")),
        ("0419", "diagnoses", Placement("041.9")),
        ("0010", "diagnoses", Placement("001.0")),
        ("001.55", "diagnoses", Placement("001.55", "001")),
        ("000.1", "diagnoses", Placement(reason="unknown_code")),
        ("V92", "diagnoses", Placement(reason="unknown_code")),
        ("E8123", "diagnoses", Placement("E812.3")),
        ("E81234", "diagnoses", Placement(reason="malformed_code")),
        ("36.05", "diagnoses", Placement(reason="malformed_code")),
        ("250.01", "procedures", Placement(reason="malformed_code")),
        ("", None, Placement(reason="malformed_code")),
        ("25", "diagnoses", Placement(reason="malformed_code")),
        ("250.", None, Placement("250")),
        ("²50.01", None, Placement(reason="malformed_code")),
        ("I10", "diagnoses", Placement(reason="malformed_code")),
    ],
)
def test_a_label_has_a_place_or_a_reason(
    label: str, table: str | None, placement: Placement
) -> None:
    assert ICD9.place(label, table, HIERARCHY) == placement


def test_a_code_hangs_under_the_nearest_prefix_that_exists() -> None:
    sparse = Hierarchy.build(pl.DataFrame({"child": ["250"], "parent": ["root"]}), name="sparse")
    assert ICD9.place("25001", "diagnoses", sparse) == Placement("250.01", "250")


@needs_data
def test_every_diagnosis_of_the_mimic_demo_is_placed() -> None:
    path = Path(REAL or "") / "mimic-iii-demo" / "DIAGNOSES_ICD.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        codes = [row["ICD9_CODE"] for row in csv.DictReader(stream)]
    placed = [ICD9.place(code, "diagnoses", HIERARCHY) for code in codes]
    assignable = set(np.array(HIERARCHY.nodes)[HIERARCHY.assignable])
    assert len(placed) == 1761
    assert all(found.reason is None for found in placed)
    headings = {found.node for found in placed} - assignable
    assert len(headings) == 20
    assert {"041.4", "276.5", "585"} < headings


@needs_data
def test_without_dots_1593_procedures_are_also_diagnoses() -> None:
    dictionaries = []
    for table in TABLES:
        path = Path(REAL or "") / "mimic-iii-demo" / f"D_ICD_{table.upper()}.csv"
        with path.open(encoding="utf-8", newline="") as stream:
            dictionaries.append({row["ICD9_CODE"] for row in csv.DictReader(stream)})
    assert [len(codes) for codes in dictionaries] == [14_567, 3_882]
    assert len(dictionaries[0] & dictionaries[1]) == 1593
    with_dots = [
        {dotted(code, table) for code in codes}
        for table, codes in zip(TABLES, dictionaries, strict=True)
    ]
    assert not with_dots[0] & with_dots[1]

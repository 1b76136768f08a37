"""Coding rules of ICD-10-CM."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.hierarchies.coding import Placement
from audit.hierarchies.icd.icd10 import (
    DIAGNOSES,
    ICD10Coding,
    dotted,
    has_shape_of_icd9_alone,
    readings,
    table_of,
    why_never_first,
)
from fixtures.labelled import tree

ICD10 = ICD10Coding()
HIERARCHY = tree(
    "A00-B99 E00-E89 S00-T88 < ICD-10-CM",
    "E08-E13 < E00-E89",
    "E11 < E08-E13",
    "E11.9 < E11",
    "T14-T14 < S00-T88",
    "T14 < T14-T14",
    "T14.8 < T14",
    "T14.8XXA < T14.8",
    "C7A < A00-B99",
    coding=ICD10,
    complete_tables=frozenset({DIAGNOSES}),
)

codes = st.from_regex(r"[A-Z]([0-9][0-9A-Z]|[A-Z][0-9])(\.[0-9A-Z]{1,4})?", fullmatch=True)
labels = st.text() | st.text("ETCA0189.xX -", max_size=9) | codes | st.sampled_from(HIERARCHY.nodes)
tables = st.sampled_from([DIAGNOSES, None, "diagnoses", "procedures", "procedures-10"])


@given(st.text())
def test_spelling_is_idempotent(label: str) -> None:
    assert dotted(dotted(label)) == dotted(label)


@given(codes, st.booleans())
def test_a_code_survives_the_loss_of_its_dot_and_its_capitals(code: str, blank: bool) -> None:
    label = code.replace(".", "").lower() + " " * blank

    assert readings(label, DIAGNOSES) == readings(label, None) == (code,)
    assert table_of(code) == DIAGNOSES


@given(labels, tables)
def test_placing_is_total(label: str, table: str | None) -> None:
    found = ICD10.place(label, table, HIERARCHY)

    assert (found.node is None) == (found.reason is not None)
    assert found.parent is None or found.parent in HIERARCHY
    assert (found.node in HIERARCHY) == (found.node is not None and found.parent is None)


@given(labels, tables)
def test_a_placed_label_stays_where_it_is(label: str, table: str | None) -> None:
    found = ICD10.place(label, table, HIERARCHY)
    if found.node is not None:
        assert ICD10.place(found.node, None, HIERARCHY) == found


@pytest.mark.parametrize(
    ("label", "table", "placement"),
    [
        ("E119", DIAGNOSES, Placement("E11.9")),
        (" e11.9 ", None, Placement("E11.9")),
        ("E11", DIAGNOSES, Placement("E11")),
        ("t148xxa", DIAGNOSES, Placement("T14.8XXA")),
        ("T148XXQ", DIAGNOSES, Placement("T14.8XXQ", "T14.8")),
        ("E1165", None, Placement("E11.65", "E11")),
        ("C7A.1", None, Placement("C7A.1", "C7A")),
        ("E99.1", DIAGNOSES, Placement(reason="unknown_code")),
        ("e08-e13", None, Placement("E08-E13")),
        ("ICD-10-CM", None, Placement("ICD-10-CM")),
        ("E11.", None, Placement("E11")),
        ("E11.-", None, Placement(reason="malformed_code")),
        ("E1", None, Placement(reason="malformed_code")),
        ("E11.90000", None, Placement(reason="malformed_code")),
        ("", None, Placement(reason="malformed_code")),
        ("250.00", None, Placement(reason="malformed_code")),
        ("E11.9", "diagnoses", Placement(reason="other_version")),
        ("3605", "procedures", Placement(reason="other_version")),
        ("02703ZZ", "procedures-10", Placement(reason="no_hierarchy")),
    ],
)
def test_a_label_has_a_place_or_a_reason(
    label: str, table: str | None, placement: Placement
) -> None:
    assert ICD10.place(label, table, HIERARCHY) == placement


def test_where_the_list_is_not_complete_a_new_code_is_no_fault() -> None:
    open_ended = replace(HIERARCHY, complete_tables=frozenset[str]())

    assert ICD10.place("E1165", None, open_ended) == Placement("E11.65", "E11")


@given(codes)
def test_no_code_of_icd10_is_taken_for_icd9(code: str) -> None:
    assert not has_shape_of_icd9_alone(code)
    assert not has_shape_of_icd9_alone(code.replace(".", ""))


@pytest.mark.parametrize("label", ["4019", " 401.9", "36.05", "042"])
def test_digits_alone_are_icd9(label: str) -> None:
    assert has_shape_of_icd9_alone(label)


@pytest.mark.parametrize(
    ("code", "title", "reason"),
    [
        ("W19.XXXA", "Unspecified fall", "an external cause"),
        ("Y92", "Place of occurrence", "an external cause"),
        ("Z00.0", "General examination", None),
        ("V00-Y99", "External causes of morbidity", None),
        (
            "F02.80",
            "Dementia in other diseases classified elsewhere",
            "a manifestation by its title: in other diseases classified elsewhere",
        ),
    ],
)
def test_external_causes_and_manifestations_never_stand_first(
    code: str, title: str, reason: str | None
) -> None:
    assert why_never_first(code, title) == reason

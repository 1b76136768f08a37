"""Codes of earlier editions, with the fiscal years in which they were assignable."""

from __future__ import annotations

import pytest

import audit
from audit.hierarchies.icd.icd9 import once_valid


@pytest.mark.parametrize(
    ("table", "codes", "code", "years"),
    [
        ("diagnoses", 289, "438", "FY1997"),
        ("procedures", 25, "36.01", "FY1997 to FY2005"),
        ("diagnoses-10", 1013, "T81.4XXA", "FY2014 to FY2018"),
    ],
)
def test_each_code_set_has_its_retired_codes(table: str, codes: int, code: str, years: str) -> None:
    found = once_valid(table)
    assert (len(found), found[code]) == (codes, years)


def test_a_code_set_without_a_list_has_none() -> None:
    assert once_valid("procedures-10") == {}


def test_no_code_that_is_assignable_in_version_32_was_retired_before() -> None:
    hierarchy = audit.load_hierarchy("icd9cm")
    retired = {*once_valid("diagnoses"), *once_valid("procedures")}
    assert not [
        one for one in retired if one in hierarchy and hierarchy.assignable[hierarchy.index(one)]
    ]

"""Notes of ICD-10-CM that ask for a second code: which are rules, and for what."""

from __future__ import annotations

import pytest

from scripts.compile_icd10cm import Tabular, companions

TABULAR = Tabular(
    {
        "top": None,
        "C00-C99": "top",
        "C10": "C00-C99",
        "C20": "C00-C99",
        "N00-N99": "top",
        "N18": "N00-N99",
        "N18.1": "N18",
        "N18.2": "N18",
        "N18.9": "N18",
    }
)


def read(first: str = "", additional: str = "") -> list[tuple[str, tuple[str, ...], str, str]]:
    """Each rule: the node that asks, what for, where it stands and how severe its finding is."""
    found = companions(
        TABULAR,
        [("C10", first)] if first else [],
        [("C10", additional)] if additional else [],
        release="May",
    )
    assert len(found.rules) + found.unread == 1
    return [(r.asking[0], r.needed, r.position, r.severity) for r in found.rules]


def test_an_underlying_disease_stands_before_the_noted_code() -> None:
    assert read("underlying kidney disease (N18.-)") == [("C10", ("N18",), "before", "warning")]
    assert read("the underlying neoplasm (C10-C20)") == [("C10", ("C20",), "before", "warning")]


@pytest.mark.parametrize(
    "text",
    [
        "underlying disease",
        "underlying disease, such as:\nkidney disease (N18.-)",
        "underlying disease, if known (N18.-)",
        "any underlying disease (N18.-)",
        "underlying disease (N99.-)",
        "complication of pregnancy (N18.-)",
    ],
)
def test_what_may_rightly_be_absent_is_no_rule(text: str) -> None:
    assert read(text) == []


def test_of_what_is_always_there_any_code_of_the_category_is_enough() -> None:
    asked = ("C10", ("N18",), "any", "note")

    assert read(additional="code to identify stage of kidney disease (N18.1, N18.2)") == [asked]
    assert read(additional="code to specify the severity (N18.1-N18.2)") == [asked]


@pytest.mark.parametrize(
    "text",
    [
        "code, if applicable, to identify stage (N18.1)",
        "code to identify tobacco use (N18.1)",
        "code to identify:\nstage (N18.1)",
        "code to identify stage (N18.1)\nor its absence (N18.9)",
        "code to identify stage",
        "code (B95-B97) to identify infectious agent",
    ],
)
def test_what_a_record_may_not_have_is_no_rule(text: str) -> None:
    assert read(additional=text) == []


def test_each_line_is_a_note_of_its_own() -> None:
    text = "code to identify stage (N18.1)\ncode to identify tobacco use (C20)\ncode to find:\nx"
    found = companions(TABULAR, [], [("C10", text)], release="May")

    assert [rule.source for rule in found.rules] == [
        "ICD-10-CM, release May, note at C10: “Use additional code to identify stage (N18.1)”."
    ]
    assert (found.release, found.unread) == ("May", 2)

"""Words and numbers as readers see them."""

from __future__ import annotations

import pytest

from audit._reports.chapters.finding_lines import evidence_lines
from audit._reports.words import words
from audit.results.printed import marked


def test_evidence_is_told_with_its_denominator() -> None:
    evidence = {"instances": 5, "of": 20, "share": 0.25, "low": 0.1, "high": 0.4, "limit": 0.5}
    assert tuple(evidence_lines(evidence)) == (
        ("instances", "5 of 20"),
        ("share", "25.0%"),
        ("95% interval", "10.0% to 40.0%"),
        ("limit of the policy", "50.0%"),
    )


def test_told_counts_and_shares_are_printed_by_what_they_tell() -> None:
    evidence = marked(
        {
            "rounding": {"bin": 10, "totals": {}}, "counts": ["instances", "of", "rows"],
            "instances": 5, "of": 45, "share": 0.123, "low": None, "high": None, "rows": 35,
        }
    )  # fmt: skip
    told = {name: evidence[name] for name in ("instances", "of", "share", "low", "high", "rows")}
    assert tuple(evidence_lines(told)) == (
        ("instances", "<11 of 45"),
        ("share", "12%"),
        ("rows", "35"),
    )


def test_unknown_evidence_reads_as_its_name() -> None:
    assert tuple(evidence_lines({"odd_thing": 1234})) == (("odd thing", "1,234"),)


def test_a_limit_on_a_ratio_is_no_percentage() -> None:
    assert [*evidence_lines({"ratio": 3.0, "limit": 1.5})][1] == ("limit of the policy", "1.5")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\nb\tc", "a b c"), ("a\x00b", "a\ufffdb"), ("\u202eabc\u202c", "\ufffdabc\ufffd")],
)
def test_characters_that_command_are_replaced(text: str, shown: str) -> None:
    assert words.printable(text) == shown


def test_letters_of_any_script_stay() -> None:
    for text in ("אבחנה", "日本語", "🫀", "naïve"):
        assert words.printable(text) == text

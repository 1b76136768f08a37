"""Words and numbers as readers see them."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from audit._reports.chapters.cards import evidence_lines
from audit._reports.charts.palette import DARK, LIGHT
from audit._reports.words import parts, words
from audit.base import plurals


@pytest.mark.parametrize("module", [words, parts, plurals])
def test_examples_hold(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_evidence_is_told_with_its_denominator() -> None:
    evidence = {"instances": 5, "of": 20, "share": 0.25, "low": 0.1, "high": 0.4, "limit": 0.5}
    assert evidence_lines(evidence) == (
        ("instances", "5 of 20"),
        ("share", "25.0%"),
        ("95% interval", "10.0% to 40.0%"),
        ("limit of the policy", "50.0%"),
    )


def test_small_cells_read_as_bounds_and_withheld() -> None:
    evidence = {"instances": "<11", "of": 45, "share": None, "low": None, "high": None}
    assert evidence_lines(evidence) == (
        ("instances", "<11 of 45"),
        ("share", "withheld"),
        ("95% interval", "withheld"),
    )


def test_unknown_evidence_reads_as_its_name() -> None:
    assert evidence_lines({"odd_thing": 1234}) == (("odd thing", "1,234"),)


def test_a_limit_on_a_ratio_is_no_percentage() -> None:
    assert evidence_lines({"ratio": 3.0, "limit": 1.5})[1] == ("limit of the policy", "1.5")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\nb\tc", "a b c"), ("a\x00b", "a\ufffdb"), ("\u202eabc\u202c", "\ufffdabc\ufffd")],
)
def test_characters_that_command_are_replaced(text: str, shown: str) -> None:
    assert words.printable(text) == shown


def test_letters_of_any_script_stay() -> None:
    for text in ("אבחנה", "日本語", "🫀", "naïve"):
        assert words.printable(text) == text


def test_palettes_have_the_same_roles_and_no_colour_twice() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert len(set(LIGHT.values())) == len(LIGHT)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "ground"),
    [
        ("ink", "paper"),
        ("muted", "paper"),
        ("accent", "paper"),
        ("error", "error-tint"),
        ("warning", "warning-tint"),
        ("note", "note-tint"),
        ("pass", "pass-tint"),
        ("muted", "raised"),
        ("on-low", "scale-none"),
        ("on-low", "scale-1"),
        ("on-low", "scale-2"),
        ("on-high", "scale-3"),
        ("on-high", "scale-4"),
    ],
)
def test_text_has_the_contrast_of_wcag_aa(palette: dict[str, str], ink: str, ground: str) -> None:
    light, dark = sorted((_luminance(palette[ink]), _luminance(palette[ground])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

"""Colours that tell something apart stay apart: for all eyes, on both grounds, and in grey."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from audit._reports.charts.palette import DARK, HUES, HUES_DARK, HUES_LIGHT, LIGHT, SCALE

MARKS = ("observed", "expected", "limit", "model", "error", "warning", "note", "pass")
"""Roles that draw or name something on the ground of the page."""
APART = (("observed", "model"), ("observed", "limit"), ("observed", "expected"))
"""Roles that stand in one picture and are told apart by colour."""

TEXTS = (
    *((ink, "paper") for ink in ("ink", "muted", "accent")),
    *((ink, f"{ink}-tint") for ink in ("error", "warning", "note", "pass")),
    ("muted", "raised"),
    ("on-low", "scale-none"),
    *zip(("on-low", "on-low", "on-high", "on-high"), SCALE, strict=True),
)
"""Inks, and the grounds that they stand on: WCAG AA."""

PROTANOPIA = ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
              (-0.003882, -0.048116, 1.051998))  # fmt: skip
DEUTERANOPIA = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                (-0.011820, 0.042940, 0.968881))  # fmt: skip
TRITANOPIA = ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
              (0.004733, 0.691367, 0.303900))  # fmt: skip
NORMAL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
GREY = ((0.2126, 0.7152, 0.0722),) * 3
"""On linear RGB: the first three from A Physiologically-based Model for Simulation of Color Vision
Deficiency (Machado, Oliveira, Fernandes), severity 1; luminance of Rec. 709."""
EYES = {"protanopia": PROTANOPIA, "deuteranopia": DEUTERANOPIA}
JUST = 12.0
"""Distance in CIELAB from which two small marks are told apart at a glance."""

Colour = tuple[float, float, float]


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("role", MARKS)
def test_marks_stand_out_from_the_ground(palette: dict[str, str], role: str) -> None:
    for ground in ("paper", "raised"):
        assert contrast(linear(palette[role]), linear(palette[ground])) >= 3


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), TEXTS)
def test_texts_can_be_read(palette: dict[str, str], ink: str, ground: str) -> None:
    assert contrast(linear(palette[ink]), linear(palette[ground])) >= 4.5


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("eyes", EYES)
def test_colours_of_one_picture_stay_apart(palette: dict[str, str], eyes: str) -> None:
    for one, other in APART:
        seen = [lab(simulated(linear(palette[role]), EYES[eyes])) for role in (one, other)]
        assert distance(*seen) >= JUST, (one, other)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("matrix", [PROTANOPIA, DEUTERANOPIA, GREY])
def test_shades_keep_their_order_for_all_eyes(
    palette: dict[str, str], matrix: tuple[Colour, ...]
) -> None:
    light = [lab(simulated(linear(palette[role]), matrix))[0] for role in SCALE]
    steps = [after - before for before, after in pairwise(light)]
    assert all(step < -8 for step in steps) or all(step > 8 for step in steps)


@pytest.mark.parametrize("palette", [LIGHT | HUES_LIGHT, DARK | HUES_DARK], ids=["light", "dark"])
@pytest.mark.parametrize("role", HUES)
def test_hues_stand_out_from_the_ground_and_carry_text(palette: dict[str, str], role: str) -> None:
    for ground in ("paper", "raised"):
        assert contrast(linear(palette[role]), linear(palette[ground])) >= 3
    assert contrast(linear(palette[role]), linear(palette["on-high"])) >= 4.5


@pytest.mark.parametrize("palette", [LIGHT | HUES_LIGHT, DARK | HUES_DARK], ids=["light", "dark"])
@pytest.mark.parametrize("eyes", [NORMAL, PROTANOPIA, DEUTERANOPIA, TRITANOPIA])
def test_hues_stay_apart_for_all_eyes(palette: dict[str, str], eyes: tuple[Colour, ...]) -> None:
    for one, other in combinations(HUES, 2):
        seen = [lab(simulated(linear(palette[role]), eyes)) for role in (one, other)]
        assert distance(*seen) >= JUST, (one, other)


@pytest.mark.parametrize("palette", [LIGHT | HUES_LIGHT, DARK | HUES_DARK], ids=["light", "dark"])
def test_a_colour_names_its_role(palette: dict[str, str]) -> None:
    assert len({*palette.values()}) == len(palette)
    assert LIGHT.keys() == DARK.keys()


def linear(colour: str) -> Colour:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return _linear(red), _linear(green), _linear(blue)


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def simulated(colour: Colour, matrix: tuple[Colour, ...]) -> Colour:
    red, green, blue = (
        min(1.0, max(0.0, sum(part * c for part, c in zip(row, colour, strict=True))))
        for row in matrix
    )
    return red, green, blue


def contrast(one: Colour, other: Colour) -> float:
    low, high = sorted(sum(p * c for p, c in zip(GREY[0], x, strict=True)) for x in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour: Colour) -> Colour:
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    x, y, z = (
        _cube_root(sum(p * c for p, c in zip(row, colour, strict=True)) / w)
        for row, w in zip(rows, white, strict=True)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _cube_root(value: float) -> float:
    return float(value ** (1 / 3)) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116


def distance(one: Colour, other: Colour) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5)

"""Draw the cases of `docs/checks/unexpected_pair.md` into ``docs/checks/unexpected_pair.svg``.

Each panel holds the labels below one node against the labels below another. A square says how many
times as many records carry both labels as are expected; what the check tells has a thick outline.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

PICTURE = Path(__file__).parents[1] / "docs" / "checks" / "unexpected_pair.svg"
LABELS = 4
"""Labels below each node."""
SQUARE, PANEL, LEFT, TOP = 34, 190, 27, 62
"""Pixels: of a square, from panel to panel, and to the squares of a panel."""
HEIGHT = 268
SHADES = ((1.3, "#eef1f4", "#17212b"), (2.5, "#a3c7e2", "#17212b"), (9.0, "#2f74a8", "#ffffff"))
"""Up to which ratio a shade goes, and its ink."""
TOLD = "#c2410c"


@dataclass(frozen=True)
class Case:
    """A panel.

    Args:
        title: What the case is called.
        ratios: By row and column, observed over expected; the others are ``usual``.
        told: Squares that are told, as row and column.
        whole: Whether the two nodes above are told.
        words: What the check tells of it.
    """

    title: str
    usual: float
    ratios: dict[tuple[int, int], float]
    told: tuple[tuple[int, int], ...]
    whole: bool
    words: tuple[str, str]


CASES = (
    Case("local", 1.0, {(1, 2): 5.0}, ((1, 2),), False, ("the pair of labels,", "once")),
    Case("diffuse", 2.0, {}, (), True, ("the two nodes above,", "none of the labels")),
    Case("both", 2.0, {(1, 2): 5.0}, ((1, 2),), True, ("the two nodes above,", "and the one pair")),
    Case(
        "mirror", 1.0, {(0, 0): 2.0, (0, 1): 0.6, (1, 0): 0.6}, ((0, 0),), False,
        ("the pair of labels; what has", "neither is as expected"),
    ),
    Case("facet", 1.0, {}, (), False, ("nothing: two kinds of label", "on every record")),
)  # fmt: skip


def picture() -> str:
    """The picture as SVG."""
    width = PANEL * len(CASES)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" '
        f'width="{width}" height="{HEIGHT}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12">'
    )
    title = "<title>Five cases, and what the check tells of each</title>"
    ground = f'<rect width="{width}" height="{HEIGHT}" fill="#ffffff"/>'
    panels = (line for place, case in enumerate(CASES) for line in _panel(case, PANEL * place))
    return "\n".join([head, title, ground, *panels, "</svg>", ""])


def _panel(case: Case, x: int) -> Iterator[str]:
    left, size = x + LEFT, SQUARE * LABELS
    yield _text(left, 24, case.title, "#17212b", size=15, weight="bold")
    yield _text(left, 48, "labels below one node", "#52606d")
    for row in range(LABELS):
        for column in range(LABELS):
            yield from _square(case, row, column, left)
    for row, column in case.told:
        yield _outline(left + SQUARE * column, TOP + SQUARE * row, SQUARE)
    if case.whole:
        yield _outline(left - 3, TOP - 3, size + 6)
    for number, words in enumerate(case.words):
        yield _text(left, TOP + size + 28 + 17 * number, words, "#17212b")


def _square(case: Case, row: int, column: int, left: int) -> Iterator[str]:
    ratio = case.ratios.get((row, column), case.usual)
    _, shade, ink = next(step for step in SHADES if ratio <= step[0])
    x, y = left + SQUARE * column, TOP + SQUARE * row
    yield f'<rect x="{x}" y="{y}" width="{SQUARE - 2}" height="{SQUARE - 2}" fill="{shade}"/>'
    yield _text(x + SQUARE / 2 - 1, y + 20, f"{ratio:.1f}", ink, anchor="middle")


def _outline(x: float, y: float, size: float) -> str:
    return (
        f'<rect x="{x - 1}" y="{y - 1}" width="{size}" height="{size}" fill="none" '
        f'stroke="{TOLD}" stroke-width="3"/>'
    )


def _text(
    x: float, y: float, words: str, ink: str, *, size: int = 12, weight: str = "normal",
    anchor: str = "start",
) -> str:  # fmt: skip
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{ink}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")

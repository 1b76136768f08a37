"""Drawings of the window as files of their own: SVG that opens alone, and says what it shows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from audit._reports.charts.parts import ADVANCE
from audit._reports.charts.svg import ATTRIBUTES, SHAPES
from audit._reports.html import environment
from audit._reports.words.parts import Drawing
from audit._reports.words.words import EXACT, printable, shortened
from audit.base.errors import xml_text

MARGIN = 20
"""Room around a drawing in pixels."""
LINE = 18
"""Height of a line of text in pixels."""
NARROWEST = 460
"""Width of a file in pixels, so that its title has room."""
HEADING = 10.0
"""Pixels of a character of the title."""
_SVG = "http://www.w3.org/2000/svg"


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing, and what is said of it where it stands alone."""

    title: str
    in_words: str
    drawing: Drawing
    file: str = ""


def svg_file(picture: Picture, source: str) -> str:
    """A picture as the text of an SVG file, which refers to nothing outside itself.

    Links and whatever else is no shape are left out; the title of a shape stays.
    """
    width = max(picture.drawing.width, NARROWEST)
    title = _lines(picture.title, width, HEADING)
    top = MARGIN + LINE * len(title) + LINE // 2
    foot = [EXACT, source]
    return (
        environment()
        .get_template("picture.svg.jinja")
        .render(
            picture=picture,
            title=title,
            top=top,
            bottom=top + picture.drawing.height + LINE,
            foot=[shortened(printable(line), int(width / ADVANCE)) for line in foot],
            whole=(width + 2 * MARGIN, top + picture.drawing.height + LINE * (len(foot) + 1)),
            margin=MARGIN,
            line=LINE,
            markup=_shapes_alone(picture.drawing.markup),
            printable=printable,
        )
    )


def _lines(text: str, width: int, advance: float) -> list[str]:
    """A text in lines of a width in pixels."""
    return textwrap.wrap(printable(text), max(20, int(width / advance))) or [""]


def _shapes_alone(markup: str) -> str:
    """The shapes of a drawing, with known attributes alone, as well-formed XML."""
    root = ElementTree.fromstring(f'<svg xmlns="{_SVG}">{xml_text(markup)}</svg>')
    ElementTree.register_namespace("", _SVG)
    kept = ElementTree.Element(f"{{{_SVG}}}g")
    kept.extend(_kept_shapes(root))
    return ElementTree.tostring(kept, encoding="unicode").replace(f' xmlns="{_SVG}"', "")


def _kept_shapes(parent: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """The shapes in an element; those in a link or another wrapping stand in its place."""
    for element in parent:
        tag = element.tag.removeprefix(f"{{{_SVG}}}")
        if tag not in SHAPES and tag != "title":
            yield from _kept_shapes(element)
            continue
        known = {name: value for name, value in element.attrib.items() if name in ATTRIBUTES}
        copy = ElementTree.Element(element.tag, known)
        copy.text = printable(element.text) if element.text else None
        copy.extend(_kept_shapes(element))
        yield copy

"""A Vega-Lite specification becomes the inside of an SVG element, with nothing in it but shapes."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

from reports.words.parts import Drawing

VEGA_LITE = "6.4"
"""The version of Vega-Lite that specifications are written for."""

_SVG = "http://www.w3.org/2000/svg"
_SHAPES = {"g", "path", "rect", "line", "text", "tspan", "circle"}
_ATTRIBUTES = {
    "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "transform",
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
    "stroke-linecap", "opacity", "text-anchor", "font-family", "font-size", "font-weight",
}  # fmt: skip


def draw(specification: dict[str, Any]) -> Drawing:
    """Draw a Vega-Lite specification; the same specification gives the same markup.

    HTML and PDF show the same drawings, so the latest are kept.
    """
    return _drawn(json.dumps(specification, sort_keys=True))


@lru_cache(maxsize=64)
def _drawn(specification: str) -> Drawing:
    import vl_convert

    source = vl_convert.vegalite_to_svg(
        specification, vl_version=VEGA_LITE, allowed_base_urls=[], show_warnings=False
    )
    root = ElementTree.fromstring(source)
    ElementTree.register_namespace("", _SVG)
    shapes = [shape for shape in map(_shape, root) if shape is not None]
    markup = "".join(ElementTree.tostring(shape, encoding="unicode") for shape in shapes)
    return Drawing(
        width=round(float(root.attrib["width"])),
        height=round(float(root.attrib["height"])),
        markup=markup.replace(f' xmlns="{_SVG}"', ""),
    )


def _shape(element: ElementTree.Element) -> ElementTree.Element | None:
    """A copy with known shapes and attributes alone; None where nothing would be seen."""
    tag = element.tag.removeprefix(f"{{{_SVG}}}")
    if tag not in _SHAPES or element.get("display") == "none":
        return None
    copy = ElementTree.Element(
        f"{{{_SVG}}}{tag}",
        {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES},
    )
    copy.text = element.text
    copy.extend(shape for shape in map(_shape, element) if shape is not None)
    empty_group = tag == "g" and not len(copy)
    empty_path = tag == "path" and copy.get("d", "") in ("", "M0,0h0v0h0Z")
    return None if empty_group or empty_path else copy

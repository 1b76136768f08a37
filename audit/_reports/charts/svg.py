"""Render Vega-Lite specifications to the content of an SVG element, reduced to shapes."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache, lru_cache
from importlib.util import find_spec
from tempfile import TemporaryFile
from typing import Any
from xml.etree import ElementTree

from audit._reports.charts.palette import LIGHT
from audit._reports.pdf.typesetting import child_environment, how_ended
from audit._reports.words.parts import Drawing

VEGA_LITE = "6.4"
"""Version of Vega-Lite that the specifications are written for."""

_SVG = "http://www.w3.org/2000/svg"
SHAPES = {"g", "path", "rect", "line", "text", "tspan", "circle"}
"""Elements that a drawing is made of."""
ATTRIBUTES = {
    "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "transform",
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
    "stroke-linecap", "opacity", "text-anchor", "font-family", "font-size", "font-weight",
}  # fmt: skip
"""Attributes that they have."""


NOT_DRAWN = Drawing(
    width=660,
    height=28,
    markup=f'<text x="0" y="18" font-size="13" fill="{LIGHT["muted"]}">No picture: pip install '
    "vl-convert-python, then audit report RUN</text>",
)
"""What stands for every drawing where the package that draws is left out."""


class DrawingError(Exception):
    """A chart could not be drawn."""


def draw(specification: dict[str, Any]) -> Drawing:
    """Draw a Vega-Lite specification; the same specification gives the same markup.

    Recent drawings are cached, since HTML and PDF show the same ones.

    Raises:
        DrawingError: If it cannot be drawn, or the worker process ends.
    """
    return _drawn(json.dumps(specification, sort_keys=True))


@lru_cache(maxsize=64)
def _drawn(specification: str) -> Drawing:
    if find_spec("vl_convert") is None:
        return NOT_DRAWN
    try:
        answer = _drawer().answer(specification)
    except DrawingError:
        _drawer.cache_clear()
        raise
    if "failed" in answer:
        raise DrawingError(answer["failed"])
    root = ElementTree.fromstring(answer["svg"])
    ElementTree.register_namespace("", _SVG)
    shapes = [shape for shape in map(_shape, root) if shape is not None]
    markup = "".join(ElementTree.tostring(shape, encoding="unicode") for shape in shapes)
    return Drawing(
        width=round(float(root.attrib["width"])),
        height=round(float(root.attrib["height"])),
        markup=markup.replace(f' xmlns="{_SVG}"', ""),
        lines=_lines(json.loads(specification)),
    )


def _lines(specification: dict[str, Any]) -> dict[str, int] | None:
    height = specification.get("usermeta", {}).get("line")
    if height is None:
        return None
    room = {side: specification["padding"][side] for side in ("top", "left", "right")}
    return {"count": specification["height"] // height, "height": height, **room}


class _Drawer:
    """A process that draws one chart after another until this one ends."""

    def __init__(self) -> None:
        try:
            self._notices = TemporaryFile()  # noqa: SIM115 - closed with the process
            self._child = subprocess.Popen(
                (sys.executable, "-P", "-m", "audit._reports.charts.chart_worker", VEGA_LITE),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._notices,
                env=child_environment(),
            )
        except OSError as error:
            raise DrawingError(f"charts need a process of their own: {error}") from error
        self._alone = threading.Lock()
        atexit.register(self.end)

    def answer(self, specification: str) -> dict[str, str]:
        """What the process answers; a DrawingError where it dies."""
        told, drawn = self._child.stdin, self._child.stdout
        if told is None or drawn is None:
            raise DrawingError("the process that draws charts cannot be reached")
        with self._alone:
            line = b""
            with suppress(OSError):
                told.write(specification.encode("ascii") + b"\n")
                told.flush()
                line = drawn.readline()
        if not line.endswith(b"\n"):
            raise DrawingError(self._death())
        answer: dict[str, str] = json.loads(line)
        return answer

    def end(self) -> None:
        """End the process; what it drew stays."""
        atexit.unregister(self.end)
        self._child.kill()
        with suppress(OSError):  # what was not sent to it any more
            self._child.communicate()
        self._notices.close()

    def _death(self) -> str:
        status = self._child.wait()
        self._notices.seek(0)
        notices = self._notices.read().decode("utf-8", "replace").strip().splitlines()
        first = next((line for line in notices if line.strip("# ")), "")
        self.end()
        ended = f"the process that draws charts ended {how_ended(status)}"
        return f"{ended}: {first}" if first else ended


@cache
def _drawer() -> _Drawer:
    return _Drawer()


def _shape(element: ElementTree.Element) -> ElementTree.Element | None:
    """A copy with known shapes and attributes alone; None where nothing would be seen."""
    tag = element.tag.removeprefix(f"{{{_SVG}}}")
    if tag not in SHAPES or element.get("display") == "none":
        return None
    copy = ElementTree.Element(
        f"{{{_SVG}}}{tag}",
        {name: value for name, value in element.attrib.items() if name in ATTRIBUTES},
    )
    copy.text = element.text
    copy.extend(shape for shape in map(_shape, element) if shape is not None)
    empty_group = tag == "g" and not len(copy)
    empty_path = tag == "path" and copy.get("d", "") in ("", "M0,0h0v0h0Z")
    return None if empty_group or empty_path else copy

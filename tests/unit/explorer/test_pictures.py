"""Every chart of every page as a file: well-formed, alone, and saying what it is."""

from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree
from xml.parsers import expat

import pytest

from audit._reports.charts.parts import text
from audit._reports.words.parts import Drawing
from audit._reports.words.words import EXACT
from audit.explorer.pictures import Picture, svg_file
from fixtures.explored import Visitor
from tests.unit.explorer.conftest import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
PAGES = ("/hierarchy", "/pair?a=a1&b=b1", "/node?id=d", "/instance?id=two")


def parsed(text: str) -> ElementTree.Element:
    """The root of a file; a document type, and with it every entity of one's own, is refused."""
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise AssertionError("a document type")

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.Parse(text, True)
    return ElementTree.fromstring(text)


def files_of(visitor: Visitor, path: str) -> dict[str, ElementTree.Element]:
    """The pictures that a page leads to, by the names of their files."""
    page = visitor.ask("GET", path).text
    links = [unescape(link) for link in re.findall(r'href="(/[^"]*[?;]svg=[^"]*)"', page)]
    assert len(set(links)) == len(links)
    found = {}
    for link in links:
        answer = visitor.ask("GET", link)
        assert answer.headers["content-type"].startswith("image/svg+xml")
        name = re.fullmatch(
            r'attachment; filename="([\w.-]+)"', answer.headers["content-disposition"]
        )
        assert name
        found[name[1]] = parsed(answer.text)
    return found


def drawn_on(visitor: Visitor, path: str) -> int:
    """Charts on a page: drawings, the tree of an instance, and the list of siblings."""
    page = visitor.ask("GET", path).text
    return len(re.findall(r'<svg class="chart"|<div class="tree"|<ol class="s', page))


def finding_addresses(visitor: Visitor) -> list[str]:
    listed = visitor.get("/findings", state="all").text
    return [unescape(found) for found in re.findall(r'href="(/finding\?[^"]+)"', listed)]


@pytest.mark.parametrize("path", PAGES)
def test_each_chart_of_a_page_has_a_file(visitor: Visitor, path: str) -> None:
    files = files_of(visitor, path)

    assert len(files) == drawn_on(visitor, path)
    assert files
    for name, root in files.items():
        told = "".join(root.itertext())
        assert root.tag == f"{SVG}svg"
        assert root.findtext(f"{SVG}title")
        assert root.findtext(f"{SVG}desc")
        assert EXACT in told
        assert name.endswith("-exact.svg")
        stands_alone(root)


def stands_alone(root: ElementTree.Element) -> None:
    """A file refers to nothing and runs nothing."""
    known = {"svg", "title", "desc", "g", "path", "rect", "line", "text", "tspan", "circle"}
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in known
        for name, value in element.attrib.items():
            assert not re.search(r"href|^on|style", name)
            assert not re.search(r"url\(|//|javascript", value)


def test_a_file_shows_what_the_page_shows(visitor: Visitor) -> None:
    page = visitor.get("/hierarchy").text
    drawing = re.search(r'<svg class="chart".*?</svg>', page, re.DOTALL)
    assert drawing
    there = [one.text for one in ElementTree.fromstring(drawing[0]).iter("text")]
    (root,) = files_of(visitor, "/hierarchy").values()

    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert there
    assert set(there) < set(texts)
    assert HOSTILE[:9] in "".join(text or "" for text in texts)


def test_a_name_that_no_chart_has_gives_the_page(visitor: Visitor) -> None:
    for path in (*PAGES, finding_addresses(visitor)[0]):
        answer = visitor.ask("GET", f"{path}{'&' if '?' in path else '?'}svg=no%20such")
        assert answer.headers["content-type"].startswith("text/html")


def test_what_xml_cannot_hold_is_replaced() -> None:
    hostile = f'{HOSTILE}\x00\x1b\ufffe\u202e]]>&xxe;"'
    drawing = Drawing(10, 10, f'<a href="https://example.org">{text(0, 0, hostile)}</a>')
    file = svg_file(Picture(hostile, hostile, drawing), hostile)

    root = parsed(file)
    stands_alone(root)
    shown = "".join(root.itertext())
    assert "example.org" not in file
    assert "&xxe;" in shown
    assert not set("\x00\x1b\ufffe\u202e") & set(shown)
    assert HOSTILE in (root.findtext(f"{SVG}title") or "")

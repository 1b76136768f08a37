"""The PDF report: tagged, titled, the same each time, with the result inside."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import time
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import pikepdf
import pytest

import reports
from audit._reports.chapters.report import build
from audit._reports.pdf.budget import PAGES, budgets
from audit._reports.pdf.pdf import paper, pdf_bytes
from audit._reports.words.words import printable
from audit.base.errors import InputError, RenderError
from audit.results.result import AuditResult, to_json_bytes
from fixtures import results
from tests.unit.reports.conftest import EPOCH
from tests.unit.reports.document import joined
from tests.unit.reports.huge import huge_view

pytestmark = pytest.mark.slow

needs_pdftotext = pytest.mark.skipif(
    shutil.which("pdftotext") is None, reason="pdftotext is not installed"
)


def test_is_tagged_titled_and_in_english(pdf: pikepdf.Pdf) -> None:
    assert pdf.Root.MarkInfo.Marked
    assert "/StructTreeRoot" in pdf.Root
    assert str(pdf.Root.Lang) == "en"
    assert str(pdf.docinfo["/Title"]) == "Cardiac unit, release 2: hierarchy audit"


def test_declares_its_variant(pdf: pikepdf.Pdf) -> None:
    with pdf.open_metadata() as metadata:
        assert metadata.pdfa_status == "3A"
    assert "/OutputIntents" in pdf.Root


def test_has_an_outline_of_sections_and_findings(rich: AuditResult, pdf: pikepdf.Pdf) -> None:
    with pdf.open_outline() as outline:
        titles = [item.title for item in outline.root]
        findings = outline.root[titles.index("Findings")].children
    assert titles[:2] == ["Checks", "Findings"]
    assert {"The model", "Appendix: policy", "Appendix: provenance"} <= set(titles)
    assert [joined(one.title) for one in findings] == [
        joined(block.title) for block in build(rich.shared()).blocks
    ]


def test_figures_have_alternate_text(pdf: pikepdf.Pdf) -> None:
    figures = [
        thing
        for thing in pdf.objects
        if isinstance(thing, pikepdf.Dictionary) and thing.get("/S") == "/Figure"
    ]
    assert any("dot plot" in str(figure.get("/Alt", "")) for figure in figures)


def test_result_is_attached_byte_for_byte(rich: AuditResult, pdf: pikepdf.Pdf) -> None:
    assert list(pdf.attachments) == ["result.json"]
    attached = pdf.attachments["result.json"].get_file()
    assert attached.read_bytes() == to_json_bytes(rich.shared())
    assert attached.mime_type == "application/json"
    assert str(pdf.Root.AF[0].AFRelationship) == "/Source"


def test_what_verify_leaves_out_of_a_page_is_its_margins() -> None:
    style = files("audit._reports").joinpath("styles", "paper.css").read_text("utf-8")
    margins = re.findall(r"@page[^{]*\{[^@]*?margin: (\d+)mm \d+mm (\d+)mm;", style)
    assert len(margins) == 2
    assert min(float(one) for both in margins for one in both) * 72 / 25.4 > 44.0


def test_dates_are_those_of_the_epoch(pdf: pikepdf.Pdf) -> None:
    assert str(pdf.docinfo["/CreationDate"]).startswith("D:20231114221320")
    attached = pdf.attachments["result.json"].get_file()
    assert str(attached.obj.Params.ModDate).startswith("D:20231114221320")


@needs_pdftotext
def test_every_finding_and_the_digest_stand_in_it(rich: AuditResult, pdf_path: Path) -> None:
    text = _text(pdf_path)
    shared = rich.shared()
    for check in shared["checks"]:
        for finding in check["findings"]:
            assert joined(finding["id"]) in text
    assert hashlib.sha256(to_json_bytes(shared)).hexdigest() in text


@needs_pdftotext
def test_hostile_titles_are_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "hostile.pdf"
    reports.write_pdf(results.hostile_result(), path)
    text = _text(path)
    for title in results.HOSTILE_TITLES:
        if title.isascii():
            assert joined(printable(title)) in text
    assert _outside(path) == []


@needs_pdftotext
def test_a_huge_release_keeps_every_finding_the_pages_and_the_margins(tmp_path: Path) -> None:
    path = tmp_path / "huge.pdf"
    huge = huge_view()
    reports.write_pdf(huge, path)
    text = _text(path)
    findings = [finding for check in huge["checks"] for finding in check["findings"]]
    assert len(findings) == 480
    assert [one["id"] for one in findings if joined(one["id"]) not in text] == []
    assert "linesareleftoutof" in text
    assert _outside(path) == []
    assert len(pikepdf.open(path).pages) <= PAGES


@needs_pdftotext
def test_words_stay_inside_the_page(pdf_path: Path) -> None:
    assert _outside(pdf_path) == []


def test_outline_is_the_headings(rich: AuditResult, pdf: pikepdf.Pdf) -> None:
    headings = Headings(paper(next(budgets(build(rich.shared()))), "")).found
    with pdf.open_outline() as outline:
        found = [
            (level, joined(item.title))
            for section in outline.root
            for level, item in ((1, section), *((2, inner) for inner in section.children))
        ]
    assert found == headings


def test_metadata_names_part_and_level(pdf: pikepdf.Pdf) -> None:
    with pdf.open_metadata() as metadata:
        assert metadata["pdfaid:part"] == "3"
        assert metadata["pdfaid:conformance"] == "A"
        assert metadata["dc:title"] == str(pdf.docinfo["/Title"])
    assert pdf.Root.ViewerPreferences.DisplayDocTitle


def test_same_bytes_later_elsewhere(
    rich: AuditResult, pdf_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From what may be shared alone, at another moment, in other folders and order of hashes; the
    input is touched between."""
    source = tmp_path / "result.json"
    source.write_bytes(to_json_bytes(rich.shared()))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    time.sleep(1.1)
    source.touch()
    reports.write_pdf(json.loads(source.read_bytes()), "again.pdf")
    assert Path("again.pdf").read_bytes() == pdf_path.read_bytes()


def test_an_epoch_that_is_no_number_is_told(
    rich: AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(InputError, match="Found: 'yesterday'"):
        pdf_bytes(rich.shared())


@needs_pdftotext
def test_no_heading_is_the_last_line_of_a_page(pdf_path: Path, pdf: pikepdf.Pdf) -> None:
    with pdf.open_outline() as outline:
        sections = [joined(item.title) for item in outline.root]
        findings = [joined(inner.title) for item in outline.root for inner in item.children]
    for number, page in enumerate(_pdftotext(pdf_path, "-layout").split("\f")):
        lines = [joined(line) for line in page.splitlines() if line.strip()]
        if body := lines[:-1] if number else lines:
            assert body[-1] not in sections
            assert not any(heading.endswith(body[-1]) for heading in findings)


def test_a_failure_writes_nothing(
    rich: AuditResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "weasyprint.py").write_text("import os; os.abort()", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RenderError, match="SIGABRT"):
        reports.write_pdf(rich, tmp_path / "report.pdf")
    assert not (tmp_path / "report.pdf").exists()


class Headings(HTMLParser):
    """Level and text of the headings that make the outline."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []
        self._level = 0
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("h2", "h3"):
            self._level = int(tag[1]) - 1
            self.found.append((self._level, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("h2", "h3"):
            self._level = 0

    def handle_data(self, data: str) -> None:
        if self._level:
            level, text = self.found.pop()
            self.found.append((level, text + joined(data)))


def _pdftotext(path: Path, *options: str) -> str:
    command = ["pdftotext", *options, str(path), "-"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _text(path: Path) -> str:
    return joined(_pdftotext(path, "-raw"))


def _outside(path: Path) -> list[str]:
    """Words beyond the margins of an A4 page, a little tolerance given.

    Above and below the text stand a running head and a running foot, of one line each.
    """
    return [
        word
        for number, page in enumerate(_pages(path), 1)
        for word in (*_beside(page), *_above(page), *_below(page, number))
    ]


def _beside(page: list[ElementTree.Element]) -> list[str]:
    return [
        word.text or ""
        for word in page
        if _mm(word, "xMin") < 14 - 0.4 or _mm(word, "xMax") > 196 + 0.4
    ]


def _above(page: list[ElementTree.Element]) -> list[str]:
    """Words between the head's line and the text, or above the head."""
    above = [word for word in page if _mm(word, "yMin") < 16 - 1]
    return [word.text or "" for word in above if _mm(word, "yMin") < 6 or _mm(word, "yMax") > 14]


def _below(page: list[ElementTree.Element], number: int) -> list[str]:
    """Words below the text that are not the foot."""
    below = [word.text or "" for word in page if _mm(word, "yMax") > 297 - 16 + 1]
    foot = rf"result\.jsonsha256[0-9a-f]{{64}}Page{number}of\d+" if number > 1 else ""
    return [] if re.fullmatch(foot, "".join(below)) else below


def _pages(path: Path) -> list[list[ElementTree.Element]]:
    """The words of each page, with their boxes."""
    source = "".join(c for c in _pdftotext(path, "-bbox") if c >= " " or c == "\n")
    pages = [one for one in ElementTree.fromstring(source).iter() if one.tag.endswith("page")]
    return [[one for one in page.iter() if one.tag.endswith("word")] for page in pages]


def _mm(word: ElementTree.Element, edge: str) -> float:
    return float(word.attrib[edge]) * 25.4 / 72

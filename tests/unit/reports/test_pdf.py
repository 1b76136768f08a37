"""The PDF report: tagged, titled, the same each time, with the result inside."""

from __future__ import annotations

import builtins
import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pikepdf
import pytest

import reports
from audit.errors import RenderError
from audit.result import AuditResult, to_json_bytes
from fixtures import results
from reports.words import printable
from tests.unit.reports.conftest import EPOCH
from tests.unit.reports.document import joined


def test_is_tagged_titled_and_in_english(pdf: pikepdf.Pdf) -> None:
    assert pdf.Root.MarkInfo.Marked
    assert "/StructTreeRoot" in pdf.Root
    assert str(pdf.Root.Lang) == "en"
    assert str(pdf.docinfo["/Title"]) == "Cardiac unit, release 2: hierarchy audit"


def test_declares_its_variant(pdf: pikepdf.Pdf) -> None:
    with pdf.open_metadata() as metadata:
        assert metadata.pdfa_status == "3A"
    assert "/OutputIntents" in pdf.Root


def test_has_an_outline_of_sections_and_findings(pdf: pikepdf.Pdf) -> None:
    with pdf.open_outline() as outline:
        titles = [item.title for item in outline.root]
        findings = outline.root[titles.index("Findings that matter")].children
    assert titles[0] == "The release"
    assert {"Checks", "The model", "How the model behaves", "Methods", "Provenance"} <= set(titles)
    assert len(findings) == 8


def test_figures_have_alternate_text(pdf: pikepdf.Pdf) -> None:
    figures = [
        thing
        for thing in pdf.objects
        if isinstance(thing, pikepdf.Dictionary) and thing.get("/S") == "/Figure"
    ]
    assert any("Icicle" in str(figure.get("/Alt", "")) for figure in figures)


def test_result_is_attached_byte_for_byte(rich: AuditResult, pdf: pikepdf.Pdf) -> None:
    assert list(pdf.attachments) == ["result.json"]
    attached = pdf.attachments["result.json"].get_file()
    assert attached.read_bytes() == to_json_bytes(rich.shared())
    assert attached.mime_type == "application/json"
    assert str(pdf.Root.AF[0].AFRelationship) == "/Source"


def test_same_result_same_bytes(
    rich: AuditResult, pdf_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)
    reports.write_pdf(rich.shared(), tmp_path / "again.pdf")
    assert (tmp_path / "again.pdf").read_bytes() == pdf_path.read_bytes()


def test_dates_are_those_of_the_epoch(pdf: pikepdf.Pdf) -> None:
    assert str(pdf.docinfo["/CreationDate"]).startswith("D:20231114221320")
    attached = pdf.attachments["result.json"].get_file()
    assert str(attached.obj.Params.ModDate).startswith("D:20231114221320")


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
def test_every_finding_and_the_digest_stand_in_it(rich: AuditResult, pdf_path: Path) -> None:
    text = _text(pdf_path)
    shared = rich.shared()
    for check in shared["checks"]:
        for finding in check["findings"]:
            assert joined(finding["statement"]) in text
    assert hashlib.sha256(to_json_bytes(shared)).hexdigest() in text


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
def test_hostile_titles_are_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "hostile.pdf"
    reports.write_pdf(results.hostile_result(), path)
    text = _text(path)
    for title in results.HOSTILE_TITLES:
        if title.isascii():
            assert joined(printable(title)) in text
    assert _outside(path) == []


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
def test_big_release_keeps_every_finding_and_the_margins(tmp_path: Path) -> None:
    path = tmp_path / "big.pdf"
    big = results.big_result(checks=4, findings=25, parts=6)
    reports.write_pdf(big, path)
    text = _text(path)
    for check in big.shared()["checks"]:
        for finding in check["findings"]:
            assert joined(finding["statement"]) in text
    assert _outside(path) == []
    assert len(pikepdf.open(path).pages) <= 60


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
def test_words_stay_inside_the_page(pdf_path: Path) -> None:
    assert _outside(pdf_path) == []


def test_missing_pango_says_how_to_install_it(
    rich: AuditResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _forbid(monkeypatch, OSError("cannot load library 'libpango-1.0-0'"))
    with pytest.raises(RenderError) as caught:
        reports.write_pdf(rich, tmp_path / "report.pdf")
    assert "sudo apt-get install -y libpango-1.0-0 libpangoft2-1.0-0" in str(caught.value)
    assert "brew install pango" in str(caught.value)
    assert caught.value.exit_status == 3
    assert not (tmp_path / "report.pdf").exists()


def test_missing_weasyprint_is_a_render_error(
    rich: AuditResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _forbid(monkeypatch, ImportError("No module named 'weasyprint'"))
    with pytest.raises(RenderError, match="pip install weasyprint"):
        reports.write_pdf(rich, tmp_path / "report.pdf")


def test_failure_of_the_renderer_is_a_render_error(
    rich: AuditResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> bytes:
        raise MemoryError("no room")

    monkeypatch.setattr("weasyprint.HTML.write_pdf", fail)
    with pytest.raises(RenderError, match="MemoryError: no room"):
        reports.write_pdf(rich, tmp_path / "report.pdf")


def _forbid(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "weasyprint":
            raise error
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


def _pdftotext(path: Path, *options: str) -> str:
    command = ["pdftotext", *options, str(path), "-"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _text(path: Path) -> str:
    return joined(_pdftotext(path, "-raw"))


def _outside(path: Path) -> list[str]:
    """Words that reach beyond the margins of an A4 page, a point of tolerance given."""
    from xml.etree import ElementTree

    source = "".join(c for c in _pdftotext(path, "-bbox") if c >= " " or c == "\n")
    root = ElementTree.fromstring(source)
    words = (element for element in root.iter() if element.tag.endswith("word"))
    left, right = 20 / 25.4 * 72 - 1, (210 - 20) / 25.4 * 72 + 1
    return [
        word.text or ""
        for word in words
        if float(word.attrib["xMin"]) < left or float(word.attrib["xMax"]) > right
    ]

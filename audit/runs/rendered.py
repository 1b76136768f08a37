"""Read rendered reports back: findings of HTML, text and attachments of PDF."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

MARGIN = 52.0
"""Points at the top and bottom of a page that hold running heads: 18 mm of 22."""

_HYPHENS = str.maketrans({"\ufffe": "-", "\x02": "-"})
"""Characters that PDFium returns for a hyphen at the end of a line."""


@dataclass(slots=True)
class FindingText:
    """A finding in an HTML report: its id and its sentences."""

    id: str = ""
    sentences: str = ""


@dataclass(frozen=True, slots=True)
class HtmlReport:
    """An HTML report: its findings in order, and the texts set as code."""

    findings: tuple[FindingText, ...]
    codes: frozenset[str]


def read_html(path: Path) -> HtmlReport:
    """Read the findings of an HTML report.

    Raises:
        UnicodeDecodeError: If the file is not UTF-8.
    """
    parser = _Findings()
    parser.feed(path.read_text("utf-8"))
    parser.close()
    return HtmlReport(tuple(parser.findings), frozenset(parser.codes))


class _Findings(HTMLParser):
    """Gathers each article: its statement and the text below it, and the code that is its id."""

    def __init__(self) -> None:
        super().__init__()
        self.findings: list[FindingText] = []
        self.codes: list[str] = []
        self._in_article = self._in_sentence = self._in_id = self._in_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        if tag == "article":
            self._in_article = True
            self.findings.append(FindingText())
        elif tag == "code":
            self._in_code = True
            self.codes.append("")
        elif tag == "p":
            self._in_sentence = "statement" in classes or "card-text" in classes
            self._in_id = "card-id" in classes

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self._in_article = False
        elif tag == "code":
            self._in_code = False
        elif tag == "p":
            self._in_sentence = self._in_id = False

    def handle_data(self, data: str) -> None:
        if self._in_code:
            self.codes[-1] += data
        if not self._in_article:
            return
        if self._in_sentence:
            self.findings[-1].sentences += data
        if self._in_id and self._in_code:
            self.findings[-1].id += data


@dataclass(frozen=True, slots=True)
class PdfReport:
    """A PDF report: its text, page after page without running heads, and its attachments."""

    text: str
    attachments: dict[str, bytes] = field(repr=False)


def read_pdf(path: Path) -> PdfReport:
    """Read the text and the attachments of a PDF report with PDFium.

    Raises:
        ImportError: If the package pypdfium2 is missing.
        RuntimeError: If the file is not a PDF.

    Time grows with the pages; a page takes about 2 ms.
    """
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        attached = (document.get_attachment(i) for i in range(document.count_attachments()))
        attachments = {one.get_name(): bytes(one.get_data()) for one in attached}
        text = "\n".join(_body(page) for page in document)
    return PdfReport(text.translate(_HYPHENS), attachments)


def _body(page: PdfPage) -> str:
    top = page.get_height() - MARGIN
    text: str = page.get_textpage().get_text_bounded(bottom=MARGIN, top=top)
    return text


def comparable(text: str) -> str:
    """Normalise text for comparison: without spaces, ligatures and unprintable characters."""
    return "".join(
        character
        for character in unicodedata.normalize("NFKC", text)
        if unicodedata.category(character)[0] not in "ZC" and character != "\ufffd"
    )


def one_way(text: str) -> bool:
    """Whether text is written from left to right only, so that a PDF keeps its order."""
    return all(unicodedata.bidirectional(c) not in ("R", "AL", "AN") for c in text)

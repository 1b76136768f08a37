"""HTML, PDF and JSON of one result carry the same findings, each read back on its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pypdfium2
import pytest

from audit.results.result import AuditResult, to_json_bytes
from tests.unit.reports.document import VOID, joined

pytestmark = pytest.mark.slow

Findings = Mapping[str, str]
"""What is told of each finding by its id, without spaces."""


def test_all_three_carry_the_same_findings(rich: AuditResult, html: str, pdf_path: Path) -> None:
    from_json = read_json(to_json_bytes(rich.shared()))
    from_html = read_html(html)
    text = read_pdf(pdf_path)

    assert len(from_json) > 5
    assert from_html == from_json
    missing = [id_ for id_ in from_json if joined(id_) not in text]
    assert missing == []


def read_json(source: bytes) -> Findings:
    checks = json.loads(source)["checks"]
    return {one["id"]: joined(one["statement"]) for check in checks for one in check["findings"]}


def read_html(source: str) -> Findings:
    """Each finding's id and its sentences."""
    found = Articles()
    found.feed(source)
    assert len(found.ids) == len(set(found.ids)) == len(found.sentences)
    return dict(zip(found.ids, map(joined, found.sentences), strict=True))


class Articles(HTMLParser):
    """Ids and sentences of the articles, each id in the code of its last paragraph."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.sentences: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        self._open.append(f"{tag}.{dict(attrs).get('class') or ''}")
        if tag == "article":
            self.sentences.append("")
        elif self._open[-2:] == ["p.finding-id", "code."]:
            self.ids.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Such an element holds nothing."""

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if not any(one.startswith("article.") for one in self._open):
            return
        if self._open[-2:] == ["p.finding-id", "code."]:
            self.ids[-1] += data
        elif self._open[-1] in ("span.statement", "p.statement", "p.explanation"):
            self.sentences[-1] += data


def read_pdf(path: Path) -> str:
    """All text."""
    with pypdfium2.PdfDocument(path) as document:
        pages = [page.get_textpage().get_text_bounded() for page in document]
    return joined("".join(pages).replace("\ufffe", "-").replace("\x02", "-"))

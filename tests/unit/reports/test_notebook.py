"""The report inside a notebook."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import reports
from fixtures import results


class Frame(HTMLParser):
    """The attributes of the one element of a cell."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_notebook_shows_the_bytes_of_the_file_in_a_sandbox(tmp_path: Path) -> None:
    result = results.hostile_result()
    reports.write_html(result, tmp_path / "report.html")
    shown = reports.show(result)
    ((tag, attributes),) = Frame(shown._repr_html_()).found

    assert tag == "iframe"
    assert attributes["srcdoc"] == (tmp_path / "report.html").read_text("utf-8")
    assert attributes["sandbox"] == "allow-scripts"
    assert len(repr(shown)) < 100

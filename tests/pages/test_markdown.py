"""How objects show themselves in a notebook: one line and one table, whatever titles hold."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any, Protocol

import pytest
from markdown_it import MarkdownIt

from audit import compare_runs, run_audit
from fixtures.labelled import labelled
from fixtures.toy import toy


class Shown(Protocol):
    def _repr_markdown_(self) -> str: ...


class Cells(HTMLParser):
    """Text of each cell of a table, row by row, and every tag."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and data.strip():
            self.rows[-1][-1] += data


def cells(shown: Shown) -> list[list[str]]:
    """The one table that a front end draws."""
    html = MarkdownIt("commonmark").enable("table").render(shown._repr_markdown_())
    found = Cells(html)
    table = {"p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert found.tags <= table, found.tags - table
    assert len({len(row) for row in found.rows}) == 1
    return found.rows


def objects() -> dict[str, Any]:
    dataset = labelled(toy(), {"a": ["dog", "cow"], "b": ["dog", "unicorn"], "c": []})
    other = labelled(toy(), {"a": ["dog"], "b": ["dog"], "c": ["tool"]})
    result = run_audit(dataset)
    return {"result": result, "comparison": compare_runs(result, run_audit(other))}


@pytest.mark.parametrize("name", ["result", "comparison"])
def test_an_object_shows_itself_as_one_table(name: str) -> None:
    shown = objects()[name]
    headings, *rows = cells(shown)

    assert shown._repr_markdown_().startswith(f"**{shown!r}**")
    assert all(headings)
    assert rows

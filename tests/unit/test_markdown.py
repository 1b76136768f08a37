"""How objects show themselves in a notebook: one line and one table, whatever titles hold."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any, Protocol

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from audit.hierarchies.hierarchy import Hierarchy
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import compare_runs
from fixtures.labelled import labelled
from fixtures.predicted import predicted
from fixtures.results import HOSTILE_TITLES
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
    predictions = predicted(dataset, {"a": {"dog": 0.9}, "b": {"cow": 0.7}})
    result = run_audit(dataset)
    return {
        "hierarchy": toy(),
        "dataset": dataset,
        "predictions": predictions,
        "result": result,
        "comparison": compare_runs(result, run_audit(other)),
    }


@pytest.mark.parametrize("name", ["hierarchy", "dataset", "predictions", "result", "comparison"])
def test_an_object_shows_itself_as_one_table(name: str) -> None:
    shown = objects()[name]
    headings, *rows = cells(shown)

    assert shown._repr_markdown_().startswith(f"**{shown!r}**")
    assert all(headings)
    assert rows


def branches(titles: tuple[str, ...]) -> Hierarchy:
    ids = [f"n{place}" for place in range(len(titles))]
    nodes = pl.DataFrame({"node": [*ids, "root"], "title": [*titles, "Root"]})
    edges = pl.DataFrame({"child": ids, "parent": ["root"] * len(ids)})
    return Hierarchy.build(edges, nodes, name="titled")


@pytest.mark.parametrize("title", [*HOSTILE_TITLES, "a|b", "*a* _b_ `c`", "\\", "$x$", "[a](b)"])
def test_a_title_is_text_in_its_cell(title: str) -> None:
    _, *rows = cells(branches((title, "plain")))

    told = title.replace("\x00", "\ufffd")
    assert " ".join(rows[0][1].split()) == " ".join(told.split())


@given(title=st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30))
def test_any_title_is_one_cell(title: str) -> None:
    assert [len(row) for row in cells(branches((title, "plain")))] == [3, 3, 3]

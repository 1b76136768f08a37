"""The page of one instance: self-contained, inert, and the tree that the terminal draws."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import reports
from audit._reports.html import csp_source
from audit._reports.instance import DEEPEST
from audit.base.errors import RenderError
from audit.data.weighted_dag import InstanceTree, WeightedDag
from audit.runs.instances import instance_view
from fixtures.labelled import tree
from tests.unit.reports.document import Document, joined

HOSTILE = '"><script>alert(1)</script>'


def view_of(*families: str, labels: list[str], scores: dict[str, float], **titles: str) -> Any:
    hierarchy = tree(*families, titles=titles)
    merged = InstanceTree(
        WeightedDag(hierarchy, dict.fromkeys(labels, 1.0)), WeightedDag(hierarchy, scores)
    )
    return instance_view(merged, HOSTILE, 0.0)


@pytest.fixture
def view() -> dict[str, Any]:
    families = ("dog cow < mammal", "dog < pet", "mammal pet tool < thing")
    scores = {"dog": 0.6, "cow": 0.3, "mammal": 0.1}
    made: dict[str, Any] = view_of(*families, labels=["cow", "tool"], scores=scores, dog=HOSTILE)
    return made


@pytest.fixture
def page(view: dict[str, Any], tmp_path: Path) -> str:
    reports.write_instance(view, tmp_path / "page.html")
    return (tmp_path / "page.html").read_text("utf-8")


def test_it_refers_to_nothing_outside_and_allows_one_style_sheet(page: str) -> None:
    document = Document(page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    (policy,) = (meta["content"] for meta in document.of("meta") if meta.get("http-equiv"))

    assert policy == (
        f"default-src 'none'; style-src {csp_source(style)}; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"https?:|url\(|@import|\sstyle=|\son\w+=", page)


def test_ids_and_titles_are_text_and_no_markup(page: str) -> None:
    assert "<script" not in page
    assert page.count(joined("&lt;script&gt;")) == 4  # title of the page, heading, twice the node


def test_what_opens_is_closed(page: str) -> None:
    document = Document(page)

    assert document.unbalanced == document.open == []
    assert page.count("<details open>") == page.count("</details>") == 3


def test_every_line_has_its_mark_in_words_and_its_bars(page: str, view: dict[str, Any]) -> None:
    marks = re.findall(r'tone-\w+">(\w+)</span></span>', page)

    assert marks == [line["mark"] for line in view["lines"]]
    bars = re.findall(r'<rect x="([\d.]+)" width="([\d.]+)"', page)
    assert [(float(start) / 1000, float(width) / 1000) for start, width in bars] == [
        pytest.approx(line[f"{kind}_bar"], abs=1e-4)
        for line in view["lines"]
        for kind in ("label", "score")
        if line[kind]
    ]


def test_a_hierarchy_deeper_than_a_browser_nests_is_cut_and_counted(tmp_path: Path) -> None:
    chain = [f"n{i + 1:04} < n{i:04}" for i in range(DEEPEST + 50)]
    view = view_of(*chain, labels=[f"n{DEEPEST + 50:04}"], scores={"n0001": 1})
    reports.write_instance(view, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")

    assert page.count("<details open>") == page.count("</details>") == DEEPEST
    assert joined(f"50 more lines are deeper than {DEEPEST} levels") in Document(page).text


def test_a_view_that_cannot_be_rendered_says_so(view: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="instance"):
        reports.write_instance({**view, "lines": [{"level": 0}]}, tmp_path / "page.html")

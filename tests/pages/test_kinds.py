"""Every kind of column is written and drawn, whatever text stands in it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any, get_args
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.registered import figures, kinds
from fixtures.results import HOSTILE_TITLES
from reports import words
from reports.figures import draw
from reports.findings import Verdict
from reports.page import page
from reports.render import chapter, table

OF = kinds.Columns(
    kinds.node("node", "Node", title="title"),
    kinds.text("name above", "Name|Above"),
    kinds.count("k", "k", among="n"), kinds.count("n"), kinds.exact("all", "All", reason="a total"),
    kinds.share("share", "Share", of="k n", ends="low high",
                mark=kinds.Mark(limit="limit", reference="mean")),
    kinds.whole("depth", "Depth"), kinds.setting("limit", "Limit"), kinds.total("sum", "Sum"),
    kinds.mean("mean", "Mean", n="n", unit="%", mark=kinds.Mark()),
    kinds.factor("expected", "Expected", of="k n"),
    kinds.estimate("kappa", "Kappa", n="n", reason="a test", ends="kappa_low kappa_high",
                   mark=kinds.Mark()),
    kinds.ratio("ratio", "Ratio", of="k expected", mark=kinds.Mark()),
    kinds.difference("apart", "Apart", of="share share", mark=kinds.Mark()),
    kinds.metric("value", "Value", by="name", n="n", mark=kinds.Mark()), kinds.chance("q", "q"),
)  # fmt: skip
FIGURES: tuple[figures.Figure, ...] = (
    figures.Dots(value="share", name="node", panel="above", series="name"),
    figures.Curve(x="depth", value="kappa", series="name"),
    figures.Curve(x="name", value="share"),
    figures.Matrix(row="name", column="above", value="share"),
    figures.Graph(source="name", target="above", value="k"),
    figures.Icicle(node="node", parent="parent", value="k", tone="tone"),
)
ROUNDED = {"bin": 10, "totals": {"instances": 5000}}
numbers = st.one_of(st.none(), st.floats(-2, 2, allow_nan=False))
titles = st.one_of(st.sampled_from(HOSTILE_TITLES), st.text(max_size=30))
rows = st.lists(
    st.fixed_dictionaries(
        {
            **dict.fromkeys(("title", "name", "above"), titles),
            **dict.fromkeys(("k", "n", "all", "depth", "sum"), st.integers(0, 5000)),
            **{name: numbers for name in OF if OF[name].kind not in ("text", "count", "exact")
               and name not in ("depth", "sum")},
            "tone": st.sampled_from(["", "note", "warning", "error"]),
        }
    ).map(lambda row: {**row, "parent": None}),
    min_size=1,
    max_size=6,
)  # fmt: skip


def numbered(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return words.printable([{**row, "node": f"n{at}"} for at, row in enumerate(given)])


def shown(drawn: kinds.Table, given: list[dict[str, Any]], rounding: Any) -> str:
    made = chapter("Kinds", [table(drawn, given, rounding)], anchor="kinds")
    return page(
        "report.html.jinja", title="t", stated="", band="", foot="", paper=True, where="w",
        verdict=Verdict("pass", "h", ()), lines=(), ten=(), before=(), blocks=(), severities={},
        seen=[made], folded=(),
    )  # fmt: skip


def test_every_kind_stands_in_the_table() -> None:
    assert {one.kind for one in OF.values()} | {"end"} == {*get_args(kinds.Kind)}
    assert kinds.NONE not in OF


@given(rows, st.sampled_from([None, ROUNDED]))
def test_hostile_text_stays_text_in_every_kind(given: list[dict[str, Any]], rounding: Any) -> None:
    given = numbered(given)
    html = shown(kinds.Table(OF, title="Kinds"), given, rounding)

    assert len(re.findall("<script|<img|onmouseover='", html)) == 0
    assert "{{" not in html or any("{{" in str(row) for row in given)
    read = unescape(re.sub("<[^>]+>", " ", html))
    for row in given:
        if row["title"].strip():
            assert " ".join(f"{row['title']} ({row['node']})".split()) in " ".join(read.split())


@given(rows)
def test_a_rounded_count_below_eleven_is_never_written(given: list[dict[str, Any]]) -> None:
    told = [{**row, "k": 5, "n": 5} for row in numbered(given)]
    made = table(
        kinds.Table(kinds.Columns(kinds.count("k", "k", among="n"), kinds.count("n"))),
        told,
        ROUNDED,
    )

    assert made is not None
    assert {cell.text for line in made.rows for cell in line} == {"<11 of <11"}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda one: type(one).__name__)
@given(given=rows)
def test_every_figure_is_well_formed_and_inert(
    figure: figures.Figure, given: list[dict[str, Any]]
) -> None:
    drawn = draw(figure, OF, numbered(given), None)
    if drawn is not None:
        root = ElementTree.fromstring(re.sub("[\x00-\x08\x0b-\x1f\ufffe\uffff]", "", drawn.svg))
        tags = {one.tag for one in root.iter()}
        assert tags <= {"svg", "title", "g", "path", "rect", "circle", "text"}
        names = {name for one in root.iter() for name in one.attrib}
        assert not any(name.startswith("on") or "href" in name for name in names)


def test_colours_are_of_series_and_signs_and_dots_on_the_line_of_their_name() -> None:
    of = [("a", "x", 0.25, -0.5), ("b", "x", 1.0, 0.25), ("a", "y", 0.5, 0.5)]
    given = [dict(zip(("node", "name", "share", "apart"), row, strict=True)) for row in of]
    dots = figures.Dots(value="share", name="node", series="name")
    matrices = (figures.Matrix("", (), "name", "node", value) for value in ("share", "apart"))
    drawn, shares, signs = (str(draw(one, OF, given, None)) for one in (dots, *matrices))
    first, second = re.findall(r'class="axis line" d="M[\d.]+ ([\d.]+)L', drawn)

    assert re.findall(r'circle class="(.*?)".* cy="(.*?)"', drawn.replace("<", "\n"))[2:] == [
        ("s0", first), ("s1", first), ("s0", second),
    ]  # fmt: skip
    assert re.findall(r">([^<]*%)<", drawn) == ["0%", "50%", "100%"]
    assert re.findall('rect class="(.*?)"', shares) == ["s0", "s0", "s0"]
    assert re.findall('rect class="(.*?)"', signs) == ["s0", "s1", "s1"]


@given(rows, st.integers(1, 3))
def test_a_table_shows_its_first_rows_and_says_how_many_more(
    given: list[dict[str, Any]], first: int
) -> None:
    made = table(kinds.Table(OF, first=first), numbered(given), None)

    assert made is not None
    assert len(made.rows) == min(first, len(given))
    assert len(made.rows) + made.more == len(given)


def test_a_table_across_has_a_column_for_each_value() -> None:
    of = kinds.Columns(
        kinds.text("metric", "Metric"), kinds.text("model"), kinds.share("v", "Value", of="k n")
    )
    given = [
        {"metric": metric, "model": model, "v": v}
        for metric, model, v in (("a", "x", 0.1), ("a", "y", 0.2), ("b", "y", 0.3))
    ]
    made = table(kinds.Table(of, across="model"), given, None)

    assert made is not None
    assert [one.text for one in made.headings] == ["Metric", "x", "y"]
    assert [[cell.text for cell in row] for row in made.rows] == [
        ["a", "10.0%", "20.0%"],
        ["b", "–", "30.0%"],
    ]

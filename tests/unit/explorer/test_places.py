"""Places in the hierarchy: hues, the tree, labels beside predictions, use by column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest

from audit.explorer.run.node_places import top_branches
from audit.explorer.site import HUES
from audit.hierarchies.hierarchy import Hierarchy
from audit.runs.folder import write_run
from fixtures.drifting import YEARS, drifting
from fixtures.explored import Visitor, entered
from tests.unit.explorer.test_pages import rows_of


@pytest.fixture(scope="module")
def drift(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Visitor, Path]]:
    folder = write_run(drifting(), tmp_path_factory.mktemp("drift") / "run")
    with entered(folder) as visitor:
        yield visitor, folder


def hues_of(text: str) -> set[tuple[str, str]]:
    """Nodes and their hues as lines of trees have them."""
    node = r'[^>]*href="/(?:node|hierarchy)\?id=([^"&]+)"'
    lines = re.findall(rf'class="(?:branch |tree-row )?(hue-\w+)">.*?{node}', text, re.DOTALL)
    return {(unescape(id), hue) for hue, id in lines}


def test_a_node_has_the_hue_of_its_branch_on_every_page(
    visitor: Visitor, hierarchy: Hierarchy
) -> None:
    numbers = top_branches(hierarchy).tolist()
    neutral = {"hue-none"}
    seen = dict[str, set[str]]()
    pages = (
        "/hierarchy", "/hierarchy?open=left&open=right&open=wide", "/hierarchy?id=left",
        "/instance?id=two", "/instance?id=all",
    )  # fmt: skip
    for page in pages:
        found = hues_of(visitor.ask("GET", page).text)
        assert found, page
        for node, hue in found:
            seen.setdefault(node, set()).add(hue)

    assert {"left", "right", "wide", "a1", "b1", "d", "w00"} <= seen.keys()
    for node, hues in seen.items():
        number = numbers[hierarchy.index(node)]
        assert hues <= neutral if number < 0 else hues == {HUES[number % len(HUES)]}, node
    assert len({*seen["left"], *seen["right"], *seen["wide"]}) == 3
    assert seen["d"] <= neutral


def test_a_ninth_branch_begins_the_hues_again(visitor: Visitor) -> None:
    css = visitor.get("/static/explorer.css").text

    for hue in (*HUES, "hue-none"):
        assert f".{hue} {{ --hue: var(--" in css
    for hue in HUES:
        assert css.count(f"--{hue}: #") == 2


def toggles_of(text: str) -> dict[str, str]:
    """Address of each toggle by the anchor of its line."""
    links = re.findall(r'id="(at-[^"]+)">\s*<a class="toggle" href="([^"]+)"', text)
    return {unescape(anchor): unescape(to).split("#")[0] for anchor, to in links}


def test_a_toggle_is_an_address_that_gives_the_same_page_again(visitor: Visitor) -> None:
    start = visitor.ask("GET", "/hierarchy?id=root").text
    assert {*toggles_of(start)} == {"at-left", "at-right", "at-wide"}
    for anchor, to in toggles_of(start).items():
        opened = visitor.ask("GET", to).text
        assert visitor.ask("GET", to).text == opened
        assert opened != start
        assert visitor.ask("GET", toggles_of(opened)[anchor]).text == start


def test_what_is_open_shows_all_that_lies_right_below(visitor: Visitor) -> None:
    text = visitor.ask("GET", "/hierarchy?id=root&open=right&open=wide").text
    tree = text[text.index('<ul class="twigs"') : text.index("opens what is below a node")]
    names = [unescape(name) for name in re.findall(r'id="at-([^"]+)"', tree)]

    assert {"right/b1", "right/d", "left"} <= {*names}
    assert "left/a1" not in names
    assert "27 more, less frequent" in tree
    assert tree.count("<ul") == tree.count("</ul>")
    assert tree.count("<li") == tree.count("</li>")
    marked = re.search(r'id="at-right/d">.*?</div>', tree, re.DOTALL)
    assert marked
    assert "2 parents" in marked[0]


@pytest.mark.parametrize("asked", ["<script>", "%2E%2E/passwd", "left/" * 900, "a1", "wide/w00"])
def test_open_nodes_that_are_none_are_left_out(visitor: Visitor, asked: str) -> None:
    answer = visitor.get("/hierarchy", open=asked)

    assert answer.status == 200
    opened = [to for to in toggles_of(answer.text).values() if "right" in to]
    assert {part for to in opened for part in parse_qs(urlsplit(to).query)["open"]} <= {
        "right", "left", "left/right", "wide",
    }  # fmt: skip


def test_drift_by_column_has_the_numbers_of_the_table(drift: tuple[Visitor, Path]) -> None:
    visitor, folder = drift
    tested = pl.read_parquet(folder / "restricted" / "drift_nodes.parquet")
    text = visitor.get("/node", id="a").text
    for number, column in ((1, YEARS), (2, "site")):
        file = visitor.get("/node", id="a", csv=f"drift-{number}")
        assert "-exact" in file.headers["content-disposition"]
        told = {row["value"]: row for row in csv.DictReader(io.StringIO(file.text))}
        shown = {row[0]: row for row in rows_of(text, f"drift-{number}")}
        for row in tested.filter(column=column, node="a").iter_rows(named=True):
            line = told[row["value"]]
            assert (int(line["instances"]), int(line["of"])) == (row["instances"], row["of"])
            assert float(line["difference"]) == row["difference"]
            assert float(line["q_value"]) == row["q_value"]
            assert line["differs"] == str(row["differs"])
            assert shown[row["value"]][-1] == ("yes" if row["differs"] else "no")
            assert shown[row["value"]][3] == f"{row['instances'] / row['of']:.1%}"
    assert [row[0] for row in rows_of(text, "drift-1")] == ["9", "10", "11"]
    assert f"The {len(tested)} comparisons of all nodes and columns are one family" in text
    assert YEARS not in text


def test_drift_tells_what_differs_and_draws_it(drift: tuple[Visitor, Path]) -> None:
    text = drift[0].get("/node", id="a").text
    section = text[text.index('class="drift"') :]

    assert re.search(r"11: \d+\.\d% of the instances, −[\d.]+ percentage points against", section)
    assert section.count('<svg class="figure"') == 2


def test_a_node_that_no_value_was_tested_on_says_so(drift: tuple[Visitor, Path]) -> None:
    text = drift[0].get("/node", id="c").text

    assert text.count("Not compared:") == 2
    assert 'id="drift-1"' not in text


def test_a_run_without_drift_says_nothing_of_it(visitor: Visitor) -> None:
    assert "Drift" not in visitor.get("/node", id="left").text


def test_a_page_of_one_table_leaves_the_others_at_their_beginning(visitor: Visitor) -> None:
    first = visitor.get("/node", id="wide").text
    further = re.search(r'rel="next" href="([^"]+)#children"', first)
    assert further
    text = visitor.ask("GET", unescape(further[1])).text

    assert rows_of(text, "children") != rows_of(first, "children")
    assert rows_of(text, "data-partners") == rows_of(first, "data-partners")

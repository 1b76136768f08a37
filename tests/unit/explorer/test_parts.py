"""Explanations, concepts and tuples in the window, of runs that the commands made."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from fixtures.explored import Visitor, entered
from fixtures.once import filled_once
from fixtures.part_runs import HOSTILE, PARTS, write_part_runs
from fixtures.sealed_files import reseal
from reports.words import EXACT
from tests.unit.explorer.test_links import follow_all
from tests.unit.explorer.test_pages import rows_of

pytestmark = pytest.mark.slow

pytest.importorskip("sklearn")


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each part."""
    return filled_once("part_runs", write_part_runs, tmp_path_factory)


@pytest.fixture(scope="module")
def visitors(runs: Path) -> Iterator[dict[str, Visitor]]:
    """Somebody who looks at each of them."""
    with ExitStack() as opened:
        yield {part: opened.enter_context(entered(runs / part)) for part in PARTS}


def tables(runs: Path, part: str) -> dict[str, pl.DataFrame]:
    """The tables of a part as they lie in the run, but for its facts."""
    files = (runs / part / "restricted").glob(f"{part}_*.parquet")
    read = {file.stem.removeprefix(f"{part}_"): pl.read_parquet(file) for file in files}
    return {name: table for name, table in read.items() if name != "facts"}


def walked(visitor: Visitor, address: str | None, sheet: str) -> list[list[list[str]]]:
    """The rows of each page of a table, by following its links."""
    pages = []
    while address:
        text = visitor.ask("GET", address).text
        pages.append(rows_of(text, sheet))
        further = re.search(r'rel="next" href="([^"]+)"', text)
        address = unescape(further[1]).split("#")[0] if further else None
    return pages


def file_of(visitor: Visitor, address: str, **asked: str) -> list[dict[str, str]]:
    sheet = address.rsplit("/", 1)[1]
    answer = visitor.get(address, **asked, csv=sheet)
    assert f"{sheet}-exact.csv" in answer.headers["content-disposition"]
    return [*csv.DictReader(io.StringIO(answer.text))]


@pytest.mark.parametrize("part", PARTS)
def test_the_page_has_all_tables_that_have_rows(
    visitors: dict[str, Visitor], runs: Path, part: str
) -> None:
    text = visitors[part].get(f"/analyses/{part}").text

    assert HOSTILE not in text
    linked = re.findall(rf'<li><a href="/analyses/{part}/(\w+)">', text)
    filled = {name for name, table in tables(runs, part).items() if len(table)}
    assert sorted(linked) == sorted(filled)
    for other in {*PARTS} - {part}:
        assert f'href="/analyses/{other}"' not in text
        assert visitors[part].get(f"/analyses/{other}").status == 404
        assert visitors[part].get(f"/analyses/{other}/nodes").status == 404


@pytest.mark.parametrize("part", PARTS)
def test_every_table_has_a_page_and_a_file_with_its_rows(
    visitors: dict[str, Visitor], runs: Path, part: str
) -> None:
    for name, table in tables(runs, part).items():
        answer = visitors[part].get(f"/analyses/{part}/{name}")
        assert answer.status == 200
        assert EXACT in answer.text
        assert HOSTILE not in answer.text
        assert not re.search(r'\s(style|on\w+)="', answer.text)
        assert len(rows_of(answer.text, name)) == (min(len(table), 25) or 1)
        told = file_of(visitors[part], f"/analyses/{part}/{name}")
        assert len(told) == len(table)
        assert {row["sharing"] for row in told} <= {"exact: not for sharing"}
        assert all(HOSTILE not in "".join(row) for row in told)


def test_a_file_has_the_values_of_the_table_in_the_order_of_the_page(
    visitors: dict[str, Visitor], runs: Path
) -> None:
    asked = {"measure": "token_f1_evidence", "method": "first", "order": "value:rising"}
    told = file_of(visitors["explanations"], "/analyses/explanations/nodes", **asked)
    table = tables(runs, "explanations")["nodes"]
    kept = table.filter(measure="token_f1_evidence", method="first").sort(
        "value", maintain_order=True
    )

    assert len(kept) > 25
    assert [row["node"] for row in told] == kept["node"].to_list()
    assert [float(row["value"]) for row in told] == kept["value"].to_list()
    assert {row["node_title"] for row in told if row["node"] == "a1"} == {f"a1{HOSTILE}"}
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    pages = walked(visitors["explanations"], f"/analyses/explanations/nodes?{query}", "nodes")
    shown = [row[0] for page in pages for row in page]
    titles = {f"{node}{HOSTILE} {node}": node for node in kept["node"]}
    assert [titles.get(text, text) for text in shown] == kept["node"].to_list()


def test_51_rows_at_25_a_page_are_25_25_and_1(runs: Path, tmp_path: Path) -> None:
    run = shutil.copytree(runs / "entailment", tmp_path / "run")
    edges = run / "restricted" / "entailment_graph_edges.parquet"
    pl.read_parquet(edges).head(51).write_parquet(edges)
    reseal(run)
    with entered(run) as visitor:
        pages = walked(visitor, "/analyses/entailment/graph_edges?order=heads", "graph_edges")

    assert [len(page) for page in pages] == [25, 25, 1]
    kept = pl.read_parquet(edges).sort("heads", descending=True, maintain_order=True)
    assert [row[1] for page in pages for row in page] == kept["instance"].to_list()


@pytest.mark.parametrize(
    "asked",
    [
        {"start": "1e9"}, {"start": "99999"}, {"order": "no such"}, {"order": "node"},
        {"holding": HOSTILE}, {"holding": "("}, {"measure": HOSTILE}, {"csv": "no such"},
        {"order": ":rising"},
    ],
)  # fmt: skip
def test_an_address_that_makes_no_sense_is_a_page_all_the_same(
    visitors: dict[str, Visitor], asked: dict[str, str]
) -> None:
    answer = visitors["explanations"].get("/analyses/explanations/nodes", **asked)

    assert answer.status == 200
    assert HOSTILE not in answer.text


@pytest.mark.parametrize("path", ["facts", "no such", "../../manifest.json", "nodes/x", HOSTILE])
def test_what_is_no_table_is_not_here(visitors: dict[str, Visitor], path: str) -> None:
    for part in PARTS:
        answer = visitors[part].ask("GET", f"/analyses/{part}/" + path.replace(" ", "%20"))
        assert answer.status == 404
        assert HOSTILE not in answer.text


@pytest.mark.parametrize("part", PARTS)
def test_a_node_leads_to_what_was_measured_of_it(
    visitors: dict[str, Visitor], runs: Path, part: str
) -> None:
    node, column = ("Noun-Entail", "relation") if part == "entailment" else ("a1", "node")
    text = visitors[part].get("/node", id=node).text
    to = rf"/analyses/{part}/(\w+)\?{column}={node}"
    link = rf'href="{to}">[^<]+</a> <span class="muted">([\d,]+)</span>'
    found = {name: int(n.replace(",", "")) for name, n in re.findall(link, text)}
    wanted = {
        name: len(table.filter(pl.col(column) == node))
        for name, table in tables(runs, part).items()
        if column in table.columns
    }

    assert wanted
    assert found == {name: n for name, n in wanted.items() if n}
    for name in found:
        told = file_of(visitors[part], f"/analyses/{part}/{name}", **{column: node})
        assert len(told) == wanted[name]


def test_the_page_of_a_tuple_has_its_rows_of_every_table(
    visitors: dict[str, Visitor], runs: Path
) -> None:
    every = tables(runs, "entailment")
    wanted = every["quality_mismatches"]["id"][0]
    text = visitors["entailment"].get("/analyses/entailment/record", id=wanted).text

    shown = re.findall(r'<section class="sheet" id="(\w+)"', text)
    held = {
        name: len(table.filter(id=wanted)) for name, table in every.items() if "id" in table.columns
    }
    assert {name: len(rows_of(text, name)) for name in shown} == {
        name: n for name, n in held.items() if n
    }
    listed = visitors["entailment"].get("/analyses/entailment/quality_mismatches").text
    assert f'href="/analyses/entailment/record?id={wanted}"' in listed
    assert visitors["entailment"].get("/analyses/entailment/record", id=HOSTILE).status == 404


def test_checks_and_findings_of_a_table_lead_to_their_pages(visitors: dict[str, Visitor]) -> None:
    around = visitors["entailment"].get("/analyses/entailment/graph_neighbourhoods").text
    finding = re.search(r'href="(/finding\?[^"]+)"', around)

    assert finding
    assert visitors["entailment"].ask("GET", unescape(finding[1])).status == 200


@pytest.mark.parametrize("part", PARTS)
def test_every_link_leads_to_a_page(visitors: dict[str, Visitor], part: str) -> None:
    follow_all(visitors[part])

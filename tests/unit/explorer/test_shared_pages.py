"""Nodes and branches of a shared view: no number on their pages that the view does not have."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from html import unescape
from itertools import count
from typing import Any

import pytest

from audit._reports.words.words import decimal, number, percent
from audit.base.spreadsheets import defused_text
from audit.explorer.run.opened_run import OpenedRun
from audit.results.shared_tables import shared_titles
from fixtures import results
from fixtures.explored import Visitor, served

_NUMBER = re.compile(r"[<>≥]?-?\d+(?:,\d{3})*(?:\.\d+)?%?")


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    """A shared view in which each number stands once: a sum or share of some is none of them."""
    view = results.rich_result().shared()
    numbers = count(1)
    told = {name: _told_apart(view[name], numbers) for name in ("overview", "metrics")}
    return {**view, **told}


def _told_apart(value: Any, numbers: Iterator[int]) -> Any:
    if isinstance(value, dict):
        return {key: _told_apart(inner, numbers) for key, inner in value.items()}
    if isinstance(value, list):
        return [_told_apart(inner, numbers) for inner in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    at = next(numbers)
    return 100_003 * at + 17 if isinstance(value, int) else 0.01 + 0.01071 * at % 0.98


@pytest.fixture(scope="module")
def reader(shared: dict[str, Any]) -> Iterator[Visitor]:
    """Somebody who sees what may be shared."""
    with served(OpenedRun("audited", "audited", shared)) as visitor:
        visitor.enter()
        yield visitor


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def printed(value: float | str) -> set[str]:
    """A number of the view as pages and files write it."""
    if isinstance(value, str):
        return {value, number(value)}
    share = {percent(value)} if 0 <= value <= 1 else set()
    return {str(value), number(value), decimal(value, 2), *share}


def _written(value: Any) -> str:
    return defused_text(value) if isinstance(value, str) else str(value)


def pages(shared: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    nodes = [("/node", {"id": node}) for node in shared_titles(shared)]
    return [("/hierarchy", {}), ("/hierarchy", {"start": "25"}), ("/branches", {}), *nodes]


def words_of(text: str) -> str:
    """What a reader reads on a page, but for the figures of the report and places in lists."""
    body = text[text.index("<h1>") : text.index("</main>")]
    body = re.sub(r"<figure.*?</figure>|· \d+ to \d+ of \d+", "", body, flags=re.DOTALL)
    return unescape(re.sub("<[^>]+>", " ", body))


def test_every_number_on_their_pages_is_one_of_the_view(
    reader: Visitor, shared: dict[str, Any]
) -> None:
    every = [*leaves(shared)]
    texts = sorted({one for one in every if isinstance(one, str) and one}, key=len, reverse=True)
    there = {
        text
        for one in every
        if isinstance(one, int | float) or re.fullmatch(r"[<>]\d+", str(one))
        for text in printed(one)
    }
    seen = 0
    for path, asked in pages(shared):
        answer = reader.get(path, **asked)
        assert answer.status == 200
        told = words_of(answer.text)
        for text in (one for one in texts if not re.fullmatch(r"[<>]?\d+", one)):
            told = re.sub(rf"(?<![\w.]){re.escape(text)}(?![\w%])", " ", told)
        found = {one for one in _NUMBER.findall(told) if one not in texts}
        assert found <= there, (path, asked, found - there)
        seen += len(found)
    assert seen > 100


def test_the_files_hold_the_view_s_own_values(reader: Visitor, shared: dict[str, Any]) -> None:
    values = {_written(one) for one in leaves(shared)}
    relations = {"siblings", "same branch", "across branches", "overlapping", "one above the other"}
    files = 0
    for path, asked in pages(shared):
        page = reader.get(path, **asked).text
        for link in re.findall(r'href="(/[^"]*csv=[^"]*)"', page):
            rows = csv.reader(io.StringIO(reader.ask("GET", unescape(link)).text))
            next(rows)
            assert {cell for row in rows for cell in row} - {""} <= values | relations
            files += 1
    assert files > 5


def test_the_map_and_the_picture_have_all_rows_of_the_view(
    reader: Visitor, shared: dict[str, Any]
) -> None:
    overview = shared["overview"]
    branches = reader.get("/branches").text
    assert overview["branches"]
    assert overview["branch_pairs"]
    for row in (*overview["branches"], *overview["branch_pairs"]):
        assert f">{number(row['instances'])}</td>" in unescape(branches)
    for row in overview["tree"]:
        page = unescape(reader.get("/node", id=row["node"]).text)
        assert f"<dd>{number(row['instances'])}</dd>" in page
        for finding in (one for check in shared["checks"] for one in check["findings"]):
            named = any(row["node"] == node["id"] for node in finding["nodes"])
            assert not named or finding["statement"] in page


def test_of_what_is_not_told_nothing_is_said(reader: Visitor) -> None:
    answers = [reader.get("/node", id=node) for node in ("999.9", "no such node")]
    assert [answer.status for answer in answers] == [404, 404]
    texts = [
        answer.text.replace(node, "")
        for answer, node in zip(answers, ("999.9", "no such node"), strict=True)
    ]
    assert texts[0] == texts[1]
    assert reader.get("/pair", a="001-999", b="V01-V91").status == 404


def test_a_search_finds_what_is_told(reader: Visitor, shared: dict[str, Any]) -> None:
    titles = shared_titles(shared)
    assert reader.get("/search", q="584.9").headers["location"] == "/node?id=584.9"
    wanted = "diseases"
    there = {node for node, title in titles.items() if wanted in (title or "").lower()}
    found = reader.get("/search", q=wanted.title()).text
    assert {unescape(one) for one in re.findall(r'href="/node\?id=([^"]*)"', found)} == there
    assert "Nothing." in reader.get("/search", q="no such node").text


def test_the_parts_of_a_finding_are_a_file(reader: Visitor, shared: dict[str, Any]) -> None:
    found = [one for check in shared["checks"] for one in check["findings"] if one["parts"]]
    assert found
    for finding in found:
        told = reader.get("/finding", id=finding["id"], csv="parts").text
        page = reader.get("/finding", id=finding["id"]).text
        assert [
            {name: value for name, value in row.items() if value}
            for row in csv.DictReader(io.StringIO(told))
        ] == [_part(part) for part in finding["parts"]]
        assert "csv=parts" in page


def _part(part: dict[str, Any]) -> dict[str, str]:
    """A row of the file: what is withheld, and a title that is none, are empty."""
    nodes = part["nodes"]
    row = {
        "nodes": "; ".join(node["id"] for node in nodes),
        "titles": "; ".join(node["title"] or "" for node in nodes),
        **part["evidence"],
    }
    return {name: _written(value) for name, value in row.items() if value not in (None, "")}

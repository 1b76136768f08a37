"""Pages of runs beside each other, asked for over a real server."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path

import pytest

from audit.hierarchies.hierarchy import Hierarchy
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.history import history_of
from audit.runs.shared_runs import read_shared_runs
from fixtures.explored import Visitor, entered
from fixtures.labelled import labelled, repeated, tree
from fixtures.predicted import predicted
from tests.unit.explorer.conftest import HOSTILE
from tests.unit.explorer.test_links import follow_all
from tests.unit.explorer.test_pages import file_of, rows_of

TITLES = ("This one", HOSTILE, "No right side")


@pytest.fixture(scope="module")
def further(hierarchy: Hierarchy, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two more runs: one with a model, and one whose hierarchy has fewer nodes."""
    folder = tmp_path_factory.mktemp("further")
    sets = [(40, ["a1"]), (24, ["b1"]), (8, ["d"])]
    dataset = labelled(hierarchy, repeated(sets), persons=True)
    answers = {f"i{place:04}": {"a1": 0.9} for place in range(60)}
    less = labelled(tree("left < root", "a1 d < left"), repeated([(30, ["a1"]), (10, ["d"])]))
    return [
        write_run(run_audit(dataset, predictions=predicted(dataset, answers)), folder / "second"),
        write_run(run_audit(less), folder / "third"),
    ]


@pytest.fixture(scope="module")
def window(folder: Path, further: list[Path]) -> Iterator[Visitor]:
    with entered(folder, *further, titles=TITLES) as visitor:
        yield visitor


@pytest.mark.parametrize(
    "path", ["/", "/node?id=left", "/node?id=b1", "/model", "/model?scope=all", "/history"]
)
def test_pages_are_whole_and_escape_titles_of_runs(window: Visitor, path: str) -> None:
    answer = window.get(path)

    assert answer.status == 200, answer.text[-600:]
    assert '<a href="/history"' in answer.text
    assert HOSTILE not in answer.text
    assert not re.search(r'\s(style|on\w+)="', answer.text)
    assert not re.findall(r'(?:src|href)="(?!/|#)', answer.text)


@pytest.mark.slow
def test_every_link_leads_to_a_page(window: Visitor) -> None:
    follow_all(window)


def test_a_row_tells_how_many_of_which_instances_carry_the_node(window: Visitor) -> None:
    this, second, third = rows_of(window.get("/node?id=b1").text, "beside")

    assert this[:4] == ["This one", "2", "4", "50.0%"]
    assert this[-1] == "this run"
    assert second[:4] == [HOSTILE, "24", "72", "33.3%"]
    assert third[1:4] == ["–", "40", "–"]
    assert third[-2:] == ["–", "its hierarchy lacks this node"]


def test_a_difference_has_its_interval_and_says_whether_it_was_tested(window: Visitor) -> None:
    row = rows_of(window.get("/node?id=b1").text, "beside")[1]
    told = file_of(window, "/node", "beside", id="b1")[1]

    low, high = (float(told[name]) for name in ("difference_low", "difference_high"))
    assert float(told["difference"]) == pytest.approx(1 / 3 - 0.5)
    assert low < -1 / 6 < high
    assert row[4].split() == ["−16.7", f"−{-100 * low:.1f}", "to", f"+{100 * high:.1f}"]
    assert row[5] == "too few to test"


@pytest.mark.slow
def test_findings_on_the_node_are_counted_in_every_run(
    window: Visitor, further: list[Path]
) -> None:
    for node in ("a1", "left", "root"):
        counted = [row["findings"] for row in file_of(window, "/node", "beside", id=node)]
        for run, count in zip(further, counted[1:], strict=True):
            with entered(run) as alone:
                page = alone.get("/node", id=node).text
                found = page.split("<h2>Findings on this node</h2>")[1:]
                listed = found[0].split("</ul>")[0].count("<li>") if found else 0
            assert listed == int(count)


def test_metrics_stand_in_one_column_a_run(window: Visitor, folder: Path) -> None:
    page = window.get("/model?scope=all").text
    rows = file_of(window, "/model", "models", scope="all")
    metrics = {
        (one["name"].replace("_", " "), one["parameters"]["average"]): one
        for one in json.loads((folder / "result.json").read_text("utf-8"))["metrics"]
        if one["scope"] == "all" and "average" in one["parameters"]
    }

    heads = [
        unescape(head) for head in re.findall(r"<th scope=\"col\"[^>]*><bdi>(.*?)</bdi>", page)
    ]
    assert heads[-3:] == list(TITLES)
    assert len(rows) == len(rows_of(page, "models")) > 3
    for (name, average), metric in metrics.items():
        wanted = name, f"threshold 0.5; {average} average"
        row = next(row for row in rows if (row["metric"], row["parameters"]) == wanted)
        assert float(row["1: This one"]) == pytest.approx(metric["value"])
        assert int(row["1: This one_n"]) == metric["n"]
        assert float(row[f"2: {HOSTILE}"]) >= 0
        assert row["3: No right side"] == ""


def test_metrics_of_a_node_stand_on_its_page(window: Visitor) -> None:
    rows = rows_of(window.get("/node?id=left").text, "models")

    assert rows
    assert {row[-1] for row in rows} == {"–"}
    assert any(row[-2] != "–" for row in rows)


def test_the_history_is_that_of_the_command(
    window: Visitor, folder: Path, further: list[Path]
) -> None:
    history = history_of(read_shared_runs([folder, *further]))
    page = window.get("/history").text

    assert len(re.findall("<table", page)) > 3
    for row in history["findings"]:
        assert row["statement"] is None or escape(row["statement"]) in page
    assert "audit history" in page
    assert escape(f"audit compare {folder} {further[0]}") in page


def test_alone_a_run_has_no_history(visitor: Visitor) -> None:
    assert visitor.get("/history").status == 404
    assert "/history" not in visitor.get("/node?id=left").text


def test_a_run_without_restricted_tables_says_that_it_shows_less(
    folder: Path, further: list[Path], tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shutil.copytree(further[0], shared, ignore=shutil.ignore_patterns("restricted"))
    with entered(folder, shared) as visitor:
        row = rows_of(visitor.get("/node?id=b1").text, "beside")[1]
    listed = [
        node["id"]
        for check in json.loads((shared / "result.json").read_text("utf-8"))["checks"]
        for finding in check["findings"]
        for node in finding["nodes"]
    ]

    assert row[:3] == ["shared", "–", "72"]
    assert row[-1].startswith("shared view only")
    assert int(row[-2]) == listed.count("b1")


@pytest.mark.slow
def test_beside_a_shared_view_no_more_than_shared_metrics_are_shown(
    folder: Path, further: list[Path], tmp_path: Path
) -> None:
    alone = tmp_path / "alone"
    shutil.copytree(folder, alone, ignore=shutil.ignore_patterns("restricted"))
    with entered(folder, further[0]) as in_full:
        exact = file_of(in_full, "/model", "models")
    with entered(alone, further[0]) as visitor:
        page = visitor.get("/model").text
        told = csv.DictReader(io.StringIO(visitor.get("/model", csv="models").text))
        shown = {row["2: second"] for row in told} - {""}
        assert "data-partners" not in visitor.get("/node?id=b1").text
        assert visitor.get("/history").status == 200
    metrics = json.loads((further[0] / "result.json").read_text("utf-8"))["metrics"]

    assert "<strong>Shared view.</strong>" in page
    assert "Unsuppressed" not in page
    assert shown == {f"{one['value']}" for one in metrics if one["value"] is not None}
    assert len({row["2: second"] for row in exact}) > len(shown)

"""The pages of the window, asked for over a real server."""

from __future__ import annotations

import gc
import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest

from audit import AuditError, CheckResult, Finding, load_policy, run_audit, write_run
from fixtures.drifting import drifting
from fixtures.explored import Visitor, entered, kept, open_run
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted
from fixtures.registered import PAGES
from fixtures.sealed_files import reseal
from reports.page import html_text
from reports.words import EXACT
from tests.pages.conftest import HOSTILE, WIDE

ASKED = (
    "/", "/tables", "/table/findings", "/table/findings?status=open", "/table/nodes?below=left",
    "/table/pairs?order=-joint&depth=1", "/table/model_pairs?relation=!ancestor", "/records",
    "/records?behaviour=confident", "/node?id=root", "/node?id=left", "/pair?a=a1&b=b1",
    "/record?id=two", "/search?q=w0", "/table/pairs?node=a1&order=-strength", "/nowhere",
    "/node?id=x",
)  # fmt: skip


def rows_of(text: str, caption: str) -> list[list[str]]:
    """Texts of the cells of a table of a page."""
    part = text[text.index(f">{caption} <") :]
    body = part[part.index("<tbody>") : part.index("</tbody>")]
    cells = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in body.split("</tr>")
    ]
    return [[unescape(re.sub("<[^>]+>", "", cell)).strip() for cell in row] for row in cells if row]


@pytest.mark.parametrize("path", ASKED)
def test_pages_are_whole_and_say_that_they_are_not_for_sharing(visitor: Visitor, path: str) -> None:
    answer = visitor.get(path)

    assert answer.status == (404 if path in ("/nowhere", "/node?id=x") else 200)
    assert answer.text.rstrip().endswith("</html>")
    assert EXACT in answer.text
    assert HOSTILE not in answer.text
    assert not re.search(r'\s(style|on\w+)="', answer.text)
    assert not re.findall(r'(?:src|href)="(?!/|#)', answer.text)


def test_a_parameter_that_a_page_does_not_have_is_refused(visitor: Visitor) -> None:
    for path in [*PAGES, "/table/nodes", "/table/pairs", "/records"]:
        answer = visitor.get(path, nonsense="1")

        assert answer.status == 404
        assert "has no parameter nonsense" in answer.text


def test_nodes_at_or_below_are_asked_for_by_a_code_or_a_name(visitor: Visitor) -> None:
    by_code = rows_of(visitor.get("/table/nodes", below="wide").text, "Nodes")

    assert rows_of(visitor.get("/table/nodes", below="WIDE &").text, "Nodes") == by_code
    assert by_code != rows_of(visitor.get("/table/nodes").text, "Nodes")
    assert visitor.get("/table/pairs", below="wide").status == 200
    several = visitor.get("/table/nodes", below="i")
    assert several.status == 404
    assert "2 have these words in their titles" in several.text


def test_the_count_of_a_behaviour_leads_to_as_many_records(visitor: Visitor) -> None:
    table = rows_of(visitor.get("/table/behaviours").text, "Behaviours")
    links = re.findall(r'href="(/records\?behaviour=[^"]*)"', visitor.get("/table/behaviours").text)
    counts = [int(row[-1].split(" of ")[0]) for row in table]
    assert len(links) == len(counts) == 4
    assert any(counts)
    assert '<svg class="m"' in visitor.get("/table/behaviours").text
    for link, count in zip(links, counts, strict=True):
        shown = rows_of(visitor.get(unescape(link)).text, "Records")
        assert len([row for row in shown if row != ["Nothing."]]) == count


def test_what_a_page_was_made_of_goes_with_it(visitor: Visitor) -> None:
    def kept() -> int:
        assert visitor.get("/table/findings", status="open").status == 200
        assert visitor.get("/table/pairs", node="wide").status == 200
        gc.collect()
        return sum(issubclass(type(one), pl.DataType) for one in gc.get_objects())

    kept()
    assert kept() == kept()


def test_51_rows_at_25_a_page_are_25_25_and_1(visitor: Visitor) -> None:
    address: str | None = "/node?id=wide"
    pages = []
    while address:
        text = visitor.get(address).text
        pages.append(rows_of(text, "Children, the most frequent first"))
        further = re.search(r'rel="next" href="([^"]+)"', text)
        address = unescape(further[1]) if further else None

    assert [len(page) for page in pages] == [25, 25, 1]
    ids = {row[0].split()[-1] for page in pages for row in page}
    assert ids == {f"w{number:02}" for number in range(WIDE)}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/node", "id"), ("/pair", "a"), ("/finding", "id"), ("/record", "id"),
        ("/record", "finding"), ("/table/findings", "check"), ("/table/nodes", "holding"),
        ("/table/pairs", "node"), ("/table/pairs", "a"), ("/table/nodes", "below"),
        ("/table/nodes", "order"), ("/table/nodes", "depth"), ("/table/nodes", "direct.least"),
        ("/records", "nodes"), ("/records", "outcome"), ("/records", "finding"),
        ("/records", "least"), ("/search", "q"),
    ],
)  # fmt: skip
def test_what_the_run_does_not_have_is_said_in_plain_text(
    visitor: Visitor, path: str, name: str
) -> None:
    for value in [HOSTILE, "../../etc/passwd", "\x00", "é" * 3000, "{{7*7}}", ""]:
        answer = visitor.get(path, **{name: value})

        assert answer.status in (200, 303, 404)
        assert HOSTILE not in answer.text
        assert "Traceback" not in answer.text


def test_a_place_in_a_table_that_is_none_is_its_beginning(visitor: Visitor) -> None:
    for start in ["-1", "1e9", "999999999999999999999", "٣", "25; DROP"]:
        answer = visitor.get("/table/nodes", start=start)

        assert answer.status == 200
        assert "· 1 to 25 of" in re.sub(r"\s+", " ", answer.text)


def test_a_place_beyond_the_end_of_a_table_leads_back_to_its_last_page(visitor: Visitor) -> None:
    text = visitor.get("/node", id="wide", start="1000").text
    back = re.search(r'rel="prev" href="([^"]+)"', text)

    assert back
    children = "Children, the most frequent first"
    assert len(rows_of(visitor.get(unescape(back[1])).text, children)) == 25


def test_the_page_before_begins_25_rows_earlier(visitor: Visitor) -> None:
    for start, before in [("50", "?start=25"), ("25", ""), ("10", "")]:
        back = re.search(
            r'rel="prev" href="([^"]+)"', visitor.get("/table/nodes", start=start).text
        )

        assert back
        assert back[1] == f"/table/nodes{before}"


def test_a_record_with_a_hostile_id_is_reached_and_shown(visitor: Visitor) -> None:
    links = re.findall(r'href="(/record\?[^"]+)"', visitor.get("/records").text)
    answer = visitor.get(next(unescape(one) for one in links if "script" in one))

    assert answer.status == 200
    assert HOSTILE not in answer.text
    assert "a1" in answer.text


def test_the_neighbours_of_a_record_are_those_behind_its_finding(
    visitor: Visitor, folder: Path
) -> None:
    for finding in re.findall(r'href="/finding\?id=([^"]+)"', visitor.get("/table/findings").text):
        behind = re.findall(r'href="(/record\?[^"]+)"', visitor.get(f"/finding?id={finding}").text)
        pages = [visitor.get(unescape(one)).text for one in behind]
        ways = [re.findall(r'rel="(\w+)" href="([^"]+)"', page) for page in pages]
        told = [dict(way) for way in ways]
        assert [way.get("next") for way in told[:-1]] == behind[1:]
        assert [way.get("prev") for way in told[1:]] == behind[:-1]


def test_values_and_bars_on_a_graph_are_those_that_the_guide_names(tmp_path: Path) -> None:
    graph = tree("A B < root", "a1 d < A", "b1 d < B")
    dataset = labelled(graph, {"one": ["d"]})
    predictions = predicted(dataset, {"one": {"a1": 0.3, "b1": 0.2, "d": 0.5}})
    run = kept(dataset, predictions, tmp_path / "run")
    with entered(run, show_instances=True) as visitor:
        text = visitor.get("/record", id="one").text

    drawn = set()
    for row in text.split('class="tree-row')[2:]:
        node = re.search(r'href="/node\?id=(\w+)"', row)
        score = re.search(r'score </span>([\d.]+)</b>.*?<rect width="([\d.]+)"', row)
        assert node
        assert score
        drawn.add((node[1], float(score[1]), float(score[2]) / 1000))
    assert drawn == {
        ("root", 1.0, 1.0),
        *{("A", 0.8, 0.8), ("B", 0.7, 0.7)},
        *{("a1", 0.3, 0.3), ("b1", 0.2, 0.2), ("d", 0.5, 0.5)},
    }


def test_a_search_for_one_node_leads_to_it(visitor: Visitor) -> None:
    answer = visitor.get("/search", q="W07")

    assert (answer.status, answer.headers["location"]) == (303, "/node?id=w07")


def test_a_finding_leads_to_its_nodes_records_and_check(visitor: Visitor) -> None:
    listed = visitor.get("/table/findings").text
    addresses = [unescape(found) for found in re.findall(r'href="(/finding\?[^"]+)"', listed)]
    assert addresses
    for address in addresses:
        text = visitor.get(address).text
        assert "Who publishes the data" in text
        for node in re.findall(r'href="(/node\?[^"]+)"', text):
            assert visitor.get(unescape(node)).status == 200


def test_a_waiver_is_pasted_once_it_is_filled_in(visitor: Visitor, tmp_path: Path) -> None:
    finding = re.findall(r'href="/finding\?id=([^"]+)"', visitor.get("/table/findings").text)[0]
    pasted = re.search(
        r"\[\[waivers\]\].*?(?=</textarea>)", visitor.get(f"/finding?id={finding}").text, re.DOTALL
    )
    assert pasted
    policy = tmp_path / "policy.toml"
    policy.write_text(unescape(pasted[0]))
    with pytest.raises(AuditError, match=r"owner.*reason.*expires"):
        load_policy(policy)
    filled = (
        unescape(pasted[0])
        .replace('= ""  ', '= "A"')
        .replace('expires = "A"', "expires = 2030-12-31")
    )
    policy.write_text(filled)
    (waiver,) = load_policy(policy).waivers
    assert waiver.finding == unquote(finding)


def test_tables_that_are_gone_are_told_of_in_one_sentence(folder: Path, tmp_path: Path) -> None:
    run = shutil.copytree(folder, tmp_path / "run")
    with entered(run, show_instances=True) as visitor:
        visitor.get("/")
        shutil.rmtree(run / "restricted")
        answer = visitor.get("/node", id="left")

    assert answer.status == 500
    assert "cannot be read any more" in answer.text
    assert answer.text.rstrip().endswith("</html>")


def test_records_are_shown_only_where_asked_for(folder: Path) -> None:
    with entered(folder) as visitor:
        for path in ("/records", "/tables", "/node?id=left"):
            assert "--show-instances" in visitor.get(path).text
        assert visitor.get("/record", id="two").status == 404
        assert "/records" not in visitor.get("/table/findings").text


def test_a_finding_of_ones_own_without_columns_counts_or_nodes_is_shown_everywhere(
    tmp_path: Path,
) -> None:
    sample = run_audit(labelled(tree("a < root"), {"one": ["a"]}))
    told = Finding("own", "warning", (), "Something is odd.", {}, "Look at it.", "Nothing.")
    own = CheckResult("own", "Is anything odd?", 3, "rows", (told, replace(told, key=("again",))))
    result = replace(sample, checks=(*sample.checks, own))
    write_run(result, tmp_path / "run")

    assert result.findings.filter(pl.col("check") == "own")["instances"].to_list() == [None, None]
    assert {"own", "own:again"} <= {*result.worst(10)["id"]}
    assert html_text(result.shared()).count("Something is odd.") >= 2
    with entered(tmp_path / "run") as visitor:
        for path in ("/", "/table/findings", "/table/findings?check=own", "/finding?id=own"):
            assert "Something is odd." in visitor.get(path).text


def test_all_records_are_walked_through_in_their_order(visitor: Visitor) -> None:
    text = visitor.get("/record", id="all").text
    ways = {way: unescape(to) for way, to in re.findall(r'rel="(\w+)" href="([^"]+)"', text)}

    assert ways["next"] == "/record?id=two"
    assert "script" in ways["prev"]
    assert 'rel="next"' not in visitor.get("/record", id="two").text


def test_the_findings_on_nodes_are_those_that_name_all_of_them(folder: Path) -> None:
    run = open_run(folder, "run")
    named = {"both": ["a1", "b1"], "one": ["a1"], "none": []}
    run.__dict__["findings"] = {
        id: {"id": id, "nodes": [{"id": node} for node in nodes]} for id, nodes in named.items()
    }

    assert [one["id"] for one in run.findings_on("a1")] == ["both", "one"]
    assert [one["id"] for one in run.findings_on("b1", "a1")] == ["both"]


def test_two_subgraphs_are_compared_and_each_count_leads_to_its_records(visitor: Visitor) -> None:
    text = visitor.get("/records", first="d", second="a1").text

    assert "100.0% prefer the first (20.7% to 100.0%, 95% interval" in text
    links = [unescape(to) for to in re.findall(r'<a href="([^"]+)">The first is higher: 1', text)]
    assert [row[0] for row in rows_of(visitor.get(links[0]).text, "Records")] == ["two"]
    assert visitor.get("/records", first="d", second="no such").status == 404


def test_a_node_leads_to_the_records_that_the_model_missed(visitor: Visitor) -> None:
    text = visitor.get("/node", id="b1").text
    found = re.search(r'href="(/records[^"]+)">Labelled with it, and missed by the model<', text)

    assert found
    missed = rows_of(visitor.get(unescape(found[1])).text, "Records")
    assert {row[0] for row in missed} == {"two", HOSTILE}


def test_a_node_shows_the_labels_that_it_is_mistaken_for(tmp_path: Path) -> None:
    graph = tree("A B < root", "x0 x1 x2 x3 x4 x5 < A", "unused < B")
    dataset = labelled(graph, {f"{n:02}": [f"x{n % 6}"] for n in range(60)})
    answers = {f"{n:02}": {f"x{(n + n // 6 % 2) % 6}": 1.0} for n in range(60)}
    run = run_audit(dataset, predictions=predicted(dataset, answers))
    with entered(write_run(run, tmp_path / "run")) as visitor:
        rows = rows_of(visitor.get("/node", id="x0").text, "Confusions in both directions")
        assert sorted(row[:2] for row in rows) == [["x0", "x1"], ["x0", "x5"]]
        assert "Confusions in both" not in visitor.get("/node", id="unused").text


def test_a_line_says_what_a_table_was_asked_for(visitor: Visitor) -> None:
    asked = {"relation": "!ancestor", "joint.least": "1", "depth": "1", "order": "-joint"}
    text = visitor.get("/table/pairs", **asked).text

    said = "Relation all but ancestor, Instances with both at least 1, at depth 1"
    assert f"<summary>Filter: {said}</summary>" in text


def test_the_drift_of_a_node_stands_on_its_page(tmp_path: Path) -> None:
    run = write_run(drifting(), tmp_path / "run")
    with entered(run) as visitor:
        assert len(rows_of(visitor.get("/node", id="a").text, "Drift nodes")) > 1


def test_an_address_in_a_table_is_a_link_and_other_texts_are_none(
    folder: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(folder, tmp_path / "run")
    told = {"text": ["https://example.org/1", "javascript:alert(1)", "see https://example.org"]}
    pl.DataFrame(told).write_parquet(run / "restricted" / "told.parquet")
    reseal(run)
    with entered(run) as visitor:
        text = visitor.get("/table/told").text

    assert '<a href="https://example.org/1" rel="noreferrer">' in text
    assert "javascript:alert(1)" in text
    assert len(re.findall('<a href="(?!/|#)', text)) == 1

"""The pages of the window, asked for over a real server."""

from __future__ import annotations

import csv
import io
import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest

from audit.base.errors import PolicyError
from audit.explorer.application import ASKED
from audit.policy.reading import load_policy
from audit.results.findings import CheckResult, Finding
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.instances import write_instances
from audit.runs.read import read_run
from fixtures.explored import Visitor, entered
from fixtures.labelled import labelled, repeated, tree
from fixtures.predicted import predicted
from fixtures.sealed_files import reseal
from reports.page import html_text
from reports.words import EXACT
from tests.unit.explorer.conftest import HOSTILE, WIDE

PAGES = (
    "/", "/findings", "/findings?state=all", "/hierarchy",
    "/model", "/model?scope=all", "/instances", "/node?id=root", "/node?id=left",
    "/pair?a=a1&b=b1", "/instance?id=two", "/search?q=w0", "/nowhere", "/node?id=x",
    "/confusions?depth=1&relation=all", "/node?id=left&order=confusion", "/subgraphs",
    "/instances?behaviour=confident",
)  # fmt: skip


def rows_of(text: str, sheet: str) -> list[list[str]]:
    """Texts of the cells of a table of a page."""
    part = text[text.index(f'<section class="sheet" id="{sheet}"') :]
    body = part[part.index("<tbody>") : part.index("</tbody>")]
    cells = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in body.split("</tr>")
    ]
    return [[unescape(re.sub("<[^>]+>", "", cell)).strip() for cell in row] for row in cells if row]


def file_of(visitor: Visitor, path: str, sheet: str, **asked: str) -> list[dict[str, str]]:
    answer = visitor.get(path, **asked, csv=sheet)
    assert answer.headers["content-type"].startswith("text/csv")
    assert "-exact.csv" in answer.headers["content-disposition"]
    return [*csv.DictReader(io.StringIO(answer.text))]


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_whole_and_say_that_they_are_not_for_sharing(visitor: Visitor, path: str) -> None:
    answer = visitor.get(path)

    assert answer.status == (404 if path in ("/nowhere", "/node?id=x") else 200)
    assert answer.text.rstrip().endswith("</html>")
    assert EXACT in answer.text
    assert HOSTILE not in answer.text
    assert not re.search(r'\s(style|on\w+)="', answer.text)
    assert not re.findall(r'(?:src|href)="(?!/|#)', answer.text)


@pytest.mark.parametrize("path", ASKED)
def test_a_parameter_that_a_page_does_not_have_is_refused(visitor: Visitor, path: str) -> None:
    answer = visitor.get(path, nonsense="1")

    assert answer.status == 404
    assert "has no parameter nonsense" in answer.text


def test_the_page_of_the_model_lists_what_is_exchanged_most(tmp_path: Path) -> None:
    leaves = ("a", "b", "c", "d", "e")
    pairs = [
        (label, answer) for label in leaves for answer in ("a", "a", "a", "a", "a", label, "e")
    ]
    dataset = labelled(
        tree(f"{' '.join(leaves)} < root"), {f"i{n}": [label] for n, (label, _) in enumerate(pairs)}
    )
    model = predicted(dataset, {f"i{n}": {answer: 1.0} for n, (_, answer) in enumerate(pairs)})
    run = write_run(run_audit(dataset, predictions=model), tmp_path / "run")
    with entered(run) as visitor:
        page = visitor.get("/model").text

    assert 'id="exchanged_pairs"' in page
    assert 'id="answers"' in page


def test_the_count_of_a_behaviour_leads_to_as_many_instances(visitor: Visitor) -> None:
    links = re.findall(r'href="([^"]*behaviour=[^"]*)">(\d+) of', visitor.get("/model").text)
    assert len(links) == 4
    assert any(count != "0" for _, count in links)
    for link, count in links:
        answer = visitor.get(link[link.index("/instances") :])
        assert answer.status == 200
        shown = [row for row in rows_of(answer.text, "instances") if row != ["Nothing."]]
        assert len(shown) == int(count)


def test_51_rows_at_25_a_page_are_25_25_and_1(visitor: Visitor) -> None:
    address: str | None = "/node?id=wide"
    pages = []
    while address:
        text = visitor.get(address).text
        pages.append(rows_of(text, "children"))
        section = text[text.index('id="children"') :]
        further = re.search(r'rel="next" href="([^"]+)"', section[: section.index("</section>")])
        address = unescape(further[1]).split("#")[0] if further else None

    assert [len(page) for page in pages] == [25, 25, 1]
    ids = {row[0].split()[-1] for page in pages for row in page}
    assert ids == {f"w{number:02}" for number in range(WIDE)}


def test_a_file_has_the_rows_of_the_pages_and_says_what_it_is(
    visitor: Visitor, folder: Path
) -> None:
    told = file_of(visitor, "/node", "data-partners", id="left", relation="", order="node")
    pairs = read_run(folder).pairs.collect().to_dicts()
    wanted = {
        row["b"] if row["a"] == "left" else row["a"]: row["joint"]
        for row in pairs
        if "left" in (row["a"], row["b"])
    }

    assert {row["node"]: int(row["joint"]) for row in told} == wanted
    assert {row["sharing"] for row in told} == {"exact: not for sharing"}
    page = rows_of(visitor.get("/node", id="left", relation="", order="node").text, "data-partners")
    assert [row[0].split()[-1] for row in page] == [row["node"] for row in told][:25]
    titles = {row["node"]: row["title"] for row in told}
    assert titles["d"] == "'=1+1"


@pytest.mark.slow
@pytest.mark.parametrize("sheet", ["data-partners", "model-partners"])
def test_on_every_node_s_page_and_in_its_file_are_the_pairs_with_that_end(
    visitor: Visitor, folder: Path, sheet: str
) -> None:
    run = read_run(folder)
    part = run if sheet == "data-partners" else run.model
    assert part is not None
    pairs = part.pairs.select("a", "b", "joint").collect().rows()
    for node in run.nodes["node"]:
        wanted = {(b if a == node else a, joint) for a, b, joint in pairs if node in (a, b)}
        told = file_of(visitor, "/node", sheet, id=node, relation="", order="node")
        assert {(row["node"], int(row["joint"])) for row in told} == wanted
        assert len(told) == len(wanted)
        shown = [
            (row[0].split()[-1], row[2])
            for start in range(0, len(told), 25)
            for row in rows_of(
                visitor.get("/node", id=node, relation="", order="node", start=str(start)).text,
                sheet,
            )
        ]
        assert shown == [(row["node"], row["joint"]) for row in told]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/node", "id"), ("/pair", "a"), ("/finding", "id"), ("/instance", "id"),
        ("/hierarchy", "id"), ("/findings", "check"), ("/findings", "branch"),
        ("/findings", "severity"), ("/findings", "state"), ("/model", "name"), ("/node", "csv"),
        ("/instances", "nodes"), ("/instances", "predicted"), ("/instances", "outcome"),
        ("/instances", "finding"), ("/instances", "order"), ("/search", "q"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [HOSTILE, "../../etc/passwd", "\x00", "é" * 3000, "{{7*7}}", ""])
def test_what_the_run_does_not_have_is_said_in_plain_text(
    visitor: Visitor, path: str, name: str, value: str
) -> None:
    answer = visitor.get(path, **{name: value})

    assert answer.status in (200, 303, 404)
    assert HOSTILE not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("start", ["-1", "1e9", "999999999999999999999", "٣", "25; DROP", "26"])
def test_a_place_in_a_table_that_is_none_is_its_beginning_or_its_end(
    visitor: Visitor, start: str
) -> None:
    answer = visitor.get("/node", id="wide", start=start, order="no such", relation="none")

    assert answer.status == 200
    assert len(rows_of(answer.text, "children")) == 25


def test_a_place_beyond_the_end_of_a_table_leads_back_to_its_last_page(visitor: Visitor) -> None:
    text = visitor.get("/node", id="wide", start="1000").text
    section = text[text.index('id="children"') :]

    assert "0 to 0 of 51" in section
    back = re.search(r'rel="prev" href="([^"]+)"', section)
    assert back
    assert len(rows_of(visitor.get(unescape(back[1]).split("#")[0]).text, "children")) == 25


def test_an_instance_with_a_hostile_id_is_reached_and_shown(visitor: Visitor) -> None:
    listed = visitor.get("/instances").text
    address = next(
        unescape(found)
        for found in re.findall(r'href="(/instance\?[^"]+)"', listed)
        if "script" in found
    )
    answer = visitor.get(address)

    assert answer.status == 200
    assert HOSTILE not in answer.text
    assert "a1" in answer.text


def test_the_neighbours_of_an_instance_are_those_of_its_query(visitor: Visitor) -> None:
    text = visitor.get("/instance", id="two", nodes="left", order="labels").text

    before, after = (re.search(f'rel="{rel}" href="([^"]+)"', text) for rel in ("prev", "next"))
    assert before
    assert after is None
    assert unescape(before[1]).endswith("&nodes=left&order=labels")
    assert "script" in before[1]


def test_values_and_bars_on_a_graph_are_those_that_the_guide_names(tmp_path: Path) -> None:
    graph = tree("A B < root", "a1 d < A", "b1 d < B")
    dataset = labelled(graph, {"one": ["d"]})
    predictions = predicted(dataset, {"one": {"a1": 0.3, "b1": 0.2, "d": 0.5}})
    run = write_run(run_audit(dataset, predictions=predictions), tmp_path / "run")
    write_instances(run, dataset, predictions)
    reseal(run)
    with entered(run, show_instances=True) as visitor:
        text = visitor.get("/instance", id="one").text

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


def test_the_bars_of_an_instance_are_those_of_its_tree(visitor: Visitor) -> None:
    text = visitor.get("/instance", id="two").text

    drawn = re.findall(r'class="bar label"[^>]*><rect width="([\d.]+)"', text)
    assert "1000.0" in drawn
    assert "500.0" in drawn


def test_an_interval_on_the_page_of_a_pair_holds_the_number_beside_it(tmp_path: Path) -> None:
    zoo = tree(
        *("mammal bird < animal", "cow dog cat < mammal", "owl jay < bird"),
        *("calf bull < cow", "owlet barn < owl"),
    )
    often = [["calf", "owlet"], ["dog", "jay"], ["cat", "jay"], ["cat", "dog"]]
    seldom = [["bull", "jay"], ["dog", "barn"], ["calf", "jay"], ["dog", "owlet"]]
    releases = repeated([*((60, own) for own in often), *((9, own) for own in seldom)])
    with entered(write_run(run_audit(labelled(zoo, releases)), tmp_path / "run")) as visitor:
        text = visitor.get("/pair", a="cow", b="owl").text

    held = re.findall(r"<dd>([\d.]+) <small[^>]*>([\d.]+) to ([\d.]+)</small>", text)
    assert held
    assert all(float(low) <= float(value) <= float(high) for value, low, high in held)


def test_a_search_for_one_node_leads_to_it(visitor: Visitor) -> None:
    answer = visitor.get("/search", q="W07")

    assert (answer.status, answer.headers["location"]) == (303, "/node?id=w07")


def test_a_finding_leads_to_its_nodes_records_and_check(visitor: Visitor) -> None:
    listed = visitor.get("/findings", state="all").text
    addresses = [unescape(found) for found in re.findall(r'href="(/finding\?[^"]+)"', listed)]
    assert addresses
    for address in addresses:
        text = visitor.get(address).text
        assert "Who publishes the data" in text
        assert "Copy for a ticket" in text
        for node in re.findall(r'href="(/node\?[^"]+)"', text):
            assert visitor.get(unescape(node)).status == 200


def test_a_waiver_is_pasted_once_it_is_filled_in(visitor: Visitor, tmp_path: Path) -> None:
    finding = re.findall(r'href="/finding\?id=([^"]+)"', visitor.get("/findings").text)[0]
    pasted = re.search(
        r"\[\[waivers\]\].*?(?=</textarea>)", visitor.get(f"/finding?id={finding}").text, re.DOTALL
    )
    assert pasted
    policy = tmp_path / "policy.toml"
    policy.write_text(unescape(pasted[0]))
    with pytest.raises(PolicyError, match=r"owner.*reason.*expires"):
        load_policy(policy)
    filled = (
        unescape(pasted[0])
        .replace('= ""  ', '= "A"')
        .replace('expires = "A"', "expires = 2030-12-31")
    )
    policy.write_text(filled)
    (waiver,) = load_policy(policy).waivers
    assert waiver.finding == unquote(finding)


def test_findings_of_a_check_are_ordered_by_each_of_its_columns(tmp_path: Path) -> None:
    titles = {"cod": "Cod fish", "fish9": "Other fish", "owl": "Owl birds", "bird9": "Other birds"}
    birds = tree("fish bird < root", "cod fish9 < fish", "owl bird9 < bird", titles=titles)
    counts = ((20, ["cod"]), (80, ["fish9"]), (40, ["owl"]), (200, ["bird9"]))
    write_run(run_audit(labelled(birds, repeated(counts))), tmp_path / "run")
    asked = {"check": "residual_overuse", "csv": "findings"}
    with entered(tmp_path / "run") as visitor:
        for column in ("Nothing more specific", "Instances"):
            file = visitor.get("/findings", **asked, order=column).text
            rows = list(csv.DictReader(io.StringIO(file)))
            numbers = [float(row[column]) for row in rows]
            assert len({row["id"] for row in rows}) == len(rows) > 1
            assert numbers == sorted(numbers, reverse=True)
        assert visitor.get("/findings", **asked, order="odd").status == 200


def test_tables_that_are_gone_are_told_of_in_one_sentence(folder: Path, tmp_path: Path) -> None:
    run = shutil.copytree(folder, tmp_path / "run")
    with entered(run, show_instances=True) as visitor:
        visitor.get("/")
        shutil.rmtree(run / "restricted")
        answer = visitor.get("/node", id="left")

    assert answer.status == 500
    assert "cannot be read any more" in answer.text
    assert answer.text.rstrip().endswith("</html>")


def test_instances_are_shown_only_where_asked_for(folder: Path) -> None:
    with entered(folder) as visitor:
        assert "--show-instances" in visitor.get("/instances").text
        assert visitor.get("/instance", id="two").status == 404
        assert "/instance?" not in visitor.get("/findings").text


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
        for path in ("/", "/findings", "/findings?check=own", "/finding?id=own"):
            assert "Something is odd." in visitor.get(path).text


def test_ancestors_are_ranked_on_request_and_a_pair_leads_to_the_instances_between(
    visitor: Visitor,
) -> None:
    plain, every = (
        {
            tuple(row[:3])
            for row in rows_of(visitor.get("/confusions", relation=of).text, "confusions")
        }
        for of in ("", "all")
    )
    beside = rows_of(visitor.get("/node", id="a1", order="confusion").text, "model-partners")

    assert plain < every
    assert {related for *_, related in every - plain} == {"one above the other"}
    assert [row[0] for row in beside] == ["=1+1 d", "right"]
    assert 'name="mass" value="a1, d"' in visitor.get("/pair", a="a1", b="d").text
    few, none = (visitor.get("/instances", mass="a1, d", least=n).text for n in ("0.4", "0.5"))
    assert [row[0] for row in rows_of(few, "instances")] == ["two"]
    assert "Nothing." in none
    assert 'name="least" size="4" inputmode="decimal" value="0.1"' in visitor.get("/instances").text
    for odd in ("0", "1.5", "much", "nan"):
        assert "A share is above 0" in visitor.get("/instances", mass="a1", least=odd).text
    assert visitor.get("/confusions", below="no such").status == 404


def test_two_subgraphs_are_compared_and_each_count_leads_to_its_instances(visitor: Visitor) -> None:
    text = visitor.get("/subgraphs", first="d", second="a1").text

    assert "100.0% (20.7% to 100.0%, 95% interval)" in text
    links = [unescape(to) for to in re.findall(r'<dd><a href="([^"]+)">1 instance<', text)]
    assert [row[0] for row in rows_of(visitor.get(links[0]).text, "instances")] == ["two"]
    assert visitor.get("/subgraphs", first="d", second="no such").status == 404

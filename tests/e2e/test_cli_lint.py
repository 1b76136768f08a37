"""``audit lint`` on the command line: what it prints, its exit status, and mistakes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fixtures.commands import audit

FAULTY = "child,parent,title\na,,Pain\nd,e,\ne,a,Head pain\nd,a,\ng,e,\nh,a,Pain\nh,a,\n"


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text(FAULTY)
    return path


def test_it_prints_each_fault_with_what_to_do(faulty: Path) -> None:
    told = audit("lint", faulty)

    assert told.exit_code == 0, told.output
    assert "edges: 5 nodes" in told.stdout
    assert "- d (below Head pain, e); Head pain (e); Pain (a)" in told.stdout
    assert told.stdout.count("To do: ") == 3


def test_a_hierarchy_too_deep_for_pairs_of_nodes_is_linted_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "chain.csv"
    path.write_text("child,parent\n" + "".join(f"n{i},n{i + 1}\n" for i in range(20_000)))
    told = audit("lint", path)

    assert told.exit_code == 0, told.output
    assert "20,000 headings have a single child" in " ".join(told.stdout.split())


def test_as_json_it_tells_every_case(faulty: Path) -> None:
    told = json.loads(audit("lint", faulty, "--json").stdout)

    assert {name: told[name] for name in ("hierarchy", "nodes", "edges", "depth")} == {
        "hierarchy": "edges", "nodes": 5, "edges": 5, "depth": 2,
    }  # fmt: skip
    assert [(one["rule"], one["severity"], one["cases"]) for one in told["findings"]] == [
        ("redundant_edge", "warning", [["d", "e", "a"]]),
        ("missing_title", "note", [["d"], ["g"]]),
        ("title_repeated", "note", [["a", "h"]]),
    ]
    assert all(one["n"] == len(one["cases"]) <= one["of"] for one in told["findings"])


@pytest.mark.parametrize(
    ("lines", "statuses"),
    [
        ("d,e,\ne,a,\nd,a,\ng,e,", {"never": 0, "error": 0, "warning": 1}),
        ("d,e,Pain\ng,e,\ne,,Pain", {"never": 0, "error": 0, "warning": 0}),
        ("d,e,\ng,e,", {"never": 0, "error": 0, "warning": 0}),
    ],
)
def test_the_exit_status_is_as_fail_on_says(
    tmp_path: Path, lines: str, statuses: dict[str, int]
) -> None:
    path = tmp_path / "edges.csv"
    path.write_text(f"child,parent,title\n{lines}\n")
    found = {name: audit("lint", path, "--fail-on", name).exit_code for name in statuses}

    assert found == statuses


def test_of_a_sound_hierarchy_it_says_so(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("child,parent\na,c\nb,c\nb,c\n")
    told = audit("lint", path, "--fail-on", "warning")

    assert told.exit_code == 0
    assert "3 nodes, 2 edges, 2 leaves, 1 repeated edge; depth 1" in told.stdout
    assert "Nothing is wrong with its structure." in told.stdout


def test_titles_may_come_from_a_file(tmp_path: Path) -> None:
    edges, titles = tmp_path / "edges.csv", tmp_path / "titles.csv"
    edges.write_text("child,parent\na,c\nb,c\n")
    titles.write_text("code,title\na,Pain\nb,pain\nc,Ache\n")

    assert json.loads(audit("lint", edges, "--json").stdout)["findings"] == []
    (finding,) = json.loads(audit("lint", edges, "--titles", titles, "--json").stdout)["findings"]
    assert (finding["rule"], finding["cases"]) == ("title_clash", [["a", "b"]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a hierarchy file with content is required"),
        ("child,title\na,b\n", "a column of parents, columns of levels, or paths are required"),
        ("child,parent,title\na,b,One\na,c,Two\n", "a node has one title"),
        ("child,parent\n,b\n", "every row must name a child"),
        ("child,parent\n", "a hierarchy of at least one node is required"),
    ],
)
def test_a_broken_file_is_one_message_and_status_2(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "edges.csv"
    path.write_text(content)
    told = audit("lint", path)

    assert told.exit_code == 2
    assert message in told.stderr
    assert "Traceback" not in told.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.csv",), "a built-in hierarchy or a hierarchy file is required"),
        (("icd9cm", "--relations", "part_of"), "relations can be stated only of obo"),
        (("icd9cm", "--titles", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_message(
    arguments: tuple[str, ...], message: str
) -> None:
    told = audit("lint", *arguments)

    assert told.exit_code == 2
    assert message in told.stderr


def test_a_hierarchy_of_hostile_ids_is_printed_without_control_characters(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("child,parent\n\x1b[31ma,b\nc,b\n")
    for option in ((), ("--json",)):
        told = audit("lint", path, *option)
        assert told.exit_code == 0
        assert "\x1b" not in told.stdout


def test_a_built_in_hierarchy_has_no_errors() -> None:
    told = json.loads(audit("lint", "icd9cm", "--json").stdout)

    assert "error" not in {finding["severity"] for finding in told["findings"]}


@pytest.mark.skipif("AUDIT_DATA" not in os.environ, reason="AUDIT_DATA names no folder")
def test_of_the_gene_ontology_slim_nothing_is_wrong() -> None:
    path = Path(os.environ["AUDIT_DATA"]) / "go-slim" / "goslim_generic.obo"

    assert "Nothing is wrong with its structure." in audit("lint", path).stdout

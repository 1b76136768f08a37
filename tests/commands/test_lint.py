"""``audit lint``: faults in the structure of a hierarchy."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fixtures.doors import command, made, refused
from fixtures.held import held
from fixtures.small_release import EDGES, NODES, TITLES, write_table


def edges(path: Path, *further: tuple[str, str, str]) -> Path:
    """The small hierarchy with further edges."""
    own = [("thing", "", "Thing"), *((child, up, TITLES[child]) for child, up in EDGES)]
    return write_table(path, ("child", "parent", "title"), [*own, *further])


def test_a_sound_hierarchy(small: Path) -> None:
    said = json.loads(made("lint", small / "tree.csv", "--json", "--fail-on", "warning"))

    assert {name: said[name] for name in ("hierarchy", "nodes", "edges", "leaves", "depth")} == {
        "hierarchy": "tree",
        "nodes": len(NODES),
        "edges": len(EDGES),
        "leaves": 9,
        "depth": 3,
    }
    assert (said["repeated_edges"], said["readings"], said["findings"]) == (0, [], [])


FAULTS = {
    "redundant_edge": (("dog", "animal", "Dog"), "warning", ["dog", "mammal", "animal"]),
    "title_clash": (("hound", "pet", "Dog"), "warning", ["dog", "hound"]),
}
"""Rules, each with an edge that breaks it, how severe that is, and the nodes that are named."""


@pytest.mark.parametrize("rule", FAULTS)
def test_a_fault_is_a_finding_that_names_its_nodes(tmp_path: Path, rule: str) -> None:
    edge, severity, nodes = FAULTS[rule]
    file = edges(tmp_path / "tree.csv", edge)
    (found,) = json.loads(made("lint", file, "--json"))["findings"]

    assert (found["rule"], found["severity"], found["n"]) == (rule, severity, 1)
    assert found["cases"] == [nodes]
    made("lint", file, "--quiet", "--fail-on", "warning", status=1)
    made("lint", file, "--quiet", "--fail-on", "error", status=int(severity == "error"))


def test_a_file_of_test_cases(tmp_path: Path) -> None:
    file = edges(tmp_path / "tree.csv", FAULTS["redundant_edge"][0])
    made("lint", file, "--quiet", "--junit", tmp_path / "lint.xml")
    (suite,) = ET.parse(tmp_path / "lint.xml").getroot()

    assert int(suite.get("tests", "0")) == len([*suite.iter("testcase")]) > 0


def test_refusals_leave_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    before = held(tmp_path)
    refused("lint", tmp_path / "absent.csv")
    refused("lint", tmp_path / "empty.csv", "--junit", tmp_path / "a.xml")
    said = refused("lint", edges(tmp_path / "ring.csv", ("animal", "cow", "Animal")))
    assert "animal -> cow -> mammal -> animal" in said
    (tmp_path / "ring.csv").unlink()
    assert command("lint").exit_code == 2
    assert command("lint", "icd9cm", "--fail-on", "sometimes").exit_code == 2
    assert held(tmp_path) == before

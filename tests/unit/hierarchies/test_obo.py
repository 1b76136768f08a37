"""OBO: terms, edges and alternative ids, and what is refused with its line."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from audit.base.errors import FormatError, HierarchyError, SchemaError
from audit.hierarchies.coding import Placement
from audit.hierarchies.formats import obo
from audit.hierarchies.reading import load_hierarchy
from fixtures.hierarchy_files import refused
from fixtures.written import written

ONTOLOGY = r"""format-version: 1.2
ontology: toy

! a comment of a line
[Term]
id: T:1 ! the top
name: thing {not a modifier}
alt_id: T:9
alt_id: T:8

[Term]
id: T:2
name: N-{[x]} living! \{odd\} {source="a } b", xref="c"} ! a comment
is_a: T:1 {source="x"} ! thing
relationship: part_of T:3 {all="yes"} ! part
alt_id: T:8

[Term]
id: T:3
is_a: T:1
is_a: T:1
relationship: regulates T:2

[Term]
id: T:4
name: gone
is_a: T:404
is_obsolete: true

[Typedef]
id: part_of
name: part of
is_a: overlaps
"""


def test_terms_and_is_a(tmp_path: Path) -> None:
    hierarchy = load_hierarchy(written(tmp_path / "toy.obo", ONTOLOGY))

    assert hierarchy.nodes == ("T:1", "T:2", "T:3")
    assert hierarchy.edge_frame().rows() == [("T:2", "T:1"), ("T:3", "T:1")]
    assert hierarchy.assignable.all()
    assert hierarchy.labelled_ancestors == "allowed"
    assert hierarchy.repeated_edges == 1


def test_comments_and_trailing_modifiers_are_stripped_from_names(tmp_path: Path) -> None:
    hierarchy = load_hierarchy(written(tmp_path / "toy.obo", ONTOLOGY))

    assert hierarchy.titles == ("thing {not a modifier}", "N-{[x]} living! {odd}", "")


def test_other_relationships_of_terms_are_kept_as_such(tmp_path: Path) -> None:
    path = written(tmp_path / "toy.obo", ONTOLOGY)
    assert load_hierarchy(path).related == (("T:2", "T:3"), ("T:3", "T:2"))
    assert load_hierarchy(path, relations=("part_of",)).related == (("T:3", "T:2"),)


def test_relations_add_edges(tmp_path: Path) -> None:
    path = written(tmp_path / "toy.obo", ONTOLOGY)

    assert load_hierarchy(path, relations=("part_of",)).parents("T:2") == ("T:1", "T:3")
    assert load_hierarchy(path, relations=("regulates",)).parents("T:3") == ("T:1", "T:2")
    refused(
        path, HierarchyError, relations=("part_of", "regulates")
    )  # T:2 and T:3 above each other


def test_a_relation_that_no_term_has_is_refused(tmp_path: Path) -> None:
    message = refused(written(tmp_path / "toy.obo", ONTOLOGY), SchemaError, relations=("partof",))

    assert "'partof'" in message
    assert "part_of, regulates" in message


def test_alternative_ids_are_placed_at_their_term(tmp_path: Path) -> None:
    hierarchy = load_hierarchy(written(tmp_path / "toy.obo", ONTOLOGY))
    coding = hierarchy.coding

    assert coding is not None
    assert (coding.name, coding.persons) == ("retired-ids/1", False)
    assert coding.place("T:9", None, hierarchy) == Placement(node="T:1")
    assert coding.place("T:2", None, hierarchy) == Placement(node="T:2")
    assert coding.place("T:4", None, hierarchy) == Placement(reason="retired_code")
    assert coding.place("T:404", None, hierarchy) == Placement(reason="unknown_code")


def test_an_alternative_id_of_two_terms_has_no_place(tmp_path: Path) -> None:
    hierarchy = load_hierarchy(written(tmp_path / "toy.obo", ONTOLOGY))

    assert hierarchy.coding is not None
    assert hierarchy.coding.place("T:8", None, hierarchy) == Placement(reason="retired_code")


OBSOLETE = """[Term]
id: T:1
[Term]
id: T:2
[Term]
id: T:5
is_obsolete: true
replaced_by: T:2
consider: T:1
[Term]
id: T:6
is_obsolete: true
consider: T:1
consider: T:2
[Term]
id: T:7
is_obsolete: true
replaced_by: T:5
"""


def test_an_obsolete_term_is_placed_at_its_only_replacement(tmp_path: Path) -> None:
    hierarchy = load_hierarchy(written(tmp_path / "toy.obo", OBSOLETE))
    coding = hierarchy.coding

    assert coding is not None
    assert "T:5" not in hierarchy
    assert coding.place("T:5", None, hierarchy) == Placement(node="T:2")
    assert coding.place("T:6", None, hierarchy) == Placement(reason="retired_code")
    assert coding.place("T:7", None, hierarchy) == Placement(node="T:2")
    assert coding.retired == {"T:5": ("T:2",), "T:6": ("T:1", "T:2"), "T:7": ("T:2",)}


def test_without_alternative_ids_there_are_no_rules(tmp_path: Path) -> None:
    text = "format-version: 1.4\n[Term]\nid: a\n"

    assert load_hierarchy(written(tmp_path / "toy.obo", text)).coding is None


@pytest.mark.parametrize(
    "text", ["format-version: 1.2\r\n\r\n[Term]\r\nid: a\r\n", "\ufeff[Term]\nid: a\n"]
)
def test_format_is_found_without_its_suffix(tmp_path: Path, text: str) -> None:
    assert load_hierarchy(written(tmp_path / "ontology.txt", text)).nodes == ("a",)


def test_an_undeclared_parent_is_refused_with_its_line(tmp_path: Path) -> None:
    text = "[Term]\nid: a\n\n[Term]\nid: b\nis_a: a\nis_a: lost ! gone\nis_a: lost\nis_a: also\n"

    message = refused(written(tmp_path / "toy.obo", text), HierarchyError, ":7")

    assert (
        "Found: 2 edges that have an end that is not a node: 'b -> lost', 'b -> also'\n" in message
    )
    assert "add what is missing, or remove the edges" in message


def test_an_obsolete_parent_is_refused(tmp_path: Path) -> None:
    text = "[Term]\nid: a\nis_obsolete: true\n[Term]\nid: b\nis_a: a\n"

    assert "'b -> a'" in refused(written(tmp_path / "toy.obo", text), HierarchyError, ":6")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[Term]\nid: a\n[Term]\nname: no id\n", ":3"),
        ("[Term]\nid: a\nis_a:\n", ":3"),
        ("[Term]\nid:\n", ":2"),
        ("[Term]\nid: a\nrelationship: part_of\n", ":3"),
        ("[Term]\nid: a\n[Term]\nid: a\n", ""),
    ],
)
def test_a_broken_term_is_refused(tmp_path: Path, text: str, where: str) -> None:
    refused(written(tmp_path / "toy.obo", text), SchemaError, where)


def test_an_ontology_without_terms_is_refused(tmp_path: Path) -> None:
    refused(written(tmp_path / "toy.obo", "format-version: 1.2\n"), HierarchyError, "")


def test_a_table_is_no_ontology(tmp_path: Path) -> None:
    refused(written(tmp_path / "toy.csv", "term,is\na,b\n"), FormatError, "")
    assert not obo.matches(Path("x.json"), b'["[Term]"]')


@pytest.mark.skipif(
    "AUDIT_DATA" not in os.environ, reason="AUDIT_DATA names no folder of real data"
)
@pytest.mark.parametrize(("relations", "edges", "several"), [((), 148, 2), (("part_of",), 213, 67)])
def test_real_go_slim(relations: tuple[str, ...], edges: int, several: int) -> None:
    path = Path(os.environ["AUDIT_DATA"]) / "go-slim" / "goslim_generic.obo"
    hierarchy = load_hierarchy(path, relations=relations)
    hung = len(hierarchy.branches)

    assert len(hierarchy) == 149 + 1
    assert hierarchy.children("(root)") == ("GO:0003674", "GO:0005575", "GO:0008150")
    assert hierarchy.edges.nnz == edges + hung
    assert (np.diff(hierarchy.edges.indptr) > 1).sum() == several
    assert hierarchy.coding is not None
    assert hierarchy.coding.place("GO:0019952", None, hierarchy).node == "GO:0000003"

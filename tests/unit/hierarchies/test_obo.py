"""OBO: terms, edges and alternative ids, and what is refused with its line."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from audit.base.errors import HierarchyError
from audit.hierarchies.coding import Placement
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


def test_comments_and_trailing_modifiers_are_stripped_from_names(tmp_path: Path) -> None:
    hierarchy = load_hierarchy(written(tmp_path / "toy.obo", ONTOLOGY))

    assert hierarchy.titles == ("thing {not a modifier}", "N-{[x]} living! {odd}", "")


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


@pytest.mark.parametrize(
    "text", ["format-version: 1.2\r\n\r\n[Term]\r\nid: a\r\n", "\ufeff[Term]\nid: a\n"]
)
def test_format_is_found_without_its_suffix(tmp_path: Path, text: str) -> None:
    assert load_hierarchy(written(tmp_path / "ontology.txt", text)).nodes == ("a",)


def test_an_ontology_without_terms_is_refused(tmp_path: Path) -> None:
    refused(written(tmp_path / "toy.obo", "format-version: 1.2\n"), HierarchyError, "")


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

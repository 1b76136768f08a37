"""OBO Graphs: classes, edges, relations and alternative ids, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from audit.hierarchies.formats.obo import GRAPHS
from audit.hierarchies.reading import load_hierarchy

OBO = "http://purl.obolibrary.org/obo/"
IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"


def graph() -> dict[str, Any]:
    """Limbs, written as converters write them: IRIs, and properties among the nodes."""
    alternative = {"pred": f"{IN_OWL}hasAlternativeId", "val": "T:9"}
    return {
        "id": f"{OBO}toy.owl",
        "meta": {"version": "1"},
        "nodes": [
            {"id": f"{OBO}T_1", "lbl": "limb", "type": "CLASS",
             "meta": {"basicPropertyValues": [alternative]}},
            {"id": f"{OBO}T_2", "lbl": "forelimb", "type": "CLASS"},
            {"id": f"{OBO}T_3", "type": "CLASS"},
            {"id": "http://example.org/own_1", "lbl": "own", "type": "CLASS"},
            {"id": f"{OBO}T_9", "type": "CLASS", "meta": {"deprecated": True}},
            {"id": f"{OBO}BFO_0000050", "lbl": "part of", "type": "PROPERTY"},
            {"id": f"{OBO}T_77", "lbl": "a thing", "type": "INDIVIDUAL"},
        ],
        "edges": [
            {"sub": f"{OBO}T_2", "pred": "is_a", "obj": f"{OBO}T_1"},
            {"sub": f"{OBO}T_3", "pred": f"{OBO}BFO_0000050", "obj": f"{OBO}T_2"},
            {"sub": f"{OBO}T_9", "pred": "is_a", "obj": f"{OBO}T_404"},
            {"sub": f"{OBO}T_77", "pred": "type", "obj": f"{OBO}T_1"},
        ],
    }  # fmt: skip


def written(folder: Path, *graphs: Any) -> Path:
    path = folder / "toy.json"
    path.write_text(json.dumps({"graphs": graphs}))
    return path


@pytest.mark.parametrize("first", [True, False])
def test_graphs_of_one_file_are_one_hierarchy(tmp_path: Path, first: bool) -> None:
    imported = {
        "nodes": [{"id": "T:1"}, {"id": "T:5", "lbl": "body", "type": "CLASS"}],
        "edges": [{"sub": "T:1", "pred": "is_a", "obj": "T:5"}],
    }
    graphs = (imported, graph()) if first else (graph(), imported)
    hierarchy = load_hierarchy(written(tmp_path, *graphs))

    assert hierarchy.ancestors("T:2") == ("(root)", "T:1", "T:5")
    assert hierarchy.titles[hierarchy.index("T:1")] == "limb"


def test_a_tree_of_graphs_is_no_ontology() -> None:
    path = Path("h.json")

    assert GRAPHS.matches(path, b'{"graphs": [{"id": "x", "nodes": []}]}')
    assert not GRAPHS.matches(path, b'{"graphs": ["nodes"]}')
    assert not GRAPHS.matches(path, b'{"charts": [{"nodes": []}]}')
    assert GRAPHS.name == "obographs"

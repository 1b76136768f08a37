"""OBO Graphs: classes, edges, relations and alternative ids, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from audit.base.errors import HierarchyError, InputError, SchemaError
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


def test_classes_have_the_ids_that_obo_gives_them(tmp_path: Path) -> None:
    hierarchy = load_hierarchy(written(tmp_path, graph()))

    assert hierarchy.nodes == ("(root)", "T:1", "T:2", "T:3", "http://example.org/own_1")
    assert hierarchy.titles == ("Root", "limb", "forelimb", "", "own")
    assert hierarchy.parents("T:2") == ("T:1",)
    assert hierarchy.assignable.tolist() == [False, True, True, True, True]
    assert hierarchy.coding is not None
    assert hierarchy.coding.retired == {"T:9": ("T:1",)}


@pytest.mark.parametrize("relation", ["part_of", "BFO:0000050"])
def test_relations_go_by_id_or_label(tmp_path: Path, relation: str) -> None:
    hierarchy = load_hierarchy(written(tmp_path, graph()), relations=(relation,))

    assert hierarchy.parents("T:3") == ("T:2",)


def test_a_relation_that_no_edge_has_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"'partof'\n.*part_of, type"):
        load_hierarchy(written(tmp_path, graph()), relations=("partof",))


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


@pytest.mark.parametrize("nodes", [[], [{"id": "T:77", "lbl": "no class"}]])
def test_an_edge_to_what_is_no_class_is_refused(tmp_path: Path, nodes: list[Any]) -> None:
    told = graph()
    edges = [{"sub": "T:2", "pred": "is_a", "obj": "T:77"}]
    path = written(tmp_path, told | {"nodes": [*told["nodes"], *nodes], "edges": edges})
    with pytest.raises(HierarchyError, match="'T:2 -> T:77'"):
        load_hierarchy(path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": {}},
        {"nodes": ["T:1"]},
        {"nodes": [{}]},
        {"nodes": [{"id": ""}]},
        {"nodes": [{"id": "a", "lbl": 3}]},
        {"nodes": [{"id": "a", "meta": [1]}]},
        {"nodes": [{"id": "a", "meta": {"deprecated": "true"}}]},
        {"nodes": [{"id": "a", "meta": {"basicPropertyValues": {"pred": "x"}}}]},
        {"nodes": [{"id": "a", "meta": {"basicPropertyValues": [{"pred": "x"}]}}]},
        {"nodes": [{"id": "a"}], "edges": [{"sub": "a", "pred": "is_a"}]},
        {"nodes": [{"id": "a"}], "edges": ["a"]},
        {"nodes": []},
    ],
)
def test_other_shapes_are_refused(tmp_path: Path, wrong: Any) -> None:
    path = written(tmp_path, wrong)
    with pytest.raises(InputError) as caught:
        load_hierarchy(path)
    assert caught.value.where == str(path)


@pytest.mark.parametrize("text", ["{}", "[]", '{"graphs": {}}', '{"graphs": [1]}'])
def test_a_document_without_graphs_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "h.json"
    path.write_text(text)
    with pytest.raises(SchemaError, match="'graphs'"):
        load_hierarchy(path, format="obographs")


def test_a_tree_of_graphs_is_no_ontology() -> None:
    path = Path("h.json")

    assert GRAPHS.matches(path, b'{"graphs": [{"id": "x", "nodes": []}]}')
    assert not GRAPHS.matches(path, b'{"graphs": ["nodes"]}')
    assert not GRAPHS.matches(path, b'{"charts": [{"nodes": []}]}')
    assert GRAPHS.name == "obographs"

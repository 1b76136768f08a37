"""Nested JSON trees in their three spellings, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from audit.base.errors import HierarchyError, InputError, SchemaError
from audit.data.dataset import load_labels
from audit.hierarchies.formats import tree
from audit.hierarchies.reading import load_hierarchy
from fixtures.hierarchy_files import refused
from fixtures.written import written


@pytest.mark.parametrize(
    "document",
    [
        {"animal": {"dog": {}, "cat": {}}},
        {"animal": {"dog": None, "cat": []}},
        {"animal": ["dog", "cat"]},
        [{"animal": ["dog", {"cat": {}}]}],
        {"id": "animal", "children": [{"id": "dog"}, {"name": "cat", "children": []}]},
        [{"name": "animal", "children": ["dog", {"cat": {}}], "size": 3}],
        {"animal": [{"id": "dog"}, "cat"]},
    ],
)
def test_spellings_of_one_tree(tmp_path: Path, document: Any) -> None:
    hierarchy = load_hierarchy(written(tmp_path / "tree.json", document))

    assert hierarchy.edge_frame().rows() == [("cat", "animal"), ("dog", "animal")]
    assert hierarchy.assignable.tolist() == [False, True, True]


def test_titles(tmp_path: Path) -> None:
    document = [
        {"id": "a", "title": "A", "children": [{"id": "b", "name": "B"}, {"name": "c"}]},
        {"id": "b", "title": "B"},
    ]

    assert load_hierarchy(written(tmp_path / "tree.json", document)).titles == ("A", "B", "")


def test_the_same_id_at_two_places_has_two_parents(tmp_path: Path) -> None:
    document = {"thing": {"pet": {"dog": {"puppy": {}}}, "mammal": ["dog"]}}
    hierarchy = load_hierarchy(written(tmp_path / "tree.json", document))

    assert hierarchy.parents("dog") == ("mammal", "pet")
    assert hierarchy.children("dog") == ("puppy",)
    assert hierarchy.repeated_edges == 0


def test_nodes_named_as_keys_are(tmp_path: Path) -> None:
    document = {"thing": {"id": {"name": {}}, "children": ["x"]}}

    assert load_hierarchy(written(tmp_path / "tree.json", document)).nodes == (
        "children",
        "id",
        "name",
        "thing",
        "x",
    )


def test_numbers_are_ids(tmp_path: Path) -> None:
    assert load_hierarchy(written(tmp_path / "tree.json", {"1": [2, {"id": 3}]})).nodes == (
        "1",
        "2",
        "3",
    )


def test_a_deep_tree_needs_no_recursion(tmp_path: Path) -> None:
    document: dict[str, Any] = {}
    for n in reversed(range(300)):
        document = {f"n{n:03}": document}

    assert load_hierarchy(written(tmp_path / "tree.json", document)).depth.max() == 299


def test_too_deep_a_document_is_refused(tmp_path: Path) -> None:
    refused(written(tmp_path / "tree.json", "[" * 200_000), InputError)


@pytest.mark.parametrize("document", [{}, []])
def test_a_tree_without_nodes_is_refused(tmp_path: Path, document: Any) -> None:
    refused(written(tmp_path / "tree.json", document), HierarchyError)


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({"animal": {"pet": "dog"}}, "'dog' below 'pet'"),
        ({"animal": {"pet": 3}}, "'3' below 'pet'"),
        ({"animal": [True]}, "'True' below 'animal'"),
        ([["a"]], "at the top"),
        ([1.5], "'1.5' at the top"),
        ({"id": "a", "children": [None]}, "'None' below 'a'"),
        ({"id": "a", "title": 3}, "3 at 'a'"),
        ({"": ["a", "b"]}, "empty id"),
        (["half \ud800"], "\\ud800"),
    ],
)
def test_what_is_no_node_is_refused(tmp_path: Path, document: Any, found: str) -> None:
    assert found in refused(written(tmp_path / "tree.json", document), SchemaError)


def test_format_is_json_that_no_other_reader_takes() -> None:
    assert tree.matches(Path("x"), b' \n{"a": {}}')
    assert tree.matches(Path("x"), b'["a"]')
    assert not tree.matches(Path("x"), b'[{"child_ids": []}]')
    assert not tree.matches(Path("x"), b"[Term]\nid: a\n")
    assert not tree.matches(Path("x"), b"a.b\n")


@pytest.mark.parametrize("form", ["lines", "array"])
def test_concepts_of_jskos_are_nodes_by_their_addresses(form: str, tmp_path: Path) -> None:
    place: dict[str, Any] = {"inScheme": [{"uri": "http://a/"}], "type": ["http://x#Concept"]}
    place |= {"@context": "https://gbv.github.io/jskos/context.json"}
    every = [
        {**place, "uri": f"http://a/{one}", "notation": [one], "prefLabel": {"en": title},
         **({"broader": [{"uri": f"http://a/{up}"}]} if up else {"topConceptOf": place["type"]})}
        for one, title, up in (("1", "Plants", ""), ("11", "Flowers", "1"), ("111", "Roses", "11"))
    ]  # fmt: skip
    path = tmp_path / ("h.ndjson" if form == "lines" else "h.json")
    path.write_text(
        "\n".join(map(json.dumps, every)) if form == "lines" else json.dumps(every, indent=1)
    )
    found = load_hierarchy(path)
    assert found.parents("http://a/111") == ("http://a/11",)
    assert found.titles[found.index("http://a/11")] == "Flowers"
    dataset = load_labels({"id": ["a", "b", "c"], "label": ["111", "11", "111"]}, found)
    assert dataset.ledger.rows_mapped == 3


@pytest.mark.parametrize("own", ["alias", "slug"])
def test_nodes_go_by_the_key_whose_values_the_parents_are(own: str, tmp_path: Path) -> None:
    every = [
        {"title": title, own: title[:3].lower(), "parents": up, "countries": ["US"]}
        for title, up in (("Food", []), ("Bakeries", ["foo"]), ("Bagels", ["foo", "bak"]))
    ]
    (path := tmp_path / "categories.json").write_text(json.dumps(every))
    found = load_hierarchy(path)
    assert found.parents("bag") == ("bak", "foo")
    assert found.titles[found.index("bak")] == "Bakeries"
    assert [one.decision for one in found.readings] == [f"nodes go by {own!r}"]
    assert load_hierarchy(path, child="title").parents("Bagels") == ("bak", "foo")


def test_nodes_go_by_no_key_that_a_record_lacks(tmp_path: Path) -> None:
    every: list[dict[str, Any]] = [
        {"title": "Food", "alias": "foo", "parents": []},
        {"title": "Bakeries", "alias": "bak", "parents": ["foo"]},
        {"title": "Bakeries", "parents": ["foo"]},
    ]
    (path := tmp_path / "categories.json").write_text(json.dumps(every))
    assert load_hierarchy(path).parents("Bakeries") == ("foo",)

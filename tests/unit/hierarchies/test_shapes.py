"""Hierarchies in the shapes that people bring: read to the same tree, or refused with a way out."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd
import polars as pl
import pytest

from audit.base.errors import AuditError, InputError, SchemaError
from audit.base.settings import HierarchyShape
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.lint import lint
from audit.hierarchies.reading import load_hierarchy

ANIMALS = [("cat", "animal"), ("dog", "animal"), ("poodle", "dog")]
NUMBERED = [("2", "1"), ("3", "1"), ("4", "2")]
READ: dict[str, tuple[str, list[tuple[str, str]], tuple[str, ...]]] = {
    "parent.json": (
        '[{"id": "animal", "parent": null}, {"id": "dog", "parent": "animal"}, '
        '{"id": "cat", "parent": ["animal"]}, {"id": "poodle", "parent": {"id": "dog"}}]',
        ANIMALS, ()),
    "keyed.json": (
        '{"animal": {"name": "Animal"}, "dog": {"parent_id": "animal"}, '
        '"cat": {"parent_id": "animal"}, "poodle": {"parent_id": "dog"}}', ANIMALS, ()),
    "lines.jsonl": (
        '{"id": "dog", "parentId": "animal"}\n{"id": "cat", "parentId": "animal"}\n'
        '{"id": "poodle", "parentId": "dog"}\n', ANIMALS, ()),
    "whole.csv": (
        "taxon_id,parent_id,rank,name\n1,,,A\n2,1.0,,B\n3,1.0,,C\n4,2.0,,D\n", NUMBERED, ()),
    "taxa.json": (
        '[{"taxon_id": 1, "parent_id": null, "name": "A"}, '
        '{"taxon_id": 2, "parent_id": 1.0, "name": "B"}, '
        '{"taxon_id": 3, "parent_id": 1.0, "name": "C"}, '
        '{"taxon_id": 4, "parent_id": 2.0, "name": "D"}]', NUMBERED, ()),
    "coco.json": (
        '{"info": {"year": 2019}, "images": [{"id": 7}], "categories": ['
        '{"id": 1, "name": "dog", "supercategory": "animal"}, '
        '{"id": 2, "name": "cat", "supercategory": "animal"}, '
        '{"id": 3, "name": "poodle", "supercategory": "dog"}]}', ANIMALS, ("go by 'name'",)),
    "children.json": (
        '{"name": "animal", "Children": [{"name": "cat"}, '
        '{"name": "dog", "Subcategory": [{"name": "poodle"}]}]}', ANIMALS, ()),
    "nodes.json": (
        '{"id": 1, "text": "a", "nodes": [{"id": 2, "text": "b", "items": [{"id": 4}]}, '
        '{"id": 3}]}', NUMBERED, ()),
    "openimages.json": (
        '{"LabelName": "animal", "Subcategory": [{"LabelName": "cat"}, '
        '{"LabelName": "dog", "Subcategory": [{"LabelName": "poodle"}]}]}', ANIMALS, ()),
    "lists.json": ('{"animal": ["dog", "cat"], "dog": ["poodle"]}', ANIMALS, ("are below",)),
    "up.json": ('{"dog": ["animal"], "cat": ["animal"], "poodle": ["dog"]}', ANIMALS,
                ("are below",)),
    "twice.json": (
        '[{"id": 1, "name": "a", "parent_id": null, "parent_name": null}, {"id": 2, "name": "b", '
        '"parent_id": 1, "parent_name": "a"}, {"id": 3, "name": "c", "parent_id": 1, '
        '"parent_name": "a"}, {"id": 4, "name": "d", "parent_id": 2, "parent_name": "b"}]',
        NUMBERED, ()),
    "text.json": ('{"dog": "animal", "cat": "animal", "poodle": "dog"}', ANIMALS, ()),
    "id_parent.csv": ("id,parent_id,name\n1,,A\n2,1,B\n3,1,C\n4,2.0,D\n", NUMBERED, ()),
    "by_name.csv": ("id,name,parent\n1,animal,\n2,dog,animal\n3,cat,animal\n4,poodle,dog\n",
                    ANIMALS, ("go by 'name'",)),
    "immediate.csv": ("PATH_TO_ROOT,IMMEDIATE_PARENT,CODE,CODE_TEXT\n,,1,A\n1,1,2,B\n1,1,3,C\n"
                      "1.2,2,4,D\n", NUMBERED, ()),
    "esco.csv": ("conceptType,conceptUri,status,broaderRelation\nJob,dog,new,animal\n"
                 "Job,cat,new,animal\nJob,poodle,new,dog\n", ANIMALS, ()),
    "hyponyms.csv": ("hyponym;hypernym\ndog ;animal\ncat;animal\npoodle; dog\n", ANIMALS, ()),
    "several.csv": ("Class ID|Preferred Label|Parents\nd|Dog|\nc|Cat|\nx|Both|d;c\n",
                    [("c", "(root)"), ("d", "(root)"), ("x", "c"), ("x", "d")], ()),
    "down.txt": ("animal dog\nanimal cat\ndog poodle\n", ANIMALS, ("column 2 are below",)),
    "pairs.csv": ("dog,animal\ncat,animal\npoodle,dog\n", ANIMALS, ("column 1 are below",)),
    "levels.csv": ("level1,level2,level3\nanimal,dog,poodle\nanimal,cat,\n", ANIMALS,
                   ("are levels",)),
    "ranks.csv": ("kind,kin,breed,note\nanimal,dog,poodle,\nanimal,dog,boxer,kg > 30\n"
                  "animal,cat,manx,a\n",
                  [("boxer", "dog"), ("cat", "animal"), ("dog", "animal"), ("manx", "cat"),
                   ("poodle", "dog")], ("are levels",)),
    "ccs.csv": ("NOTE: codes of 2015\n'CODE','LVL 1','LVL 1 LABEL','LVL 2','LVL 2 LABEL','LVL 3'\n"
                "'01 ','1',\"A\",'1.1',\"B\",' '\n'02','1',\"A\",' ',\" \",' '\n",
                [("01", "1.1"), ("02", "1"), ("1.1", "1")], ("are levels",)),
    "column.csv": ("id,path\n1,a\n2,a > b\n3,a > c\n4,a > b > d\n", NUMBERED, ("'>' joins",)),
    "two.csv": ("term,parent1,parent2\nx,c,d\n",
                [("c", "(root)"), ("d", "(root)"), ("x", "c"), ("x", "d")], ()),
    "ncbi.tsv": ("tax_id\tparent_tax_id\trank\n1\t1\tno\n2\t1\tno\n3\t1\tno\n4\t2\tno\n",
                 NUMBERED, ("is one node with it",)),
    "links.json": ('{"directed": true, "nodes": [{"id": "animal"}, {"id": "dog"}], "links": '
                   '[{"source": "dog", "target": "animal", "key": 0}, {"source": "cat", "target": '
                   '"animal"}, {"source": "poodle", "target": "dog"}]}', ANIMALS,
                   ("'source' are below",)),
    "down.json": ('{"nodes": [], "edges": [{"from": "animal", "to": "dog"}, {"from": "animal", '
                  '"to": "cat"}, {"from": "dog", "to": "poodle"}]}', ANIMALS, ("'to' are below",)),
    "named.json": ('{"nodes": [{"id": 1, "name": "A"}], "edges": [{"parent": 1, "child": 2}, '
                   '{"parent": 1, "child": 3}, {"parent": 2, "child": 4}]}', NUMBERED, ()),
    "pairs.json": ('[["dog", "animal"], ["cat", "animal"], ["poodle", "dog"]]', ANIMALS,
                   ("'1' are below",)),
    "google.txt": ("# v1\na\na > b\na > b > d\na > c\n",
                   [("a > b", "a"), ("a > b > d", "a > b"), ("a > c", "a")], ()),
    "ids.txt": ("1 - a\n2 - a > b\n3 - a > c\n4 - a > b > d\n", NUMBERED, ()),
    "slashes.txt": ("/a/b/d\n/a/c\n", [("a/b", "a"), ("a/b/d", "a/b"), ("a/c", "a")],
                    ("'/' joins",)),
    "birds.csv": ("NO,RANK,BIRD_CODE,COMMON_NAME,ORDER1,FAMILY\n"
                  "1,s,dog,Dog,X,x1\n2,s,cat,Cat,X,x2\n3,s,oak,Oak,Y,y1\n4,s,ash,Ash,Y,y1\n",
                  [("X", "(root)"), ("Y", "(root)"), ("ash", "y1"), ("cat", "x2"), ("dog", "x1"),
                   ("oak", "y1"), ("x1", "X"),
                   ("x2", "X"), ("y1", "Y")], ("ORDER1, FAMILY, BIRD_CODE are levels",)),
}  # fmt: skip
REFUSED = {
    "onto.owl": (
        "Prefix(:=<http://a/>)\nOntology(<http://a/>)",
        r"robot convert --input \S*/onto.owl",
    ),
    "data.yaml": ("names:\n  0: dog\n", "yaml.safe_load"),
    "labels.csv": ("id,label\n1,X\n2,X\n", "--hierarchy-child COL"),
    "chain.json": ('{"dog": ["animal"]}', "--hierarchy-format parents .*--hierarchy-format child"),
    "pair.csv": ("a,b\nb,c\n", "--hierarchy-child 1 --hierarchy-parent 2"),
    "pair.json": ('[["a", "b"], ["b", "c"]]', "--hierarchy-child 1 --hierarchy-parent 2"),
    "ids.json": ('[{"id": "a", "see": ["b"]}, {"id": "b"}]', "--relations see"),
    "nodes.json": ('{"id": "a", "inside": [{"id": "b"}]}', "--relations inside"),
}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def edges(hierarchy: Hierarchy) -> list[Any]:
    return hierarchy.edge_frame().rows()


@pytest.mark.parametrize("name", READ)
def test_usual_shapes_are_read_and_what_is_guessed_is_stated(name: str, tmp_path: Path) -> None:
    text, expected, stated = READ[name]
    hierarchy = load_hierarchy(written(tmp_path, name, text))

    assert edges(hierarchy) == expected
    assert len(hierarchy.readings) == len(stated)
    for reading, words in zip(hierarchy.readings, stated, strict=True):
        assert words in str(reading)
        assert reading.rows > 0


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_a_way(name: str, tmp_path: Path) -> None:
    text, way = REFUSED[name]
    with pytest.raises(AuditError) as caught:
        load_hierarchy(written(tmp_path, name, text))

    assert re.search(way, caught.value.hint)
    assert caught.value.exit_status == 2


FOLLOWED: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("up.json", {"format": "children"},
     [("animal", "cat"), ("animal", "dog"), ("cat", "(root)"), ("dog", "poodle"),
      ("poodle", "(root)")]),
    ("lists.json", {"format": "parents"},
     [("animal", "cat"), ("animal", "dog"), ("cat", "(root)"), ("dog", "poodle"),
      ("poodle", "(root)")]),
    ("pairs.json", {"child": "2", "parent": "1"},
     [("animal", "cat"), ("animal", "dog"), ("cat", "(root)"), ("dog", "poodle"),
      ("poodle", "(root)")]),
    ("links.json", {"child": "target", "parent": "source"},
     [("animal", "cat"), ("animal", "dog"), ("cat", "(root)"), ("dog", "poodle"),
      ("poodle", "(root)")]),
    ("pairs.csv", {"child": "2", "parent": "1"},
     [("animal", "cat"), ("animal", "dog"), ("cat", "(root)"), ("dog", "poodle"),
      ("poodle", "(root)")]),
    ("by_name.csv", {"child": "id"},
     NUMBERED),
    ("ranks.csv", {"levels": ("kind", "breed")},
     [("boxer", "animal"), ("manx", "animal"), ("poodle", "animal")]),
    ("slashes.txt", {"format": "dotted"}, [("/a/b/d", "(root)"), ("/a/c", "(root)")]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "option", "expected"), FOLLOWED)
def test_an_option_gives_the_other_reading(
    name: str, option: dict[str, Any], expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    hierarchy = load_hierarchy(written(tmp_path, name, READ[name][0]), **option)

    assert edges(hierarchy) == expected
    stated = {f"--hierarchy-{role}" for role in option}
    assert not any(said.option.split()[0] in stated for said in hierarchy.readings)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("h.json", '{"anger": ["anger", "annoyance"], "joy": ["joy", "love"]}'),
        ("h.csv", "name,supercategory\nanger,anger\nannoyance,anger\njoy,joy\nlove,joy\n"),
    ],
)
def test_a_group_named_like_its_member_is_told_once(name: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, text)
    found = lint(path)

    below = [("annoyance", "anger"), ("love", "joy")]
    assert [edge for edge in edges(found.hierarchy) if edge[1] != "(root)"] == below
    assert found.hierarchy.assignable[found.hierarchy.index("anger")]
    assert [one.cases for one in found.findings if one.rule == "member_named_alike"] == [
        (("anger",), ("joy",))
    ]
    assert "child,parent,title with ids" in str(found.to_dict()["readings"])


def test_one_name_in_two_branches_is_two_nodes_or_told(tmp_path: Path) -> None:
    levels = written(tmp_path, "l.csv", "l1,l2\na,x\na,other\nb,other\n")
    nested = written(tmp_path, "t.json", '{"a": {"other": {}}, "b": {"other": {}}}')
    both = ("(root)", "a", "a > other", "b", "b > other")

    assert load_hierarchy(levels).nodes == (*both, "x")
    codes = written(tmp_path, "c.csv", "category,code\n101,001\n101,002\n7,101\n")
    assert edges(load_hierarchy(codes)) == [
        ("001", "> 101"), ("002", "> 101"), ("101", "7"), ("7", "(root)"), ("> 101", "(root)"),
    ]  # fmt: skip
    assert "several places" in str(load_hierarchy(levels).readings[1])
    assert load_hierarchy(nested).parents("other") == ("a", "b")
    assert "child,parent,title with ids" in str(load_hierarchy(nested).readings[0])


def test_an_option_that_says_nothing_of_a_format_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "h.obo", "[Term]\nid: a\n")

    for option in ({"child": "id"}, {"levels": ("a",)}):
        with pytest.raises(InputError, match="can be stated only of"):
            load_hierarchy(path, **option)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="icd9cm"):
        load_hierarchy("icd9cm", parent="parent")


def test_the_settings_are_arguments_of_the_reader() -> None:
    assert HierarchyShape(hierarchy_child="id").shape() == {
        "format": None, "child": "id", "parent": None, "title": None, "levels": (),
        "plugins": (), "allow_network": False, "vocabulary": None,
    }  # fmt: skip


DOORS: list[Any] = [
    {"animal": {"dog": {"poodle": {}}, "cat": {}}},
    {"animal": ["dog", "cat"], "dog": ["poodle"]},
    {"dog": ["animal"], "cat": ["animal"], "poodle": ["dog"]},
    {"dog": "animal", "cat": "animal", "poodle": "dog", "animal": None},
    [{"id": "dog", "parent": "animal"}, {"id": "cat", "parent": "animal"}, {"poodle": []},
     {"id": "poodle", "parent": "dog"}],
]  # fmt: skip


@pytest.mark.parametrize("given", DOORS)
def test_an_object_means_the_same_from_a_file(given: Any, tmp_path: Path) -> None:
    path = written(tmp_path, "h.json", json.dumps(given))

    assert edges(load_hierarchy(given)) == edges(load_hierarchy(path)) == ANIMALS


def test_children_and_parents_are_doors_of_their_own() -> None:
    with pytest.raises(InputError, match=r"load_hierarchy\(parents=...\)"):
        load_hierarchy({"dog": ["animal"]})
    assert edges(load_hierarchy(parents={"dog": ["animal"]})) == [("dog", "animal")]
    assert edges(load_hierarchy(children={"dog": ["animal"]})) == [("animal", "dog")]


def test_objects_of_pandas_polars_and_networkx() -> None:
    frame = pd.DataFrame({"id": [1, 2, 3, 4], "parent_id": [None, 1, 1, 2]})
    levels = pl.DataFrame({"a": ["x", "x"], "b": ["p", "q"]})
    graph: nx.DiGraph[float] = nx.DiGraph([(2.0, 1.0), (3, 1), (4, 2.0)])

    assert edges(load_hierarchy(frame)) == NUMBERED
    assert edges(load_hierarchy(graph)) == NUMBERED
    assert edges(load_hierarchy({2.0: 1.0, 3.0: 1.0, 4.0: 2.0, 1.0: math.nan})) == NUMBERED
    assert edges(load_hierarchy(levels, levels=("a", "b"))) == [("p", "x"), ("q", "x")]
    with pytest.raises(InputError, match="a frame or a graph"):
        load_hierarchy(3)


def test_a_row_of_an_outline_lies_below_the_last_of_each_level_above() -> None:
    rows = [
        ("A", "", ""),
        ("", "B", ""),
        ("", "", "c"),
        ("", "", "d"),
        ("E", "", ""),
        ("", "", "f"),
    ]
    table = pl.DataFrame(rows, schema=["major", "minor", "own"], orient="row")
    table = table.with_columns(title=pl.Series(list("123456")))
    read = load_hierarchy(table, levels=("major", "minor", "own"), title="title")

    assert {*edges(read)} == {
        ("A", "(root)"), ("B", "A"), ("c", "B"), ("d", "B"), ("E", "(root)"), ("f", "E"),
    }  # fmt: skip
    assert dict(zip(read.nodes, read.titles, strict=True)) | {"(root)": ""} == {
        **dict(zip("ABcdEf", "123456", strict=True)), "(root)": "",
    }  # fmt: skip
    assert [reading.rows for reading in read.readings] == [6]


def test_a_graph_of_obonet_counts_is_a_and_what_is_named() -> None:
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    graph.add_node("GO:1", name="process")
    graph.add_edge("GO:2", "GO:1", key="is_a")
    graph.add_edge("GO:3", "GO:1", key="part_of")
    alone, both = (load_hierarchy(graph, relations=one) for one in ((), ("part_of",)))

    assert alone.parents("GO:3") == ("(root)",)
    assert [reading.rows for reading in alone.readings] == [1]
    assert edges(both) == [("GO:2", "GO:1"), ("GO:3", "GO:1")]
    assert (both.titles[0], both.readings) == ("process", ())
    with pytest.raises(SchemaError, match="a relation must be one that edges have"):
        load_hierarchy(graph, relations=("regulates",))


@pytest.mark.parametrize(
    ("name", "content", "way"),
    [
        ("paths.csv", "path\nanimal\nanimal > dog\nanimal > cat\n", "each line is a path"),
        ("paths.csv", "category\nanimal/dog\nanimal/cat\n", "each line is a path"),
        ("graph.json", '{"nodes": [{"id": "a"}], "links": [3]}', "two ends"),
        ("graph.json", '{"nodes": [{"id": "a"}], "links": {"a": "b"}}', "two ends"),
        ("graph.json", '{"nodes": [], "edges": [{"a": 1, "b": 2}]}', "its two ends"),
        ("graph.json", '{"nodes": [], "edges": [{"source": 1}, {"target": 2}]}', "its two ends"),
        ("graph.json", '{"nodes": 3, "edges": [{"source": 1, "target": 2}]}', "nodes"),
        ("pairs.json", '[["dog", "animal"], ["cat"]]', "nodes with children"),
    ],
)
def test_what_does_not_say_which_end_is_the_parent_is_refused_with_a_way_out(
    name: str, content: str, way: str, tmp_path: Path
) -> None:
    (path := tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=way):
        load_hierarchy(path)


@pytest.mark.parametrize("ids", ["7 8 9 10", "7.0 8.0 9.0 10.0"])
@pytest.mark.parametrize("parents", [" 7 8 8", " 7.0 8.0 8.0"])
@pytest.mark.parametrize("named", ["taxon,parent_id,name", "taxon_id,parent_id,name"])
def test_ids_that_became_decimals_are_those_numbers(
    named: str, parents: str, ids: str, tmp_path: Path
) -> None:
    rows = zip(ids.split(" "), parents.split(" "), "abcd", strict=True)
    hierarchy = load_hierarchy(
        written(tmp_path, "t.csv", "\n".join([named, *map(",".join, rows)]) + "\n")
    )
    assert len(hierarchy) == 4 + (hierarchy.nodes[0] == "(root)")
    assert max(hierarchy.depth) - min(hierarchy.depth) == 2
    option = [said.option for said in hierarchy.readings]
    assert option == ["--hierarchy-child name"] * named.startswith("taxon,")


@pytest.mark.parametrize(
    ("rows", "lacking"),
    [
        (["a,,A", "b,a,B", "c,x,C", "d,y,D"], 2),
        (["a,r,A", "b,a,B", "c,x,C"], 2),
        (["a,r,A", "b,a,B", "c,r,C"], 0),
        ([f"n{number},p{number}," for number in range(1_000)], 1_000),
    ],
    ids=["declared tops", "titles", "one top", "by the thousand"],
)
def test_parents_without_a_row_are_told(rows: list[str], lacking: int, tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "\n".join(["id,parent,title", *rows]) + "\n")
    told = load_hierarchy(path).readings
    assert [(one.rows, one.option) for one in told] == [(lacking, "leave them blank")] * (
        lacking > 0
    )

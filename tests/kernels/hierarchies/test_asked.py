"""What a file does not say of its hierarchy is asked, and the first option on offer is right.

A case holds one command and what comes of it; here an option is taken from what the first says.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from audit import Hierarchy, load_hierarchy
from audit.base.dag import SYNTHETIC_ROOT
from audit.base.readings import AskedError

DOGS = {("cat", "animal"), ("dog", "animal"), ("poodle", "dog")}
NUMBERS = {("2", "1"), ("3", "1"), ("4", "2")}
MEMBERS = {("anger", "mood"), ("joy", "mood"), ("love", "joy")}
ASKED = {
    "down.txt": ("animal dog\nanimal cat\ndog poodle\n", DOGS),
    "down.tsv": ("animal\tdog\nanimal\tcat\ndog\tpoodle\n", DOGS),
    "down.csv": ("animal,dog\nanimal,cat\ndog,poodle\n", DOGS),
    "chain.csv": ("a,b\nb,c\n", {("a", "b"), ("b", "c")}),
    "lists.json": ('{"mood": ["anger", "joy"], "joy": ["love"]}', MEMBERS),
    "column.csv": ("id,path\n1,a\n2,a > b\n3,a > c\n4,a > b > d\n", NUMBERS),
    "others.csv": ("kode,oben\n1,\n2,1\n3,1\n4,2\n", NUMBERS),
    "own.csv": ("tax,parent_tax\n1,1\n2,1\n3,1\n4,2\n", NUMBERS),
    "two.csv": ("place,finding\nanimal,cat\nanimal,dog\ndog,poodle\n", DOGS),
    "joined.csv": ("id,parents\na,\nb,\nc,a;b\n", {("c", "a"), ("c", "b")}),
    "relations.csv": (
        "child,parent,relation\ncat,animal,is_a\ndog,animal,is_a\npoodle,dog,is_a\ntail,dog,part\n",
        DOGS,
    ),
    "keys.csv": ("x,y,parent\na,b,top\nc,d,other\n", {("a", "top"), ("c", "other")}),
}  # fmt: skip
"""Text of a file, and the edges by the first option."""


def edges(hierarchy: Hierarchy) -> set[tuple[str, str]]:
    rows = hierarchy.edge_frame().iter_rows()
    return {(child, parent) for child, parent in rows if parent != SYNTHETIC_ROOT}


def first_option(error: AskedError) -> dict[str, Any]:
    """The arguments that the first option is."""
    words = shlex.split(error.ways[0].option)
    stated = dict[str, Any]()
    for flag, value in zip(words[::2], words[1::2], strict=True):
        name = flag.removeprefix("--").removeprefix("hierarchy-")
        several = name in ("levels", "relations")
        stated[name] = tuple(value.split(",")) if several else value
    return stated


@pytest.mark.parametrize("name", ASKED)
def test_the_first_option_reads_right(name: str, tmp_path: Path) -> None:
    text, expected = ASKED[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(AskedError) as caught:
        load_hierarchy(path)

    assert edges(load_hierarchy(path, **first_option(caught.value))) == expected


@pytest.mark.parametrize("name", [name for name in ASKED if name.endswith(".json")])
def test_an_object_means_what_its_file_means(name: str) -> None:
    text, expected = ASKED[name]
    with pytest.raises(AskedError) as caught:
        load_hierarchy(json.loads(text))

    assert edges(load_hierarchy(json.loads(text), **first_option(caught.value))) == expected


@pytest.mark.parametrize("top", ["", "0", "-1", "root", "TOP", None])
@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_the_one_parent_that_is_nobodys_id_is_the_top(
    form: str, top: str | None, tmp_path: Path
) -> None:
    rows = [("1", "A", top), ("2", "B", "1"), ("3", "C", "1"), ("4", "D", "2"), ("5", "E", top)]
    path = tmp_path / f"h.{form}"
    records = [dict(zip(("id", "name", "parent_id"), row, strict=True)) for row in rows]
    if form == "csv":
        path.write_text("id,name,parent_id\n" + "".join(f"{i},{n},{p or ''}\n" for i, n, p in rows))
    elif form == "json":
        path.write_text(json.dumps(records))
    else:
        path.write_text("\n".join(map(json.dumps, records)))
    read = load_hierarchy(path)

    assert len(read) == 6
    assert read.depth.max() == 3
    assert read.branches.tolist() == [read.index("1"), read.index("5")]
    assert read.titles[read.index("4")] == "D"


@pytest.mark.parametrize("form", ["csv", "json"])
def test_nodes_go_by_what_the_parents_are_and_the_share_is_told(form: str, tmp_path: Path) -> None:
    columns = ("id", "slug", "name", "copy", "parent")
    rows = [("1", "top", "A", "", ""), ("2", "b", "B", "top", "top"), ("3", "c", "C", "b", "b"),
            ("4", "d", "D", "lost", "lost")]  # fmt: skip
    path = tmp_path / f"h.{form}"
    if form == "csv":
        path.write_text("\n".join(map(",".join, (columns, *rows))))
    else:
        path.write_text(json.dumps([dict(zip(columns, row, strict=True)) for row in rows]))
    read = load_hierarchy(path)
    by_number = load_hierarchy(path, child="id") if form == "csv" else None

    assert edges(read) == {("b", "top"), ("c", "b"), ("d", "lost")}
    assert read.titles[read.index("b")] == "B"
    assert "2 of 3 parents are values of 'slug'" in str(read.readings[0])
    assert by_number is None or "1" in by_number.nodes

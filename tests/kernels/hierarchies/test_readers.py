"""Every reader of hierarchy files: any graph that its form can say comes back; damage is one error.

Through the door of hierarchies, since a run would add labels to each of thousands of files.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import AuditError, Hierarchy, load_hierarchy
from audit.hierarchies.reading import FORMATS
from fixtures import hierarchy_files as files
from fixtures.examples import examples
from fixtures.strategies import hierarchies, trees, trees_of_paths
from fixtures.toy import toy

TREE = load_hierarchy({"animal": {"cat": {}, "dog": {"poodle": {}}}})


def of_paths(sign: str) -> Hierarchy:
    nodes = [("a", "a", False), (f"a{sign}b", "b", True), (f"a{sign}c", "c", True)]
    edges = {"child": [f"a{sign}b", f"a{sign}c"], "parent": ["a", "a"]}
    frame = pl.DataFrame(nodes, ["node", "title", "assignable"], orient="row")
    return Hierarchy.build(pl.DataFrame(edges), frame, name="paths")


@dataclass(frozen=True)
class Written:
    """How a form is written, for which hierarchies, what of them it can say, and what is stated."""

    format: str
    name: str
    write: Callable[[Hierarchy, Path], None]
    hierarchies: st.SearchStrategy[Hierarchy] = field(default_factory=hierarchies)
    sayable: Callable[[Hierarchy], Hierarchy] = lambda hierarchy: hierarchy
    stated: dict[str, Any] = field(default_factory=dict)
    example: Hierarchy = field(default_factory=toy)


def named(hierarchy: Hierarchy) -> Hierarchy:
    """The hierarchy as rows of names can say it: each may be a label, and has no title."""
    return files.untitled(files.all_assignable(hierarchy))


WRITTEN = (
    *(Written("edges", f"h.{end}", files.write_edges_csv) for end in ("csv", "tsv", "txt")),
    Written("edges", "h.parquet", files.write_edges_parquet),
    Written("levels", "h.csv", files.write_levels, trees(), named, example=TREE),
    Written("paths", "h.txt", files.write_paths, trees_of_paths(), example=of_paths(" > ")),
    Written(
        "paths",
        "h.paths",
        files.write_paths,
        trees_of_paths("/"),
        stated={"sep": "/"},
        example=of_paths("/"),
    ),
    Written("tree", "h.json", files.write_tree),
    Written("tree", "records.json", files.write_records),
    Written("tree", "h.jsonl", files.write_records),
    Written("tree", "names.json", files.write_names, trees(titled=False), example=TREE),
    Written("obo", "h.obo", files.write_obo, sayable=files.all_assignable),
    Written("obo", "h.txt", files.write_obo, sayable=files.all_assignable),
    Written("obographs", "h.json", files.write_obographs, sayable=files.all_assignable),
    *(
        Written("rdf", f"h.{end}", files.write_skos, sayable=files.of_iris)
        for end in ("ttl", "rdf", "nt", "json")
    ),
    Written("audioset", "h.json", files.write_audioset),
)
each_written = pytest.mark.parametrize("kind", WRITTEN, ids=lambda one: f"{one.format}-{one.name}")
each_format = pytest.mark.parametrize("format", [known.name for known in FORMATS])
holds_for_any = pytest.mark.hypothesis


def same(back: Hierarchy, expected: Hierarchy) -> bool:
    return back.sha256 == expected.sha256 and back.repeated_edges == 0


def refused(path: Path, format: str | None = None) -> AuditError:
    with pytest.raises(AuditError) as caught:
        load_hierarchy(path, format=format)
    assert caught.value.exit_status == 2
    assert str(path) in str(caught.value)
    return caught.value


def read_or_refused(path: Path, format: str | None) -> None:
    """Read a file that may be broken; anything but a message that names it is raised on."""
    try:
        load_hierarchy(path, format=format)
    except AuditError as error:
        if str(path) not in str(error):
            raise


@holds_for_any
@each_written
def test_any_hierarchy_that_a_form_can_say_comes_back(kind: Written) -> None:
    @given(kind.hierarchies)
    @examples(25)
    def law_holds(hierarchy: Hierarchy) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / kind.name
            kind.write(hierarchy, path)
            back = load_hierarchy(path, format=kind.format, **kind.stated)
        assert same(back, kind.sayable(hierarchy))

    law_holds()


@each_written
def test_a_form_is_known_without_its_name(kind: Written, tmp_path: Path) -> None:
    path = tmp_path / kind.name
    kind.write(kind.example, path)

    assert same(load_hierarchy(path, **kind.stated), kind.sayable(kind.example))


@holds_for_any
@each_written
def test_any_damage_is_told_in_one_message(kind: Written, tmp_path: Path) -> None:
    path = tmp_path / kind.name
    kind.write(kind.example, path)
    whole = path.read_bytes()

    @given(st.integers(0, len(whole)), st.integers(0, 3), st.binary(max_size=4))
    def law_holds(start: int, cut: int, put: bytes) -> None:
        path.write_bytes(whole[:start] + put + whole[start + cut :])
        read_or_refused(path, None)
        read_or_refused(path, kind.format)

    law_holds()


@holds_for_any
@each_format
def test_any_bytes_are_refused_or_read(format: str, tmp_path: Path) -> None:
    path = tmp_path / "broken"

    @given(st.binary(max_size=40) | st.text(max_size=20).map(str.encode))
    def law_holds(content: bytes) -> None:
        path.write_bytes(content)
        read_or_refused(path, format)

    law_holds()


NOISE = gzip.compress(np.random.default_rng(0).integers(32, 127, 100_000, np.uint8).tobytes())
UNREADABLE = {
    "empty": b"",
    "blank": b" \n\n",
    "half a gzip": NOISE[:60_000],
    "Latin-1": "é\n".encode("latin-1"),
    "pickle": b"\x80\x04K\x01.",
}


@each_format
@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_refused(format: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_bytes(content)

    refused(path, format)


@pytest.mark.parametrize("levels", [300, 5_000])
def test_a_deep_tree_is_read_without_recursion(levels: int, tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    opened = "".join(f'{{"id": {n}, "children": [' for n in range(levels))
    path.write_text(f'{opened}"leaf"{"]}" * levels}')

    if levels > 1_000:  # deeper than documents are parsed
        refused(path)
    else:
        assert load_hierarchy(path).depth.max() == levels

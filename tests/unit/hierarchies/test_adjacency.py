"""Adjacency lists: what is read of them, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import audit
from audit.base.errors import HierarchyError
from audit.hierarchies.formats import adjacency
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.examples import examples
from fixtures.strategies import hierarchies


def written(path: Path, lines: list[list[str]]) -> Path:
    path.write_text("".join("\t".join(names) + "\n" for names in lines))
    return path


@pytest.mark.hypothesis
@given(hierarchies(), st.randoms(use_true_random=False))
@examples(50)
def test_lines_in_any_order_give_the_edges_that_they_say(
    tmp_path_factory: pytest.TempPathFactory, hierarchy: Hierarchy, random: st.DrawFn
) -> None:
    lines = [[node, *hierarchy.children(node)] for node in hierarchy.nodes]
    random.shuffle(lines)  # type: ignore[attr-defined]
    path = written(tmp_path_factory.mktemp("lists") / "h.txt", lines)
    read = audit.load_hierarchy(path, format="adjacency")
    assume(not read.readings)  # lines that end a file with "#" are notes, which is told
    assert read.edge_frame().equals(hierarchy.edge_frame())
    assert read.nodes == hierarchy.nodes


@pytest.mark.parametrize("name", ["rcv1.taxonomy", "h.txt", "h.tsv"])
@pytest.mark.parametrize(
    "lines",
    [
        [["Root", "CCAT", "ECAT"], ["CCAT", "C11", "C12", "C13"], ["ECAT", "E11"]],
        [["top", "a", "b"], ["a", "c", "d"], ["b", "e", "f"]],
    ],
    ids=["lines of several lengths", "lines alike"],
)
def test_they_are_found_by_what_each_line_begins_with(
    lines: list[list[str]], name: str, tmp_path: Path
) -> None:
    read = audit.load_hierarchy(written(tmp_path / name, lines))
    assert read.parents(lines[1][1]) == (lines[1][0],)
    assert read.nodes[read.root] == lines[0][0]


@pytest.mark.parametrize(
    "lines",
    [
        [["top", "a", "b"], ["c", "d", "e"]],
        [["top", "a", "b"], ["a", "b", "c"]],
        [["top", "a"], ["a", "b"]],
        [["top", "a", "b"]],
        [["top", "a", "b"], ["# of c"], ["a", "c"]],
        [],
    ],
    ids=["a line that hangs nowhere", "a node below two", "edges", "one line", "a comment", "none"],
)
def test_what_else_tabs_part_is_none(lines: list[list[str]], tmp_path: Path) -> None:
    path = written(tmp_path / "h.txt", lines)
    assert not adjacency.matches(path, path.read_bytes())


def test_a_cycle_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "h.txt", [["top", "a", "b"], ["a", "c"], ["c", "a"]])
    with pytest.raises(HierarchyError, match="cycle"):
        audit.load_hierarchy(path, format="adjacency")

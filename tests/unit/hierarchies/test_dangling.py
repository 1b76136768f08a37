"""Dangling edges: refused and named, as are no others."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.hierarchies.building import DanglingError
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy

Edges = list[tuple[str, str]]


@dataclass(frozen=True)
class Drawn:
    """Ids, edges between them that have no cycle, and the ids that a file lacks."""

    ids: list[str]
    edges: Edges
    missing: frozenset[str]

    @property
    def there(self) -> list[str]:
        return [node for node in self.ids if node not in self.missing]

    def edges_of(self, whole: bool) -> Edges:
        """The edges between nodes that are there, or those whose child alone must be."""
        return [
            (child, parent)
            for child, parent in self.edges
            if child not in self.missing and not (whole and parent in self.missing)
        ]


@st.composite
def drawn_files(draw: st.DrawFn) -> Drawn:
    ids = draw(st.permutations("abcdefg"[: draw(st.integers(1, 7))]))
    pairs = [(child, parent) for at, child in enumerate(ids) for parent in ids[:at]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    missing = draw(st.frozensets(st.sampled_from(ids), max_size=len(ids) - 1))
    return Drawn(list(ids), edges, missing)


def obo(drawn: Drawn, whole: bool) -> str:
    own = drawn.edges_of(whole)
    stanzas = [
        ["[Term]", f"id: {node}", *(f"is_a: {parent}" for child, parent in own if child == node)]
        for node in drawn.there
    ]
    gone = [["[Term]", f"id: {node}", "is_obsolete: true"] for node in sorted(drawn.missing)[::2]]
    return "\n".join(line for stanza in (*stanzas, *gone) for line in (*stanza, ""))


def obographs(drawn: Drawn, whole: bool) -> str:
    nodes = [{"id": node} for node in drawn.there]
    gone = [{"id": node, "meta": {"deprecated": True}} for node in sorted(drawn.missing)[::2]]
    edges = [{"sub": one, "pred": "is_a", "obj": other} for one, other in drawn.edges_of(whole)]
    return json.dumps({"graphs": [{"nodes": nodes + gone, "edges": edges}]})


def audioset(drawn: Drawn, whole: bool) -> str:
    there = set(drawn.there)
    return json.dumps(
        [
            {
                "id": node,
                "child_ids": [
                    child
                    for child, parent in drawn.edges
                    if parent == node and (child in there or not whole)
                ],
            }
            for node in drawn.there
        ]
    )


CHILD_STATES_PARENT: dict[str, Callable[[Drawn, bool], str]] = {
    "obo": obo,
    "obographs": obographs,
}


def read(text: str, format: str) -> Hierarchy:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "h"
        path.write_text(text, "utf-8")
        return load_hierarchy(path, format=format)


def assert_only_dangling_edges_are_refused(whole: str, text: str, n: int, format: str) -> None:
    if n == 0:
        assert read(text, format).sha256 == read(whole, format).sha256
        return
    with pytest.raises(DanglingError) as caught:
        read(text, format)
    assert caught.value.found.startswith(f"{n} edge{'s' * (n > 1)} that ha")


@pytest.mark.hypothesis
@pytest.mark.parametrize("format", CHILD_STATES_PARENT)
def test_a_dangling_edge_is_refused_and_no_other(format: str) -> None:
    write = CHILD_STATES_PARENT[format]

    @given(drawn_files())
    def law_holds(drawn: Drawn) -> None:
        n = len(drawn.edges_of(False)) - len(drawn.edges_of(True))
        assert_only_dangling_edges_are_refused(write(drawn, True), write(drawn, False), n, format)

    law_holds()


@given(drawn_files())
def test_children_that_audioset_lacks_are_refused(drawn: Drawn) -> None:
    n = sum(c in drawn.missing and p not in drawn.missing for c, p in drawn.edges)
    assert_only_dangling_edges_are_refused(
        audioset(drawn, True), audioset(drawn, False), n, "audioset"
    )


def test_edges_are_named_in_the_order_of_the_file_each_once() -> None:
    edges = pl.DataFrame(
        {"child": ["b", "b", "c", "a", "b"], "parent": ["y", "x", "x", "top", "y"]}
    )
    nodes = pl.DataFrame({"node": ["a", "b", "c", "top"]})
    with pytest.raises(DanglingError) as caught:
        Hierarchy.build(edges, nodes, name="h")

    assert caught.value.edges == (("b", "y"), ("b", "x"), ("c", "x"))


@pytest.mark.skipif(
    "AUDIT_DATA" not in os.environ, reason="AUDIT_DATA names no folder of real data"
)
def test_a_real_ontology_without_every_third_term(tmp_path: Path) -> None:
    text = (Path(os.environ["AUDIT_DATA"]) / "go-slim" / "goslim_generic.obo").read_text("utf-8")
    stanzas = text.split("\n\n")
    terms = [stanza for stanza in stanzas if stanza.startswith("[Term]")]
    gone = {re.findall(r"^id: (\S+)", stanza, re.MULTILINE)[0] for stanza in terms[::3]}
    kept = [stanza for stanza in stanzas if stanza not in terms[::3]]
    below = {node: re.findall(r"^is_a: (\S+)", stanza, re.MULTILINE)
             for stanza in kept for node in re.findall(r"^id: (GO:\S+)", stanza, re.MULTILINE)
             if "is_obsolete: true" not in stanza}  # fmt: skip
    edges = {(node, above) for node, parents in below.items() for above in parents if above in gone}
    (tmp_path / "g.obo").write_text("\n\n".join(kept))
    with pytest.raises(DanglingError) as caught:
        load_hierarchy(tmp_path / "g.obo")

    assert edges
    assert caught.value.found.startswith(f"{len(edges)} edges")
    assert set(caught.value.edges) == edges

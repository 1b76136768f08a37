"""Dangling edges: refused and named, or dropped as if the file had never had them."""

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

import audit
from audit.base.errors import PolicyError
from audit.hierarchies.building import CyclicError, DanglingError, DroppedEdges
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.lint import lint
from audit.hierarchies.reading import load_hierarchy
from audit.policy.policy import Policy
from audit.runs.audit import run_audit
from fixtures.labelled import labelled
from fixtures.written import written

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


def edge_table(drawn: Drawn, whole: bool) -> str:
    rows = [(node, "", "") for node in drawn.there]
    rows += [(*edge, "") for edge in drawn.edges_of(whole)]
    rows += [(node, "", "true") for node in drawn.missing]
    return "\n".join(["child,parent,obsolete", *map(",".join, rows)])


def tree(drawn: Drawn, whole: bool) -> str:
    own = drawn.edges_of(whole)
    return json.dumps(
        [
            {
                "id": node,
                "deprecated": node in drawn.missing,
                "children": [{"id": child} for child, parent in own if parent == node],
            }
            for node in drawn.ids
        ]
    )


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
    "edges": edge_table,
    "tree": tree,
}


def read(text: str, format: str, dangling: str = "refuse") -> Hierarchy:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "h.txt"
        path.write_text(text)
        return load_hierarchy(path, format=format, dangling=dangling)  # type: ignore[arg-type]


@pytest.mark.hypothesis
@pytest.mark.parametrize("format", CHILD_STATES_PARENT)
def test_dropping_equals_reading_the_file_without_these_edges(format: str) -> None:
    write = CHILD_STATES_PARENT[format]

    @given(drawn_files())
    def law_holds(drawn: Drawn) -> None:
        with_them, without = write(drawn, False), write(drawn, True)
        dangling = set(drawn.edges_of(False)) - set(drawn.edges_of(True))
        read_whole, dropped = read(without, format), read(with_them, format, "drop")

        assert dropped.sha256 == read_whole.sha256
        assert dropped.repeated_edges == read_whole.repeated_edges == 0
        assert len(dropped.dropped.edges) == len(dangling)
        assert set(dropped.dropped.edges) == dangling
        kept = {child for child, _ in drawn.edges_of(True)}
        assert set(dropped.dropped.tops) == {child for child, _ in dangling} - kept
        assert read_whole.dropped == DroppedEdges()

    law_holds()


@pytest.mark.hypothesis
@pytest.mark.parametrize("format", CHILD_STATES_PARENT)
def test_without_the_option_a_dangling_edge_is_refused_and_no_other(format: str) -> None:
    write = CHILD_STATES_PARENT[format]

    @given(drawn_files())
    def law_holds(drawn: Drawn) -> None:
        n = len(drawn.edges_of(False)) - len(drawn.edges_of(True))
        if n == 0:
            assert read(write(drawn, False), format).dropped == DroppedEdges()
            return
        with pytest.raises(DanglingError) as caught:
            read(write(drawn, False), format)
        assert caught.value.found.startswith(f"{n} edge{'s' * (n > 1)} that ha")
        assert "--dangling drop" in caught.value.hint

    law_holds()


@given(drawn_files())
def test_children_that_audioset_lacks_are_dropped(drawn: Drawn) -> None:
    dropped = read(audioset(drawn, False), "audioset", "drop")
    dangling = {(c, p) for c, p in drawn.edges if c in drawn.missing and p not in drawn.missing}

    assert dropped.sha256 == read(audioset(drawn, True), "audioset").sha256
    assert set(dropped.dropped.edges) == dangling
    assert dropped.dropped.tops == ()


def test_edges_are_kept_in_the_order_of_the_file_each_once() -> None:
    edges = pl.DataFrame(
        {"child": ["b", "b", "c", "a", "b"], "parent": ["y", "x", "x", "top", "y"]}
    )
    nodes = pl.DataFrame({"node": ["a", "b", "c", "top"]})
    built = Hierarchy.build(edges, nodes, name="h", dangling="drop")

    assert built.dropped == DroppedEdges((("b", "y"), ("b", "x"), ("c", "x")), ("b", "c"))
    assert built.repeated_edges == 0
    assert built.children("(root)") == ("b", "c", "top")
    further = pl.DataFrame({"child": ["d"], "parent": ["a"]})
    added = pl.DataFrame({"node": ["d"], "title": [None], "assignable": [True]},
                         schema_overrides={"title": pl.String})  # fmt: skip
    assert built.extend(further, added).dropped == built.dropped


CYCLIC = "[Term]\nid: a\nis_a: b\nis_a: lost\n[Term]\nid: b\nis_a: a\n"


def test_lint_tells_what_was_dropped_beside_cycles(tmp_path: Path) -> None:
    path = written(tmp_path / "cyclic.obo", CYCLIC)
    with pytest.raises(DanglingError):
        lint(path)
    with pytest.raises(CyclicError):
        load_hierarchy(path, dangling="drop")
    result = lint(path, dangling="drop")

    assert [finding.rule for finding in result.findings] == ["cycle", "dangling_edge"]
    dangling = result.findings[1]
    assert dangling.cases == (("a", "lost"),)
    assert (dangling.severity, dangling.unit) == ("warning", "edges")


DAMAGED = "[Term]\nid: a\n[Term]\nid: b\nis_a: lost\n[Term]\nid: c\nis_a: a\nis_a: lost\n"


def test_an_audit_tells_what_was_dropped() -> None:
    result = run_audit(labelled(read(DAMAGED, "obo", "drop"), {"i": ["b"], "j": ["c"]}))

    assert result.ledger["dropped_edges"] == {"edges": 2, "tops": 1}
    assert result.shared()["ledger"]["dropped_edges"] == {"edges": 2, "tops": 1}


def test_a_policy_that_refuses_dangling_edges_has_none_dropped() -> None:
    data = labelled(read(DAMAGED, "obo", "drop"), {"i": ["b"]})
    with pytest.raises(PolicyError, match='dangling_edges = "refuse"'):
        run_audit(data, Policy(dangling_edges="refuse"))

    assert run_audit(data, Policy(dangling_edges="drop")).ledger["dropped_edges"]["edges"] == 2


def test_a_built_in_hierarchy_has_no_dangling_edges() -> None:
    assert audit.load_hierarchy("icd9cm", dangling="drop").dropped == DroppedEdges()


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
    dropped = load_hierarchy(tmp_path / "g.obo", dangling="drop").dropped

    assert edges
    assert caught.value.found.startswith(f"{len(edges)} edges")
    assert set(dropped.edges) == edges
    assert set(dropped.tops) == {
        node for node, parents in below.items() if parents and gone.issuperset(parents)
    }

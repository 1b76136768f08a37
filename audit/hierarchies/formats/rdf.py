"""RDF: concepts of SKOS or classes of OWL, as Turtle, N-Triples, RDF/XML or JSON-LD."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from audit.base.errors import SchemaError, first_cases
from audit.base.readings import Reading, asked
from audit.hierarchies.building import refuse_unused
from audit.hierarchies.coding import Obsolete, retired_ids
from audit.hierarchies.formats.format import (
    EdgeRow,
    HierarchyFormat,
    Shape,
    hierarchy_of,
    titles_of,
)
from audit.hierarchies.formats.obo import short
from audit.hierarchies.formats.rdf_graph import OWL, RDFS, SKOS, XL, Graph, matches, read_graph
from audit.hierarchies.hierarchy import Hierarchy

_OIO, _DC = "http://www.geneontology.org/formats/oboInOwl#", "http://purl.org/dc/terms/"
_REPLACED = ("http://purl.obolibrary.org/obo/IAO_0100001", f"{_DC}isReplacedBy")
_CONSIDER, _ALTERNATIVE = f"{_OIO}consider", f"{_OIO}hasAlternativeId"
_LABELS, _NOTATION = (f"{SKOS}prefLabel", f"{XL}prefLabel", f"{RDFS}label"), f"{SKOS}notation"
_SAID = (*_REPLACED, _CONSIDER, _ALTERNATIVE, *_LABELS, f"{XL}literalForm", _NOTATION)
_CALLED = {"skos": "concepts of SKOS", "owl": "classes of OWL"}


def read(path: Path, shape: Shape, kind: str | None = None) -> Hierarchy:
    """Read concepts by ``skos:broader`` and ``narrower``, or classes by ``rdfs:subClassOf``.

    The named classes in an intersection that a class is, are parents; named classes that are
    equivalent are one node. Nodes go by their notations if each has another one, else by the ends
    of their IRIs likewise, else by their IRIs; those of OBO as OBO writes them. A label may be any
    of these. Deprecated ids are no nodes; `retired_ids` says what took their place.

    Of the shape, ``child`` is what nodes go by: iri, name or notation; ``relations`` are
    properties, by name or label, that are edges too. ``kind`` is ``skos`` or ``owl``, where a file
    has both.
    """
    graph = read_graph(path, None if shape.relations else _SAID)
    told = list[Reading]()
    if kind is None:
        kind, told = _kind(graph, path)
    edges = graph.broader() if kind == "skos" else graph.super_classes()
    every = [*dict.fromkeys([*graph.typed(kind), *(end for edge in edges for end in edge)])]
    edges += _related(graph, shape.relations, {*every})
    gone = {s for s, o in graph.said(f"{OWL}deprecated") if o.value in ("true", "1")}
    same = _equivalent(graph, {*every} - gone) if kind == "owl" else {}
    ids, said = _ids(graph, every, shape.child)
    nodes = [iri for iri in every if iri not in gone and iri not in same]
    if not nodes:
        raise SchemaError(f"{_CALLED[kind]} are required", found="none that are in use")
    titles, spoken = _titles(graph, nodes)
    node = {iri: ids[same.get(iri, iri)] for iri in every}
    rows = [(node[a], node[b]) for a, b in edges if a not in gone]
    one_node = Reading(
        "equivalent classes are one node", "the file says so of classes by name",
        len(same), "remove owl:equivalentClass", "classes",
    )  # fmt: skip
    built = hierarchy_of(
        path,
        dict.fromkeys(row for row in rows if row[0] != row[1] or kind == "skos"),
        [(ids[iri], titles.get(iri), True) for iri in nodes],
        coding=retired_ids(
            {ids[iri] for iri in nodes},
            [_obsolete(graph, iri, ids) for iri in every if iri in gone],
            dict.fromkeys((o.value, node[s]) for s, o in graph.said(_ALTERNATIVE) if s in node),
            _aliases(graph, node),
        ),
        readings=[*told, *said, *spoken, *([one_node] if same else [])],
    )
    return replace(built, faults=graph.faults(node) if kind == "skos" else {})


_TAKES = frozenset({"relations", "child"})
FORMAT = HierarchyFormat(
    "rdf", "SKOS or OWL as Turtle, N-Triples, RDF/XML or JSON-LD", matches, read, _TAKES
)
KINDS = tuple(
    HierarchyFormat(
        name, f"RDF: its {called}, where it has others too", lambda *_: False,
        partial(read, kind=name), _TAKES,
    )
    for name, called in _CALLED.items()
)  # fmt: skip


def _kind(graph: Graph, path: Path) -> tuple[str, list[Reading]]:
    """What a file has, and what is told where it has some of the other too; asked if both."""
    edges = {"skos": len(graph.broader()), "owl": len(graph.super_classes())}
    nodes = {kind: len({*graph.typed(kind)}) for kind in edges}
    found = [kind for kind in edges if edges[kind]] or [kind for kind in nodes if nodes[kind]]
    said = {
        kind: Reading(f"{called} are the nodes", "the others have nothing above them",
                      edges[kind] or nodes[kind], f"--hierarchy-format {kind}", "statements")
        for kind, called in _CALLED.items()
    }  # fmt: skip
    if not found:
        raise SchemaError("concepts of SKOS or classes of OWL are required", found="none")
    if len(found) == 2:
        raise asked(
            "it must be stated which kind of nodes of the file is meant", [*said.values()], path
        )
    (kind,) = found
    (other,) = {*_CALLED} - {kind}
    told = replace(said[kind], option=said[other].option)
    return kind, [told] if nodes[other] else []


def _obsolete(graph: Graph, iri: str, ids: Mapping[str, str]) -> Obsolete:
    def successors(*predicates: str) -> tuple[str, ...]:
        found = [o.value for predicate in predicates for o in graph.of(iri, predicate)]
        return tuple(ids.get(one) or short(one) for one in found)

    return Obsolete(ids[iri], successors(*_REPLACED), successors(_CONSIDER))


def _related(graph: Graph, relations: Sequence[str], nodes: Set[str]) -> list[EdgeRow]:
    """Edges of further properties, between nodes or from a class to some of another one."""
    if not relations:
        return []
    said = [(s, p, o) for p in graph.statements for s, o in graph.pairs([p])]
    every = [one for one in (*said, *graph.restricted()) if {one[0], one[2]} <= nodes]
    called = {p: {p, short(p), _end(p)} for p in {p for _, p, _ in every}}
    for p, own in called.items():
        own |= {str(label.value).replace(" ", "_") for label in graph.of(p, _LABELS[2])}
    refuse_unused(relations, {name for own in called.values() for name in own}, "statements")
    return [(s, o) for s, p, o in every if called[p] & {*relations}]


def _equivalent(graph: Graph, classes: Collection[str]) -> dict[str, str]:
    """The class that stands for each one that is equivalent to it; the first by its IRI does."""
    first = dict[str, str]()

    def found(iri: str) -> str:
        while iri in first:
            iri = first[iri]
        return iri

    for a, b in graph.pairs([f"{OWL}equivalentClass"]):
        if a in classes and b in classes and len(ends := sorted({found(a), found(b)})) == 2:
            first[ends[1]] = ends[0]
    return {iri: found(iri) for iri in first}


def _end(iri: str) -> str:
    """The name behind the last sign of an IRI."""
    return re.split(r"[#/:]", iri.rstrip("#/:"))[-1]


def _ids(
    graph: Graph, every: Sequence[str], stated: str | None
) -> tuple[dict[str, str], list[Reading]]:
    """What each node goes by, and what is told of it."""
    notes = {iri: {str(o.value) for o in graph.of(iri, _NOTATION)} for iri in every}
    ways = {
        "notation": {iri: own.pop() for iri, own in notes.items() if len(own) == 1},
        "name": {iri: _end(iri) for iri in every},
        "iri": {iri: short(iri) for iri in every},
    }
    whole = {way: len({*ids.values()} - {""}) == len(every) for way, ids in ways.items()}
    if stated is not None and not whole.get(stated):
        raise SchemaError(
            "nodes can go by iri, name or notation, if no two have the same one",
            found=repr(stated),
            hint=f"no two have the same {' or '.join(w for w in ways if whole[w])}",
        )  # fmt: skip
    is_obo = any(id != iri for iri, id in ways["iri"].items())
    way = stated or ("iri" if is_obo else next(way for way in ways if whole[way]))
    told = Reading(
        f"nodes go by {'their notations' if way == 'notation' else 'the ends of their IRIs'}",
        "no two have the same one", len(every), "--hierarchy-child iri", "nodes",
    )  # fmt: skip
    return ways[way], [told] if way != "iri" and not stated else []


def _aliases(graph: Graph, node: Mapping[str, str]) -> dict[str, str]:
    """What else a label may say for each node, as far as it is that of no other."""
    found = defaultdict[str, set[str]](set)
    for iri, id in node.items():
        names = [iri, short(iri), _end(iri), *(str(o.value) for o in graph.of(iri, _NOTATION))]
        names += [
            f"{prefix}:{iri[len(start) :]}"
            for prefix, start in graph.prefixes.items()
            if iri.startswith(start)
        ]
        for name in names:
            found[name].add(id)
    return {name: own.pop() for name, own in found.items() if len(own) == 1 and own != {name}}


def _titles(graph: Graph, nodes: Sequence[str]) -> tuple[dict[str, str | None], list[Reading]]:
    """The title of each node in one language, else in none, and what is told of languages."""
    said = {iri: [*_labels(graph, iri)] for iri in nodes}
    counts = Counter(o.language.lower() for own in said.values() for _, o in own if o.language)
    frequent = max(sorted(counts), key=counts.__getitem__, default="")
    language = "en" if _spoken(counts, "en") else frequent
    order = {name: place for place, name in enumerate([*_spoken(counts, language), ""])}
    titles = dict[str, str | None]()
    for iri, own in said.items():
        ranked = [(order.get((o.language or "").lower()), rank, o.value) for rank, o in own]
        known = [(place, rank) for place, rank, _ in ranked if place is not None]
        best = min(known, default=None)
        texts = [(iri, value) for place, rank, value in ranked if (place, rank) == best]
        titles |= titles_of(texts)
    told = Reading(
        f"titles are those in {language!r}, or in no language", f"there are {first_cases(counts)}",
        len(nodes), "write titles of one language", "nodes",
    )  # fmt: skip
    return titles, [told] if len(counts) > 1 else []


def _spoken(languages: Collection[str], wanted: str) -> list[str]:
    """The languages that are a wanted one, itself first: ``en``, ``en-gb``."""
    return sorted(one for one in languages if one == wanted or one.startswith(f"{wanted}-"))


def _labels(graph: Graph, iri: str) -> Iterator[tuple[int, Any]]:
    """The labels of a node, those of lower rank to be preferred."""
    for rank, predicate in enumerate(_LABELS):
        for label in graph.of(iri, predicate):
            texts = graph.of(str(label.value), f"{XL}literalForm") if rank == 1 else [label]
            yield from ((rank, one) for one in texts if hasattr(one, "language"))

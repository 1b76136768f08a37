"""RDF: concepts of SKOS or classes of OWL, as Turtle, N-Triples, RDF/XML or JSON-LD."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from audit.base.dag import refuse_unused
from audit.base.errors import InputError, SchemaError
from audit.base.files import SNIFFED_BYTES, bare_suffix, read_text
from audit.base.limits import unpacking
from audit.base.machine import require_package
from audit.base.readings import Reading, asked
from audit.hierarchies.coding import CONSIDER, REPLACED_BY, Entry
from audit.hierarchies.formats.format import (
    EdgeRow,
    HierarchyFormat,
    Shape,
    head_text,
    hierarchy_of,
)
from audit.hierarchies.formats.obo import OIO, short
from audit.hierarchies.hierarchy import Hierarchy

_W3 = "http://www.w3.org/"
_SPACES = {
    "rdf": f"{_W3}1999/02/22-rdf-syntax-ns#",
    "rdfs": f"{_W3}2000/01/rdf-schema#",
    "owl": f"{_W3}2002/07/owl#",
    "skos": f"{_W3}2004/02/skos/core#",
    "xl": f"{_W3}2008/05/skos-xl#",
    "iso": "http://purl.org/iso25964/skos-thes#",
    "dc": "http://purl.org/dc/terms/",
    "oio": OIO,
    "obo": "http://purl.obolibrary.org/obo/",
}
_STANDARDS = tuple(_SPACES[one] for one in ("rdf", "rdfs", "owl", "skos"))
_PREFIXES = "".join(f"PREFIX {name}: <{iri}> " for name, iri in _SPACES.items())
_BROADER, _NARROWER = (
    f"skos:{way}|iso:{way}Generic|iso:{way}Partitive|iso:{way}Instantial"
    for way in ("broader", "narrower")
)
_ABOVE = {
    "skos": f"({_BROADER})|^({_NARROWER})",
    "owl": "rdfs:subClassOf|((rdfs:subClassOf|owl:equivalentClass)/owl:intersectionOf/rdf:rest*/"
    "rdf:first)",
}
"""What leads from a concept, or a class, to those above it: also said from above, and as parts of
an intersection that a class is."""
_TYPES = {"skos": "skos:Concept", "owl": "owl:Class rdfs:Class"}
_CALLED = {"skos": "concepts of SKOS", "owl": "classes of OWL"}
_FIELDS = {
    REPLACED_BY: "obo:IAO_0100001|dc:isReplacedBy",
    CONSIDER: "oio:consider",
    "merged": "oio:hasAlternativeId",
}
"""Where the fields of an `Entry` are."""
_LABELS = ("skos:prefLabel", "xl:prefLabel/xl:literalForm", "rdfs:label")
"""Where titles are, those to be preferred first."""


class _Graph:
    """The statements of a file."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def rows(self, where: str) -> Iterator[tuple[Any, ...]]:
        """Values of ``?a``, ``?b`` and ``?p``, a row for each match of a pattern of SPARQL."""
        query = f"{_PREFIXES} SELECT ?a ?b ?p WHERE {{ {where} }}"
        for one in self.store.query(query, use_default_graph_as_union=True):
            yield one["a"], one["b"], one["p"]

    def said(self, path: str) -> list[tuple[str, Any]]:
        """Subject and object of statements by a path of properties, in the order of the former."""
        found = ((a.value, b) for a, b, _ in self.rows(f"?a {path} ?b FILTER(isIRI(?a))"))
        return sorted(found, key=lambda one: (one[0], one[1].value))

    def pairs(self, path: str) -> list[EdgeRow]:
        """Subject and object of statements by a path, both IRIs that no standard defines."""
        named = ((a, b.value) for a, b in self.said(path) if type(b).__name__ == "NamedNode")
        return [one for one in named if not any(end.startswith(_STANDARDS) for end in one)]

    def nodes(self, kind: str) -> list[str]:
        """The concepts of ``skos``, or classes of ``owl``, that are declared."""
        types = f"?a rdf:type ?b VALUES ?b {{ {_TYPES[kind]} }} FILTER(isIRI(?a))"
        declared = {a.value for a, *_ in self.rows(types)}
        return sorted(one for one in declared if not one.startswith(_STANDARDS))

    def edges(self, kind: str) -> list[EdgeRow]:
        """Child and parent of each edge between concepts of ``skos``, or classes of ``owl``."""
        return [(a, b) for a, b in self.pairs(_ABOVE[kind]) if a != b or kind == "skos"]


def read(path: Path, shape: Shape, kind: str | None = None) -> Hierarchy:
    """Read concepts by ``skos:broader`` and ``narrower``, or classes by ``rdfs:subClassOf``.

    The named classes in an intersection that a class is, are parents; named classes that are
    equivalent are one node. Nodes go by the ends of their IRIs if no two are the same, else by
    their IRIs; those of OBO as OBO writes them. A label may be an IRI too. Deprecated ids are no
    nodes; `retired_ids` says what took their place.

    Of the shape, ``relations`` are properties, by name or label, that are edges too. ``kind`` is
    ``skos`` or ``owl``, where a file has both.
    """
    graph = _graph(path)
    kind, told = (kind, []) if kind else _kind(graph)
    edges = graph.edges(kind)
    every = [*dict.fromkeys([*graph.nodes(kind), *(end for edge in edges for end in edge)])]
    edges += _related(graph, shape.relations, every)
    gone = {a for a, b in graph.said("owl:deprecated") if b.value in ("true", "1")}
    same = _equivalent(graph, {*every} - gone) if kind == "owl" else {}
    ids, titles = _ids(every), _titles(graph)
    if gone.issuperset(own := [iri for iri in every if iri not in same]):
        raise SchemaError(f"{_CALLED[kind]} are required", found="none that are in use")
    node = {iri: ids[same.get(iri, iri)] for iri in every}
    entries = {
        iri: Entry(ids[iri], titles.get(iri), assignable=True, obsolete=iri in gone) for iri in own
    }
    for field, way in _FIELDS.items():
        for a, b in graph.said(way):
            if entry := entries.get(same.get(a, a)):
                known = getattr(entry, field)
                setattr(entry, field, [*known, ids.get(b.value) or short(b.value)])
    decision, why = "equivalent classes are one node", "the file says so of classes by name"
    one_node = Reading(decision, why, len(same), "remove owl:equivalentClass", "classes")
    apart = ((node[a], node[b]) for a, b in edges if a == b or node[a] != node[b])
    return hierarchy_of(
        path,
        [*entries.values()],
        dict.fromkeys(apart),
        declared="once",
        same={iri: id for iri, id in node.items() if iri != id},
        readings=[*told, one_node],
    )


def _kind(graph: _Graph) -> tuple[str, list[Reading]]:
    """What a file has, and what is told where it has some of the other too; asked if both."""
    edges, nodes = (
        {kind: len(of_kind(kind)) for kind in _CALLED} for of_kind in (graph.edges, graph.nodes)
    )
    found = [kind for kind in edges if edges[kind]] or [kind for kind in nodes if nodes[kind]]
    said = {
        kind: Reading(f"{called} are the nodes", "the others have nothing above them",
                      edges[kind] or nodes[kind], f"--hierarchy-format {kind}", "statements")
        for kind, called in _CALLED.items()
    }  # fmt: skip
    if not found:
        raise SchemaError("concepts of SKOS or classes of OWL are required", found="none")
    if len(found) == 2:
        required = "it must be stated which kind of nodes of the file is meant"
        raise asked(required, [*said.values()])
    (other,) = {*_CALLED} - {*found}
    told = replace(said[found[0]], option=said[other].option)
    return found[0], [told] if nodes[other] else []


def _related(graph: _Graph, relations: Sequence[str], nodes: Collection[str]) -> list[EdgeRow]:
    """Edges of further properties, between nodes or from a class to some of another one."""
    if not relations:
        return []
    some = "?a rdfs:subClassOf [owl:onProperty ?p; owl:someValuesFrom ?b]"
    every = [
        (a.value, p.value, b.value)
        for where in ("?a ?p ?b FILTER(isIRI(?a) && isIRI(?b))", some)
        for a, b, p in graph.rows(where)
    ]
    known, called = {*nodes}, defaultdict[str, set[str]](set)
    every = [one for one in every if {one[0], one[2]} <= known]
    for _, p, _ in every:
        called[p] |= {p, short(p), _end(p)}
    for p, label in graph.said("rdfs:label"):
        if p in called:
            called[p].add(str(label.value).replace(" ", "_"))
    refuse_unused(relations, {name for own in called.values() for name in own}, "statements")
    return [(a, b) for a, p, b in every if called[p] & {*relations}]


def _equivalent(graph: _Graph, classes: Collection[str]) -> dict[str, str]:
    """The first by its IRI of each set of equivalent classes, by each of the others."""
    alike = defaultdict[str, list[str]](list)
    for a, b in graph.pairs("(owl:equivalentClass|^owl:equivalentClass)+"):
        if a in classes and b in classes:
            alike[a].append(b)
    return {iri: first for iri, own in alike.items() if (first := min(own)) < iri}


def _end(iri: str) -> str:
    """What stands behind the last ``#``, ``/`` or ``:`` of an IRI."""
    return re.split(r"[#/:]", iri.rstrip("#/:"))[-1]


def _ids(every: Sequence[str]) -> dict[str, str]:
    """The id of each IRI: its end if all differ and none is of OBO, else as `short` writes it."""
    whole, ends = {iri: short(iri) for iri in every}, {iri: _end(iri) for iri in every}
    plain = len({*ends.values()} - {""}) == len(every) and all(a == b for a, b in whole.items())
    return ends if plain else whole


def _titles(graph: _Graph) -> dict[str, str]:
    """The title of each node: its preferred label, in English or no language before others."""
    said = list[tuple[str, int, bool, str, str]]()
    for rank, path in enumerate(_LABELS):
        for iri, one in graph.said(path):
            if hasattr(one, "language"):
                language = (one.language or "").lower()
                other = language.split("-")[0] != "en"
                said.append((iri, rank, other, language, str(one.value)))
    return {iri: text for iri, *_, text in sorted(said, reverse=True)}


_SUFFIXES = (".ttl", ".n3", ".nt", ".nq", ".trig", ".rdf", ".owl", ".skos", ".jsonld")
_TURTLE = re.compile(
    r"(#[^\n]*\n\s*)*(@?(prefix|base)\s+[\w.-]*:?\s*<|(<[^<>\s]+>|_:\w+)\s+<[^<>\s]+>\s)", re.I
)
_JSON = re.compile(r'[\[{](?!.*"@context":\s*"[^"]*jskos).*"@(context|graph|id|type)"', re.DOTALL)
_XML = re.compile(r"<(\?xml|rdf:|!|.*<rdf:RDF)", re.DOTALL)


def matches(path: Path, head: bytes) -> bool:
    """Whether a file is named as RDF, or begins as Turtle, N-Triples, RDF/XML or JSON-LD does."""
    text = head_text(head)
    begins = _TURTLE.match(text) or _JSON.match(text) or (_XML.match(text) and "<rdf:RDF" in text)
    return bare_suffix(path) in _SUFFIXES or bool(begins)


def _graph(path: Path) -> _Graph:
    """The statements of a file; nothing is loaded from elsewhere: neither imports nor contexts."""
    require_package("pyoxigraph", "to read RDF")
    from pyoxigraph import RdfFormat, Store, parse

    text = read_text(path)
    start = text[:SNIFFED_BYTES].lstrip()
    form = RdfFormat.from_extension(bare_suffix(path).replace(".txt", "")[1:]) or RdfFormat.TURTLE
    if _XML.match(start):
        form = RdfFormat.RDF_XML
        longest = max(map(len, re.findall(r"<!ENTITY[^>]*>", text)), default=0)
        nested = re.search(r"<!ENTITY[^>]*&\w", text) is not None
        if nested:
            required = "XML whose entities name no other entities is required"
            raise InputError(required, found="one that does", where=path)
        unpacking(path)(longest * text.count("&"))
    elif _JSON.match(start):
        form = RdfFormat.JSON_LD
    store = Store()
    try:
        base = f"file:///{quote(path.name)}"
        store.bulk_extend(parse(text.encode(), format=form, base_iri=base))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        found, hint = re.sub(r" \(line \d+\)$|^Parser error at line \d+ ", "", str(error)), ""
        if "LoadDocumentCallback" in found:
            found, hint = "a @context at an address", "write what is there into the file"
        raise SchemaError(
            f"a text of {form.name} is required", found=found[:160],
            where=f"{path}:{line}" if line else path, hint=hint,
        ) from None  # fmt: skip
    return _Graph(store)


_TAKES = frozenset({"relations"})
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

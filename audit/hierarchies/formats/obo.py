"""OBO 1.2 and 1.4, and the same ontologies as JSON: terms and their ``is_a`` edges."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from audit.base.dag import DanglingError, refuse_unused
from audit.base.errors import SchemaError
from audit.base.files import bare_suffix, read_json, read_lines
from audit.hierarchies.coding import CONSIDER, REPLACED_BY, Entry
from audit.hierarchies.formats.format import (
    HierarchyFormat,
    Shape,
    begins,
    head_text,
    hierarchy_of,
    items,
    shaped,
    text,
    titles_of,
)
from audit.hierarchies.hierarchy import Hierarchy

IS_A = "is_a"
Link: TypeAlias = tuple[str, str, str]
"""Child, relation and parent."""
_TAGS = {REPLACED_BY: REPLACED_BY, CONSIDER: CONSIDER, "alt_id": "merged"}
"""Fields of an `Entry` by clauses that name an id."""


def matches(path: Path, head: bytes) -> bool:
    """Whether the file's name ends in ``.obo``, or it starts with its version or has ``[Term]``."""
    begins = re.search(r"\Aformat-version:|^\[Term\]", head_text(head), re.MULTILINE)
    return bare_suffix(path) == ".obo" or begins is not None


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read the ``[Term]`` stanzas; ``relations`` are relationship types that are edges too.

    Each term is assignable. Obsolete ids and alternative ids are no nodes; `retired_ids` says what
    took their place. Other relationships say why terms go together.
    """
    entries, links, places = list[Entry](), list[Link](), dict[tuple[str, str], str]()
    for begun, clauses in _stanzas(path):
        named = {
            tag: [_words(tag, value, 1, where)[0] for where, value in clauses[tag]]
            for tag in ("id", *_TAGS)
        }
        if not named["id"]:
            raise SchemaError("every term needs an id", where=begun)
        id = named["id"][0]
        for tag in (IS_A, "relationship"):
            for where, value in clauses[tag]:
                *kind, parent = _words(tag, value, 1 + (tag != IS_A), where)
                links.append((id, kind[0] if kind else IS_A, parent))
                places.setdefault((id, parent), where)
        titles = titles_of((id, _text(name)) for _, name in clauses["name"])
        gone = any(_text(value) == "true" for _, value in clauses["is_obsolete"])
        other = {field: named[tag] for tag, field in _TAGS.items()}
        entries.append(Entry(id, titles.get(id), assignable=True, obsolete=gone, **other))
    found = {relation for _, relation, _ in links} - {IS_A}
    refuse_unused(shape.relations, found, "terms")
    edges = [(a, b) for a, relation, b in links if relation in (IS_A, *shape.relations)]
    related = _related(links, found - {*shape.relations})
    try:
        return hierarchy_of(path, entries, edges, declared="once", related=related)
    except DanglingError as error:
        error.where = places[error.edges[0]]
        raise


FORMAT = HierarchyFormat(
    "obo", "an OBO ontology: [Term] stanzas with is_a", matches, read, frozenset({"relations"})
)


def _related(links: Iterable[Link], relations: Iterable[str]) -> list[tuple[str, str]]:
    """The ends of links that say that two terms go together, and not that they never do."""
    never = ("never", "lacks", "disjoint")
    others = {one for one in relations if not one.startswith(never)}
    return [(a, b) for a, relation, b in links if relation in others]


_WORD = re.compile(r"(?:\\.|[^ \t\\{])+")
_COMMENT = re.compile(r"[ \t]!.*")
_MODIFIERS = re.compile(r'(?<!\\)\{[^"{}]*=(?:"(?:\\.|[^"\\])*"|[^"}])*\}[ \t]*$')
_ESCAPES = {"W": " ", "t": "\t", "n": "\n"}


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), value)


def _text(value: str) -> str:
    """All of a value, without comment and trailing modifiers."""
    return _unescaped(_MODIFIERS.sub("", _COMMENT.sub("", value)).strip(" \t"))


def _words(tag: str, value: str, wanted: int, where: str) -> list[str]:
    """As many first words of a value as wanted; SchemaError if it has fewer."""
    words = [_unescaped(word) for word in _WORD.findall(value)[:wanted]]
    if len(words) < wanted:
        raise SchemaError(f"the tag {tag!r} needs a value", found=repr(value), where=where)
    return words


def _stanzas(path: Path) -> Iterator[tuple[str, Mapping[str, list[tuple[str, str]]]]]:
    """The place of each ``[Term]``, and its clauses: place and value, by tag."""
    begun, clauses = "", defaultdict[str, list[tuple[str, str]]](list)
    for number, line in chain(read_lines(path), [(0, "[")]):
        where = f"{path}:{number}"
        if line.startswith("["):
            if begun:
                yield begun, clauses
            begun, clauses = where if line.startswith("[Term]") else "", defaultdict(list)
        elif not line.startswith("!"):
            tag, _, value = line.partition(":")
            clauses[tag.strip()].append((where, value))


_IRI = re.compile(r"http://purl\.obolibrary\.org/obo/([A-Za-z][A-Za-z0-9]*)_([^/#]+)")
OIO = "http://www.geneontology.org/formats/oboInOwl#"
_FIELDS = {
    "IAO:0100001": REPLACED_BY,
    f"{OIO}consider": CONSIDER,
    f"{OIO}hasAlternativeId": "merged",
}
"""Fields of an `Entry` by properties."""


def short(iri: str) -> str:
    """The id of an IRI as OBO writes it.

    >>> short("http://purl.obolibrary.org/obo/GO_0008150"), short("http://example.org/a_b")
    ('GO:0008150', 'http://example.org/a_b')
    """
    known = _IRI.fullmatch(iri)
    return f"{known[1]}:{known[2]}" if known else iri


def read_graphs(path: Path, shape: Shape) -> Hierarchy:
    """Read the classes of all graphs of OBO Graphs JSON.

    Where nodes have types, one without is no class: it only stands at the end of an edge. Ids are
    as OBO writes them: ``GO:0008150`` for the IRI that ends in ``/obo/GO_0008150``; any other is
    kept. The ``relations`` are predicates that are edges besides ``is_a``, by ids or labels:
    ``BFO:0000050`` or ``part_of``.
    """
    required = "an object with 'graphs', each with lists of 'nodes' and 'edges', is required"
    keys = ("nodes", "edges")
    stated, edges = shaped(
        read_json(path),
        lambda held: [[one for g in items(held["graphs"]) for one in g.get(k) or []] for k in keys],
        required,
    )
    every = [(shaped(one, _graph_entry, _NODE), one.get("type")) for one in stated]
    typed = any(kind for _, kind in every)
    entries = [one for one, kind in every if kind == "CLASS" or not typed]
    links = [shaped(one, _edge, "an edge needs a 'sub', a 'pred' and an 'obj'") for one in edges]
    labels = {
        one.node: (one.title or "").replace(" ", "_") for one, kind in every if kind == "PROPERTY"
    }
    names = {one: labels.get(one) or one for _, one, _ in links if one != IS_A}
    refuse_unused(shape.relations, {*names, *names.values()}, "edges")
    own = {one for one, label in names.items() if {one, label} & {*shape.relations}}
    called = [(a, names.get(relation, IS_A), b) for a, relation, b in links if relation not in own]
    return hierarchy_of(
        path,
        entries,
        [(a, b) for a, relation, b in links if relation in (IS_A, *own)],
        declared="anywhere",
        related=_related(called, {*names.values()}),
    )


_NODE = (
    "a node needs an 'id', and may have a text 'lbl' and a 'meta' with 'deprecated', true or "
    "false, and 'basicPropertyValues', each with 'pred' and 'val'"
)


def _graph_entry(stated: Mapping[str, Any]) -> Entry:
    """A node of OBO Graphs: its id and title, whether it is obsolete, and what took its place."""
    meta = stated.get("meta") or {}
    gone, title = meta.get("deprecated"), stated.get("lbl")
    if not isinstance(gone, bool | None):
        raise TypeError
    links = defaultdict[str, list[str]](list)
    for one in meta.get("basicPropertyValues") or []:
        name, value = short(text(one["pred"])), short(text(one["val"]))
        if name in _FIELDS:
            links[_FIELDS[name]].append(value)
    node = short(text(stated["id"]))
    own = text(title) if title else None
    return Entry(node, own, assignable=True, obsolete=bool(gone), **links)


def _edge(stated: Any) -> Link:
    """Child, relation and parent of an edge of OBO Graphs, each as `short` writes it."""
    sub, predicate, obj = (short(text(stated[key])) for key in ("sub", "pred", "obj"))
    return sub, predicate, obj


GRAPHS = HierarchyFormat(
    "obographs",
    "an ontology as OBO Graphs JSON: graphs of nodes and edges",
    begins(r'\{\s*"graphs"\s*:\s*\[\s*\{.*"nodes"'),
    read_graphs,
    frozenset({"relations"}),
)

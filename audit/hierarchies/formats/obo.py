"""OBO 1.2 and 1.4, and the same ontologies as JSON: terms and their ``is_a`` edges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from audit.base.errors import SchemaError
from audit.base.files import read_json, read_lines
from audit.base.readings import Reading
from audit.base.streams import bare_suffix
from audit.hierarchies.building import IS_A, DanglingError, refuse_unused
from audit.hierarchies.coding import CONSIDER, REPLACED_BY, Obsolete, retired_ids
from audit.hierarchies.formats.format import (
    HierarchyFormat,
    Shape,
    head_text,
    hierarchy_of,
    items,
    shaped,
    text,
    titles_of,
)
from audit.hierarchies.hierarchy import Hierarchy


@dataclass(slots=True)
class Term:
    """What an ontology states of one term or class.

    Args:
        id: Its id as OBO writes it.
        titles: Its names.
        obsolete: Whether it is deprecated.
        links: Ids that took its place or that it took the place of, by what they are to it.
    """

    id: str
    titles: list[str] = field(default_factory=list)
    obsolete: bool = False
    links: dict[str, list[str]] = field(default_factory=dict)


Link: TypeAlias = tuple[str, str, str]
"""Child, relation and parent."""
_SUCCESSORS, ALTERNATIVE = (REPLACED_BY, CONSIDER), "alt_id"


def hierarchy_of_terms(
    path: Path, every: Sequence[Term], links: Iterable[Link], used: Set[str],
    others: Set[str] = frozenset(), *,
    same: Mapping[str, str] = MappingProxyType({}), readings: Sequence[Reading] = (),
) -> Hierarchy:  # fmt: skip
    """Build the hierarchy of the terms that are not obsolete; each is assignable.

    Obsolete ids and alternative ids are no nodes; `retired_ids` says what took their place. Links
    are edges if their relation is one of those ``used``; ``others`` say why terms go together. A
    parent that is no term, or is obsolete, is dangling. ``same`` is as in `RetiredIds`.
    """
    terms = [term for term in every if not term.obsolete]
    gone = {term.id: term for term in every if term.obsolete}
    titles = titles_of((term.id, title) for term in terms for title in term.titles)
    later = [
        Obsolete(id, *(tuple(dict.fromkeys(term.links.get(one, ()))) for one in _SUCCESSORS))
        for id, term in gone.items()
    ]
    merged = dict.fromkeys(
        (old, term.id) for term in every for old in term.links.get(ALTERNATIVE, ())
    )
    kept = [(a, relation, b) for a, relation, b in links if a not in gone]
    return hierarchy_of(
        path,
        [(a, b) for a, relation, b in kept if relation in used],
        [(term.id, titles.get(term.id), True) for term in terms],
        coding=retired_ids({term.id for term in terms}, later, merged, same),
        readings=readings,
        related=[(a, b) for a, relation, b in kept if relation in others],
    )


def matches(path: Path, head: bytes) -> bool:
    """Whether the file's name ends in ``.obo``, or it starts with its version or has ``[Term]``."""
    begins = re.search(r"\Aformat-version:|^\[Term\]", head_text(head), re.MULTILINE)
    return bare_suffix(path) == ".obo" or begins is not None


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read the ``[Term]`` stanzas; ``relations`` are relationship types that are edges too."""
    terms, links = _terms(path)
    found = {relation for _, relation, _ in links.values()} - {IS_A}
    refuse_unused(shape.relations, found, "terms")
    others = {one for one in found if one not in shape.relations and _relates(one)}
    try:
        every = links.values()
        return hierarchy_of_terms(path, terms, every, {IS_A, *shape.relations}, others)
    except DanglingError as error:
        lines = {(a, b): where for where, (a, _, b) in reversed(links.items())}
        error.where = lines[error.edges[0]]
        raise


FORMAT = HierarchyFormat(
    "obo", "an OBO ontology: [Term] stanzas with is_a", matches, read, frozenset({"relations"})
)


def _relates(relation: str) -> bool:
    """Whether a relationship says that its two terms go together, and not that they never do."""
    return not relation.startswith(("never", "lacks", "disjoint"))


_WORD = re.compile(r"(?:\\.|[^ \t\\{])+")
_COMMENT = re.compile(r"[ \t]!.*")
_MODIFIERS = re.compile(r'(?<!\\)\{[^"{}]*=(?:"(?:\\.|[^"\\])*"|[^"}])*\}[ \t]*$')
_ESCAPES = {"W": " ", "t": "\t", "n": "\n"}


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), value)


def _text(value: str) -> str:
    """All of a value, without comment and trailing modifiers."""
    return _unescaped(_MODIFIERS.sub("", _COMMENT.sub("", value)).strip(" \t"))


def _terms(path: Path) -> tuple[list[Term], dict[str, Link]]:
    """All ``[Term]`` stanzas, and the relations that they state, by their lines; the clauses of the
    header and of other stanzas are passed over."""
    terms, links = list[Term](), dict[str, Link]()
    begun, term = list[str](), None
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        if line.startswith("["):
            term = Term("") if line.startswith("[Term]") else None
            if term:
                terms.append(term)
                begun.append(where)
            continue
        tag, _, value = line.partition(":")
        tag = tag.strip()
        if term is None or line.startswith("!"):
            continue
        if tag == "name":
            term.titles.append(_text(value))
        elif tag == "is_obsolete":
            term.obsolete |= _text(value) == "true"
        elif tag in ("id", IS_A, "relationship", ALTERNATIVE, *_SUCCESSORS):
            wanted = 1 + (tag == "relationship")
            words = [_unescaped(word) for word in _WORD.findall(value)[:wanted]]
            if len(words) < wanted:
                raise SchemaError(f"the tag {tag!r} needs a value", found=repr(value), where=where)
            if tag == "id":
                term.id = term.id or words[0]
            elif tag in (IS_A, "relationship"):
                links[where] = (term.id, words[0] if wanted == 2 else IS_A, words[-1])
            else:
                term.links.setdefault(tag, []).append(words[0])
    if alone := [where for term, where in zip(terms, begun, strict=True) if not term.id]:
        raise SchemaError("every term needs an id", where=alone[0])
    return terms, links


_IRI = re.compile(r"http://purl\.obolibrary\.org/obo/([A-Za-z][A-Za-z0-9]*)_([^/#]+)")
OIO = "http://www.geneontology.org/formats/oboInOwl#"
_LINKS = {
    "IAO:0100001": REPLACED_BY,
    f"{OIO}consider": CONSIDER,
    f"{OIO}hasAlternativeId": ALTERNATIVE,
}


def short(iri: str) -> str:
    """The id of an IRI as OBO writes it.

    >>> short("http://purl.obolibrary.org/obo/GO_0008150"), short("http://example.org/a_b")
    ('GO:0008150', 'http://example.org/a_b')
    """
    known = _IRI.fullmatch(iri)
    return f"{known[1]}:{known[2]}" if known else iri


def _is_graphs(path: Path, head: bytes) -> bool:
    """Whether the file starts as an object whose ``graphs`` are objects, one with ``nodes``."""
    begins = re.match(r'\{\s*"graphs"\s*:\s*\[\s*\{.*"nodes"', head_text(head), re.DOTALL)
    return begins is not None


def read_graphs(path: Path, shape: Shape) -> Hierarchy:
    """Read the classes of all graphs.

    Where nodes have types, one without is no class: it only stands at the end of an edge. Ids are
    as OBO writes them: ``GO:0008150`` for the IRI that ends in ``/obo/GO_0008150``; any other is
    kept. The ``relations`` are predicates that are edges besides ``is_a``, by ids or labels:
    ``BFO:0000050`` or ``part_of``.
    """
    required = "an object with 'graphs', each with lists of 'nodes' and 'edges', is required"
    stated, edges = shaped(read_json(path), _lists, required)
    every = [shaped(one, _term, _NODE) for one in stated]
    links = [shaped(one, _link, "an edge needs a 'sub', a 'pred' and an 'obj'") for one in edges]
    kinds = [one.get("type") for one in stated]
    terms = dict[str, Term]()
    for term, kind in zip(every, kinds, strict=True):
        if kind != "CLASS" and any(kinds):
            continue
        known = terms.setdefault(term.id, term)
        if known is not term:
            known.titles += term.titles
            known.links |= term.links
            known.obsolete = known.obsolete and term.obsolete
    labels = {
        term.id: "".join(term.titles).replace(" ", "_")
        for term, kind in zip(every, kinds, strict=True)
        if kind == "PROPERTY"
    }
    names = {one: labels.get(one) or one for _, one, _ in links if one != IS_A}
    refuse_unused(shape.relations, {*names, *names.values()}, "edges")
    own = {one for one, label in names.items() if {one, label} & {*shape.relations}}
    others = {one for one, label in names.items() if one not in own and _relates(label)}
    return hierarchy_of_terms(path, [*terms.values()], links, {IS_A, *own}, others)


_NODE = (
    "a node needs an 'id', and may have a text 'lbl' and a 'meta' with 'deprecated', true or "
    "false, and 'basicPropertyValues', each with 'pred' and 'val'"
)


def _lists(held: Any) -> list[list[Any]]:
    """The nodes and the edges of all graphs."""
    return [
        [one for g in items(held["graphs"]) for one in g.get(key) or []]
        for key in ("nodes", "edges")
    ]


def _term(stated: Any) -> Term:
    meta = stated.get("meta") or {}
    gone, title = meta.get("deprecated"), stated.get("lbl")
    if not isinstance(gone, bool | None):
        raise TypeError
    term = Term(short(text(stated["id"])), [text(title)] if title else [], bool(gone))
    for one in meta.get("basicPropertyValues") or []:
        name, value = short(text(one["pred"])), short(text(one["val"]))
        if name in _LINKS:
            term.links.setdefault(_LINKS[name], []).append(value)
    return term


def _link(stated: Any) -> Link:
    sub, predicate, obj = (short(text(stated[key])) for key in ("sub", "pred", "obj"))
    return sub, predicate, obj


GRAPHS = HierarchyFormat(
    "obographs", "an ontology as OBO Graphs JSON: graphs of nodes and edges",
    _is_graphs, read_graphs, frozenset({"relations"}),
)  # fmt: skip

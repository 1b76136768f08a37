"""OBO 1.2 and 1.4, and the same ontologies as JSON: terms and their ``is_a`` edges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.base.errors import SchemaError, first_cases
from audit.base.files import read_json, read_lines
from audit.hierarchies.building import DanglingError, refuse_unused
from audit.hierarchies.coding import Obsolete, RetiredIds, retired_ids
from audit.hierarchies.formats.format import (
    HierarchyFormat,
    Shape,
    bare_suffix,
    head_text,
    hierarchy_of,
    titles_of,
)
from audit.hierarchies.hierarchy import Hierarchy


def matches(path: Path, head: bytes) -> bool:
    """Whether the file's name ends in ``.obo``, or it starts with its version or has ``[Term]``."""
    text = head_text(head)
    return (
        bare_suffix(path) == ".obo"
        or text.startswith("format-version:")
        or re.search(r"^\[Term\]", text, re.MULTILINE) is not None
    )


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read the terms that are not obsolete; each is assignable.

    Obsolete ids and alternative ids are no nodes; `retired_ids` says what took their place. The
    ``relations`` of the shape are relationship types that are edges too, such as ``part_of``; other
    relationships explain why terms go together. A parent that is no term, or is obsolete, is
    dangling.
    """
    every = _terms(path)
    terms = [term for term in every if not term.obsolete]
    names = ((term.id, one.text) for term in terms for one in term.tagged("name"))
    titles = titles_of(names)
    parents = [parent for term in terms for parent in term.parents(shape.relations)]
    if shape.relations:
        used = {relation for term in terms for relation, _ in term.relationships()}
        refuse_unused(shape.relations, used, "terms")
    try:
        return hierarchy_of(
            path,
            [(parent.child, parent.id) for parent in parents],
            [(term.id, titles.get(term.id), True) for term in terms],
            coding=_retired(every),
            related=[
                (one.child, one.id)
                for term in terms
                for relation, one in term.relationships()
                if relation not in shape.relations and _relates(relation)
            ],
        )
    except DanglingError as error:
        lines = {(parent.child, parent.id): parent.where for parent in reversed(parents)}
        error.where = lines[error.edges[0]]
        raise


FORMAT = HierarchyFormat(
    "obo", "an OBO ontology: [Term] stanzas with is_a", matches, read, frozenset({"relations"})
)


@dataclass(frozen=True)
class _Parent:
    child: str
    id: str
    where: str


@dataclass(frozen=True)
class _Clause:
    """One ``tag: value`` line."""

    tag: str
    value: str
    where: str

    def ids(self, n: int = 1) -> list[str]:
        """The first n words; comment and trailing modifiers come after them."""
        words = _WORD.findall(self.value)[:n]
        if len(words) < n:
            raise SchemaError(
                f"the tag {self.tag!r} needs a value", found=repr(self.value), where=self.where
            )
        return [_unescaped(word) for word in words]

    @property
    def text(self) -> str:
        """All of it, without comment and trailing modifiers."""
        return _unescaped(_MODIFIERS.sub("", _COMMENT.sub("", self.value)).strip(" \t"))


@dataclass(frozen=True)
class _Term:
    """The clauses of one ``[Term]`` stanza."""

    where: str
    clauses: list[_Clause]

    def tagged(self, tag: str) -> list[_Clause]:
        return [clause for clause in self.clauses if clause.tag == tag]

    @property
    def id(self) -> str:
        for clause in self.tagged("id"):
            return clause.ids()[0]
        raise SchemaError("every term needs an id", where=self.where)

    @property
    def obsolete(self) -> bool:
        return any(clause.text == "true" for clause in self.tagged("is_obsolete"))

    def named(self, tag: str) -> list[str]:
        """The ids in the clauses of a tag, each once."""
        return list(dict.fromkeys(clause.ids()[0] for clause in self.tagged(tag)))

    def relationships(self) -> list[tuple[str, _Parent]]:
        found = []
        for clause in self.tagged("relationship"):
            relation, target = clause.ids(2)
            found.append((relation, _Parent(self.id, target, clause.where)))
        return found

    def parents(self, relations: tuple[str, ...]) -> list[_Parent]:
        is_a = [_Parent(self.id, clause.ids()[0], clause.where) for clause in self.tagged("is_a")]
        return is_a + [parent for relation, parent in self.relationships() if relation in relations]


def _relates(relation: str) -> bool:
    """Whether a relationship says that its two terms go together, and not that they never do."""
    return not relation.startswith(("never", "lacks", "disjoint"))


_WORD = re.compile(r"(?:\\.|[^ \t\\{])+")
_COMMENT = re.compile(r"[ \t]!.*")
_MODIFIERS = re.compile(r'(?<!\\)\{[^"{}]*=(?:"(?:\\.|[^"\\])*"|[^"}])*\}[ \t]*$')
_ESCAPES = {"W": " ", "t": "\t", "n": "\n"}


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), value)


def _terms(path: Path) -> list[_Term]:
    """All ``[Term]`` stanzas; the clauses of the header and of other stanzas are passed over."""
    terms: list[_Term] = []
    clauses: list[_Clause] = []
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        if line.startswith("["):
            clauses = []
            if line.startswith("[Term]"):
                terms.append(_Term(where, clauses))
        elif not line.startswith("!"):
            tag, _, value = line.partition(":")
            clauses.append(_Clause(tag.strip(), value, where))
    return terms


def _retired(every: Sequence[_Term]) -> RetiredIds | None:
    obsolete = (
        Obsolete(term.id, tuple(term.named("replaced_by")), tuple(term.named("consider")))
        for term in every
        if term.obsolete
    )
    merged = [(other, term.id) for term in every for other in term.named("alt_id")]
    nodes = {term.id for term in every if not term.obsolete}
    return retired_ids(nodes, obsolete, merged)


_OPENS = re.compile(r'\{\s*"graphs"\s*:\s*\[\s*\{')
_IS_A = "is_a"
_IRI = re.compile(r"http://purl\.obolibrary\.org/obo/([A-Za-z][A-Za-z0-9]*)_([^/#]+)")
_REPLACED_BY = "IAO:0100001"
_OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
_CONSIDER, _ALTERNATIVE = f"{_OBO_IN_OWL}consider", f"{_OBO_IN_OWL}hasAlternativeId"


def _is_graphs(path: Path, head: bytes) -> bool:
    """Whether the file starts as an object whose ``graphs`` are objects, one with ``nodes``."""
    text = head_text(head)
    return _OPENS.match(text) is not None and '"nodes"' in text


def read_graphs(path: Path, shape: Shape) -> Hierarchy:
    """Read the classes that are not deprecated, of all graphs; each is assignable.

    Where nodes have types, one without is no class: it only stands at the end of an edge.

    Ids are as OBO writes them: ``GO:0008150`` for the IRI that ends in ``/obo/GO_0008150``; any
    other is kept. Deprecated and alternative ids are no nodes; `retired_ids` says what took their
    place. The ``relations`` of the shape are predicates that are edges besides ``is_a``, by their
    ids or labels: ``BFO:0000050`` or ``part_of``; an edge to what is no class is dangling.
    """
    graphs = _graphs(path)
    stated = _records(graphs, "nodes")
    classes = ("CLASS",) if any(one.get("type") for one in stated) else (None,)
    nodes = [_node(one) for one in stated if one.get("type") in classes]
    edges = [_edge(one) for one in _records(graphs, "edges")]
    labels = _labels(stated)
    chosen = _chosen(shape.relations, labels, {predicate for _, predicate, _ in edges})
    titles = titles_of((one.id, one.title) for one in nodes if not one.deprecated)
    gone = [node for node in nodes if node.deprecated and node.id not in titles]
    merged = [(old, one.id) for one in nodes for old in one.alternative]
    passed = {node.id for node in gone}
    return hierarchy_of(
        path,
        [(sub, obj) for sub, predicate, obj in edges if predicate in chosen and sub not in passed],
        [(node, title, True) for node, title in titles.items()],
        coding=retired_ids(
            titles,
            (Obsolete(node.id, node.replaced_by, node.consider) for node in gone),
            dict.fromkeys(merged),
        ),
        related=[
            (sub, obj)
            for sub, predicate, obj in edges
            if predicate not in chosen and _relates(labels.get(predicate) or predicate)
        ],
    )


GRAPHS = HierarchyFormat(
    "obographs",
    "an ontology as OBO Graphs JSON: graphs of nodes and edges",
    _is_graphs,
    read_graphs,
    frozenset({"relations"}),
)


@dataclass(frozen=True, slots=True)
class _Node:
    """What a record of a node states; ids as OBO writes them."""

    id: str
    title: str | None
    deprecated: bool
    replaced_by: tuple[str, ...]
    consider: tuple[str, ...]
    alternative: tuple[str, ...]


def _graphs(path: Path) -> list[dict[str, Any]]:
    stated = read_json(path)
    graphs = stated.get("graphs") if isinstance(stated, dict) else None
    if not isinstance(graphs, list) or not all(isinstance(graph, dict) for graph in graphs):
        raise SchemaError(
            "an object with 'graphs', a list of objects, is required",
            found=str(stated)[:60],
        )
    return graphs


def _records(graphs: Sequence[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """What the graphs list under a key."""
    lists = [graph.get(key) or [] for graph in graphs]
    records: list[Any] = [
        one for listed in lists for one in (listed if isinstance(listed, list) else [None])
    ]
    wrong = [one for one in records if not isinstance(one, dict)]
    if wrong:
        raise SchemaError(
            f"{key!r} of a graph must be a list of objects",
            found=first_cases(str(one)[:40] for one in wrong),
        )
    return records


def _node(stated: dict[str, Any]) -> _Node:
    title, meta = stated.get("lbl"), stated.get("meta") or {}
    values = meta.get("basicPropertyValues") or [] if isinstance(meta, dict) else None
    shaped = (
        _is_text(stated.get("id"))
        and isinstance(title, str | None)
        and isinstance(values, list)
        and isinstance(meta.get("deprecated"), bool | None)
        and all(isinstance(one, dict) for one in values)
        and all(_is_text(one.get(key)) for one in values for key in ("pred", "val"))
    )
    if not shaped or values is None:
        raise SchemaError(
            "a node needs an 'id', and may have a text 'lbl' and a 'meta' with 'deprecated', true "
            "or false, and 'basicPropertyValues', each with 'pred' and 'val'",
            found=str(stated)[:80],
        )
    said = [(short(one["pred"]), short(one["val"])) for one in values]
    return _Node(
        short(stated["id"]),
        title,
        bool(meta.get("deprecated")),
        *(
            tuple(value for predicate, value in said if predicate == wanted)
            for wanted in (_REPLACED_BY, _CONSIDER, _ALTERNATIVE)
        ),
    )


def _edge(stated: dict[str, Any]) -> tuple[str, str, str]:
    """Subject, predicate and object of an edge."""
    ends = [stated.get(key) for key in ("sub", "pred", "obj")]
    if not all(map(_is_text, ends)):
        raise SchemaError("an edge needs a 'sub', a 'pred' and an 'obj'", found=str(stated)[:80])
    sub, predicate, obj = (short(str(end)) for end in ends)
    return sub, predicate, obj


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def short(iri: str) -> str:
    """The id of an IRI as OBO writes it.

    >>> short("http://purl.obolibrary.org/obo/GO_0008150"), short("http://example.org/a_b")
    ('GO:0008150', 'http://example.org/a_b')
    """
    known = _IRI.fullmatch(iri)
    return f"{known[1]}:{known[2]}" if known else iri


def _labels(stated: Iterable[dict[str, Any]]) -> dict[str, str]:
    """The label of each predicate that has a node of its own, written as in OBO."""
    return {
        short(one["id"]): str(one.get("lbl", "")).replace(" ", "_")
        for one in stated
        if one.get("type") == "PROPERTY" and _is_text(one.get("id"))
    }


def _chosen(relations: tuple[str, ...], labels: Mapping[str, str], used: set[str]) -> set[str]:
    """The predicates of edges: ``is_a``, and those that the relations name by id or by label."""
    names = {name: labels.get(name) or name for name in used - {_IS_A}}
    refuse_unused(relations, {*names, *names.values()}, "edges")
    return {_IS_A, *(one for one, label in names.items() if {one, label} & set(relations))}

"""OBO 1.2 and 1.4: the terms of an ontology and their ``is_a`` edges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.base.errors import SchemaError
from audit.base.files import read_lines
from audit.hierarchies.building import DanglingError, refuse_unused
from audit.hierarchies.formats.format import (
    HierarchyFormat,
    Shape,
    bare_suffix,
    head_text,
    hierarchy_of,
    titles_of,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.retired import Obsolete, RetiredIds, retired_ids


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

    Obsolete ids and alternative ids are no nodes; `retired_ids` says what took their place.

    Args:
        path: An OBO file.
        shape: ``relations`` are relationship types to use as edges too, such as ``part_of``;
            ``dangling`` is for parents that are not terms, or are obsolete.

    Raises:
        HierarchyError: On such a parent if it is not to be dropped, on a cycle, or if there is no
            term.
        SchemaError: On a term without an id, a tag without its value, an id declared twice, or a
            relation that no term has.
        InputError: If the file cannot be read.
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
            dangling=shape.dangling,
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

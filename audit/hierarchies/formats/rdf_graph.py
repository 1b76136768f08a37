"""The statements of a file of RDF that say what is above what, and how it is called."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from audit.base.errors import SchemaError
from audit.base.files import SNIFFED_BYTES, read_text
from audit.base.limits import EXPANSION, UNPACKED
from audit.base.machine import require_package
from audit.hierarchies.formats.format import EdgeRow, bare_suffix, head_text

_W3 = "http://www.w3.org/"
RDF, RDFS = f"{_W3}1999/02/22-rdf-syntax-ns#", f"{_W3}2000/01/rdf-schema#"
OWL, SKOS, XL = f"{_W3}2002/07/owl#", f"{_W3}2004/02/skos/core#", f"{_W3}2008/05/skos-xl#"
_ISO = "http://purl.org/iso25964/skos-thes#"
_KINDS = ("Generic", "Partitive", "Instantial")
_BROADER = (f"{SKOS}broader", *(f"{_ISO}broader{kind}" for kind in _KINDS))
_NARROWER = (f"{SKOS}narrower", *(f"{_ISO}narrower{kind}" for kind in _KINDS))
_TYPES = {"skos": {f"{SKOS}Concept"}, "owl": {f"{OWL}Class", f"{RDFS}Class"}}
_SUFFIXES = (".ttl", ".n3", ".nt", ".nq", ".trig", ".rdf", ".owl", ".skos", ".jsonld")
_NO_RDF = re.compile(
    r"(<\?xml[^>]*>)?\s*(<!DOCTYPE.*?\]>\s*)?(<Ontology\b|Ontology\(|Prefix\(|Prefix:|Ontology:)",
    re.DOTALL,
)
"""How files of OWL begin that are no RDF."""
_TURTLE = re.compile(r"@?(prefix|base)\s+[\w.-]*:?\s*<|(<[^<>\s]+>|_:\w+)\s+<[^<>\s]+>\s", re.I)
_JSON = re.compile(r'[\[{](?!.*"@context":\s*"[^"]*jskos).*"@(context|graph|id|type)"', re.DOTALL)


def matches(path: Path, head: bytes) -> bool:
    """Whether a file is named as RDF, or begins as Turtle, N-Triples, RDF/XML or JSON-LD does."""
    text = _start(head_text(head))
    if _NO_RDF.match(text):
        return False
    named = bare_suffix(path) in _SUFFIXES
    return named or bool(_TURTLE.match(text) or _JSON.match(text)) or _is_xml(text)


def _start(text: str) -> str:
    """The text from the first line that is no comment of Turtle on."""
    return re.sub(r"\A(#[^\n]*\n\s*)+", "", text)


def _is_xml(text: str) -> bool:
    return text.startswith("<") and "<rdf:RDF" in text


@dataclass(frozen=True)
class Graph:
    """Subjects and objects of statements by predicate; blank nodes begin with ``_:``."""

    statements: Mapping[str, list[tuple[str, Any]]]
    prefixes: Mapping[str, str] = field(default_factory=dict)
    _own: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    def said(self, predicate: str) -> list[tuple[str, Any]]:
        """Subject and object of each statement."""
        return self.statements.get(predicate, [])

    def of(self, subject: str, predicate: str) -> list[Any]:
        """The objects of one subject."""
        if predicate not in self._own:
            own = self._own[predicate] = defaultdict(list)
            for s, o in self.said(predicate):
                own[s].append(o)
        return self._own[predicate].get(subject, [])

    def pairs(self, predicates: Iterable[str]) -> list[EdgeRow]:
        """The statements between IRIs, without those of the standards."""
        both = ((s, o) for predicate in predicates for s, o in self.said(predicate))
        named = ((s, o.value) for s, o in both if is_iri(o))
        return [(s, o) for s, o in named if not (_is_none(s) or _is_none(o))]

    def typed(self, kind: str) -> list[str]:
        """The concepts of ``skos``, or classes of ``owl``, that are declared."""
        said = self.said(f"{RDF}type")
        return [s for s, o in said if o.value in _TYPES[kind] and not _is_none(s)]

    def broader(self) -> list[EdgeRow]:
        """Concepts and those above them, said from either end."""
        return [*self.pairs(_BROADER), *((b, a) for a, b in self.pairs(_NARROWER))]

    def super_classes(self) -> list[EdgeRow]:
        """Classes and those above them, also as parts of an intersection that they are."""
        above, same = f"{RDFS}subClassOf", f"{OWL}equivalentClass"
        parts = [
            (s, part.value)
            for s, o in (*self.said(above), *self.said(same))
            if not (is_iri(o) or _is_none(s))
            for head in self.of(_key(o), f"{OWL}intersectionOf")
            for part in self._listed(head)
            if is_iri(part) and not _is_none(part.value)
        ]
        return [(a, b) for a, b in (*self.pairs([above]), *parts) if a != b]

    def restricted(self) -> Iterator[tuple[str, str, str]]:
        """Class, property and class of each ``subClassOf (property some class)``."""
        for s, o in self.said(f"{RDFS}subClassOf"):
            for on in self.of(_key(o), f"{OWL}onProperty"):
                for some in self.of(_key(o), f"{OWL}someValuesFrom"):
                    if is_iri(some) and not (_is_none(s) or _is_none(some.value)):
                        yield s, on.value, some.value

    def _listed(self, head: Any) -> Iterator[Any]:
        passed = set[str]()
        while (key := _key(head)) not in passed and (first := self.of(key, f"{RDF}first")):
            passed.add(key)
            yield first[0]
            head = next(iter(self.of(key, f"{RDF}rest")), head)

    def faults(self, ids: Mapping[str, str]) -> dict[str, tuple[tuple[str, ...], ...]]:
        """What lint tells of concepts: relations said from one end, tops below others."""
        up, down = {*self.pairs(_BROADER)}, {(b, a) for a, b in self.pairs(_NARROWER)}
        tops = {s for s, _ in self.pairs([f"{SKOS}topConceptOf"])}
        tops |= {o for _, o in self.pairs([f"{SKOS}hasTopConcept"])}
        alone = (up ^ down) if up & down else set()
        cases = {"one_way": alone, "top_below": {pair for pair in up | down if pair[0] in tops}}
        return {
            rule: tuple(sorted((ids[a], ids[b]) for a, b in own if a in ids and b in ids))
            for rule, own in cases.items()
        }


def is_iri(term: Any) -> bool:
    """Whether an object is neither a text nor a blank node."""
    return type(term).__name__ == "NamedNode"


def _key(term: Any) -> str:
    return f"_:{term.value}" if type(term).__name__ == "BlankNode" else str(term.value)


def _is_none(name: str) -> bool:
    """Whether a name is that of a blank node, or of something that RDF, OWL or SKOS define."""
    return name.startswith(("_:", RDF, RDFS, OWL, SKOS))


def read_graph(path: Path, wanted: Iterable[str] | None) -> Graph:
    """The statements of a file with the wanted predicates, and those of the structure; None: all.

    Nothing is loaded from elsewhere: neither imports nor contexts.
    """
    require_package("pyoxigraph", "to read RDF")
    from pyoxigraph import RdfFormat, parse

    text = read_text(path)
    start, suffix = _start(text[:SNIFFED_BYTES].lstrip()), bare_suffix(path)
    named = {".trig": RdfFormat.TRIG, ".nq": RdfFormat.N_QUADS, ".n3": RdfFormat.N3}
    form = named.get(suffix, RdfFormat.TURTLE)
    if start.startswith(("<?xml", "<rdf:", "<!")) or _is_xml(start):
        form = RdfFormat.RDF_XML
        longest = max(map(len, re.findall(r"<!ENTITY[^>]*>", text)), default=0)
        nested = re.search(r"<!ENTITY[^>]*&\w", text) is not None
        size = UNPACKED.in_force() + 1 if nested else longest * text.count("&")
        UNPACKED.refuse_beyond(size, path, allowed=EXPANSION * len(text), whole=not nested)
    elif suffix in (".jsonld", ".json") or _JSON.match(start):
        form = RdfFormat.JSON_LD
    keep = None if wanted is None else _STRUCTURE | {*wanted}
    said, base = defaultdict[str, list[tuple[str, Any]]](list), f"file:///{quote(path.name)}"
    try:
        parser = parse(text.encode(), format=form, base_iri=base)
        for quad in parser:
            if keep is None or quad.predicate.value in keep:
                said[quad.predicate.value].append((_key(quad.subject), quad.object))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        found, hint = re.sub(r" \(line \d+\)$|^Parser error at line \d+ ", "", str(error)), ""
        if "LoadDocumentCallback" in found:
            found, hint = "a @context at an address", "write what is there into the file"
        raise SchemaError(
            f"a text of {form.name} is required", found=found[:160],
            where=f"{path}:{line}" if line else path, hint=hint,
        ) from None  # fmt: skip
    return Graph(dict(said), dict(parser.prefixes))


_STRUCTURE = {
    *_BROADER, *_NARROWER, *(f"{RDF}{n}" for n in ("type", "first", "rest")),
    *(f"{OWL}{n}" for n in ("equivalentClass", "intersectionOf", "deprecated")),
    f"{RDFS}subClassOf", f"{SKOS}topConceptOf", f"{SKOS}hasTopConcept",
}  # fmt: skip

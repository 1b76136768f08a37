"""RDF as other programs write it: SKOS and OWL, what is above what, names, languages."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
import rdflib
from rdflib import OWL, RDF, RDFS, SKOS, Literal, Namespace, URIRef

from audit.base.dag import SYNTHETIC_ROOT
from audit.hierarchies.reading import load_hierarchy

EX, OBO = Namespace("http://example.org/t/"), Namespace("http://purl.obolibrary.org/obo/")


def graph(*statements: tuple[object, object, object]) -> rdflib.Graph:
    made = rdflib.Graph()
    made.bind("ex", EX)
    for one in statements:
        made.add(one)  # type: ignore[arg-type]
    return made


def written(made: rdflib.Graph, path: Path, form: str = "turtle") -> Path:
    made.serialize(path, format=form, encoding="utf-8")
    return path


def thesaurus() -> rdflib.Graph:
    made = graph(
        (EX.b, SKOS.broader, EX.a), (EX.a, SKOS.narrower, EX.b), (EX.c, SKOS.broader, EX.b),
        (EX.b, SKOS.narrower, EX.d), (EX.scheme, SKOS.hasTopConcept, EX.c), (EX.e, RDF.type,
        SKOS.Concept), (EX.old, RDF.type, SKOS.Concept), (EX.old, OWL.deprecated, Literal(True)),
        (EX.old, URIRef("http://purl.org/dc/terms/isReplacedBy"), EX.c),
        (EX.Own, RDFS.subClassOf, SKOS.Concept), (EX.d, SKOS.related, EX.e),
    )  # fmt: skip
    for letter in "abcd":
        for language in ("en", "de"):
            made.add((EX[letter], SKOS.prefLabel, Literal(f"{letter} {language}", language)))
    return made


def test_a_label_may_be_the_iri_of_a_node(tmp_path: Path) -> None:
    read = load_hierarchy(written(thesaurus(), tmp_path / "h.ttl"))

    labels = ("c", str(EX.c), "old", str(EX.old))
    assert {read.place(name, None).node for name in labels} == {"c"}
    assert read.coding is not None
    assert read.coding.retired == {"old": ("c",)}


def test_a_title_is_in_english_or_no_language_before_others(tmp_path: Path) -> None:
    made = graph(
        (EX.b, SKOS.broader, EX.a), (EX.a, SKOS.prefLabel, Literal("x", "fr")),
        (EX.a, SKOS.prefLabel, Literal("y", "de")), (EX.a, RDFS.label, Literal("z", "en")),
        (EX.b, SKOS.prefLabel, Literal("Hund", "de")), (EX.b, SKOS.prefLabel, Literal("dog")),
    )  # fmt: skip
    assert load_hierarchy(written(made, tmp_path / "h.ttl")).titles == ("y", "dog")


@pytest.mark.skipif("AUDIT_DATA" not in os.environ, reason="AUDIT_DATA names no folder")
def test_a_real_ontology_is_the_same_as_owl(tmp_path: Path) -> None:
    data = Path(os.environ["AUDIT_DATA"])
    from_obo = load_hierarchy(data / "ontologies" / "do_DO_cancer_slim.obo")
    made = rdflib.Graph()

    def iri(node: str) -> URIRef:
        return OBO[node.replace(":", "_")]

    for node, title in zip(from_obo.nodes, from_obo.titles, strict=True):
        if node != SYNTHETIC_ROOT:
            made.add((iri(node), RDF.type, OWL.Class))
            made.add((iri(node), RDFS.label, Literal(title)))
    edges = from_obo.edge_frame().filter(pl.col("parent") != SYNTHETIC_ROOT)
    for child, parent in edges.iter_rows():
        made.add((iri(child), RDFS.subClassOf, iri(parent)))
    assert load_hierarchy(written(made, tmp_path / "h.owl", "xml")).sha256 == from_obo.sha256

"""RDF as other programs write it: SKOS and OWL, what is above what, names, languages, faults."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
import rdflib
from rdflib import OWL, RDF, RDFS, SKOS, BNode, Literal, Namespace, URIRef
from rdflib.collection import Collection

from audit.base.dag import SYNTHETIC_ROOT
from audit.base.errors import AuditError
from audit.base.readings import AskedError
from audit.hierarchies.lint import lint
from audit.hierarchies.reading import load_hierarchy

EX, OBO = Namespace("http://example.org/t/"), Namespace("http://purl.obolibrary.org/obo/")
OIO = Namespace("http://www.geneontology.org/formats/oboInOwl#")


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


@pytest.mark.parametrize("form", ["turtle", "xml", "nt11", "json-ld", "trig"])
def test_a_thesaurus_is_the_same_in_every_form(form: str, tmp_path: Path) -> None:
    suffix = {"turtle": "ttl", "xml": "rdf", "nt11": "nt", "json-ld": "jsonld"}.get(form, form)
    read = load_hierarchy(written(thesaurus(), tmp_path / f"h.{suffix}", form))

    edges = set(read.edge_frame().filter(pl.col("parent") != SYNTHETIC_ROOT).iter_rows())
    assert edges == {("b", "a"), ("c", "b"), ("d", "b")}
    assert {*read.nodes} - {SYNTHETIC_ROOT} == {*"abcde"}
    assert read.titles[read.index("b")] == "b en"
    assert any("in 'en'" in one.decision for one in read.readings)


def test_a_label_may_be_any_name_of_a_node(tmp_path: Path) -> None:
    read = load_hierarchy(written(thesaurus(), tmp_path / "h.ttl"))

    labels = ("c", "ex:c", str(EX.c), "old", str(EX.old))
    assert {read.place(name, None).node for name in labels} == {"c"}
    assert read.coding is not None
    assert read.coding.retired == {"old": ("c",)}
    assert load_hierarchy(tmp_path / "h.ttl", child="iri").nodes[-1] == str(EX.e)


def test_lint_tells_of_tops_below_others_and_of_relations_from_one_end(tmp_path: Path) -> None:
    found = {one.rule: one.cases for one in lint(written(thesaurus(), tmp_path / "h.ttl")).findings}

    assert found == {
        "top_below": (("c", "b"),), "one_way": (("c", "b"), ("d", "b")), "orphan": (("e",),),
        "missing_title": (("e",),),
    }  # fmt: skip


def ontology() -> rdflib.Graph:
    made, both, some = rdflib.Graph(), BNode(), BNode()
    for name in ("a", "b", "c", "d", "e", "old"):
        made.add((OBO[f"X_{name}"], RDF.type, OWL.Class))
    for s, p, o in (
        ("b", RDFS.subClassOf, OBO.X_a), ("c", OWL.equivalentClass, both), ("d",
        OWL.equivalentClass, OBO.X_e), ("d", RDFS.subClassOf, OBO.X_b), ("e", RDFS.subClassOf,
        some), ("a", RDFS.subClassOf, OWL.Thing), ("old", OWL.deprecated, Literal(True)),
        ("old", OBO.IAO_0100001, Literal("X:b")), ("a", OIO.hasAlternativeId, Literal("X:9")),
    ):  # fmt: skip
        made.add((OBO[f"X_{s}"], p, o))
    members = BNode()
    Collection(made, members, [OBO.X_b, BNode()])
    made.add((both, OWL.intersectionOf, members))
    made.add((some, OWL.onProperty, OBO.BFO_0000050))
    made.add((some, OWL.someValuesFrom, OBO.X_c))
    made.add((OBO.BFO_0000050, RDFS.label, Literal("part of")))
    return made


def test_classes_are_below_those_that_axioms_name(tmp_path: Path) -> None:
    path = written(ontology(), tmp_path / "h.owl", "xml")
    read = load_hierarchy(path)

    assert set(read.edge_frame().iter_rows()) == {("X:b", "X:a"), ("X:c", "X:b"), ("X:d", "X:b")}
    labels = ("X:e", "X_e", "X:old", "X:9", str(OBO.X_a))
    assert [read.place(one, None).node for one in labels] == ["X:d", "X:d", "X:b", "X:a", "X:a"]
    assert any("equivalent" in one.decision for one in read.readings)
    related = load_hierarchy(path, relations=("part_of",)).edge_frame()
    assert ("X:d", "X:c") in set(related.iter_rows())


def test_a_file_of_both_kinds_is_asked_and_each_read_by_its_name(tmp_path: Path) -> None:
    path = written(thesaurus() + ontology(), tmp_path / "h.ttl")

    with pytest.raises(AskedError, match=r"(?s)--hierarchy-format skos.*--hierarchy-format owl"):
        load_hierarchy(path)
    assert "X:a" in load_hierarchy(path, format="owl").nodes
    assert "a" in load_hierarchy(path, format="skos").nodes


BROKEN = {
    "line": ("h.ttl", "@prefix a: <http://a/> .\na:b a:c\n", "h.ttl:"),
    "circle": ("h.ttl", "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n"
               "<a> s:broader <b> . <b> s:broader <c> . <c> s:broader <a> .", "a -> b -> c -> a"),
    "context": ("h.jsonld", '{"@context": "http://a/b", "@id": "http://a/c"}', "@context at"),
    "bomb": ("h.owl", '<!DOCTYPE a [<!ENTITY b "ccc"><!ENTITY d "&b;&b;">]><rdf:RDF/>', "no other"),
    "functional": ("h.owl", "Prefix(:=<http://a/>)", "Turtle"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text", "said"), BROKEN.values(), ids=[*BROKEN])
def test_what_is_broken_is_refused_in_a_sentence(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(AuditError) as caught:
        load_hierarchy(tmp_path / name)
    assert caught.value.exit_status == 2
    assert said in str(caught.value)


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

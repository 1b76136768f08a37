"""Concepts of an entailment graph: catch-alls, twins, and agreement with WordNet."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.entailment.dataset import NOUN, VERB
from audit.entailment.graph.concepts import says_nothing
from audit.entailment.graph.measure import measure_graph
from audit.entailment.graph.measurements import GraphMeasurements
from audit.hierarchies.formats.wordnet import read_wordnet
from fixtures.entailed_release import Stated, stated
from fixtures.wordnet_files import Synset, write_wordnet


def measured(*rows: Stated) -> GraphMeasurements:
    return measure_graph(stated(rows))


def wide(concept: str, n: int, others: int = 1) -> list[Stated]:
    """Half of n instances have the concept, and each has as many concepts of its own kind."""
    rows = [(f"h{i}", NOUN, f"i{i}", concept, True) for i in range(0, n, 2)]
    own = [
        (f"h{i}", NOUN, f"i{i}", f"k{i % 40} {o}", True) for i in range(n) for o in range(others)
    ]
    return rows + own


def test_a_concept_of_far_more_instances_than_those_beside_it_is_a_catch_all() -> None:
    concepts = measured(*wide("thing", 200)).concepts
    first = concepts.row(0, named=True)

    assert concepts.filter("catch_all")["concept"].to_list() == ["thing"]
    assert (first["edges"], first["of"], first["beside"], first["typical"]) == (100, 300, 100, 5)
    assert first["excess"] == 20
    assert first["says_nothing"]


def test_it_is_none_below_thirty_edges_or_where_its_siblings_have_as_many() -> None:
    few = measured(*wide("thing", 58)).concepts
    alike = measured(*(("h", NOUN, f"i{i}", c, True) for i in range(60) for c in "ab")).concepts

    assert not few["catch_all"].any()
    assert alike["excess"].to_list() == [1, 1]
    assert not alike["catch_all"].any()


def test_without_siblings_the_edges_of_other_concepts_are_typical() -> None:
    rows = [("h", NOUN, f"i{i}", "thing" if i < 60 else f"k{i // 4}", True) for i in range(100)]
    first = measured(*rows).concepts.row(0, named=True)

    assert (first["concept"], first["beside"], first["typical"]) == ("thing", 0, 4)


def test_siblings_with_nearly_the_same_instances_are_twins() -> None:
    both = [("h", NOUN, f"i{i}", c, True) for i in range(10) for c in ("car", "auto")]
    one = [("h", NOUN, "i10", "car", True)]
    other = [("h", NOUN, f"i{i}", "toy", True) for i in range(5)]

    assert measured(*both, *one, *other).twins.rows() == [
        (NOUN, "auto", "car", 10, 10, 11, 10 / 11)
    ]


@pytest.mark.parametrize(
    ("more", "twins"),
    [
        ([("auto", "car")], 0),
        ([("auto", "vehicle")], 0),
        ([("auto", "vehicle"), ("car", "vehicle")], 1),
        ([("auto", "vehicle"), ("car", "vehicle"), ("auto", "car")], 0),
        ([("auto", "vehicle"), ("car", "vehicle"), ("car", "auto")], 0),
    ],
)
def test_twins_are_siblings_and_not_one_below_the_other(
    more: list[tuple[str, str]], twins: int
) -> None:
    both = [("h", NOUN, f"i{i}", c, True) for i in range(10) for c in ("car", "auto")]
    rows = [*both, *(("h", NOUN, a, b, True) for a, b in more)]

    assert len(measured(*rows).twins) == twins


def test_agreement_with_wordnet(tmp_path: Path) -> None:
    synsets = {
        "entity": Synset(["entity"]),
        "animal": Synset(["animal", "beast"], [("@", "entity")]),
        "dog": Synset(["dog", "domestic_dog"], [("@", "animal")]),
        "fink": Synset(["dog"], [("@", "entity")]),
        "tool": Synset(["tool"], [("@", "entity")]),
    }
    wordnet = read_wordnet(write_wordnet(tmp_path / "dict", synsets))
    rows = [
        ("h", NOUN, "dog", "animal", True),  # some sense agrees
        ("h", NOUN, "Domestic dog", "dog.n.01", True),  # a synset by its name
        ("h", NOUN, "dog", "tool", True),
        ("h", NOUN, "dog", "gadget", True),  # unknown
        ("h", NOUN, "animal", "dog", False),
        ("h", NOUN, "tool", "entity", False),
        ("h", VERB, "dog", "animal", True),  # verbs are not compared
    ]
    table = measure_graph(stated(rows), wordnet).wordnet

    assert table.select("relation", "stated", "edges", "in_wordnet", "agreeing").rows() == [
        (NOUN, "valid", 4, 3, 2), (NOUN, "denied", 2, 2, 1),
    ]  # fmt: skip
    assert table["share"].to_list() == [2 / 3, 1 / 2]


@pytest.mark.parametrize("text", ["thing", "some things", "other activities", "something"])
def test_words_that_name_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["wild thing", "outdoor activity", "dog"])
def test_words_that_name_something(text: str) -> None:
    assert not says_nothing(text)

"""Words of hierarchies: what an answer denotes, and the sides that metrics compare.

By the paper's text, or by the code that was released with it. There a node has one word, the first
part of its synset's name, beside its answer; words are compared as written; edges are hypernyms of
kinds, or part-holonyms, and none is followed beyond the node above the task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TypeAlias

import polars as pl

from audit.analyses.preference.settings import Preferring
from audit.base.dag import SYNTHETIC_ROOT
from audit.base.errors import InputError, refuse_unknown
from audit.hierarchies.formats import wordnet
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy

TASKS: Mapping[str, tuple[str, str]] = {
    "P106": ("hypernym", "person.n.01"),
    "P131": ("holonym", "location.n.01"),
    "P19": ("holonym", "location.n.01"),
}
"""Of occupations, locations and birthplaces the relation of WordNet that leads from specific to
general answers, and the synset that an answer's synset is at or below by hypernyms."""
ENDS = {"P106": "person.n.01"}
"""The synset beyond which the released code follows no edge."""
RELEASED_RELATIONS = {"hypernym": "kind_hypernym", "holonym": "part_holonym"}
"""The relation that the released code follows, for each that a task is about."""
Words: TypeAlias = frozenset[str]
Sides: TypeAlias = tuple[tuple[Words, Words], ...]
"""Specific and general answer; what is at or below the node of the specific one, and above it; all
of these, and the words of the task."""
Meant: TypeAlias = tuple[str, str | None, Sequence[str | None], Sequence[Sides]]


def plain(word: str) -> str:
    """Normalise a word for comparison: lower case, ``_`` as a space, outer spaces removed.

    >>> plain(" New_York")
    'new york'
    """
    return " ".join(word.replace("_", " ").split()).casefold()


def meaning(asked: pl.DataFrame, stated: Mapping[str, str | None], settings: Preferring) -> Meant:
    """What questions mean: the name of the hierarchy, the relation of WordNet that was followed,
    and of each question the node of its specific answer and its `Sides`.

    Raises:
        InputError: If the hierarchy cannot be read, or has no such relation, or the released code
            is asked for without a WordNet and senses; SchemaError if a sense is no node, or WordNet
            lacks the synset above the answers.
    """
    source, predicate = settings.words, str(asked["relation"][0])
    nouns = wordnet.read_wordnet(source) if wordnet.matches(source) else None
    relation, top = TASKS.get(predicate, (None, None))
    relation = (settings.relation or relation) if nouns else settings.relation
    if (nouns is None) != (relation is None) or (settings.released and not (nouns and stated)):
        raise InputError(
            "a relation of a WordNet folder, which has several, is required, and --relation needs"
            " one; the released code needs one and a file of senses",
            found=f"{predicate} and {relation or 'no relation'} of {source}, "
            f"{settings.senses or 'no file of senses'}",
            hint=f"predicates with a relation are {', '.join(TASKS)}; for others of WordNet choose"
            f" {' or '.join(RELEASED_RELATIONS)}; --senses names a file of pairs such as"
            ' ["painter", "painter.n.01"]',
        )
    if nouns and relation and settings.released:
        refuse_unknown(relation, RELEASED_RELATIONS, "a relation of the released code", "relations")
        relation = RELEASED_RELATIONS[relation]
    tree = nouns.hierarchy(str(relation)) if nouns else load_hierarchy(source)
    for node in filter(None, stated.values()):
        tree.index(node)
    if nouns and relation and settings.released:
        last = asked.unique("subject", keep="last").select("subject", "specific", "general")
        nodes = [stated.get(answer) for answer in asked["specific"]]
        asked = asked.select("subject").join(last, on="subject", maintain_order="left")
        known = _words_by_answer(nouns.edges[relation], ENDS.get(predicate), stated)
        sides = _sides(asked, asked["specific"], known, str)
        of = {name: relation for relation, name in RELEASED_RELATIONS.items()}
        return nouns.path.name, of[relation], nodes, sides
    told = zip(tree.nodes, tree.titles, strict=True)
    words = {node: frozenset(map(plain, (title or node).split(", "))) for node, title in told}
    words.pop(SYNTHETIC_ROOT, None)
    chosen = {plain(answer): node for answer, node in stated.items()}
    nodes = _nodes(asked, tree, _senses(nouns, top, words), chosen)
    known = {node: _words_around(tree, words, node) for node in {*nodes} if node}
    return tree.name, relation, nodes, _sides(asked, nodes, known, plain)


def _senses(
    nouns: wordnet.WordNet | None, top: str | None, words: Mapping[str, Words]
) -> Mapping[str, Sequence[str]]:
    """The nodes of each word in their order: of WordNet those at or below the synset above the
    answers, in order of frequency."""
    if nouns is not None:
        fitting = {*nouns.lemmas}
        if top is not None:
            fitting = {*nouns.hierarchy("hypernym").descendants(top, with_self=True)}
        return {
            plain(word): [one for one in of if one in fitting] for word, of in nouns.senses.items()
        }
    nodes = defaultdict[str, list[str]](list)
    for node, spoken in words.items():
        for word in spoken:
            nodes[word].append(node)
    return nodes


def _nodes(
    asked: pl.DataFrame,
    tree: Hierarchy,
    senses: Mapping[str, Sequence[str]],
    chosen: Mapping[str, str | None],
) -> list[str | None]:
    """Of each specific answer the chosen sense; else the first below the general answer, else the
    first."""

    @cache
    def node_of(specific: str, general: str) -> str | None:
        own, wider = senses.get(specific, ()), {*senses.get(general, ())}
        below = (node for node in own if wider.intersection(tree.ancestors(node)))
        return chosen.get(specific, next(below, next(iter(own), None)))

    return [node_of(plain(s), plain(g)) for s, g in asked.select("specific", "general").iter_rows()]


def _words_around(tree: Hierarchy, words: Mapping[str, Words], node: str) -> tuple[Words, Words]:
    """The words at or below a node, and those above it."""
    both = tree.descendants(node, with_self=True), tree.ancestors(node)
    below, above = (frozenset[str]().union(*(words.get(one, ()) for one in of)) for of in both)
    return below, above


def _words_by_answer(
    edges: Iterable[tuple[str, str]], top: str | None, node_of: Mapping[str, str | None]
) -> dict[str, tuple[Words, Words]]:
    """By answer the words at or below its node, and those above it, by the released code."""
    up, down = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for child, parent in edges:
        up[child].append(parent)
        down[parent].append(child)

    def words(node: str, steps: Mapping[str, list[str]]) -> Words:
        found, waiting = set[str](), [node]
        while waiting:
            one = waiting.pop()
            new = {*steps.get(one, ())} - found if one != top else set()
            found |= new
            waiting += new
        return frozenset(name.split(".")[0] for name in found)

    return {
        answer: (words(node, down) | {node.split(".")[0], answer}, words(node, up))
        for answer, node in node_of.items()
        if node
    }


def _sides(
    asked: pl.DataFrame,
    keys: Iterable[str | None],
    known: Mapping[str, tuple[Words, Words]],
    form: Callable[[str], str],
) -> list[Sides]:
    """The sides of each question; by the text a word of both sides counts for the first alone."""
    task = frozenset[str]().union(*(side for both in known.values() for side in both))

    @cache
    def sides(specific: str, general: str, key: str | None) -> Sides:
        below, above = known.get(key or "", (frozenset(), frozenset()))
        answers = frozenset({form(specific)}), frozenset({form(general)})
        every = answers, (below, above), (below | above, task if key in known else frozenset())
        return every if form is str else tuple((one, two - one) for one, two in every)

    pairs = asked.select("specific", "general").iter_rows()
    return [sides(*both, key) for both, key in zip(pairs, keys, strict=True)]

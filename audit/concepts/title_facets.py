"""Crossed dimensions of labels, made from words that recur in titles under several parents."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations

import polars as pl

from audit.concepts.facets import FACETS, Facets, Kind
from audit.hierarchies.hierarchy import Hierarchy

LEAST_FAMILIES = 2
"""Parents under which a word must tell siblings apart, and two words together, to recur."""
MOST_DIMENSIONS = 4
"""Dimensions that are kept: those of the most nodes."""
MOST_CANDIDATES = 32
"""Dimensions that are looked at: those of the most nodes."""
PARENT = "parent"
"""The dimension of the nodes right above the labels."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_EMPTY = frozenset(
    ("a", "an", "and", "as", "at", "by", "due", "during", "for", "from", "in", "into", "its", "of")
) | {"on", "or", "the", "to", "with"}

Family = tuple[str, str]
"""A parent and a child of it."""
Occurrences = frozenset[Family]
Dimension = dict[str, Occurrences]
"""Where each concept of a dimension occurs."""


def facets_from_titles(hierarchy: Hierarchy, labels: Collection[str] | None = None) -> Facets:
    """Find crossed dimensions in the titles of a hierarchy: site, cause, "unspecified".

    A word counts where it is in the title of a node and not of its parent, and a sibling lacks it;
    it recurs if that is so under several parents. Words that always come together are one concept.
    Concepts are of one dimension if no title has two of them and several parents have both below
    them, for every two; words of most parents are placed first. A concept without alternative
    stands against its absence. The parent is a dimension too. Dimensions that cross no other are
    left out: two cross where two concepts of the one each occur with the same two of the other.

    Args:
        hierarchy: The hierarchy with its titles.
        labels: The nodes whose titles are read; those of all nodes if None. Of a large hierarchy
            most words say nothing about the few labels of a model.

    Returns:
        A partial table; empty if nothing crosses.
    """
    concepts = _concepts(_own_words(hierarchy, frozenset(labels or hierarchy.nodes)))
    grouped = list(_dimensions(concepts))
    pairs = frozenset().union(*(where for one in grouped for where in one.values()))
    above: dict[str, set[str]] = defaultdict(set)
    for parent, child in pairs:
        above[child].add(parent)
    of_node = sorted(((_name(one), _by_node(one)) for one in grouped), key=lambda one: -len(one[1]))
    kept = _crossing({PARENT: _by_node(_parents(above)), **dict(of_node[:MOST_CANDIDATES])})
    largest = sorted(kept, key=lambda name: (name != PARENT, -len(kept[name]), name))
    chosen = set(largest[:MOST_DIMENSIONS])
    described = {node for name in chosen - {PARENT} for node in kept[name]}
    kept = _crossing(
        {
            name: {node: concept for node, concept in one.items() if node in described}
            for name, one in kept.items()
            if name in chosen
        }
    )
    rows = [
        (node, name, concept) for name, one in kept.items() for node, concept in sorted(one.items())
    ]
    kinds: dict[str, Kind] = dict.fromkeys(kept, "crossed")
    return Facets(pl.DataFrame(rows, schema=FACETS, orient="row"), kinds, partial=True)


def _own_words(hierarchy: Hierarchy, read: Collection[str]) -> dict[str, set[Family]]:
    """Per word, where it sets a node apart from its parent and a sibling, in order of titles."""
    words = [list(dict.fromkeys(_WORD.findall(title.lower()))) for title in hierarchy.titles]
    where: dict[str, set[Family]] = {}
    for parent in hierarchy.nodes:
        above = set(words[hierarchy.index(parent)]) | _EMPTY
        children = [child for child in hierarchy.children(parent) if child in read]
        own = {
            child: [word for word in words[hierarchy.index(child)] if word not in above]
            for child in children
        }
        for child in children:
            for word in own[child]:
                if any(word not in others for others in own.values()):
                    where.setdefault(word, set()).add((parent, child))
    return where


def _concepts(where: Mapping[str, set[Family]]) -> Dimension:
    """Words that recur, those that always come together joined."""
    together: dict[Occurrences, list[str]] = {}
    for word, families in where.items():
        if len({parent for parent, _ in families}) >= LEAST_FAMILIES:
            together.setdefault(frozenset(families), []).append(word)
    return {" ".join(words): families for families, words in together.items()}


def _dimensions(concepts: Dimension) -> Iterator[Dimension]:
    """Group concepts so that every two of a group exclude each other under several parents."""
    parents = {name: {parent for parent, _ in where} for name, where in concepts.items()}
    children = {name: {child for _, child in where} for name, where in concepts.items()}
    of_parent: dict[str, list[str]] = defaultdict(list)
    for name, above in parents.items():
        for parent in above:
            of_parent[parent].append(name)
    home: dict[str, list[str]] = {}
    for name in sorted(concepts, key=lambda one: (-len(parents[one]), one)):
        beside = Counter(other for parent in parents[name] for other in of_parent[parent])
        fit = {
            other
            for other, n in beside.items()
            if n >= LEAST_FAMILIES and children[name].isdisjoint(children[other])
        }
        groups = (home[other] for other in sorted(beside) if other in home)
        group = next((one for one in groups if fit.issuperset(one)), [])
        group.append(name)
        home[name] = group
    for group in {id(one): one for one in home.values()}.values():
        if len(group) > 1:
            yield {name: concepts[name] for name in sorted(group)}
        else:
            yield from _against_absence(group[0], concepts, of_parent)


def _against_absence(
    name: str, concepts: Dimension, of_parent: Mapping[str, list[str]]
) -> Iterator[Dimension]:
    """The concept, and the nodes beside it that have other recurring words."""
    own = {child for _, child in concepts[name]}
    beside = {
        one
        for parent in {parent for parent, _ in concepts[name]}
        for other in of_parent[parent]
        for one in concepts[other]
        if one[0] == parent and one[1] not in own
    }
    if beside:
        yield {name: concepts[name], f"not {name}": frozenset(beside)}


def _parents(above: Mapping[str, set[str]]) -> Dimension:
    families: dict[str, set[Family]] = defaultdict(set)
    for child, parents in above.items():
        for parent in parents:
            families[parent].add((parent, child))
    return {parent: frozenset(where) for parent, where in sorted(families.items())}


def _name(dimension: Dimension) -> str:
    first = list(dimension)[:3]
    return " | ".join(first) + (" | ..." if len(dimension) > len(first) else "")


def _by_node(dimension: Dimension) -> dict[str, str]:
    """The concept of each node that has one; nodes with several have none."""
    several: dict[str, set[str]] = defaultdict(set)
    for concept, where in dimension.items():
        for _, child in where:
            several[child].add(concept)
    return {node: min(found) for node, found in several.items() if len(found) == 1}


def _crossing(of_node: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """The dimensions that cross another of those that are left."""
    kept = dict(of_node)
    while True:
        crossed = {
            name: one
            for name, one in kept.items()
            if any(_cross(one, other) for key, other in kept.items() if key != name)
        }
        if len(crossed) == len(kept):
            return crossed
        kept = crossed


def _cross(first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    """Whether two concepts of the first each occur with the same two of the second."""
    if len(set(first.values())) < len(set(second.values())):
        first, second = second, first
    beside: dict[str, set[str]] = defaultdict(set)
    for node in first.keys() & second.keys():
        beside[first[node]].add(second[node])
    seen: set[tuple[str, str]] = set()
    for concept in sorted(beside):
        for pair in combinations(sorted(beside[concept]), 2):
            if pair in seen:
                return True
        seen.update(combinations(sorted(beside[concept]), 2))
    return False

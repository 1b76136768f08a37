"""Words of hierarchies: what an answer denotes, and the words below and above it.

By the paper's text, or by the code that was released with it. There a node has one word, the first
part of its synset's name, beside its answer; words are compared as written; edges are hypernyms of
kinds, or part-holonyms, and none is followed beyond the node above the task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import polars as pl

from audit.base.dag import SYNTHETIC_ROOT
from audit.base.errors import InputError, SchemaError, first_cases
from audit.hierarchies.formats import wordnet
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy


class Task(NamedTuple):
    """What a predicate means.

    Args:
        relation: The relation of WordNet that leads from specific to general answers.
        top: The synset that an answer's synset is at or below by hypernyms.
        ends: Whether the released code follows no edge beyond it.
    """

    relation: str
    top: str
    ends: bool = False


TASKS: Mapping[str, Task] = {
    "P106": Task("hypernym", "person.n.01", ends=True),
    "P131": Task("holonym", "location.n.01"),
    "P19": Task("holonym", "location.n.01"),
}
"""Those of occupations, locations and birthplaces."""
RELEASED_RELATIONS = {"hypernym": "kind_hypernym", "holonym": "part_holonym"}
"""The relation that the released code follows, for each that a task is about."""
Senses: TypeAlias = Mapping[str, str | None]
Words: TypeAlias = Mapping[str, frozenset[str]]


@dataclass(frozen=True, eq=False)
class Sides:
    """What the answers of questions denote, and the words beside them.

    Args:
        hierarchy: Its name.
        relation: The relation of WordNet that was followed; None for the only one of another.
        asked: The questions that are measured, one for each that was asked, and ``key``: what the
            specific answer denotes, null for nothing.
        nodes: The node of the specific answer of each question that was asked.
        below: Words at or below what a key denotes; ``above`` those above it.
    """

    hierarchy: str
    relation: str | None
    asked: pl.DataFrame
    nodes: Sequence[str | None]
    below: Words
    above: Words


def plain(word: str) -> str:
    """Normalise a word for comparison: lower case, ``_`` as a space, outer spaces removed.

    >>> plain(" New_York")
    'new york'
    """
    return " ".join(word.replace("_", " ").split()).casefold()


def sides_of(
    asked: pl.DataFrame,
    source: Path,
    relation: str | None,
    senses: Path | None,
    stated: Senses,
    *,
    released: bool,
) -> Sides:
    """The words of both sides of all questions.

    Raises:
        InputError: If the hierarchy cannot be read, or has no such relation, or the released code
            is asked for without a WordNet and senses; SchemaError if a sense is no node, or WordNet
            lacks the synset above the answers.
    """
    predicate, is_wordnet = str(asked["relation"][0]), wordnet.matches(source)
    task = TASKS.get(predicate)
    if relation and not is_wordnet:
        raise InputError(
            "--relation needs a WordNet folder, which has several",
            found=f"{relation}, of another hierarchy",
            where=source,
            hint="leave it out: the edges of a hierarchy file are the relation",
        )
    relation = relation or (task.relation if task and is_wordnet else None)
    if is_wordnet and not relation:
        raise InputError(
            "a predicate with a known relation of WordNet is required",
            found=repr(predicate),
            hint=f"known are {', '.join(TASKS)}; for others choose the relation"
            f" {' or '.join(RELEASED_RELATIONS)}",
        )
    if released and (senses is None or relation not in RELEASED_RELATIONS):
        raise InputError(
            "the released code needs a WordNet folder, a file of senses, and hypernyms or holonyms",
            found=f"{source}, {senses or 'no file of senses'}, {relation}",
            hint='--senses names a file of pairs such as ["painter", "painter.n.01"]',
        )
    nouns = wordnet.read_wordnet(source) if is_wordnet else None
    if released and nouns and relation:
        _refuse_unknown(stated, nouns.hierarchy(RELEASED_RELATIONS[relation]), senses)
        return _released(asked, nouns, relation, stated, task)
    tree = nouns.hierarchy(relation) if nouns and relation else load_hierarchy(source)
    _refuse_unknown(stated, tree, senses)
    words, meant = _of_wordnet(nouns, task) if nouns else _of_titles(tree)
    chosen = {plain(answer): node for answer, node in stated.items()}

    def node_of(specific: str, general: str) -> str | None:
        """The chosen sense; else the first one below the general answer, else the first."""
        own, wider = meant.get(plain(specific), ()), {*meant.get(plain(general), ())}
        below = (node for node in own if wider.intersection(tree.ancestors(node)))
        return chosen.get(plain(specific), next(below, next(iter(own), None)))

    def words_of(nodes: Iterable[str]) -> frozenset[str]:
        return frozenset(word for node in nodes for word in words.get(node, ()))

    pairs = asked.select("specific", "general")
    known = {pair: node_of(*pair) for pair in pairs.unique().iter_rows()}
    nodes = [known[pair] for pair in pairs.iter_rows()]
    below = {one: words_of(tree.descendants(one, with_self=True)) for one in {*nodes} if one}
    above = {one: words_of(tree.ancestors(one)) for one in below}
    keyed = asked.with_columns(pl.Series("key", nodes, pl.String))
    return Sides(tree.name, relation, keyed, nodes, below, above)


def _refuse_unknown(senses: Senses, hierarchy: Hierarchy, path: Path | None) -> None:
    stated = ((answer, node) for answer, node in senses.items() if node)
    unknown = [f"{answer}: {node}" for answer, node in stated if node not in hierarchy]
    if unknown:
        required = f"every chosen node must be in {hierarchy.name}"
        raise SchemaError(required, found=first_cases(unknown), where=path)


_Lexicon: TypeAlias = tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]]
"""The normalised words of each node; of each word the nodes that can be answers, in order."""


def _of_wordnet(nouns: wordnet.WordNet, task: Task | None) -> _Lexicon:
    """Senses in order of frequency, below the top of the task."""
    fitting = {*nouns.lemmas}
    if task is not None and task.top not in fitting:
        raise SchemaError(
            "a WordNet with the synsets above the answers is required",
            found=f"none named {task.top}",
            where=nouns.path,
        )
    if task is not None:
        fitting = {*nouns.hierarchy("hypernym").descendants(task.top, with_self=True)}
    words = {node: [*map(plain, lemmas)] for node, lemmas in nouns.lemmas.items()}
    senses = {
        plain(word): [node for node in nodes if node in fitting]
        for word, nodes in nouns.senses.items()
    }
    return words, senses


def _of_titles(hierarchy: Hierarchy) -> _Lexicon:
    """Words are titles, split at ``", "``, or ids of nodes without one; nodes in their order."""
    words = {
        node: [*map(plain, (title or node).split(", "))]
        for node, title in zip(hierarchy.nodes, hierarchy.titles, strict=True)
        if node != SYNTHETIC_ROOT
    }
    senses = defaultdict[str, list[str]](list)
    for node, spoken in words.items():
        for word in dict.fromkeys(spoken):
            senses[word].append(node)
    return words, senses


def _released(
    asked: pl.DataFrame, nouns: wordnet.WordNet, relation: str, stated: Senses, task: Task | None
) -> Sides:
    """As the released code has it: of several questions about a subject the last one counts."""
    up, down = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for child, parent in nouns.edges[RELEASED_RELATIONS[relation]]:
        up[child].append(parent)
        down[parent].append(child)
    top = task.top if task and task.ends else None

    def words(node: str, steps: Mapping[str, list[str]]) -> frozenset[str]:
        found, waiting = set[str](), [node]
        while waiting:
            one = waiting.pop()
            new = {*steps.get(one, ())} - found if one != top else set()
            found |= new
            waiting += new
        return frozenset(name.split(".")[0] for name in found)

    chosen = {answer: node for answer, node in stated.items() if node}
    below = {
        answer: words(node, down) | {node.split(".")[0], answer} for answer, node in chosen.items()
    }
    above = {answer: words(node, up) for answer, node in chosen.items()}
    last = asked.unique("subject", keep="last").select("subject", "specific", "general")
    counted = asked.select("subject").join(last, on="subject", maintain_order="left")
    nodes = [stated.get(answer) for answer in asked["specific"]]
    keyed = counted.with_columns(key="specific")
    return Sides(nouns.path.name, relation, keyed, nodes, below, above)

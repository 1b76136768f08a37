"""Words and the nodes they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from audit.alignment.preference.questions import Task
from audit.base.errors import SchemaError
from audit.hierarchies.building import SYNTHETIC_ROOT
from audit.hierarchies.formats import wordnet
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy


def plain(word: str) -> str:
    """A word as it is compared: small letters, ``_`` as a blank, blanks at the ends dropped.

    >>> plain(" New_York")
    'new york'
    """
    return " ".join(word.replace("_", " ").split()).casefold()


@dataclass(frozen=True, eq=False)
class Lexicon:
    """A hierarchy, the words of its nodes, and the nodes that a word may mean as an answer.

    Args:
        hierarchy: Its edges lead from specific to general.
        words: Plain words of each node; a node without words has no entry.
        senses: Nodes of each plain word that fit as answers, the most frequent first.
    """

    hierarchy: Hierarchy
    words: Mapping[str, tuple[str, ...]]
    senses: Mapping[str, tuple[str, ...]]

    def node_of(self, specific: str, general: str) -> str | None:
        """The node that a question's specific answer means; None where it means none.

        Of several, the most frequent that lies below a node of the general answer; where none
        does, the most frequent.
        """
        found = self.senses.get(plain(specific), ())
        wider = set(self.senses.get(plain(general), ()))
        below = (node for node in found if wider.intersection(self.hierarchy.ancestors(node)))
        return next(below, next(iter(found), None))

    def words_of(self, nodes: Iterable[str]) -> frozenset[str]:
        """Plain words of several nodes together."""
        return frozenset(word for node in nodes for word in self.words.get(node, ()))


def load_lexicon(source: str | Path, task: Task | None, relation: str | None) -> Lexicon:
    """The words of a WordNet folder, or of any other hierarchy through its titles.

    Args:
        source: A WordNet folder, or what `audit.load_hierarchy` takes.
        task: Says where in WordNet answers lie; None: anywhere.
        relation: The relation that edges are.

    Raises:
        InputError: As `audit.load_hierarchy` and `audit.hierarchies.formats.wordnet.read_wordnet`.
        SchemaError: If the WordNet lacks the synsets below which the answers lie.
    """
    if wordnet.matches(Path(source)):
        nouns = wordnet.read_wordnet(Path(source))
        return of_wordnet(nouns, relation or wordnet.RELATIONS[0], task.domain if task else ())
    return of_titles(load_hierarchy(source, relations=(relation,) if relation else ()))


def of_wordnet(nouns: wordnet.WordNet, relation: str, domain: tuple[str, ...]) -> Lexicon:
    """Words by WordNet: senses in its order of frequency, those outside the domain left out.

    Args:
        nouns: Where the words come from.
        relation: One of `audit.hierarchies.formats.wordnet.RELATIONS`.
        domain: Synsets at or below one of which an answer lies by hypernyms; empty: anywhere.
    """
    fitting = _below(nouns, domain) if domain else nouns.lemmas.keys()
    return Lexicon(
        hierarchy=nouns.hierarchy(relation),
        words={node: tuple(map(plain, lemmas)) for node, lemmas in nouns.lemmas.items()},
        senses={
            plain(word): tuple(node for node in nodes if node in fitting)
            for word, nodes in nouns.senses.items()
        },
    )


def of_titles(hierarchy: Hierarchy) -> Lexicon:
    """Words by titles, several of a node separated by ``", "``; a node without one by its id.

    Nothing is known of frequencies: the nodes of a word come in node order.
    """
    words = {
        node: tuple(map(plain, (title or node).split(", ")))
        for node, title in zip(hierarchy.nodes, hierarchy.titles, strict=True)
        if node != SYNTHETIC_ROOT
    }
    senses: dict[str, tuple[str, ...]] = {}
    for node, spoken in words.items():
        for word in dict.fromkeys(spoken):
            senses[word] = (*senses.get(word, ()), node)
    return Lexicon(hierarchy, words, senses)


def _below(nouns: wordnet.WordNet, domain: tuple[str, ...]) -> frozenset[str]:
    missing = [node for node in domain if node not in nouns.lemmas]
    if missing:
        raise SchemaError(
            "a WordNet with the synsets above the answers is required",
            found=f"none named {', '.join(missing)}",
            where=nouns.path,
        )
    notions = nouns.hierarchy("hypernym")
    return frozenset(node for top in domain for node in notions.descendants(top, with_self=True))

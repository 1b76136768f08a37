"""Lexicons: words, the hierarchy nodes that they denote, and those that a file chooses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from audit.base.dag import SYNTHETIC_ROOT
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import first_bytes, once, read_json, refuse_pickle
from audit.base.json_tables import Line, lines_of, objects_on
from audit.hierarchies.formats import wordnet
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy


@dataclass(frozen=True)
class Question:
    """One question; a model scores the words that could complete it.

    Args:
        subject: Subject of the question, such as ``Lake Louise Ski Resort``.
        specific: The specific answer, such as ``Alberta``.
        general: The general answer, such as ``Canada``.
        predicate: The Wikidata property in question, such as ``P131``.
        uri: Id of the subject; None if the file has none.
    """

    subject: str
    specific: str
    general: str
    predicate: str
    uri: str | None = None


@dataclass(frozen=True)
class Task:
    """Meaning of a predicate, and the part of WordNet that holds its answers.

    Args:
        relation: The relation of WordNet that leads from specific to general answers.
        domain: Synsets; an answer's synset is at or below one of them by hypernyms.
    """

    relation: str
    domain: tuple[str, ...]


TASKS: Mapping[str, Task] = {
    "P106": Task("hypernym", ("person.n.01",)),
    "P131": Task("holonym", ("location.n.01",)),
    "P19": Task("holonym", ("location.n.01",)),
}
"""Those of occupations, locations and birthplaces."""


def read_questions(path: Path) -> tuple[Question, ...]:
    """Read the questions of one predicate, in file order.

    Args:
        path: JSON lines with ``sub_label, obj_label`` (specific), ``obj2_label`` (general) and
            ``predicate_id``; optionally ``sub_uri``. Other keys are ignored.

    Raises:
        InputError: If the file cannot be read, is empty, or a line is not a JSON object.
    """
    questions = tuple(
        Question(
            subject=_text(record, "sub_label", where),
            specific=_text(record, "obj_label", where),
            general=_text(record, "obj2_label", where),
            predicate=_text(record, "predicate_id", where),
            uri=_text(record, "sub_uri", where) if "sub_uri" in record else None,
        )
        for where, record in objects(path)
    )
    predicates = sorted({question.predicate for question in questions})
    if len(predicates) > 1:
        raise SchemaError(
            "all questions must have one predicate_id",
            found=first_cases(predicates),
            where=path,
            hint="put each predicate into a file of its own",
        )
    return questions


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=once)


def objects(path: Path) -> Iterator[Line]:
    """The object of each line that is not blank, with its place; one line is held at a time."""
    refuse_pickle(path, first_bytes(path))
    empty = True
    for line in objects_on(lines_of(path), _DECODER):
        empty = False
        yield line
    if empty:
        raise InputError("a file with content is required", found="an empty file", where=path)


def _text(record: Mapping[str, Any], key: str, where: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        found = f"the keys {', '.join(record)}" if key not in record else repr(value)
        raise SchemaError(f"a text under {key!r} is required", found=found, where=where)
    return value


def plain(word: str) -> str:
    """Normalise a word for comparison: lower case, ``_`` as a space, outer spaces removed.

    >>> plain(" New_York")
    'new york'
    """
    return " ".join(word.replace("_", " ").split()).casefold()


@dataclass(frozen=True, eq=False)
class Lexicon:
    """A hierarchy, the words of its nodes, and the nodes that a word may denote as an answer.

    Args:
        hierarchy: Its edges lead from specific to general.
        words: Normalised words of each node; a node without words has no entry.
        senses: For each normalised word, the nodes that can be answers, the most frequent first.
    """

    hierarchy: Hierarchy
    words: Mapping[str, tuple[str, ...]]
    senses: Mapping[str, tuple[str, ...]]

    def node_of(self, specific: str, general: str) -> str | None:
        """The node that a question's specific answer denotes; None without one.

        Of several senses, the most frequent one that is below a node of the general answer; if
        none does, the most frequent one.
        """
        found = self.senses.get(plain(specific), ())
        wider = set(self.senses.get(plain(general), ()))
        below = (node for node in found if wider.intersection(self.hierarchy.ancestors(node)))
        return next(below, next(iter(found), None))

    def words_of(self, nodes: Iterable[str]) -> frozenset[str]:
        """The normalised words of all given nodes."""
        return frozenset(word for node in nodes for word in self.words.get(node, ()))


def load_lexicon(
    source: str | Path,
    task: Task | None,
    relation: str | None,
) -> Lexicon:
    """Load a lexicon from a WordNet folder, or from the titles of any other hierarchy.

    Args:
        source: A WordNet folder, or a source that `audit.load_hierarchy` accepts.
        task: Limits the part of WordNet that holds answers; None for no limit.

    Raises:
        InputError: As `audit.load_hierarchy` and `audit.hierarchies.formats.wordnet.read_wordnet`.
        SchemaError: If WordNet does not have the synsets below which the answers are.
    """
    if wordnet.matches(Path(source)):
        nouns = wordnet.read_wordnet(Path(source))
        return of_wordnet(nouns, relation or "hypernym", task.domain if task else ())
    relations = (relation,) if relation else ()
    return of_titles(load_hierarchy(source, relations=relations))


def of_wordnet(nouns: wordnet.WordNet, relation: str, domain: tuple[str, ...]) -> Lexicon:
    """Build a lexicon from WordNet, with senses within the domain in order of frequency.

    Args:
        domain: Synsets; an answer is at or below one of them by hypernyms. Empty for no limit.
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
    """Build a lexicon from titles, split at ``", "``; a node without a title has its id as word.

    Titles say nothing about frequencies, so the nodes of a word are in node order.
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


def read_senses(path: Path) -> Mapping[str, str | None]:
    """Read the node of each answer as written; None for an answer that denotes no node.

    Args:
        path: JSON: a list of pairs ``[answer, node]``, as the synset files released with
            *Abstraction Alignment* are, or an object ``{answer: node}``. A node may be null. An
            answer may be repeated: its last node that is not null counts.
    """
    stated = read_json(path)
    pairs = list(stated.items()) if isinstance(stated, dict) else stated
    wrong = [pair for pair in pairs if not _is_pair(pair)] if isinstance(pairs, list) else [stated]
    if wrong or not pairs:
        raise SchemaError(
            "pairs of an answer and its node, or null, are required",
            found=first_cases(map(repr, wrong)) or "none",
            where=path,
            hint='[["painter", "painter.n.01"], ["official", null]]',
        )
    chosen: dict[str, str | None] = {}
    for answer, node in pairs:
        chosen[answer] = node or chosen.get(answer)
    return chosen


def refuse_unknown_senses(
    senses: Mapping[str, str | None], hierarchy: Hierarchy, path: Path
) -> None:
    """Raise SchemaError if a chosen node is not in the hierarchy."""
    stated = ((answer, node) for answer, node in senses.items() if node)
    unknown = [f"{answer}: {node}" for answer, node in stated if node not in hierarchy]
    if unknown:
        raise SchemaError(
            f"every chosen node must be in {hierarchy.name}",
            found=first_cases(unknown),
            where=path,
        )


def _is_pair(pair: Any) -> bool:
    return (
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and (pair[1] is None or (isinstance(pair[1], str) and pair[1] != ""))
    )

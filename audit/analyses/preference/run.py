"""From token scores to the four metrics of the paper's table 1, by its text or its code.

Preference as the code released with *Abstraction Alignment* measures it differs from the paper's
text, and from `audit.analyses.preference.measure`, in that

- of several questions about one subject the last one counts for all;
- a node has one word, the first part of its synset's name, and its answer; words are compared as
  written, with case and ``_``;
- ancestors and descendants are reached by hypernyms of kinds, or by part-holonyms, and not beyond
  the node above the task;
- a tie is a win in the two metrics over subgraphs, and all words of the task are the second side
  of the last one;
- in the first two metrics an answer without a token counts as a miss.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

import polars as pl

from audit.analyses.preference.measure import (
    LEFT_OUT,
    LOST,
    TIED,
    WON,
    Measured,
    PreferenceResult,
)
from audit.analyses.preference.questions import (
    TASKS,
    Lexicon,
    Question,
    Task,
    load_lexicon,
    plain,
    read_questions,
    read_senses,
    refuse_unknown_senses,
)
from audit.analyses.preference.scores import read_scores
from audit.base.errors import InputError
from audit.hierarchies.formats import wordnet

RELEASED_RELATIONS = {"hypernym": "kind_hypernym", "holonym": "part_holonym"}
"""The relation that the released code follows, for each that a task is about."""
TOPS = {"P106": "person.n.01"}
"""The synset beyond which the released code follows no edge, by predicate; others have none."""
METRICS = ("accuracy", "answers", "subgraphs", "task")
"""Columns of the four metrics, in the order of their rows."""
OUTCOMES = {LEFT_OUT: "left out", LOST: "lost", WON: "won", TIED: "tied"}
"""What is told of a question in them."""


def run_preference(
    predictions: Path,
    questions: Path,
    hierarchy: str | Path,
    *,
    relation: str | None = None,
    senses: Path | None = None,
    released: bool = False,
    k: int = 10,
) -> PreferenceResult:
    """Measure which answers a language model prefers (Abstraction Alignment, section 4.2).

    Args:
        predictions: Token scores, as `audit.analyses.preference.scores.read_scores` reads them.
        questions: Questions of one predicate, as
            `audit.analyses.preference.questions.read_questions` reads them.
        hierarchy: A WordNet folder, or a source that `audit.load_hierarchy` accepts.
        relation: The relation that edges represent; None for that of the predicate in WordNet.
        senses: File of the node of each specific answer, as `read_senses` of
            `audit.analyses.preference.questions` reads it; None, and for answers that it lacks: a
            rule chooses among the senses.
        released: Whether to follow the paper's released code, see the top of this module; then
            only answers in ``senses`` have a node.
        k: For accuracy, the specific answer must be among the k highest tokens.

    Returns:
        Four rows. A question without scores counts in none; one whose specific answer is not in
        the hierarchy counts in the first two only.

    Raises:
        InputError: If a file cannot be read, k is below 1, the predicate is unknown and no relation
            is given, nltk is missing, or the released code is to be followed without a WordNet or
            without senses.
        SchemaError: If a file does not have the format described, or a sense is not a node.
        HierarchyError: If the hierarchy has a cycle.

    Time grows with the tokens read, memory with the number of questions and the hierarchy.
    """
    if k < 1:
        raise InputError("k must be at least 1", found=str(k))
    asked = read_questions(questions)
    predicate = asked[0].predicate
    task = TASKS.get(predicate)
    relation = _relation(relation, task, predicate, hierarchy)
    stated = read_senses(senses) if senses else {}
    if released:
        name, nodes, measured = _released(asked, Path(hierarchy), relation, stated, senses, k)
    else:
        lexicon = load_lexicon(hierarchy, task, relation)
        if senses:
            refuse_unknown_senses(stated, lexicon.hierarchy, senses)
        name, nodes, measured = _audited(asked, lexicon, stated, k)
    for row in read_scores(predictions, asked):
        measured.add(row)
    form = str if released else plain
    named = {form(answer) for answer in stated}
    unmapped = Counter(q.specific for q, node in zip(asked, nodes, strict=True) if not node)
    return PreferenceResult(
        predicate=predicate,
        relation=relation,
        hierarchy=name,
        k=k,
        questions=len(asked),
        unscored=int((~measured.scored).sum()),
        tokens=len(measured.tokens),
        answers=len({question.specific for question in asked}),
        unmapped=dict(sorted(unmapped.items(), key=lambda answer: (-answer[1], answer[0]))),
        rows=measured.rows(),
        released=released,
        chosen=len({one.specific for one in asked if form(one.specific) in named}),
        by_question=_by_question(asked, nodes, measured),
    )


def _by_question(
    asked: Sequence[Question], nodes: Sequence[str | None], measured: Measured
) -> pl.DataFrame:
    said, _ = measured.outcomes()
    return pl.DataFrame(
        {
            "question": [str(place) for place in range(len(asked))],
            "subject": [one.subject for one in asked],
            "relation": [one.predicate for one in asked],
            "specific": [one.specific for one in asked],
            "general": [one.general for one in asked],
            "node": nodes,
            **{
                name: [OUTCOMES[one] for one in of.tolist()]
                for name, of in zip(METRICS, said, strict=True)
            },
        },
        schema_overrides={"node": pl.String},
    )


Prepared: TypeAlias = tuple[str, Sequence[str | None], Measured]
"""Name of the hierarchy, node of each question's specific answer, and what scores are added to."""
Senses: TypeAlias = Mapping[str, str | None]


def _audited(asked: Sequence[Question], lexicon: Lexicon, stated: Senses, k: int) -> Prepared:
    tree, chosen = lexicon.hierarchy, {plain(answer): node for answer, node in stated.items()}

    @cache
    def node_of(specific: str, general: str) -> str | None:
        if plain(specific) in chosen:
            return chosen[plain(specific)]
        return lexicon.node_of(specific, general)

    nodes = [node_of(question.specific, question.general) for question in asked]
    known = {node for node in nodes if node}
    below = {node: lexicon.words_of(tree.descendants(node, with_self=True)) for node in known}
    above = {node: lexicon.words_of(tree.ancestors(node)) for node in known}
    return tree.name, nodes, Measured(asked, nodes, below, above, k, released=False)


def _released(
    asked: Sequence[Question],
    folder: Path,
    relation: str | None,
    stated: Senses,
    senses: Path | None,
    k: int,
) -> Prepared:
    if senses is None or not wordnet.matches(folder) or relation not in RELEASED_RELATIONS:
        raise InputError(
            "the released code needs a WordNet folder, a file of senses, and hypernyms or holonyms",
            found=f"{folder}, {senses or 'no file of senses'}, {relation}",
            hint='--senses names a file of pairs such as ["painter", "painter.n.01"]',
        )
    nouns = wordnet.read_wordnet(folder)
    refuse_unknown_senses(stated, nouns.hierarchy(RELEASED_RELATIONS[relation]), senses)
    up, down = defaultdict(list), defaultdict(list)
    for child, parent in nouns.edges[RELEASED_RELATIONS[relation]]:
        up[child].append(parent)
        down[parent].append(child)
    top, chosen = TOPS.get(asked[0].predicate), {a: node for a, node in stated.items() if node}
    below = {a: _words(_reached(node, down, top) | {node}) | {a} for a, node in chosen.items()}
    above = {answer: _words(_reached(node, up, top)) for answer, node in chosen.items()}
    last = {question.subject: question for question in asked}
    counted = [last[question.subject] for question in asked]
    keys = [question.specific for question in counted]
    measured = Measured(counted, keys, below, above, k, released=True)
    return folder.name, [stated.get(question.specific) for question in asked], measured


def _reached(start: str, steps: Mapping[str, list[str]], top: str | None) -> set[str]:
    """Synsets some steps away; nothing is followed beyond the top."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node != top and node in steps:
            new = set(steps[node]) - found
            found |= new
            waiting += new
    return found


def _words(synsets: Iterable[str]) -> frozenset[str]:
    """The first part of each synset's name, as the released code writes words."""
    return frozenset(synset.split(".")[0] for synset in synsets)


def _relation(
    given: str | None, task: Task | None, predicate: str, hierarchy: str | Path
) -> str | None:
    """The relation asked for, else of a WordNet the predicate's own; None for other hierarchies."""
    if given or not wordnet.matches(Path(hierarchy)):
        return given
    if task is None:
        known, relations = ", ".join(TASKS), " or ".join(wordnet.RELATIONS)
        raise InputError(
            "a predicate with a known relation of WordNet is required",
            found=repr(predicate),
            hint=f"known are {known}; for others choose the relation {relations}",
        )
    return task.relation

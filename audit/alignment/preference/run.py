"""From token scores to the four metrics of the paper's table 1, by its text or its code.

Preference as the code released with *Abstraction Alignment* measures it differs from the paper's
text, and from `audit.alignment.preference.measure`, in that

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
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from audit.alignment.preference.measure import (
    ACCURACY,
    BELOW_OR_ABOVE,
    LEFT_OUT,
    LOST,
    RELATED_OR_TASK,
    SPECIFIC_OR_GENERAL,
    TIED,
    WON,
    Measured,
    PreferenceResult,
    PreferenceRow,
    TaskWords,
    places_of,
    share,
    top,
)
from audit.alignment.preference.questions import (
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
from audit.alignment.preference.scores import TokenScores, Vocabulary, read_scores
from audit.base.dag import IntArray
from audit.base.errors import InputError
from audit.hierarchies.formats import wordnet
from audit.hierarchies.formats.wordnet import WordNet

RELEASED_RELATIONS = {"hypernym": "kind_hypernym", "holonym": "part_holonym"}
"""The relation that the released code follows, for each that a task is about."""


OF_QUESTION = {
    "subject": "subject",
    "relation": "predicate",
    "specific": "specific",
    "general": "general",
}
"""Columns of a question, with the fields that they are of."""
METRICS = ("accuracy", "answers", "subgraphs", "task")
"""Columns of the four metrics, in the order of their rows."""
OUTCOMES = {LEFT_OUT: "left out", LOST: "lost", WON: "won", TIED: "tied"}
"""What is told of a question in them."""
TOPS = {"P106": "person.n.01"}
"""The synset beyond which the released code follows no edge, by predicate; others have none."""


@dataclass(frozen=True, eq=False)
class RelatedWords:
    """The words below and above each answer that has a sense."""

    below: Mapping[str, frozenset[str]]
    above: Mapping[str, frozenset[str]]

    @property
    def task(self) -> frozenset[str]:
        """All words of the task."""
        return frozenset().union(*self.below.values(), *self.above.values())


def related_words(
    senses: Mapping[str, str | None], nouns: WordNet, relation: str, top: str | None
) -> RelatedWords:
    """The words related to each answer with a sense."""
    up, down = defaultdict(list), defaultdict(list)
    for child, parent in nouns.edges[RELEASED_RELATIONS[relation]]:
        up[child].append(parent)
        down[parent].append(child)
    chosen = {answer: synset for answer, synset in senses.items() if synset is not None}
    return RelatedWords(
        below={
            answer: _words(_reached(synset, down, top) | {synset}) | {answer}
            for answer, synset in chosen.items()
        },
        above={answer: _words(_reached(synset, up, top)) for answer, synset in chosen.items()},
    )


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


class ReleasedMeasure:
    """The four metrics of the released code, collected question by question.

    Of equal scores the token that is listed first ranks higher.
    """

    def __init__(self, words: RelatedWords, questions: Sequence[Question], k: int) -> None:
        self._k, self._n = k, len(questions)
        last = {question.subject: question for question in questions}
        self._asked = [last[question.subject] for question in questions]
        answers = {a for q in self._asked for a in (q.specific, q.general)}
        position = {word: i for i, word in enumerate(sorted(words.task | answers))}
        self._position = position
        self._vocabulary = Vocabulary(position, form=str)
        self._below = {answer: places_of(own, position) for answer, own in words.below.items()}
        self._above = {answer: places_of(own, position) for answer, own in words.above.items()}
        self._task = places_of(words.task, position)
        titles = (ACCURACY.format(k=k), SPECIFIC_OR_GENERAL, BELOW_OR_ABOVE, RELATED_OR_TASK)
        names = ("k", "pr", "ps", "pt")
        self._titles = dict(zip(names, titles, strict=True))
        self._counts = {name: [0, 0, 0] for name in names}
        self._outcomes = {name: np.full(len(questions), LEFT_OUT) for name in names}
        self.scored = np.zeros(len(questions), np.bool_)

    @property
    def tokens(self) -> int:
        """Size of the vocabulary: number of tokens with a score in some question."""
        return len(self._vocabulary.tokens)

    def add(self, row: TokenScores) -> None:
        """Add the scores of one question; each question may be added once."""
        asked, values = self._asked[row.question], self._vocabulary.values(row)
        self.scored[row.question] = True
        self._add_words(row, asked)
        if asked.specific in self._below:
            below, above = self._below[asked.specific], self._above[asked.specific]
            related = np.concatenate([below, above])
            self._add_sides("ps", row.question, top(values, below), top(values, above))
            self._add_sides("pt", row.question, top(values, related), top(values, self._task))

    def rows(self) -> tuple[PreferenceRow, ...]:
        """The four metrics over all questions added; ties are among the wins."""
        return tuple(
            share(self._titles[name], wins, ties, n, self._n)
            for name, (wins, ties, n) in self._counts.items()
        )

    def outcomes(self) -> Mapping[str, IntArray]:
        """As `Measured.outcomes`; a tie is `WON`."""
        return {self._titles[name]: of for name, of in self._outcomes.items()}

    def _add_words(self, row: TokenScores, asked: Question) -> None:
        specific, general = (self._rank(row, a) for a in (asked.specific, asked.general))
        equal = np.isfinite(specific[0]) and specific[0] == general[0]
        above = bool(np.isfinite(specific[0])) and specific <= general
        self._count("k", row.question, self._among_highest(row, specific), False)
        self._count("pr", row.question, above, bool(equal))

    def _rank(self, row: TokenScores, word: str) -> tuple[float, int]:
        """Negative score and place of a word's first token; infinite where it has none."""
        places = np.flatnonzero(self._vocabulary.places(row.tokens) == self._position[word])
        if not len(places):
            return np.inf, len(row.tokens)
        best = places[np.argmax(row.scores[places])]
        return -float(row.scores[best]), int(best)

    def _among_highest(self, row: TokenScores, rank: tuple[float, int]) -> bool:
        score, place = rank
        if not np.isfinite(score):
            return False
        before = int((row.scores > -score).sum() + (row.scores[:place] == -score).sum())
        return before < self._k

    def _add_sides(self, name: str, question: int, first: float, second: float) -> None:
        if np.isfinite(first) and np.isfinite(second):
            self._count(name, question, first >= second, first == second)

    def _count(self, name: str, question: int, win: bool, tie: bool) -> None:
        self._outcomes[name][question] = WON if win else LOST
        self._counts[name] = [
            total + one for total, one in zip(self._counts[name], (win, tie, True), strict=True)
        ]


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
        predictions: Token scores, as `audit.alignment.preference.scores.read_scores` reads them.
        questions: Questions of one predicate, as
            `audit.alignment.preference.questions.read_questions` reads them.
        hierarchy: A WordNet folder, or a source that `audit.load_hierarchy` accepts.
        relation: The relation that edges represent; None for that of the predicate in WordNet.
        senses: File of the node of each specific answer, as `read_senses` of
            `audit.alignment.preference.questions` reads it; None, and for answers that it lacks: a
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
    task = TASKS.get(asked[0].predicate)
    relation = _relation(relation, task, asked[0].predicate, hierarchy)
    if released:
        prepared = _released(asked, hierarchy, relation, senses, k)
    else:
        lexicon = load_lexicon(hierarchy, task, relation)
        prepared = _audited(asked, lexicon, senses, k)
    for row in read_scores(predictions, asked):
        prepared.measure.add(row)
    return _result(asked, prepared, relation, released, k)


@dataclass(frozen=True, eq=False)
class _Prepared:
    """What scores are added to, and the node of each question's specific answer."""

    measure: Measured | ReleasedMeasure
    nodes: Sequence[str | None]
    hierarchy: str
    chosen: int


def _result(
    asked: Sequence[Question],
    prepared: _Prepared,
    relation: str | None,
    released: bool,
    k: int,
) -> PreferenceResult:
    return PreferenceResult(
        predicate=asked[0].predicate,
        relation=relation,
        hierarchy=prepared.hierarchy,
        k=k,
        questions=len(asked),
        unscored=int((~prepared.measure.scored).sum()),
        tokens=prepared.measure.tokens,
        answers=len({question.specific for question in asked}),
        unmapped=_unmapped(asked, prepared.nodes),
        rows=prepared.measure.rows(),
        released=released,
        chosen=prepared.chosen,
        by_question=_by_question(asked, prepared),
    )


def _by_question(asked: Sequence[Question], prepared: _Prepared) -> pl.DataFrame:
    outcomes = prepared.measure.outcomes().values()
    return pl.DataFrame(
        {
            "question": [str(place) for place in range(len(asked))],
            **{name: [getattr(one, of) for one in asked] for name, of in OF_QUESTION.items()},
            "node": prepared.nodes,
            **{
                name: [OUTCOMES[told] for told in of.tolist()]
                for name, of in zip(METRICS, outcomes, strict=True)
            },
        },
        schema_overrides={"node": pl.String},
    )


def _audited(asked: Sequence[Question], lexicon: Lexicon, senses: Path | None, k: int) -> _Prepared:
    stated = read_senses(senses) if senses else {}
    if senses:
        refuse_unknown_senses(stated, lexicon.hierarchy, senses)
    chosen = {plain(answer): node for answer, node in stated.items()}

    @cache
    def node_of(specific: str, general: str) -> str | None:
        if plain(specific) in chosen:
            return chosen[plain(specific)]
        return lexicon.node_of(specific, general)

    nodes = [node_of(question.specific, question.general) for question in asked]
    used = {question.specific for question in asked if plain(question.specific) in chosen}
    measured = Measured(TaskWords(lexicon, asked, nodes), asked, nodes, k)
    return _Prepared(measured, nodes, lexicon.hierarchy.name, len(used))


def _released(
    asked: Sequence[Question],
    hierarchy: str | Path,
    relation: str | None,
    senses: Path | None,
    k: int,
) -> _Prepared:
    folder = Path(hierarchy)
    if senses is None or not wordnet.matches(folder) or relation not in RELEASED_RELATIONS:
        raise InputError(
            "the released code needs a WordNet folder, a file of senses, and hypernyms or holonyms",
            found=f"{hierarchy}, {senses or 'no file of senses'}, {relation}",
            hint='--senses names a file of pairs such as ["painter", "painter.n.01"]',
        )
    nouns, stated = wordnet.read_wordnet(folder), read_senses(senses)
    refuse_unknown_senses(stated, nouns.hierarchy(RELEASED_RELATIONS[relation]), senses)
    words = related_words(stated, nouns, relation, TOPS.get(asked[0].predicate))
    nodes = [stated.get(question.specific) for question in asked]
    used = {question.specific for question in asked if question.specific in stated}
    return _Prepared(ReleasedMeasure(words, asked, k), nodes, folder.name, len(used))


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


def _unmapped(questions: Sequence[Question], nodes: Sequence[str | None]) -> dict[str, int]:
    times = Counter(
        question.specific for question, node in zip(questions, nodes, strict=True) if not node
    )
    return dict(sorted(times.items(), key=lambda answer: (-answer[1], answer[0])))

"""From token scores to the four metrics of the paper's table 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from audit.alignment.preference.lexicon import (
    Lexicon,
    load_lexicon,
    plain,
    read_senses,
    refuse_unknown_senses,
)
from audit.alignment.preference.measure import Measured, TaskWords
from audit.alignment.preference.questions import TASKS, Question, Task, read_questions
from audit.alignment.preference.released import RELATIONS as RELEASED_RELATIONS
from audit.alignment.preference.released import TOPS, ReleasedMeasure, related_words
from audit.alignment.preference.result import PreferenceResult
from audit.alignment.preference.scores import read_scores
from audit.base.choices import Dangling
from audit.base.errors import InputError
from audit.hierarchies.formats import wordnet


def run_preference(
    predictions: Path,
    questions: Path,
    hierarchy: str | Path,
    *,
    relation: str | None = None,
    dangling: Dangling | None = None,
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
        dangling: Treatment of edges with an end that is not a node, as in `audit.load_hierarchy`.
        senses: File of the node of each specific answer, as
            `audit.alignment.preference.lexicon.read_senses` reads it; None, and for answers that it
            lacks: a rule chooses among the senses.
        released: Whether to follow the paper's released code, as
            `audit.alignment.preference.released` does; then only answers in ``senses`` have a node.
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
        lexicon = load_lexicon(hierarchy, task, relation, dangling)
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
    dropped: Mapping[str, int] = field(default_factory=dict)


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
        dropped=prepared.dropped,
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
    dropped = lexicon.hierarchy.dropped.to_dict()
    return _Prepared(measured, nodes, lexicon.hierarchy.name, len(used), dropped)


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

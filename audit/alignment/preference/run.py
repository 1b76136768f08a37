"""From token scores to the four metrics of the paper's table 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from audit.alignment.preference.lexicon import load_lexicon
from audit.alignment.preference.measure import Measured
from audit.alignment.preference.questions import TASKS, Question, Task, read_questions
from audit.alignment.preference.result import PreferenceResult
from audit.alignment.preference.scores import read_scores
from audit.alignment.preference.sides import TaskWords
from audit.base.errors import InputError
from audit.hierarchies.formats import wordnet


def run_preference(
    predictions: Path,
    questions: Path,
    hierarchy: str | Path,
    *,
    relation: str | None = None,
    k: int = 10,
) -> PreferenceResult:
    """Measure which answers a language model prefers (Abstraction Alignment, section 4.2).

    Args:
        predictions: Token scores, as `audit.alignment.preference.scores.read_scores` reads them.
        questions: Questions of one predicate, as
            `audit.alignment.preference.questions.read_questions` reads them.
        hierarchy: A WordNet folder, or a source that `audit.load_hierarchy` accepts.
        relation: The relation that edges represent; None for that of the predicate in WordNet.
        k: For accuracy, the specific answer must be among the k highest tokens.

    Returns:
        Four rows. A question without scores counts in none; one whose specific answer is not in
        the hierarchy counts in the first two only.

    Raises:
        InputError: If a file cannot be read, k is below 1, the predicate is unknown and no relation
            is given, or nltk is missing.
        SchemaError: If a file does not have the format described.
        HierarchyError: If the hierarchy has a cycle.

    Time grows with the tokens read, memory with the number of questions and the hierarchy.
    """
    if k < 1:
        raise InputError("k must be at least 1", found=str(k))
    asked = read_questions(questions)
    task = TASKS.get(asked[0].predicate)
    relation = _relation(relation, task, asked[0].predicate, hierarchy)
    lexicon = load_lexicon(hierarchy, task, relation)
    node_of = cache(lexicon.node_of)
    nodes = [node_of(question.specific, question.general) for question in asked]
    measured = Measured(TaskWords(lexicon, asked, nodes), asked, nodes, k)
    for row in read_scores(predictions, asked):
        measured.add(row)
    return PreferenceResult(
        predicate=asked[0].predicate,
        relation=relation,
        hierarchy=lexicon.hierarchy.name,
        k=k,
        questions=len(asked),
        unscored=int((~measured.scored).sum()),
        tokens=measured.tokens,
        answers=len({question.specific for question in asked}),
        unmapped=_unmapped(asked, nodes),
        rows=measured.rows(),
    )


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

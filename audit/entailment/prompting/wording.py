"""What language models are asked, by relation.

The structure is that of tables 8 and 12 of *AbsPyramid*: an instruction that says what a broader
concept is, then a question about one sentence. The words are our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from audit.entailment.dataset import ENTAILS, EVENT, HYPERNYM, NOUN, VERB


@dataclass(frozen=True)
class Wording:
    """Instructions and questions about one relation; ``{head}`` and others stand for a tuple's."""

    judge: str
    judge_question: str
    name: str
    name_question: str


_BROADER = (
    "A broader {part} has a wider meaning, under which the meanings of more specific ones fall."
)
_YES_OR_NO = "Reply with Yes or No only."
_ONE_LINE = "Reply with {what} on one line and nothing else."


def _of_words(part: str) -> Wording:
    broader = _BROADER.format(part=part)
    return Wording(
        judge=f"Judge whether one {part} is broader than another. {broader} {_YES_OR_NO}",
        judge_question=f'Sentence: "{{head}}"\nIn this sentence, is "{{concept}}" a broader {part} '
        f'for "{{instance}}"?',
        name=f"Name a broader {part}. {broader} {_ONE_LINE.format(what=f'one {part}')}",
        name_question=f'Sentence: "{{head}}"\nIn this sentence, what is a broader {part} for '
        f'"{{instance}}"?',
    )


WORDINGS: Mapping[str, Wording] = {
    NOUN: _of_words("noun"),
    VERB: _of_words("verb"),
    EVENT: Wording(
        judge="Judge whether a short phrase describes an event in more abstract terms: it must be "
        f"true of the event, and leave its details out. {_YES_OR_NO}",
        judge_question='Event: "{head}"\nIs "{concept}" an abstract description of this event?',
        name="Describe an event in more abstract terms: the description must be true of the event, "
        f"and leave its details out. {_ONE_LINE.format(what='one short phrase')}",
        name_question='Event: "{head}"\nWhat is an abstract description of this event?',
    ),
    ENTAILS: Wording(
        judge="Judge whether a hypothesis follows from a premise: whether it must be true wherever "
        f"the premise is. {_YES_OR_NO}",
        judge_question='Premise: "{head}"\nHypothesis: "{tail}"\nDoes the hypothesis follow?',
        name="State a hypothesis that must be true wherever a premise is. "
        + _ONE_LINE.format(what="one sentence"),
        name_question='Premise: "{head}"\nWhich hypothesis follows?',
    ),
    HYPERNYM: Wording(
        judge="Judge whether one term is a kind of another: whether whatever the first names is "
        f"also named by the second. {_YES_OR_NO}",
        judge_question='Is "{instance}" a kind of "{concept}"?',
        name="Name what a term is a kind of: a term that also names whatever the first one does. "
        + _ONE_LINE.format(what="one term"),
        name_question='What is "{instance}" a kind of?',
    ),
}
"""The wording of each relation."""

"""Questions in the layout of S-TEST: a subject, a specific answer and a general one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.base.errors import InputError, SchemaError, first_cases
from audit.data.json_lines import AS_NUMBERS, Line, objects_on
from audit.data.sources import File


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
        title: Title of the task.
        relation: The relation of WordNet that leads from specific to general answers.
        domain: Synsets; an answer's synset is at or below one of them by hypernyms.
    """

    title: str
    relation: str
    domain: tuple[str, ...]


TASKS: Mapping[str, Task] = {
    "P106": Task("occupation", "hypernym", ("person.n.01",)),
    "P131": Task("location", "holonym", ("location.n.01",)),
    "P19": Task("birthplace", "holonym", ("location.n.01",)),
}


def read_questions(path: Path) -> tuple[Question, ...]:
    """Read the questions of one predicate, in file order.

    Args:
        path: JSON lines with ``sub_label, obj_label`` (specific), ``obj2_label`` (general) and
            ``predicate_id``; optionally ``sub_uri``. Other keys are ignored.

    Raises:
        InputError: If the file cannot be read, is empty, or a line is not a JSON object.
        SchemaError: If a key is missing or its value is not text, or there are several predicates.
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


def objects(path: Path) -> Iterator[Line]:
    """The object of each line that is not blank, with its place; one line is in memory at a time.

    Raises:
        InputError: If the file cannot be read or is empty, or a line is not a JSON object.
    """
    source, empty = File(path), True
    source.refuse_pickle()
    for line in objects_on(source.streamed_lines(), AS_NUMBERS):
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

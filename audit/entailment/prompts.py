"""Prompts for language models, and their answers, as files: this package calls no model."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from audit.base.disk import on_disk, written_whole
from audit.base.errors import InputError, OutputError
from audit.base.schemas import schema
from audit.data.records import Records, records
from audit.data.sources import File
from audit.engine.statistics.resampling import unit_keys
from audit.entailment.answer_columns import with_every_role
from audit.entailment.dataset import (
    ENTAILS,
    EVENT,
    HYPERNYM,
    NOUN,
    RELATIONS,
    TRAIN,
    VERB,
    EntailmentDataset,
    Questions,
    questions_of,
)
from audit.entailment.predictions import (
    MISSING_ID,
    predictions_of,
)

ROLES = {
    "id": ("id",),
    "model": ("model",),
    "trained_on": ("trained_on",),
    "answer": ("answer", "text"),
}
"""Names of columns by role."""
YES_WORDS, NO_WORDS = ("yes", "true", "valid"), ("no", "false", "invalid")
ANSWERS = schema(("model id answer", pl.String), ("valid", pl.Boolean))
"""One row per answer, as it was given; ``valid`` is what it says, null if it says neither."""


def read_answers(paths: Sequence[Path], columns: Mapping[str, str] | None = None) -> Records:
    """Read answers to `detection_prompts` as predictions without scores.

    A file (JSON lines, CSV, TSV or Parquet) has an ``id`` and an ``answer``; `said_valid` says what
    an answer means. ``model`` is the file's name without suffix where there is no such column.

    Args:
        paths: The files.
        columns: Column for each of `ROLES` that has another name.

    Raises:
        InputError: If a file cannot be read, no row has an id, or a model answers a question twice.
        SchemaError: If a column is missing.
    """
    return predictions_of([_read(path, columns) for path in paths], paths)


def said_valid(answer: pl.Expr) -> pl.Expr:
    """Whether a free answer says valid, invalid, or (null) neither.

    The first word decides if it is one of `YES_WORDS` or `NO_WORDS`, else the last one if it is yes
    or no; else the answer says what the only ones of these words in it say, unless it has a "not".
    """
    words = answer.fill_null("").str.to_lowercase().str.extract_all(r"\p{L}+")
    yes, no = (
        words.list.set_intersection(pl.lit(list(said))).list.len() > 0
        for said in (YES_WORDS, NO_WORDS)
    )
    doubtful = words.list.contains("not")
    return pl.coalesce(
        _meaning(words.list.first(), YES_WORDS, NO_WORDS),
        _meaning(words.list.last(), YES_WORDS[:1], NO_WORDS[:1]),
        pl.when((yes ^ no) & ~doubtful).then(yes),
    )


def _meaning(word: pl.Expr, yes: Sequence[str], no: Sequence[str]) -> pl.Expr:
    return pl.when(word.is_in(yes)).then(True).when(word.is_in(no)).then(False)


def answer_texts(paths: Sequence[Path]) -> pl.DataFrame:
    """What models said, columns `ANSWERS`, from the files that `read_answers` reads."""
    given = [_given(path, None) for path in paths]
    return pl.concat([pl.DataFrame(schema=ANSWERS), *(one.select(*ANSWERS) for one in given)])


def _read(path: Path, columns: Mapping[str, str] | None) -> pl.DataFrame:
    return _given(path, columns).with_columns(
        score=pl.lit(None, pl.Float64),
        unparsable=pl.col("valid").is_null(),
        refused=pl.when(pl.col("id").is_null()).then(pl.lit(MISSING_ID)),
    )


def _given(path: Path, columns: Mapping[str, str] | None) -> pl.DataFrame:
    table = records(File(path), ROLES, columns, ("id", "answer")).frame
    whole = with_every_role(table, ROLES, path)
    return whole.with_columns(valid=said_valid(pl.col("answer")))


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
"""The wording of each relation that is ours."""

Asked: TypeAlias = Literal["own", "paper", "nli"]
"""Our wording; that of table 12 of *AbsPyramid*; that of its table 11, as entailment."""

_PRINTED = Path(__file__).parent / "printed_prompts.toml"


def wordings(prompt: Asked, *, reasoning: bool = False) -> Mapping[str, Wording]:
    """How each relation is asked about; the paper's prompts are one text, word for word."""
    if prompt == "own":
        return WORDINGS
    printed = tomllib.loads(_PRINTED.read_text("utf-8"))[prompt]
    if prompt == "nli":
        printed = dict.fromkeys((NOUN, VERB, EVENT, ENTAILS), printed["any"])
    return {name: Wording("", texts[reasoning], "", "") for name, texts in printed.items()}


SAMPLE = 1_000
"""Tuples of each relation that are asked about, as in *AbsPyramid*."""
YES, NO = "Yes", "No"
_KEY = ("head", "relation", "instance")


@dataclass(frozen=True)
class Message:
    """One turn of a dialogue: ``role`` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """A dialogue that asks one question, with an instruction and examples before it."""

    id: str
    messages: tuple[Message, ...]


def detection_prompts(
    dataset: EntailmentDataset,
    *,
    shots: int = 0,
    sample: int | None = SAMPLE,
    seed: int = 0,
    prompt: Asked = "own",
    reasoning: bool = False,
) -> list[Prompt]:
    """Ask of tuples whether they are valid, relation by relation.

    Args:
        dataset: Those of the test set are asked about, or of all where there is none.
        shots: Number of examples before each question, valid and invalid ones in turn.
        sample: Number of tuples of each relation; None asks about all. A smaller sample is the
            beginning of a larger one, and does not depend on the order of the rows.
        seed: Another number draws other tuples and examples.
        prompt: Whose words ask.
        reasoning: Whether the paper's words ask for reasons before the answer.

    Raises:
        InputError: If a number is negative, the training set has too few examples, or the words
            are not for a relation of the tuples.
    """
    questions = questions_of(dataset)
    words = wordings(prompt, reasoning=reasoning)
    if strange := sorted({*questions.tuples["relation"]} - {*words}):
        raise InputError(
            f"--prompt {prompt} asks about {', '.join(words)}",
            found=", ".join(strange),
            hint="--prompt own asks about all relations",
        )
    drawn = _sample_of(questions.tuples, sample, seed)
    before = _examples(dataset, questions, shots, seed, (True, False))
    return [_judged(row, before, words) for row in drawn.iter_rows(named=True)]


def generation_prompts(
    dataset: EntailmentDataset, *, shots: int = 0, sample: int | None = SAMPLE, seed: int = 0
) -> list[Prompt]:
    """Ask for a concept of instances that have a valid one, relation by relation.

    Args:
        dataset: Instances of the test set are asked about, or of all tuples where there is none.
        shots: Number of examples before each question, all of them valid.
        sample: Number of instances of each relation, as in `detection_prompts`.
        seed: Another number draws other instances and examples.

    Raises:
        InputError: As `detection_prompts`.
    """
    questions = questions_of(dataset)
    instances = questions.tuples.filter("valid").sort("id").unique(_KEY, maintain_order=True)
    drawn = _sample_of(instances, sample, seed)
    before = _examples(dataset, questions, shots, seed, (True,))
    return [_prompt_of(row, before) for row in drawn.iter_rows(named=True)]


def write_prompts(prompts: Iterable[Prompt], path: Path) -> None:
    """Write one JSON object per prompt, ``id`` and ``messages``, the same bytes every time.

    Raises:
        OutputError: If there is such a file already, or it cannot be written.
    """
    if path.exists():
        raise OutputError("a new file is required", found="one that exists", where=path)
    with on_disk(path.parent), written_whole(path) as passing:
        lines = (json.dumps(asdict(prompt), ensure_ascii=False) + "\n" for prompt in prompts)
        passing.write_text("".join(lines), encoding="utf-8")


def _sample_of(tuples: pl.DataFrame, sample: int | None, seed: int) -> pl.DataFrame:
    """The rows of each relation with the lowest hashes of their ids, in that order."""
    if sample is not None and sample < 1:
        raise InputError("a sample of at least 1 is required", found=str(sample))
    hashed = tuples.with_columns(
        place=pl.Series(unit_keys(tuples["id"].to_list(), seed), dtype=pl.UInt64),
        relation=pl.col("relation").cast(pl.Enum(RELATIONS)),
    ).sort("relation", "place", "id")
    drawn = hashed.group_by("relation", maintain_order=True).head(sample or len(tuples))
    return drawn.with_columns(pl.col("relation").cast(pl.String))


def _examples(
    dataset: EntailmentDataset, questions: Questions, shots: int, seed: int, valid: Sequence[bool]
) -> dict[str, list[dict[str, Any]]]:
    """Training tuples of each relation that is asked about, validities in turn, no head twice."""
    if shots < 0:
        raise InputError("a number of examples of at least 0 is required", found=str(shots))
    asked_keys = questions.tuples.select("head", "instance")
    learned = (
        dataset.tuples.filter(pl.col("split") == TRAIN)
        .join(asked_keys, on=["head", "instance"], how="anti")
        .filter(pl.col("valid").is_in(valid))
    )
    hashed = _sample_of(learned, None, seed).unique(
        ["relation", "head"], keep="first", maintain_order=True
    )
    examples = {}
    for relation in questions.parts:
        if relation not in WORDINGS:
            continue
        own = hashed.filter(relation=relation)
        turns = [own.filter(valid=kind).head(-(-shots // len(valid))).to_dicts() for kind in valid]
        inturn = [row for several in zip(*turns, strict=False) for row in several][:shots]
        if len(inturn) < shots:
            raise InputError(
                f"{shots} examples of {relation} are required in the training set",
                found=f"{len(inturn)} with heads of their own"
                + " and as many valid as invalid" * (len(valid) > 1),
                hint="ask for fewer with --shots, or name the column of the split",
            )
        examples[relation] = inturn
    return examples


def _judged(
    row: dict[str, Any],
    examples: dict[str, list[dict[str, Any]]],
    words: Mapping[str, Wording],
) -> Prompt:
    wording = words[row["relation"]]
    turns = [
        (wording.judge_question.format_map(one), YES if one["valid"] else NO)
        for one in examples[row["relation"]]
    ]
    return _prompt(row["id"], wording.judge, turns, wording.judge_question.format_map(row))


def _prompt_of(row: dict[str, Any], examples: dict[str, list[dict[str, Any]]]) -> Prompt:
    wording = WORDINGS[row["relation"]]
    turns = [
        (wording.name_question.format_map(one), one["concept"]) for one in examples[row["relation"]]
    ]
    return _prompt(row["id"], wording.name, turns, wording.name_question.format_map(row))


def _prompt(of: str, instruction: str, turns: Iterable[tuple[str, str]], question: str) -> Prompt:
    dialogue = [Message("system", instruction)] if instruction else []
    for questions, answered in turns:
        dialogue += [Message("user", questions), Message("assistant", answered)]
    return Prompt(of, (*dialogue, Message("user", question)))

"""Settings of an audit of an entailment graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from audit.base.errors import InputError
from audit.base.settings import INPUT, MODEL, Argument, Option, Stored


def columns_named(given: Sequence[str]) -> dict[str, str]:
    """Columns by what they hold; raises InputError if one is not NAME=COLUMN."""
    named: dict[str, str] = {}
    for text in given:
        name, equals, column = text.partition("=")
        if not (name and equals and column):
            raise InputError(
                "--column needs a name and a column",
                found=repr(text),
                hint="for example --column head=event",
            )
        named[name] = column
    return named


TupleFiles: TypeAlias = Annotated[
    tuple[Path, ...],
    Argument("Tuples: one file, one per split, or a folder of these.", metavar="FILE..."),
]
FileKind: TypeAlias = Annotated[
    Literal["tuples", "premises", "hypernyms"],
    Option("Five elements; premise and hypothesis; or hyponym and hypernym.", INPUT),
]
NamedColumns: TypeAlias = Annotated[
    Mapping[str, str],
    Option(
        "The file's name for a column, if it is not a usual one; may be repeated.",
        INPUT,
        flag="--column",
        metavar="NAME=COLUMN",
        typed=list[str],
        parse=columns_named,
    ),
]
ClassFile: TypeAlias = Annotated[
    Path | None, Option("Names of the classes that labels number from 0, one a line.", INPUT)
]


@dataclass(frozen=True, kw_only=True)
class Entailing(Stored):
    """The settings for auditing an entailment graph."""

    files: TupleFiles
    kind: FileKind = "tuples"
    columns: NamedColumns = field(default_factory=dict)
    classes: ClassFile = None
    positives: Annotated[
        Path | None, Option("Tuples for generation, to compare with the valid ones.", INPUT)
    ] = None
    predictions: Annotated[
        tuple[Path, ...], Option("Predicted validity, by id; may be repeated.", MODEL)
    ] = ()
    answers: Annotated[
        tuple[Path, ...], Option("A language model's answers to prompts; may be repeated.", MODEL)
    ] = ()
    generations: Annotated[
        tuple[Path, ...], Option("Concepts that a model generated; may be repeated.", MODEL)
    ] = ()
    ratings: Annotated[Path | None, Option("People's ratings of generated concepts.", MODEL)] = None
    numbered_from: Annotated[
        int | None, Option("Number of the first tuple, if none has an id.", MODEL, least=0, most=1)
    ] = None
    meteor: Annotated[
        Path | None, Option("Also measure METEOR, with the WordNet of this folder.", MODEL)
    ] = None

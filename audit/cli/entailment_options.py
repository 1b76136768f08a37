"""Options of ``audit entailment`` and its commands: name, type and help heading of each."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from audit.base.errors import InputError
from audit.cli.options import INPUT, MODEL, OUTPUT


class Kind(StrEnum):
    """What files of tuples hold."""

    tuples = "tuples"
    premises = "premises"
    hypernyms = "hypernyms"


class Shares(StrEnum):
    """Shares of train, valid and test."""

    detection = "80:10:10"
    generation = "90:5:5"


TuplePaths: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...", help="Tuples: one file, one per split, or a folder of these."
    ),
]
FileKind: TypeAlias = Annotated[
    Kind,
    typer.Option(
        help="Five elements; premise and hypothesis; or hyponym and hypernym.",
        rich_help_panel=INPUT,
    ),
]
NamedColumns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=COLUMN",
        help="The file's name for a column, if it is not a usual one; may be repeated.",
        rich_help_panel=INPUT,
    ),
]
PositivesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--positives",
        help="Tuples for generation, to compare with the valid ones.",
        rich_help_panel=INPUT,
    ),
]
WordNetFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--wordnet", help="Folder of a WordNet to compare with.", rich_help_panel=INPUT),
]
PredictionFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--predictions", help="Predicted validity, by id; may be repeated.", rich_help_panel=MODEL
    ),
]
AnswerFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--answers",
        help="A language model's answers to prompts; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
GenerationFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--generations",
        help="Concepts that a model generated; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
RatingsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--ratings", help="People's ratings of generated concepts.", rich_help_panel=MODEL
    ),
]
WithMeteor: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--meteor", help="Also measure METEOR; needs nltk and --wordnet.", rich_help_panel=MODEL
    ),
]
FixFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--fix",
        metavar="FOLDER",
        help="Folder for a corrected copy of the files.",
        rich_help_panel=OUTPUT,
    ),
]


class Task(StrEnum):
    """What a language model is asked."""

    detection = "detection"
    generation = "generation"


AskedTask: TypeAlias = Annotated[
    Task, typer.Option(help="Ask whether a tuple is valid, or for a concept.")
]
Shots: TypeAlias = Annotated[
    int, typer.Option(min=0, help="Examples before each question, from the train split.")
]
Sample: TypeAlias = Annotated[
    int, typer.Option(min=1, help="Number of tuples of each relation to ask about.")
]
DrawSeed: TypeAlias = Annotated[
    int, typer.Option(help="Seed of the drawing of tuples and examples.")
]
PromptFile: TypeAlias = Annotated[Path, typer.Option(help="File of prompts, JSON lines.")]
ValidOnly: TypeAlias = Annotated[
    bool, typer.Option("--valid-only", help="Leave out invalid tuples, as for generation.")
]
SplitSeed: TypeAlias = Annotated[int, typer.Option(help="Seed of the split.")]
SplitFolder: TypeAlias = Annotated[Path, typer.Option(help="Folder of the files.")]
SplitShares: TypeAlias = Annotated[Shares, typer.Option(help="Shares of train, valid and test.")]


def columns_named(given: Sequence[str] | None) -> dict[str, str]:
    """Columns by what they hold; raises InputError if one is not NAME=COLUMN."""
    named: dict[str, str] = {}
    for text in given or ():
        name, equals, column = text.partition("=")
        if not (name and equals and column):
            raise InputError(
                "--column needs a name and a column",
                found=repr(text),
                hint="for example --column head=event",
            )
        named[name] = column
    return named

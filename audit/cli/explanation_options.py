"""Options of ``audit explanations``: name, type and help heading of each."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from audit.cli.options import INPUT, OUTPUT

ALIGNMENT = "Alignment"
"""Heading of ``audit explanations --help``."""


class Only(StrEnum):
    """The examples that are compared by node."""

    all = "all"
    right = "right"
    wrong = "wrong"
    common = "common"


class WordPieces(StrEnum):
    """How scores of word pieces become those of words."""

    sum = "sum"
    mean = "mean"
    max = "max"


class StopWords(StrEnum):
    """The list of words that are not evidence."""

    paper = "paper"
    clinical = "clinical"


AttributionsPath: TypeAlias = Annotated[
    Path, typer.Argument(help="Scores of tokens, a row per instance, label, method and model.")
]
LabelHierarchy: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Hierarchy of the labels; without one, all are below one root.", rich_help_panel=INPUT
    ),
]
LabelsPath: TypeAlias = Annotated[
    Path | None, typer.Option(help="Dataset of the labels, audited too.", rich_help_panel=INPUT)
]
EvidencePath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Human evidence: marks, spans or explanations, by id and target.",
        rich_help_panel=INPUT,
    ),
]
FaithfulnessPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Outputs of the model when tokens are removed.", rich_help_panel=INPUT),
]
RandomisedPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Scores of the same rows by models with random parameters.", rich_help_panel=INPUT
    ),
]
InformedModels: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODEL=NAME",
        help="Model that also read the explanation, as soft oracle of MODEL.",
        rich_help_panel=ALIGNMENT,
    ),
]
ReferenceModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Compare the other models with it, by a mixed-effects model.",
        rich_help_panel=ALIGNMENT,
    ),
]
OnlyExamples: TypeAlias = Annotated[
    Only, typer.Option(help="Examples by which nodes are compared.", rich_help_panel=ALIGNMENT)
]
Draws: TypeAlias = Annotated[
    int,
    typer.Option(
        min=1,
        help="Number of other explanations that each is compared with.",
        rich_help_panel=ALIGNMENT,
    ),
]
MergeWordPieces: TypeAlias = Annotated[
    WordPieces | None, typer.Option(help="Merge word pieces by this rule.", rich_help_panel=INPUT)
]
StopWordList: TypeAlias = Annotated[
    StopWords, typer.Option(help="Words that do not count as evidence.", rich_help_panel=INPUT)
]
ShowText: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--text/--no-text", help="Show examples with words of the source.", rich_help_panel=OUTPUT
    ),
]

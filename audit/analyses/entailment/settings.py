"""Settings of an audit of an entailment graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from audit.base.settings import INPUT, MODEL, Argument, Option, Stored, pairs_named

Files: TypeAlias = tuple[Path, ...]
File: TypeAlias = Path | None


def columns_named(given: Sequence[str]) -> dict[str, str]:
    """Columns by what they hold; raises InputError if one is not NAME=COLUMN."""
    return dict(pairs_named(given, "--column NAME=COLUMN, such as head=event,"))


@dataclass(frozen=True, kw_only=True)
class Entailing(Stored):
    """The settings for auditing an entailment graph."""

    files: Annotated[
        Files, Argument("Tuples: one file, one per split, or a folder of these.", metavar="FILE...")
    ]
    kind: Annotated[
        Literal["tuples", "premises", "hypernyms"],
        Option("Five elements; premise and hypothesis; or hyponym and hypernym.", INPUT),
    ] = "tuples"
    columns: Annotated[
        Mapping[str, str],
        Option(
            "The file's name for a column, if it is not a usual one; may be repeated.",
            INPUT,
            flag="--column",
            metavar="NAME=COLUMN",
            typed=list[str],
            parse=columns_named,
        ),
    ] = field(default_factory=dict)
    classes: Annotated[
        File, Option("Names of the classes that labels number from 0, one a line.", INPUT)
    ] = None
    positives: Annotated[
        File, Option("Tuples for generation, to compare with the valid ones.", INPUT)
    ] = None
    predictions: Annotated[Files, Option("Predicted validity, by id; may be repeated.", MODEL)] = ()
    generations: Annotated[
        Files, Option("Concepts that a model generated; may be repeated.", MODEL)
    ] = ()
    ratings: Annotated[File, Option("People's ratings of generated concepts.", MODEL)] = None
    meteor: Annotated[
        File, Option("Also measure METEOR, with the WordNet of this folder.", MODEL)
    ] = None

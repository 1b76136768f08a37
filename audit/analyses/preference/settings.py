"""Settings of a measurement of which answers a language model prefers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from audit.base.settings import FIRST, Argument, Option, Stored


@dataclass(frozen=True, kw_only=True)
class Preferring(Stored):
    """The settings for measuring which answers a language model prefers."""

    scores: Annotated[Path, Argument("Token scores of each question.")]
    questions: Annotated[Path, Option("Questions in the S-TEST layout.", FIRST)]
    words: Annotated[
        Path,
        Option("WordNet dict folder, or a hierarchy file with words as titles.", FIRST,
               flag="--hierarchy"),
    ]  # fmt: skip
    relation: Annotated[
        str | None,
        Option(
            "hypernym or holonym of WordNet; by default as the questions' predicate says.", FIRST
        ),
    ] = None
    senses: Annotated[
        Path | None, Option("JSON file that names the node of each specific answer.", FIRST)
    ] = None
    released: Annotated[
        bool, Option("Follow the paper's released code; needs --senses.", FIRST, flag="--released")
    ] = False
    k: Annotated[
        int, Option("Accuracy is measured among the k highest tokens.", FIRST, least=1)
    ] = 10

"""Settings of an audit of explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from audit.base.errors import InputError
from audit.base.settings import INPUT, Argument, Option, Stored

ALIGNMENT = "Alignment"
"""Heading of ``audit explanations --help``."""


def informed_models(named: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The explanation-informed models of each model; InputError if one is not MODEL=NAME."""
    models: dict[str, tuple[str, ...]] = {}
    for one in named:
        model, separator, name = one.partition("=")
        if not (model and separator and name):
            raise InputError("--informed must be MODEL=NAME", found=one)
        models[model] = (*models.get(model, ()), name)
    return models


def kinds_of_models(named: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Family and size of each model; InputError if one is not MODEL=FAMILY:SIZE, or is there twice.

    >>> kinds_of_models(["bert-large=bert:large"])
    {'bert-large': ('bert', 'large')}
    """
    kinds: dict[str, tuple[str, str]] = {}
    for one in named:
        model, _, kind = one.partition("=")
        family, _, size = kind.partition(":")
        if not (model and family and size):
            raise InputError("--sizes must be MODEL=FAMILY:SIZE", found=one)
        if model in kinds:
            raise InputError(
                "--sizes names each model once",
                found=f"{model} as {':'.join(kinds[model])} and as {kind}",
            )
        kinds[model] = (family, size)
    return kinds


@dataclass(frozen=True, kw_only=True)
class Explaining(Stored):
    """The settings for auditing explanations."""

    attributions: Annotated[
        Path, Argument("Scores of tokens, a row per instance, label, method and model.")
    ]
    evidence: Annotated[
        Path | None,
        Option("Human evidence: marks, spans or explanations, by id and target.", INPUT),
    ] = None
    informed: Annotated[
        Mapping[str, tuple[str, ...]],
        Option(
            "Model that also read the explanation, as soft oracle of MODEL.",
            ALIGNMENT,
            metavar="MODEL=NAME",
            typed=list[str],
            parse=informed_models,
        ),
    ] = field(default_factory=dict)
    reference_model: Annotated[
        str | None,
        Option(
            "Compare the other models with it, by a mixed-effects model.",
            ALIGNMENT,
            metavar="MODEL",
        ),
    ] = None
    sizes: Annotated[
        Mapping[str, tuple[str, str]],
        Option(
            "Family and size of each model, to compare these instead of models.",
            ALIGNMENT,
            metavar="MODEL=FAMILY:SIZE",
            typed=list[str],
            parse=kinds_of_models,
        ),
    ] = field(default_factory=dict)
    accuracy: Annotated[
        Path | None,
        Option("Accuracies of models on other data, to correlate with Delta-A.", ALIGNMENT),
    ] = None
    only: Annotated[
        Literal["all", "right", "wrong", "common"],
        Option("Examples by which nodes are compared.", ALIGNMENT),
    ] = "all"
    draws: Annotated[
        int,
        Option("Number of other explanations that each one is compared with.", ALIGNMENT, least=1),
    ] = 10
    compat: Annotated[
        Literal["kamp"] | None,
        Option("Peaks and differences of runs as the code of Dynamic top-k has them.", ALIGNMENT),
    ] = None
    word_pieces: Annotated[
        Literal["sum", "mean", "max"] | None, Option("Merge word pieces by this rule.", INPUT)
    ] = None
    special_tokens: Annotated[
        Literal["all", "none", "bert", "roberta", "gpt2", "llama", "t5", "xlnet", "gemma", "kamp"]
        | None,
        Option("Leave out the tokens of this list alone, whatever offsets say.", INPUT),
    ] = None
    stop_words: Annotated[
        Literal["paper", "clinical"], Option("Words that do not count as evidence.", INPUT)
    ] = "paper"

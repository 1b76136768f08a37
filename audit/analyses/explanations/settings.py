"""Settings of an audit of explanations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from audit.base.errors import InputError
from audit.base.settings import INPUT, Argument, Option, Stored, pairs_named

ALIGNMENT = "Alignment"
"""Heading of ``audit explanations --help``."""


def informed_models(named: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The explanation-informed models of each model; InputError if one is not MODEL=NAME."""
    models = defaultdict[str, tuple[str, ...]](tuple)
    for model, name in pairs_named(named, "--informed MODEL=NAME"):
        models[model] += (name,)
    return {**models}


def kinds_of_models(named: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Family and size of each model; InputError if one is not MODEL=FAMILY:SIZE, or is there twice.

    >>> kinds_of_models(["bert-large=bert:large"])
    {'bert-large': ('bert', 'large')}
    """
    form, kinds = "--sizes MODEL=FAMILY:SIZE, once for each model,", dict[str, tuple[str, str]]()
    for model, kind in pairs_named(named, form):
        family, _, size = kind.partition(":")
        if not (family and size) or model in kinds:
            raise InputError(f"{form} is required", found=f"{model}={kind}")
        kinds[model] = (family, size)
    return kinds


_INFORMED = Option(
    "Model that also read the explanation, as soft oracle of MODEL.",
    ALIGNMENT,
    metavar="MODEL=NAME",
    typed=list[str],
    parse=informed_models,
)
_SIZES = Option(
    "Family and size of each model, to compare these instead of models.",
    ALIGNMENT,
    metavar="MODEL=FAMILY:SIZE",
    typed=list[str],
    parse=kinds_of_models,
)
_REFERENCE = "Compare the other models with it, by a mixed-effects model."
_EVIDENCE = "Human evidence: marks, spans or explanations, by id and target."
_ACCURACY = "Accuracies of models on other data, to correlate with Delta-A."
_ONLY = "Examples by which nodes and models are compared."
_DRAWS = "Number of other explanations that each one is compared with."
_COMPAT = "Peaks and differences of runs as the code of Dynamic top-k has them."
_SPECIAL = "Leave out the tokens of this list alone, whatever offsets say."
_STOP = "Words that do not count as evidence."


@dataclass(frozen=True, kw_only=True)
class Explaining(Stored):
    """The settings for auditing explanations."""

    attributions: Annotated[
        Path, Argument("Scores of tokens, a row per instance, label, method and model.")
    ]
    evidence: Annotated[Path | None, Option(_EVIDENCE, INPUT)] = None
    informed: Annotated[Mapping[str, tuple[str, ...]], _INFORMED] = field(default_factory=dict)
    reference_model: Annotated[str | None, Option(_REFERENCE, ALIGNMENT, metavar="MODEL")] = None
    sizes: Annotated[Mapping[str, tuple[str, str]], _SIZES] = field(default_factory=dict)
    accuracy: Annotated[Path | None, Option(_ACCURACY, ALIGNMENT)] = None
    only: Annotated[Literal["all", "right", "wrong", "common"], Option(_ONLY, ALIGNMENT)] = "all"
    draws: Annotated[int, Option(_DRAWS, ALIGNMENT, least=1)] = 10
    compat: Annotated[Literal["kamp"] | None, Option(_COMPAT, ALIGNMENT)] = None
    special_tokens: Annotated[Literal["all", "none", "kamp"] | None, Option(_SPECIAL, INPUT)] = None
    stop_words: Annotated[Literal["paper", "clinical"], Option(_STOP, INPUT)] = "paper"

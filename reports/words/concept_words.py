"""Wording of concepts: tests, what they require, verdicts, and the states of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Wording(NamedTuple):
    """A test in words.

    Args:
        title: Short title.
        question: What it asks.
        passes: What its accuracies must be.
    """

    title: str
    question: str
    passes: str


GROUNDED, TOKEN, MODULAR, CAUSAL = "is_grounded", "is_token_of_type", "is_modular", "is_causal"

TESTS: Mapping[str, Wording] = {
    GROUNDED: Wording(
        "Grounded",
        "Does the model answer rightly for an instance and for its counterparts, which differ "
        "from it only in the concepts of their labels?",
        "above the limit",
    ),
    TOKEN: Wording(
        "Token of a type",
        "Is a concept read in combinations with other concepts that the probe has never seen?",
        "above the limit",
    ),
    MODULAR: Wording(
        "Modular",
        "When the concepts of one dimension are removed, does a probe fitted before lose these "
        "and keep those of every other dimension?",
        "at chance or below for the dimension removed, above the limit for every other",
    ),
    CAUSAL: Wording(
        "Causal",
        "When the concepts of one dimension are removed, do the model’s answers change "
        "accordingly: chance along this dimension, unchanged along every other?",
        "at chance for the dimension removed, above the limit for every other",
    ),
}
"""The four tests, in report order."""

VERDICTS: Mapping[str | None, tuple[str, str]] = {
    "pass": ("Pass", "pass"),
    "fail": ("Fail", "error"),
    "undecided": ("Undecided", "note"),
    "not_applicable": ("Not applicable", "plain"),
    None: ("Withheld", "plain"),
}
"""Word and tone of each verdict; none where it would disclose a small cell."""

REQUIREMENTS: Mapping[str, str] = {
    "above_limit": "above limit",
    "at_or_below_chance": "at most chance",
    "at_chance": "at chance",
}

ONE, REST = "1 slice", "N-1 slices"
"""The names that the shared view has for what probes and ablation see of the classes."""
SEEN: Mapping[str, str] = {REST: "all slices but one", ONE: "one slice"}
"""The same in words, in report order."""
SLICES_SEEN: Mapping[str, str] = {REST: "all but one", ONE: "one"}
"""The same in columns of slices seen."""

ABLATIONS: Mapping[str, str] = {"inlp": "INLP", "leace": "LEACE"}
PROBES: Mapping[str, str] = {
    "transfer": "probe fitted before",
    "retrained": "probe fitted anew",
    "predict": "answers of the model",
}

STATES: Mapping[str, tuple[str, str]] = {
    "absent": ("Absent", "error"),
    "entangled": ("Entangled", "warning"),
    "unused": ("Not used", "warning"),
    "undecided": ("Undecided", "note"),
    "present": ("Present", "pass"),
}
"""Word and tone of each state of a node, in report order."""
UNTESTED = ("Too few", "plain")

FACETS_FROM: Mapping[str, str] = {
    "file": "a table",
    "titles": "words that recur in titles",
    "depths": "ancestors at depths",
}
"""Where the concepts of labels come from."""

LEFT_OUT: Mapping[str, str] = {
    "labels_without_concepts": "no concept of their labels is known",
    "labels_of_several_concepts": "labels of different concepts in one dimension",
    "class_too_small": "the only instance of their class",
}
"""Why instances take part in no test."""

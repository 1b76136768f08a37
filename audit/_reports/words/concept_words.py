"""Wording of concepts: tests, what they require, and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from audit._reports.words.words import records, stated_tables

_STATED = stated_tables("concept_words")


class Wording(NamedTuple):
    """A test in words: what it asks, and what its accuracies must be to pass."""

    title: str
    question: str
    passes: str


GROUNDED, TOKEN, MODULAR, CAUSAL = "is_grounded", "is_token_of_type", "is_modular", "is_causal"

TESTS: Mapping[str, Wording] = records(_STATED["tests"], Wording)
"""The four tests, in report order."""

VERDICTS: Mapping[str | None, tuple[str, str]] = {
    "pass": ("Pass", "pass"),
    "fail": ("Fail", "error"),
    "undecided": ("Undecided", "note"),
    "not_applicable": ("Not applicable", "plain"),
    None: ("Not told", "plain"),
}
"""Word and tone of each verdict; none where counts are rounded and it is one of a test."""

REQUIREMENTS: Mapping[str, str] = _STATED["requirements"]

ONE, REST = "1 slice", "N-1 slices"
"""The names that the shared view has for what probes and ablation see of the classes."""
SEEN: Mapping[str, str] = {REST: "all slices but one", ONE: "one slice"}
"""The same in words, in report order."""
SLICES_SEEN: Mapping[str, str] = {REST: "all but one", ONE: "one"}
"""The same in columns of slices seen."""

ABLATIONS: Mapping[str, str] = _STATED["ablations"]
PROBES: Mapping[str, str] = _STATED["probes"]

FACETS_FROM: Mapping[str, str] = _STATED["facets_from"]
"""Where the concepts of labels come from."""

LEFT_OUT: Mapping[str, str] = _STATED["left_out"]
"""Why instances take part in no test."""

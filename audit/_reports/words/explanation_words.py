"""Wording of explanations: subsets, oracles, measures, and why something was left out."""

from __future__ import annotations

from collections.abc import Mapping

from audit._reports.words.words import pairs, stated_tables

_STATED = stated_tables("explanation_words")

SUBSETS: Mapping[str, str] = _STATED["subsets"]
"""Examples that importance alignment is measured on, in report order."""

ORACLES: Mapping[str, tuple[str, str]] = pairs(_STATED["oracles"])
"""Title of each oracle, and what it says of a token."""

EVIDENCE: Mapping[str, str] = _STATED["evidence"]

MEASURES: Mapping[str, tuple[str, str]] = pairs(_STATED["measures"])
"""Title of what nodes are compared by, and its meaning; the first that a run has is drawn."""

RANKINGS: Mapping[str, str] = _STATED["rankings"]
SETS: Mapping[str, str] = _STATED["sets"]
RULES: Mapping[str, str] = _STATED["rules"]
"""Which tokens are held against the marked ones."""

MATCHES: Mapping[str, str] = _STATED["matches"]
"""Which chosen spans are right."""

LEFT_OUT: Mapping[str, str] = _STATED["left_out"]
"""What the ledger of attributions counts."""

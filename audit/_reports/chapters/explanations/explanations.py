"""The chapters on explanations, and what was explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit._reports.chapters.explanations.agreement import agreement
from audit._reports.chapters.explanations.evidence import against_evidence, reasons
from audit._reports.chapters.explanations.nodes import where
from audit._reports.words.explanation_words import EVIDENCE, LEFT_OUT, SUBSETS
from audit._reports.words.parts import Chapter, Facts, Figure, Named, Table
from audit._reports.words.shown_numbers import names
from audit._reports.words.table_specs import numbers, table, texts
from audit._reports.words.words import capitalised, number, words

FALSE_DISCOVERIES = "false_discovery_rate"
"""The policy's threshold that q-values are held against."""


@dataclass(frozen=True, slots=True)
class Explanations:
    """What the report says of explanations; a chapter is None where there is nothing to say.

    Args:
        draws: Other explanations that each is held against.
        nodes_of: The examples that nodes are compared by, in words.
    """

    facts: Facts
    by: tuple[str, ...]
    read: Table
    draws: int
    nodes_of: str
    reasons: Chapter | None
    where: Chapter | None
    agreement: Chapter | None
    evidence: Chapter | None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All pictures, in report order."""
        chapters = (self.reasons, self.where, self.agreement, self.evidence)
        return tuple(figure for one in chapters if one for figure in one.figures)


def explanations(shared: Mapping[str, Any]) -> Explanations | None:
    """The chapters; None for an audit without explanations."""
    found = shared.get("explanations")
    if found is None:
        return None
    facts = found["facts"]
    return Explanations(
        facts=_facts(facts),
        by=_by(facts),
        read=_read(facts),
        draws=facts["draws"],
        nodes_of=SUBSETS[facts["only"]],
        reasons=reasons(found),
        where=where(found, _rate(shared["policy"])),
        agreement=agreement(found),
        evidence=against_evidence(found),
    )


def _rate(policy: Mapping[str, Any]) -> float:
    rates = (one["value"] for one in policy["thresholds"] if one["name"] == FALSE_DISCOVERIES)
    return float(next(rates, 0.05))


def _facts(facts: Mapping[str, Any]) -> Facts:
    annotators = facts["annotators"]
    evidence = EVIDENCE.get(facts["evidence"], facts["evidence"]) if facts["evidence"] else "none"
    stated = [
        ("Explained instances", number(facts["instances"])),
        ("Explained labels", f"{number(facts['examples'])}, {number(facts['labels'])} different"),
        ("Models", number(len(facts["models"]))),
        ("Methods", number(len(facts["methods"]))),
        ("Runs of models", number(facts["seeds"])),
        ("People’s evidence", evidence),
        ("Nodes are compared by", SUBSETS[facts["only"]]),
    ]
    if annotators is not None:
        stated.insert(6, ("Annotators of a text", f"up to {number(annotators)}"))
    if facts.get("compat"):
        stated.append(("Peaks, and differences of runs", "as in the code of “Dynamic top-k”"))
    if facts["instances_without_labels"]:
        stated.insert(
            2,
            ("Instances without a node", number(facts["instances_without_labels"])),
        )
    return tuple(stated)


def _by(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Who explained: the methods and models by name."""
    several = (("method", facts["methods"]), ("model", facts["models"]))
    return tuple(
        f"The {noun} is {of[0]}." if len(of) == 1 else f"The {noun}s are {names(of)}."
        for noun, of in several
    )


def _read(facts: Mapping[str, Any]) -> Table:
    left_out = [
        {"what": Named(capitalised(words(name, LEFT_OUT)), name), "rows": rows}
        for name, rows in facts["left_out"].items()
    ]
    return table(
        "explanations-read",
        "What was read of attributions and evidence, and what was left out",
        [
            {"what": "Rows of attributions read", "rows": facts["rows_read"]},
            {"what": "Rows of attributions kept", "rows": facts["rows"]},
            *left_out,
        ],
        texts("What", "what"),
        numbers("Number", "rows"),
    )

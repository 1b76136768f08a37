"""The record of one fault of a hierarchy's structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]

LINTS: dict[str, str] = {
    "cycle": "Are any nodes below themselves?",
    "dangling_edge": "Did edges lead to ids that are not nodes, so that they were dropped?",
    "member_named_alike": "Is a group named like a member of it?",
    "redundant_edge": "Is a node also below one of its parents through another parent?",
    "top_below": "Is a top concept below another one?",
    "one_way": "Is a relation stated from one end alone, where others are from both?",
    "orphan": "Is a node neither above nor below another one?",
    "lone_child": "Does a heading have a single child, which says the same?",
    "two_titles": "Has a dictionary several titles for one code?",
    "missing_title": "Do nodes lack a title?",
    "title_blanks": "Do titles hold blanks or signs that nobody sees?",
    "title_clash": "Do different nodes have the same title?",
    "title_repeated": "Does a node have the same title as one above it?",
    "only_catch_alls": "Does a heading have only catch-alls below it?",
}
"""Rules by name, with the question that each answers, in report order."""


@dataclass(frozen=True)
class LintFinding:
    """What one rule found in a hierarchy; of cycles there is one for each component.

    Args:
        rule: One of `LINTS`.
        severity: How much it matters.
        statement: What is so, as a sentence.
        advice: What to do about it, as a sentence.
        cases: The nodes of each case, in the order that ``reads`` says.
        reads: How a case reads, such as ``child, by way of, parent``; the last word is of all
            further nodes.
        of: Number of things examined.
        unit: What they are, as a plural noun.
    """

    rule: str
    severity: Severity
    statement: str
    advice: str
    cases: tuple[tuple[str, ...], ...]
    reads: str
    of: int
    unit: str

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values, for JSON."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "statement": self.statement,
            "advice": self.advice,
            "n": len(self.cases),
            "of": self.of,
            "unit": self.unit,
            "reads": self.reads,
            "cases": [list(case) for case in self.cases],
        }

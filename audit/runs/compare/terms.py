"""Criteria of a change: the fixed limits of every comparison, with reasons."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Term:
    """A limit of the comparison, with its unit and reason."""

    name: str
    value: float
    unit: str
    reason: str


FALSE_DISCOVERY_RATE = Term(
    "false_discovery_rate",
    0.05,
    "share of the changes reported",
    "One change in twenty may be chance.",
)
LEAST_EXPECTED = Term(
    "least_expected",
    5,
    "instances expected in the smaller release",
    "Rarer nodes and pairs cannot show a change; leaving them out keeps the family small. It is "
    "decided by the total over both releases, before anything is tested.",
)
ODDS_RATIO = Term(
    "odds_ratio",
    1.2,
    "odds in NEW over odds in OLD, or the reverse",
    "Among many instances the smallest difference is beyond chance; a smaller one is not worth "
    "a curator's time.",
)
CONFUSIONS_TESTED = Term(
    "confusions_tested",
    1000,
    "pairs of labels",
    "The pairs with the largest sum of both confusions; the rest is hardly confused by either "
    "model, and testing it would only hide these.",
)

TERMS = (FALSE_DISCOVERY_RATE, LEAST_EXPECTED, ODDS_RATIO, CONFUSIONS_TESTED)


def terms() -> list[dict[str, Any]]:
    """All terms, as listed in ``comparison.json``."""
    return [asdict(term) for term in TERMS]

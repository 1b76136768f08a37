"""What a metric is called and what it asks of a model's output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Needs: TypeAlias = Literal["answer", "scores", "subgraphs", "sets"]
"""One answer an instance; scores; two subgraphs to compare; nothing but sets of nodes."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as `audit list metrics` and reports tell of it."""

    name: str
    title: str
    needs: Needs

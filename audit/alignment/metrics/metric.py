"""Name of a metric, and the kind of model output that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Needs: TypeAlias = Literal["answer", "scores", "subgraphs", "sets"]
"""One answer per instance; scores; two subgraphs to compare; sets of nodes only."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as shown by `audit list metrics` and in reports."""

    name: str
    title: str
    needs: Needs

"""What an audit measures beside labels and predictions: explanations, concepts."""

from __future__ import annotations

from typing import Protocol

from audit.base.progress import Progress
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.results.parts.part import ResultPart


class Analysis(Protocol):
    """An analysis of the instances of a dataset, from files of its own."""

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """Its own labels as a dataset; without a hierarchy, all of them are below one root."""
        ...

    def measured(self, measured: Measurements, seed: int, progress: Progress) -> Measurements:
        """The measurements with those of the analysis."""
        ...

    def part(self, measured: Measurements) -> ResultPart:
        """What a run keeps of the analysis."""
        ...

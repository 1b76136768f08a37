"""Analyses: what an audit can measure beside labels and predictions, with checks of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, Self, TypeVar

from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.base.settings import Stored
from audit.checks.check import Check
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.results.parts import AnalysisPart

Measured = TypeVar("Measured")


class Analysis(ABC, Generic[Measured]):
    """An analysis of the instances of a dataset, which `run_audit` takes.

    What it measures is in a class of its own, by which its checks find it: a check says
    ``reads=Numbers`` and reads ``measured.of(Numbers)``.
    """

    name: ClassVar[str]
    """What its entry in ``result.json``, its tables and its settings are called."""
    checks: ClassVar[tuple[Check, ...]] = ()
    """Rules over what it measures, in report order; they are applied before those of the data."""

    readings: tuple[Reading, ...] = ()
    """What its files were taken to mean."""

    @abstractmethod
    def measure(self, measured: Measurements, seed: int, progress: Progress) -> Measured:
        """Measure, beside what was measured of labels and predictions."""

    @abstractmethod
    def kept(self, found: Measured, measured: Measurements) -> AnalysisPart:
        """What a run keeps of it, and what each column and fact that is shared is."""


class FileAnalysis(Analysis[Measured]):
    """An analysis of files, which a command reads; its labels may be all the data there are."""

    format: ClassVar[str]
    """Format of a dataset that is its labels alone."""
    stated_by: ClassVar[type[Stored]]
    """Its settings. A field that holds paths names files, and their role in a run."""

    @classmethod
    @abstractmethod
    def read(cls, settings: Any, progress: Progress) -> Self:
        """Read what the settings name."""

    @abstractmethod
    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The labels of the files as a dataset; without a hierarchy, all lie below one root."""

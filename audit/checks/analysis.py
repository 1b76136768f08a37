"""Analyses: what an audit can measure beside labels and predictions, with checks of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from audit.base.declared import Columns, Table
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.base.settings import Stored
from audit.checks.check import Check
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Found, Measurements
from audit.results.parts import AnalysisPart, Headline
from audit.results.shared_tables import Sentence


class Analysis(ABC):
    """An analysis of the instances of a dataset, which `run_audit` takes.

    It declares its tables and facts, and measures them. A check of it says ``reads=NAME`` and
    reads ``measured.of(NAME).frames``.
    """

    name: ClassVar[str]
    """What its entry in ``result.json``, its tables and its settings are called."""
    checks: ClassVar[tuple[Check, ...]] = ()
    """Rules over what it measures, in report order; they are applied before those of the data."""
    tables: ClassVar[Mapping[str, Table]] = MappingProxyType({})
    """The tables that are shared, in the order of reports."""
    facts: ClassVar[Columns]
    """What each fact is; those within a fact are of its kind."""
    says: ClassVar[tuple[Sentence, ...]] = ()
    """What its chapter says first, a sentence for each of some rows."""
    headlines: ClassVar[tuple[Headline, ...]] = ()
    """What of the tables is told in ``metrics`` too."""

    readings: tuple[Reading, ...] = ()
    """What its files were taken to mean."""

    @abstractmethod
    def measure(self, measured: Measurements, seed: int, progress: Progress) -> Found:
        """Measure, beside what was measured of labels and predictions."""

    def part(self, found: Found) -> AnalysisPart:
        """What a run keeps of what was found."""
        shared = {name: frame for name, frame in found.frames.items() if name in self.tables}
        return AnalysisPart(
            name=self.name,
            facts=found.facts,
            facts_columns=self.facts,
            frames=shared,
            rules=self.tables,
            says=self.says,
            restricted={name: of for name, of in found.frames.items() if name not in shared},
            headlines=self.headlines,
        )


class FileAnalysis(Analysis):
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

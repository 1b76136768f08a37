"""Commands that audit a file of explanations, of representations or of tuples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from audit.analyses.concepts.settings import Testing
from audit.analyses.entailment.settings import Entailing
from audit.analyses.explanations.settings import Explaining
from audit.analyses.preference.settings import Preferring
from audit.base.errors import InputError
from audit.base.settings import FIRST, HierarchyShape, Option, Stored
from audit.cli.new_run import make_run
from audit.cli.options import KeepInstances, NewRun
from audit.runs.settings import (
    InstanceColumn,
    LabelColumn,
    MinCell,
    PolicyFile,
    PredictionsFile,
    Seed,
    Settings,
    Title,
)

if TYPE_CHECKING:
    from audit.checks.analysis import FileAnalysis

_OF_ALL = ("plugins", "allow_network")
"""What is said of all files, not of the hierarchy alone."""
_EXPLANATIONS = NewRun(out=Path("explanations-run"))
_CONCEPTS = NewRun(out=Path("concepts-run"))
_ENTAILMENT = NewRun(out=Path("entailment-run"))
_PREFERENCE = NewRun(out=Path("preference-run"))


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What findings are judged by, and what the reports are called."""

    policy: PolicyFile = None
    min_cell: MinCell = None
    seed: Seed = 0
    title: Title = None


@dataclass(frozen=True, kw_only=True)
class GivenLabels(HierarchyShape):
    """A dataset of labels, where there is another file that has labels too."""

    hierarchy: Annotated[
        str | None, Option("Hierarchy of the labels; without one, all are below one root.", FIRST)
    ] = None
    labels: Annotated[Path | None, Option("Dataset of the labels, audited too.", FIRST)] = None
    id: InstanceColumn = ()
    label: LabelColumn = ()

    def settings(self, file: Path, alone: str, **of_labels: object) -> Mapping[str, Any]:
        """Fields of `Settings` on data: ``--labels``, else ``file`` in the format ``alone``."""
        from audit.measure.labels_alone import FLAT

        shape = {field.name: getattr(self, field.name) for field in fields(HierarchyShape)}
        if self.hierarchy is None and (
            useless := [name for name in shape if shape[name] and name not in _OF_ALL]
        ):
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in useless)
            raise InputError(f"{flags} can be given only with --hierarchy", found="no hierarchy")
        of_labels = {"id": self.id, "label": self.label, **of_labels}
        given = [f"--{name}" for name, value in of_labels.items() if value not in (None, ())]
        if self.labels is None and given:
            raise InputError(
                f"{', '.join(given)} can be given only with --labels", found="no dataset"
            )
        if self.labels is not None and self.hierarchy is None:
            raise InputError("--labels needs --hierarchy", found="no hierarchy")
        return of_labels | {
            "dataset": str(self.labels or file),
            "hierarchy": self.hierarchy or FLAT,
            "labels_of": "" if self.labels else alone,
            **shape,
        }


def explanations(
    labels: GivenLabels,
    explaining: Explaining,
    judged: Judged,
    output: NewRun = _EXPLANATIONS,
    keep_instances: KeepInstances = False,
) -> None:
    """Audit a model's explanations: their agreement with people and with each other."""
    from audit.analyses.explanations.analysis import Explanations

    data = labels.settings(explaining.attributions, Explanations.format)
    settings = Settings(**data, **vars(judged), analyses={Explanations.name: explaining})
    make_run(settings, output, command="explanations", keep_instances=keep_instances)


def concepts(
    labels: GivenLabels,
    testing: Testing,
    *,
    predictions: PredictionsFile = None,
    judged: Judged,
    output: NewRun = _CONCEPTS,
) -> None:
    """Test whether a model's representations hold the concepts of its labels."""
    from audit.analyses.concepts.analysis import Concepts

    data = labels.settings(testing.representations, Concepts.format, predictions=predictions)
    settings = Settings(**data, **vars(judged), analyses={Concepts.name: testing})
    make_run(settings, output, command="concepts")


def entailment(entailing: Entailing, *, judged: Judged, output: NewRun = _ENTAILMENT) -> None:
    """Audit tuples of an entailment graph, and predictions on them."""
    from audit.analyses.entailment.analysis import Entailment

    settings = _alone(Entailment, entailing.files[0], entailing, judged)
    make_run(settings, output, command="entailment")


def preference(preferring: Preferring, *, judged: Judged, output: NewRun = _PREFERENCE) -> None:
    """Measure which answers a language model prefers: specific or general, correct or related."""
    from audit.analyses.preference.analysis import Preference

    settings = _alone(Preference, preferring.questions, preferring, judged)
    make_run(settings, output, command="preference")


def _alone(kind: type[FileAnalysis], file: Path, stated: Stored, judged: Judged) -> Settings:
    """The settings of an analysis whose file holds the labels."""
    from audit.measure.labels_alone import FLAT

    data: dict[str, Any] = {"dataset": str(file), "hierarchy": FLAT, "labels_of": kind.format}
    return Settings(**data, **vars(judged), analyses={kind.name: stated})

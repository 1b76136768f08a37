"""The sections of a report, in order; each section has one entry here and one template."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.chapters.report import Report


def _always(_: Report) -> bool:
    return True


def _behaves(report: Report) -> bool:
    return report.model is not None and report.model.behaviours is not None


def _exchanges(report: Report) -> bool:
    return report.model is not None and report.model.exchanges is not None


def _has_data_and_model(report: Report) -> bool:
    return report.model is not None and report.model.beside is not None


def _of_release(report: Report) -> bool:
    return report.labels_alone is None


def _reasons(report: Report) -> bool:
    return report.explanations is not None and report.explanations.reasons is not None


def _has_nodes_that_differ(report: Report) -> bool:
    return report.explanations is not None and report.explanations.where is not None


def _agreement(report: Report) -> bool:
    return report.explanations is not None and report.explanations.agreement is not None


def _evidence(report: Report) -> bool:
    return report.explanations is not None and report.explanations.evidence is not None


def _examples(report: Report) -> bool:
    return report.explanations is not None and report.explanations.examples is not None


def _of_concepts(name: str) -> Callable[[Report], bool]:
    """Whether there is a chapter on concepts of this name."""
    return lambda report: report.concepts is not None and getattr(report.concepts, name) is not None


def _of_tuples(name: str) -> Callable[[Report], bool]:
    """Whether there is a chapter on an entailment graph of this name."""
    return lambda report: bool(report.entailment and getattr(report.entailment, name))


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with its own heading.

    Args:
        id: The anchor, and the name of its template.
        title: The heading.
        present: Function that says whether a report has the section.
        screen_only: Whether the PDF leaves it out, since its first page has it.
    """

    id: str
    title: str
    present: Callable[[Report], bool] = _always
    screen_only: bool = False

    @property
    def template(self) -> str:
        """Path of the section's template."""
        return f"sections/{self.id}.html.jinja"


SECTIONS = (
    Section("checks", "Checks"),
    Section("findings", "Findings"),
    Section("release", "The release", _of_release),
    Section("explained", "What was explained", lambda report: report.explanations is not None),
    Section("tested", "What was tested", lambda report: report.concepts is not None),
    Section("tuples", "What was read", lambda report: report.entailment is not None),
    Section("around", "The graph around the findings", _of_tuples("around")),
    Section("dataset", "The dataset", _of_tuples("dataset")),
    Section("votes", "Votes and annotators", _of_tuples("votes")),
    Section("graph", "The graph", _of_tuples("graph")),
    Section("detection", "Separating valid from invalid", _of_tuples("detection")),
    Section("generation", "Generated concepts", _of_tuples("generation")),
    Section("matrix", "Does the model have the concepts?", _of_concepts("matrix")),
    Section("accuracies", "What the verdicts rest on", _of_concepts("accuracies")),
    Section("nodes", "Node by node", _of_concepts("nodes")),
    Section("layers", "Layer by layer", _of_concepts("layers")),
    Section("controls", "Controls beside the probes", _of_concepts("controls")),
    Section("ablation", "What further ablation removes", _of_concepts("ablation")),
    Section("reasons", "Do the reasons align?", _reasons),
    Section("where", "Where the reasons differ", _has_nodes_that_differ),
    Section("agreement", "Do the methods agree?", _agreement),
    Section("against", "Against the evidence, and in the model", _evidence),
    Section("examples", "Examples", _examples),
    Section("pictures", "The hierarchy in use", _of_release),
    Section("coverage", "Coverage", lambda report: report.coverage is not None),
    Section("model", "The model", lambda report: report.model is not None),
    Section("behaviour", "How the model behaves", _behaves),
    Section("exchanges", "Labels that the model exchanges", _exchanges),
    Section("beside", "The data beside the model", _has_data_and_model),
    Section(
        "since", "Change since the reference", lambda report: report.since_reference is not None
    ),
    Section("ledger", "Ledger"),
    Section("waivers", "Waivers", lambda report: report.waivers is not None),
    Section("policy", "Policy"),
    Section("methods", "Methods"),
    Section("limits", "Limits"),
    Section("provenance", "Provenance"),
)


def sections(report: Report, *, paper: bool) -> tuple[Section, ...]:
    """The sections that this report has, in order."""
    return tuple(
        section
        for section in SECTIONS
        if section.present(report) and not (paper and section.screen_only)
    )

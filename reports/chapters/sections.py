"""The sections of a report, in order; each section has one entry here and one template."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports.chapters.analyses import OF_NAME, Analysed

if TYPE_CHECKING:
    from reports.chapters.model.model import Model
    from reports.chapters.report import Report


def _always(_: Report) -> bool:
    return True


def _of_model(part: Callable[[Model], object]) -> Callable[[Report], bool]:
    """Whether a report has a part of the chapters on a model."""
    return lambda report: report.model is not None and part(report.model) is not None


def _of_release(report: Report) -> bool:
    return report.labels_alone is None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with its own heading.

    Args:
        id: The anchor, and the name of its template.
        title: The heading.
        present: Function that says whether a report has the section.
        screen_only: Whether the PDF leaves it out, since its first page has it.
        of: The analysis that it is on; empty if it is on none.
    """

    id: str
    title: str
    present: Callable[[Report], bool] = _always
    screen_only: bool = False
    of: str = ""

    @property
    def template(self) -> str:
        """Path of the section's template."""
        name = "analysis" if self.of and self.of not in OF_NAME else self.id
        return f"sections/{name}.html.jinja"


OPENING = (
    Section("checks", "Checks"),
    Section("findings", "Findings"),
    Section("release", "The release", _of_release),
)
"""Sections before those of analyses."""
SECTIONS = (
    Section("pictures", "The hierarchy in use", _of_release),
    Section("coverage", "Coverage", lambda report: report.coverage is not None),
    Section("model", "The model", lambda report: report.model is not None),
    Section("behaviour", "How the model behaves", _of_model(lambda one: one.behaviours)),
    Section("exchanges", "Labels that the model exchanges", _of_model(lambda one: one.exchanges)),
    Section("beside", "The data beside the model", _of_model(lambda one: one.beside)),
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
    of_analyses = (section for one in report.analyses for section in sections_of(one))
    return tuple(
        section
        for section in (*OPENING, *of_analyses, *SECTIONS)
        if section.present(report) and not (paper and section.screen_only)
    )


def sections_of(analysed: Analysed) -> Iterator[Section]:
    """The sections on an analysis of a report."""
    for heading in analysed.sections:
        yield Section(heading.id, heading.title, of=analysed.name)

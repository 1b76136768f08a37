"""The report as an HTML document for typesetting, with the parts that only the PDF has."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from reports.chapters.sections import sections
from reports.html import environment, own_sheets, style
from reports.pdf import columns
from reports.pdf.budget import PAGES, Printed
from reports.pdf.standards import conformance
from reports.words.parts import Table

if TYPE_CHECKING:
    import jinja2


def paper(kept: Printed, created: str, unshown: str = "") -> str:
    """Render the document as HTML.

    Args:
        kept: The report within its budget.
        created: Time of creation, for the document's metadata.
        unshown: Characters that no font has, for which it says that it conforms to no standard.
    """
    return (
        _environment()
        .get_template("paper.html.jinja")
        .render(
            report=kept.report,
            kept=kept,
            most_pages=PAGES,
            sections=sections(kept.report, paper=True),
            css=style("paper", own_sheets(kept.report)),
            paper=True,
            created=created,
            conformance=conformance(unshown),
        )
    )


@cache
def _environment() -> jinja2.Environment:
    """The screen's templates, with those of the folder ``paper`` in place of their namesakes."""
    from jinja2 import ChoiceLoader, PackageLoader

    own = PackageLoader("reports", "templates/paper")
    shared = environment()
    made = shared.overlay(loader=ChoiceLoader([own, PackageLoader("reports", "templates")]))
    made.filters = {**shared.filters, "column_widths": _percents}
    return made


def _percents(table: Table) -> list[str]:
    return [f"{share:.2%}" for share in columns.widths(table)]

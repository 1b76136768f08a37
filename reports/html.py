"""The report as one HTML file: the same templates as the PDF, on a screen."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from audit.errors import RenderError
from reports.model import Report, build
from reports.palette import LIGHT, variables_css
from reports.sections import sections

if TYPE_CHECKING:
    import jinja2


def html_text(shared: Mapping[str, Any]) -> str:
    """The whole file.

    Raises:
        RenderError: If the view cannot be rendered.
    """
    try:
        return page(build(shared), paper=False)
    except Exception as error:
        raise RenderError("report.html could not be rendered", found=_told(error)) from error


def page(report: Report, *, paper: bool, created: str = "") -> str:
    """The document, for a screen or for paper.

    Args:
        report: What it shows.
        paper: Whether it is to be printed: with a cover, and with nothing folded.
        created: When, for the document's metadata; nothing where empty.
    """
    template = environment().get_template("paper.html.jinja" if paper else "screen.html.jinja")
    return template.render(
        report=report,
        sections=sections(report, paper=paper),
        css=style("paper" if paper else "screen"),
        paper=paper,
        created=created,
    )


@cache
def environment() -> jinja2.Environment:
    """Templates, with escaping always on and no name undefined."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["colours"] = LIGHT
    return made


@cache
def style(medium: str) -> str:
    """The style sheets of a medium, in the order they overrule each other."""
    names = ("base", "parts", medium)
    sheets = [
        files("reports").joinpath("styles", f"{name}.css").read_text("utf-8") for name in names
    ]
    return "\n".join([variables_css(), *sheets])


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"

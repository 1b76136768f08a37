"""The report as one HTML file, for screens and for paper, and shown in a notebook."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from audit.base.errors import RenderError
from audit.results.result import DIGEST, to_json_bytes
from reports import analysis, core, findings, words
from reports.words import UNNAMED, Imprint, Row


@contextmanager
def rendering(what: str, hint: str = "") -> Iterator[None]:
    """Turn any error of the block into a RenderError which says what could not be rendered."""
    try:
        yield
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise RenderError(f"{what} could not be rendered", found=found, hint=hint) from error


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # WeasyPrint sets a text that may break anywhere letter by letter: only long words may.
    made.tests["long"] = lambda said, most: any(len(word) > most for word in said.split())
    return made


def page(template: str, **shown: Any) -> str:
    """A page made of a template: ``title, stated, band, foot, paper, where`` and what it shows."""
    css = style("page") + style("figures")
    chapters = (*shown["before"], *shown["seen"], *shown["folded"])
    tables = [*(one for chapter in chapters for one in chapter.tables),
              *(block.table for block in shown["blocks"] if block.table)]  # fmt: skip
    marked = any(cell.mark for table in tables for row in table.rows for cell in row)
    legend = words.MARKS if marked else ""
    return _environment().get_template(template).render(css=Markup(css), legend=legend, **shown)


@cache
def style(name: str) -> str:
    """A sheet: ``page`` for pages, ``figures`` for what is drawn."""
    return files("reports").joinpath("templates", f"{name}.css").read_text("utf-8")


def html_text(view: Mapping[str, Any], imprint: Imprint = UNNAMED, *, paper: bool = False) -> str:
    """The complete file of a view; a `RenderError` if it cannot be rendered."""
    with rendering("report.html", "audit report RUN renders it again; nothing else is lost"):
        return _report(words.printable(view), imprint.printable(), _digest(view, imprint), paper)


def _digest(view: Mapping[str, Any], imprint: Imprint) -> str:
    """The beginning of the SHA-256 of ``result.json``; a page of exact numbers has none."""
    return "" if imprint.exact else hashlib.sha256(to_json_bytes(view)).hexdigest()[:DIGEST]


def _report(view: Row, imprint: Imprint, digest: str, paper: bool) -> str:
    tool = view["identity"]["tool"]
    title = " of ".join(filter(None, ["Audit", imprint.named(view["identity"]["data"])]))
    stated = imprint.stated(f"{tool['name']} {tool['version']}", view["rounding"])
    seen, folded = core.of_view(view)
    analysed = analysis.analyses(view)
    before = [one for one in seen if one.anchor == "since"]
    return page(
        "report.html.jinja",
        title=title,
        stated=stated,
        band=words.EXACT if imprint.exact else "",
        foot=" · ".join(filter(None, [title, digest and f"result.json {digest}", imprint.date])),
        paper=paper,
        verdict=findings.verdict(view),
        lines=core.model_lines(view),
        ten=findings.ten(view),
        severities=words.SEVERITY,
        before=before,
        blocks=findings.blocks(view),
        seen=[
            *(one for one in seen if one not in before),
            *(one for one in analysed if not one.folded),
        ],
        where="audit explore",
        folded=[*(one for one in analysed if one.folded), *folded],
    )


HEIGHT = 800
"""Height of the frame in pixels."""


@dataclass(frozen=True)
class Shown:
    """A report that a notebook shows: a complete HTML file."""

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        """A sandboxed frame, so that neither page changes how the other looks."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="Hierarchy audit" width="100%" '
            f'height="{HEIGHT}" sandbox style="border: 0"></iframe>'
        )

"""The report as one HTML file, from the same templates as the PDF, and shown in a notebook."""

from __future__ import annotations

import os
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit._reports.chapters.report import Report, build, sections
from audit._reports.charts.palette import LIGHT, variables_css
from audit._reports.words.words import UNNAMED, Imprint
from audit.base.errors import RenderError

if TYPE_CHECKING:
    import jinja2


_AGAIN = "nothing else of the run is lost; audit report RUN renders it again"

_SCRIPTS = ("elements", "sort", "filter", "hierarchy", "fold", "contents", "scroll", "start")
"""Scripts of the page, in order; the last one calls functions of the others."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a comparison or of a history: its folder of templates, anchor and heading."""

    folder: str
    id: str
    title: str
    appendix: bool = False

    @property
    def template(self) -> str:
        """Path of the section's template, which is named as its anchor."""
        return f"{self.folder}/{self.id}.html.jinja"


@contextmanager
def rendering(what: str, hint: str = "") -> Iterator[None]:
    """Turn any error of the block into a RenderError which says what could not be rendered."""
    try:
        yield
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise RenderError(f"{what} could not be rendered", found=found, hint=hint) from error


def html_text(shared: Mapping[str, Any], imprint: Imprint = UNNAMED) -> str:
    """Render the complete file; a `RenderError` if it cannot be."""
    with rendering("report.html", _AGAIN):
        return _screen(build(shared, imprint))


def _screen(report: Report) -> str:
    template = environment().get_template("screen.html.jinja")
    return template.render(
        report=report,
        sections=sections(report),
        css=style("screen", own_sheets(report)),
        paper=False,
    )


@cache
def environment() -> jinja2.Environment:
    """The template environment, with autoescaping, and with errors for undefined names."""
    made = templates(keep_trailing_newline=True)
    made.globals |= {"script": script(), "csp_source": csp_source}
    return made


def templates(*, keep_trailing_newline: bool) -> jinja2.Environment:
    """A new environment for the templates, of which nothing is shared with others."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("audit._reports", "templates"),
        bytecode_cache=_compiled(f"{keep_trailing_newline:d}-%s.pyc"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=keep_trailing_newline,
    )
    made.globals["colours"] = LIGHT
    return made


def _compiled(named: str) -> jinja2.BytecodeCache | None:
    """Compiled templates, where Python keeps the compiled modules beside them, if it does."""
    from jinja2 import FileSystemBytecodeCache

    folder = Path(cache_from_source(__file__)).parent
    kept = not sys.dont_write_bytecode and folder.is_dir() and os.access(folder, os.W_OK)
    return FileSystemBytecodeCache(str(folder), named) if kept else None


def own_sheets(report: Report) -> tuple[str, ...]:
    """Chapters of the report that have a style sheet of their own."""
    sheets = files("audit._reports").joinpath("styles")
    return tuple(
        one.name
        for one in report.analyses
        if one.known and sheets.joinpath(f"{one.name}.css").is_file()
    )


@cache
def style(medium: str, own: tuple[str, ...] = ()) -> str:
    """The concatenated style sheets of a medium, in cascading order."""
    names = ("base", "parts", *own, medium)
    sheets = [
        files("audit._reports").joinpath("styles", f"{name}.css").read_text("utf-8")
        for name in names
    ]
    return "\n".join([variables_css(), *sheets])


@cache
def script(names: tuple[str, ...] = _SCRIPTS) -> str:
    """The single script of a page, in its own scope.

    The page is complete without it; that of a report adds sorting, filtering and folding.
    """
    sources = [
        files("audit._reports").joinpath("scripts", f"{name}.js").read_text("utf-8")
        for name in names
    ]
    return "\n".join(['(() => {\n"use strict";', *sources, "})();"])


def csp_source(text: str) -> str:
    """The source expression of a content-security policy that allows this inline text alone.

    >>> csp_source("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


HEIGHT = 800
"""Height of the frame in pixels."""


@dataclass(frozen=True)
class Shown:
    """A report that a notebook shows: a complete HTML file."""

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        """A sandboxed frame, so that neither page changes how the other looks or what it runs."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="Hierarchy audit" width="100%" '
            f'height="{HEIGHT}" sandbox="allow-scripts" style="border: 0"></iframe>'
        )

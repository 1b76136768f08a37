"""What all pages share: the run, the templates, addresses, refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from http import HTTPStatus
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse

from audit.results.exploration import ExploredRun, Page, PolicyEditor, RunsBeside, Span
from reports.chapters.report import Report, build
from reports.charts.hues import HUES, HUES_DARK, HUES_LIGHT
from reports.charts.palette import LIGHT, variables_css
from reports.explorer.guard import Guard
from reports.explorer.led_report import led
from reports.explorer.sheets import Column, Sheet, csv_parts, csv_text, span_of
from reports.html import script, style
from reports.words.words import counted, decimal, number, percent, points, precise, printable

if TYPE_CHECKING:
    import jinja2

Crumb = tuple[str, str]
"""Words and address of a step back."""
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><g fill="#0f4c82">'
    '<path d="M1 1h4v14H1zM6 1h4v8H6zM11 1h4v4h-4z"/></g></svg>'
)
PARTS = {"explanations": "Explanations", "concepts": "Concepts", "entailment": "Entailment"}
"""Parts of a run that have places of their own, as `result.json` and as people call them."""
_SCRIPTS = ("elements", "explorer")


@dataclass(eq=False)
class Site:
    """The application's run, and how its pages are made.

    Args:
        run: The run that is looked at.
        policy: The policy file that decisions go to; None where none is named.
        beside: The run and others beside it; None where it is looked at alone.
    """

    run: ExploredRun
    policy: PolicyEditor | None = None
    beside: RunsBeside | None = None
    guard: Guard | None = None
    plain: bool = False
    """Whether pages are written as files, where no form can be sent."""

    def hue(self, node: str) -> str:
        """Colour role of a node's top branch, also the class of what it colours; else empty."""
        number = self.run.top_branch(node)
        return "" if number is None else HUES[number % len(HUES)]

    @cached_property
    def report(self) -> Report:
        """The report, made once; its nodes lead to their pages."""
        return led(build(self.run.shared), self._page_of)

    def _page_of(self, node: str) -> str:
        return node_address(node) if self.run.has_node(node) else ""

    @property
    def parts(self) -> list[tuple[str, str]]:
        """Addresses and words of the parts that the run has."""
        return [(f"/{name}", called) for name, called in PARTS.items() if name in self.run.shared]

    def page(
        self,
        request: Request,
        template: str,
        title: str,
        crumbs: Sequence[Crumb] = (),
        status: int = 200,
        **shown: Any,
    ) -> Response:
        """A page of HTML."""
        text = (
            environment()
            .get_template(f"explorer/{template}.html.jinja")
            .render(
                site=self,
                run=self.run,
                title=printable(title),
                crumbs=crumbs,
                here=request.url.path,
                form_token=self.guard.form_token if self.guard else "",
                **shown,
            )
        )
        return HTMLResponse(text, status)

    def missing(self, request: Request, what: str) -> Response:
        """The page for something that the run does not have."""
        return self.page(request, "missing", "Not here", status=404, what=printable(what))

    def gone(self, request: Request) -> Response:
        """The page for what cannot be read any more."""
        what = (
            "A table of the run cannot be read any more: the run was moved, replaced or judged "
            "again since the window was opened. End the window, and open it anew."
        )
        return self.page(request, "missing", "Not here any more", status=500, what=what)

    def withheld(self, request: Request) -> Response:
        """The page for what a run without its restricted tables does not show."""
        return self.missing(
            request,
            "This is the shared view of a run: its restricted tables are not here, and with them "
            "no counts of single nodes, pairs and instances.",
        )

    def sheet(
        self,
        request: Request,
        id: str,
        caption: str,
        columns: tuple[Column, ...],
        rows: Callable[[Any], Page],
        orders: Mapping[str, str] | None = None,
        order: str = "",
    ) -> Sheet | Response:
        """A table of a page; or, where the address asks for it, the whole table as CSV.

        Args:
            request: The request; ``start`` and ``csv`` of its address say which rows.
            id: As in `Sheet`, as are ``caption``, ``columns``, ``orders`` and ``order``.
            rows: Gives the rows of a span.
        """
        asked = parameters(request)
        if asked.get("csv", id) != id:
            return Sheet(id, caption, columns, Page((), 0), span_of({}), request.url.path)
        span = span_of(asked if asked.get("sheet", id) == id else {**asked, "start": ""})
        page = rows(span)
        if "csv" in asked:
            return self._file(id, csv_text(columns, page.rows, in_full=self.run.in_full))
        return Sheet(id, caption, columns, page, span, request.url.path, asked, orders or {}, order)

    def long_file(
        self, id: str, columns: tuple[Column, ...], rows: Callable[[Span], Page]
    ) -> Response:
        """A long restricted table as CSV, sent as it is read; arguments as in `sheet`."""
        parts = csv_parts(columns, rows)
        return StreamingResponse(parts, media_type="text/csv", headers=self._named(id))

    def _file(self, id: str, text: str) -> Response:
        return PlainTextResponse(text, media_type="text/csv", headers=self._named(id))

    def _named(self, id: str) -> Mapping[str, str]:
        """What names the file of a table."""
        kind = "-unsuppressed" if self.run.in_full else ""
        return {"content-disposition": f'attachment; filename="{id}{kind}.csv"'}


def parameters(request: Request) -> dict[str, str]:
    """The parameters of an address; of one that is there twice, the last."""
    return dict(request.query_params)


def address(path: str, **asked: str) -> str:
    """An address of the application."""
    kept = {name: value for name, value in asked.items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path


def node_address(node: str) -> str:
    """Address of a node's page."""
    return address("/node", id=node)


def pair_address(a: str, b: str) -> str:
    """Address of the page of two nodes."""
    return address("/pair", a=a, b=b)


def finding_address(finding: str) -> str:
    """Address of a finding's page."""
    return address("/finding", id=finding)


def instance_address(instance: str, **query: str) -> str:
    """Address of an instance's page, with the query that led there."""
    return address("/instance", id=instance, **query)


@cache
def environment() -> jinja2.Environment:
    """The templates of the report and of the application, with autoescaping."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "colours": LIGHT,
        "node_address": node_address,
        "pair_address": pair_address,
        "finding_address": finding_address,
        "instance_address": instance_address,
        "address": address,
    }
    made.filters |= {
        "number": number,
        "percent": percent,
        "points": points,
        "decimal": decimal,
        "precise": precise,
        "counted": counted,
        "printable": lambda text: printable(str(text)),
        "printable_lines": lambda text: "\n".join(map(printable, text.splitlines())),
    }
    return made


@cache
def static_files() -> Mapping[str, tuple[str, str]]:
    """Text and media type of each file beside the pages, by name."""
    scripts = files("reports").joinpath("scripts")
    sources = [scripts.joinpath(f"{name}.js").read_text("utf-8") for name in _SCRIPTS]
    own = "\n".join(['(() => {\n"use strict";', *sources, "})();"])
    return {
        "explorer.css": (
            style("screen", ("explanations", "concepts", "instance", "media", "explorer"))
            + variables_css(HUES_LIGHT, HUES_DARK),
            "text/css",
        ),
        "explorer.js": (own, "text/javascript"),
        "report.js": (script(), "text/javascript"),
        "icon.svg": (ICON, "image/svg+xml"),
    }


def static_file(request: Request) -> Response:
    """One of the files beside the pages."""
    known = static_files().get(request.path_params["name"])
    if known is None:
        return PlainTextResponse("There is no such file.\n", HTTPStatus.NOT_FOUND)
    text, kind = known
    return Response(text, media_type=kind)

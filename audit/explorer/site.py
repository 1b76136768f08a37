"""What all pages share: the run, the templates, addresses, refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from http import HTTPStatus
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse

from audit.explorer.links import (
    address,
    finding_address,
    instance_address,
    node_address,
    pair_address,
)
from audit.explorer.run.opened_run import OpenedRun
from audit.explorer.run.paged_tables import Page, Row, Span
from audit.explorer.sheets import Column, Sheet, csv_parts, csv_text, span_of
from reports.findings import first_sentence
from reports.page import style
from reports.words import EXACT, NOTHING, Imprint, number, percent, points, printable

if TYPE_CHECKING:
    import jinja2

T = TypeVar("T")

Crumb: TypeAlias = tuple[str, str]
"""Words and address of a step back."""
View: TypeAlias = "Callable[[Site, Request], Response]"
"""What answers at an address."""


class NotThereError(Exception):
    """What an address asks for that the run does not have, as its page says it."""


class FileAsked(Exception):  # noqa: N818 (no error)
    """A file is the answer instead of the page that leads to it, since the address asks for it."""

    def __init__(self, file: Response) -> None:
        self.file = file


@dataclass(frozen=True, slots=True)
class Place:
    """A place of the window: its address, its name, and what it shows."""

    path: str
    name: str
    shows: str


TABLES = "what it measured, table by table"
"""What the place of an analysis shows."""
HUES = tuple(f"hue-{place}" for place in range(1, 9))
"""Colours of branches, in order; a ninth begins again."""


def path_of(part: str) -> str:
    """Address of the place of an analysis."""
    return f"/analyses/{part}"


PLACES = (
    Place("/", "Verdict", "what the audit says in short"),
    Place("/findings", "Findings", "each with its evidence and what to do about it"),
    Place("/hierarchy", "Hierarchy", "how its nodes are used, and what can be said about each"),
    Place("/model", "Model", "its metrics, and the labels that it confuses"),
    Place("/instances", "Instances", "the records, each as a tree"),
)
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><g fill="#0f4c82">'
    '<path d="M1 1h4v14H1zM6 1h4v8H6zM11 1h4v4h-4z"/></g></svg>'
)
_SCRIPTS = ("elements", "explorer")
_SHEETS = ("colours", "base", "parts", "screen", "instance", "marks", "explorer")


@dataclass(eq=False)
class Site:
    """The application's run, and how its pages are made."""

    run: OpenedRun

    @property
    def imprint(self) -> Imprint:
        """What the run says of itself."""
        return Imprint(title=self.run.name, day=self.run.day, exact=True)

    @property
    def places(self) -> Sequence[Place]:
        """The places of the window that the run has something for, in the order of their links."""
        there = {
            "/hierarchy": bool(self.run.root),
            "/model": self.run.has_model,
            "/instances": self.run.shows_instances,
        }
        *places, last = [place for place in PLACES if there.get(place.path, True)]
        own = (Place(path_of(part), name, TABLES) for part, name in self.parts.items())
        return [*places, *own, last] if last.path == "/instances" else [*places, last, *own]

    @cached_property
    def parts(self) -> Mapping[str, str]:
        """Analyses of the run, as `result.json` and as people call them."""
        return {name: one["title"] for name, one in self.run.view.get("tables", {}).items()}

    @cached_property
    def printable(self) -> Mapping[str, Any]:
        """What the report shows, every text fit to stand on a page."""
        view: Mapping[str, Any] = printable(self.run.view)
        return view

    def hue(self, node: str) -> str:
        """Colour role of a node's top branch, also the class of what it colours; else empty."""
        number = self.run.places.top_branch(node)
        return "" if number is None else HUES[number % len(HUES)]

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
            .get_template(f"{template}.html.jinja")
            .render(
                site=self,
                run=self.run,
                title=printable(title),
                crumbs=crumbs,
                here=request.url.path,
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
            "again since it was opened. End audit explore, and start it again."
        )
        return self.page(request, "missing", "Not here any more", status=500, what=what)

    def sheet(
        self,
        request: Request,
        id: str,
        caption: str,
        columns: tuple[Column, ...],
        rows: Sequence[Row] | Callable[[Span], Page],
        orders: Mapping[str, str] | None = None,
        order: str = "",
    ) -> Sheet:
        """A table of a page."""
        asked = parameters(request)
        if asked.get("csv", id) != id:
            return Sheet(id, caption, columns, Page(), span_of({}), request.url.path)
        span = span_of(asked if asked.get("sheet", id) == id else {**asked, "start": ""})
        page = rows(span) if callable(rows) else span.of(rows)
        if "csv" in asked:
            raise FileAsked(csv_file(id, csv_text(columns, page.rows)))
        return Sheet(id, caption, columns, page, span, request.url.path, asked, orders or {}, order)

    def long_file(
        self, id: str, columns: tuple[Column, ...], rows: Callable[[Span], Page]
    ) -> Response:
        """A long table as CSV, sent as it is read; arguments as in `sheet`."""
        headers = _as_attachment(f"{id}-exact.csv")
        return StreamingResponse(csv_parts(columns, rows), media_type="text/csv", headers=headers)


def way_to(finding: Row) -> Sequence[Crumb]:
    """The steps back from what is about a finding."""
    said = first_sentence(finding["statement"])
    return [("Findings", "/findings"), (said, finding_address(finding["id"]))]


def csv_file(id: str, text: str) -> Response:
    """A table as a file, whose name says that its numbers are exact."""
    return _file(f"{id}-exact.csv", text, "text/csv")


def _file(name: str, text: str, media_type: str) -> Response:
    return PlainTextResponse(text, media_type=media_type, headers=_as_attachment(name))


def _as_attachment(name: str) -> Mapping[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


def parameters(request: Request) -> dict[str, str]:
    """The parameters of an address; of one that is there twice, the last."""
    return dict(request.query_params)


@cache
def environment() -> jinja2.Environment:
    """The templates of the application, with autoescaping, and errors for undefined names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("audit.explorer", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "node_address": node_address,
        "pair_address": pair_address,
        "finding_address": finding_address,
        "instance_address": instance_address,
        "address": address,
        "exact": EXACT,
    }
    made.filters |= {
        "number": number,
        "percent": lambda share: percent(share, None, None),
        "points": lambda difference: points(difference, None, None),
        "decimal": lambda value, places: NOTHING if value is None else f"{value:,.{places}f}",
        "precise": lambda value: number(value, 4),
        "printable": lambda text: printable(str(text)),
        "printable_lines": lambda text: "\n".join(map(printable, text.splitlines())),
    }
    return made


@cache
def static_files() -> Mapping[str, tuple[str, str]]:
    """Text and media type of each file beside the pages, by name."""
    folder = files("audit.explorer").joinpath("static")
    sheets = (folder.joinpath(f"{name}.css").read_text("utf-8") for name in _SHEETS)
    scripts = (folder.joinpath(f"{name}.js").read_text("utf-8") for name in _SCRIPTS)
    return {
        "explorer.css": ("\n".join((*sheets, style("figures"))), "text/css"),
        "explorer.js": (
            "\n".join(('(() => {\n"use strict";', *scripts, "})();")),
            "text/javascript",
        ),
        "icon.svg": (ICON, "image/svg+xml"),
    }


def result_json(site: Site, _: Request) -> Response:
    """What may be shared, as data."""
    return Response(site.run.shared, media_type="application/json")


def static_file(_: Site, request: Request) -> Response:
    """One of the files beside the pages."""
    known = static_files().get(request.path_params["name"])
    if known is None:
        return PlainTextResponse("There is no such file.\n", HTTPStatus.NOT_FOUND)
    text, kind = known
    return Response(text, media_type=kind)

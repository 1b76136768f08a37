"""What all pages share: the run, the templates, addresses, refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse

from audit._reports.chapters.analyses import CHAPTERS, OF_NAME
from audit._reports.chapters.cards import headline
from audit._reports.chapters.report import Report, build, printable_view
from audit._reports.chapters.verdict import verdict
from audit._reports.charts.palette import HUES, HUES_DARK, HUES_LIGHT, variables_css
from audit._reports.comparison.history import HistoryReport
from audit._reports.comparison.history import build as build_history
from audit._reports.html import script, style, templates
from audit._reports.words.part_tables import heading
from audit._reports.words.parts import Verdict
from audit._reports.words.words import (
    Imprint,
    counted,
    decimal,
    number,
    percent,
    points,
    precise,
    printable,
)
from audit.explorer.guard import Guard
from audit.explorer.links import (
    address,
    finding_address,
    instance_address,
    node_address,
    pair_address,
    with_node_links,
)
from audit.explorer.pictures import Picture, svg_file
from audit.explorer.run.opened_run import OpenedRun
from audit.explorer.run.other_runs import RunsBeside
from audit.explorer.run.paged_tables import Page, Row, Span
from audit.explorer.run.policy_editor import EditedPolicy
from audit.explorer.sheets import Column, Sheet, csv_parts, csv_text, span_of
from audit.results.parts import OTHERS
from audit.results.result import to_json_bytes

if TYPE_CHECKING:
    import jinja2

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


WITHHELD = (
    "This is the shared view of a run: its restricted tables are not here, and with them no counts "
    "of any two nodes."
)


@dataclass(frozen=True, slots=True)
class Place:
    """A place of the window: its address, its name, and what it shows."""

    path: str
    name: str
    shows: str


def path_of(part: str) -> str:
    """Address of the place of an analysis."""
    return f"/{part}" if part in OF_NAME else f"/{OTHERS}/{part}"


PLACES = (
    Place("/", "Verdict", "what the audit says in short"),
    Place("/findings", "Findings", "each with its evidence and what to do about it"),
    Place("/fixes", "Fixes", "what would mend the findings, to decide on"),
    Place("/hierarchy", "Hierarchy", "how its nodes are used, and what can be said about each"),
    Place("/branches", "Branches", "which parts of the hierarchy go together"),
    Place("/model", "Model", "its metrics, and the labels that it confuses"),
    *(Place(path_of(one.name), heading(one.name), one.shows) for one in CHAPTERS),
    Place("/instances", "Instances", "the records, each as a tree"),
    Place("/history", "History", "the runs beside it, in the order of time"),
    Place("/report", "Report", "every chapter, with policy, methods and limits"),
)
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><g fill="#0f4c82">'
    '<path d="M1 1h4v14H1zM6 1h4v8H6zM11 1h4v4h-4z"/></g></svg>'
)
PLAIN = "its facts and its tables"
"""What the place of an analysis shows that no chapters are written for."""
_SCRIPTS = ("elements", "explorer", "fixes")


@dataclass(eq=False)
class Site:
    """The application's run, and how its pages are made; ``policy`` is the file of decisions."""

    run: OpenedRun
    policy: EditedPolicy | None = None
    beside: RunsBeside | None = None
    guard: Guard | None = None
    plain: bool = False
    """Whether pages are written as files, where no form can be sent."""

    @property
    def imprint(self) -> Imprint:
        """What the run says of itself."""
        return Imprint(title=self.run.name, day=self.run.day)

    @property
    def places(self) -> Sequence[Place]:
        """The places of the window that the run has something for, in the order of their links."""
        there = {
            "/fixes": self.run.proposals is not None,
            "/hierarchy": bool(self.run.root),
            "/branches": bool(self.run.root),
            "/model": self.run.has_model,
            **{path_of(one.name): self.has(one.name) for one in CHAPTERS},
            "/instances": self.run.shows_instances,
            "/history": bool(self.beside),
        }
        places = [place for place in PLACES if there.get(place.path, True)]
        others = [Place(path_of(name), self.parts[name], PLAIN) for name in self._others]
        return [*places[:-1], *others, places[-1]]

    @cached_property
    def parts(self) -> Mapping[str, str]:
        """Analyses that have places of their own, as `result.json` and as people call them."""
        return {name: heading(name) for name in (*OF_NAME, *self._others)}

    @property
    def _others(self) -> Sequence[str]:
        """Analyses of the run that have no chapters written for them."""
        return tuple(self.run.shared.get(OTHERS, ()))

    def has(self, part: str) -> bool:
        """Whether the run has an analysis."""
        return part in self.run.shared or part in self._others

    @cached_property
    def result_json(self) -> bytes:
        """The bytes of ``result.json``."""
        return to_json_bytes(self.run.shared)

    @cached_property
    def printable_shared(self) -> Mapping[str, Any]:
        """The shared view, every text fit to stand on a page."""
        shared: Mapping[str, Any] = printable_view(self.run.shared)
        return shared

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict; what it says of findings is as exact as on other pages."""
        shared = self.printable_shared
        told = {one["id"]: one for one in map(printable_view, self.run.findings)}
        checks = [
            {**check, "findings": [told.get(one["id"], one) for one in check["findings"]]}
            for check in shared["checks"]
        ]
        return verdict({**shared, "checks": checks})

    def hue(self, node: str) -> str:
        """Colour role of a node's top branch, also the class of what it colours; else empty."""
        full = self.run.restricted
        number = None if full is None else full.places.top_branch(node)
        return "" if number is None else HUES[number % len(HUES)]

    @cached_property
    def report(self) -> Report:
        """The report, made once; nodes lead to their pages."""
        made, has_page = build(self.run.shared, self.imprint), self.run.has_node
        return with_node_links(made, lambda node: node_address(node) if has_page(node) else "")

    @cached_property
    def history(self) -> HistoryReport | None:
        """What became of checks, metrics and findings over the runs beside it; None if alone."""
        if self.beside is None:
            return None
        return build_history(printable_view(self.beside.history))

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
            text = csv_text(columns, page.rows, in_full=self.run.in_full)
            raise FileAsked(csv_file(id, text, in_full=self.run.in_full))
        return Sheet(id, caption, columns, page, span, request.url.path, asked, orders or {}, order)

    def long_file(
        self, id: str, columns: tuple[Column, ...], rows: Callable[[Span], Page]
    ) -> Response:
        """A long restricted table as CSV, sent as it is read; arguments as in `sheet`."""
        headers = _as_attachment(f"{id}{_kind(self.run.in_full)}.csv")
        return StreamingResponse(csv_parts(columns, rows), media_type="text/csv", headers=headers)

    def picture(self, request: Request, id: str, picture: Picture) -> Picture:
        """A drawing of a page, with the address of its file; as `picture_file`."""
        return replace(picture, file=self.picture_file(request, id, lambda: picture))

    def picture_file(self, request: Request, id: str, draw: Callable[[], Picture]) -> str:
        """The address of a drawing's file; `FileAsked` if the request asks for the file itself."""
        asked = parameters(request)
        if asked.get("svg") == id:
            raise FileAsked(self.svg(id, draw(), in_full=self.run.in_full))
        return address(request.url.path, **{**asked, "svg": id})

    def svg(self, id: str, picture: Picture, *, in_full: bool) -> Response:
        """A drawing as a file; arguments as in `svg_file`."""
        tool = self.run.shared["identity"]["tool"]
        source = f"{self.run.name} · {tool['name']} {tool['version']}"
        text = svg_file(picture, source, in_full=in_full)
        return _file(f"{id}{_kind(in_full)}.svg", text, "image/svg+xml")


def way_to(finding: Row) -> Sequence[Crumb]:
    """The steps back from what is about a finding."""
    said = headline(finding["statement"])
    return [("Findings", "/findings"), (said, finding_address(finding["id"]))]


def csv_file(id: str, text: str, *, in_full: bool) -> Response:
    """A table as a file, whose name says whether its numbers are unsuppressed."""
    return _file(f"{id}{_kind(in_full)}.csv", text, "text/csv")


def _kind(in_full: bool) -> str:
    return "-unsuppressed" if in_full else ""


def _file(name: str, text: str, media_type: str) -> Response:
    return PlainTextResponse(text, media_type=media_type, headers=_as_attachment(name))


def _as_attachment(name: str) -> Mapping[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


def parameters(request: Request) -> dict[str, str]:
    """The parameters of an address; of one that is there twice, the last."""
    return dict(request.query_params)


@cache
def environment() -> jinja2.Environment:
    """The templates of the report and of the application, with autoescaping."""
    made = templates(keep_trailing_newline=False)
    made.globals |= {
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
    return {
        "explorer.css": (
            style("screen", ("explanations", "concepts", "instance", "media", "explorer"))
            + variables_css(HUES_LIGHT, HUES_DARK),
            "text/css",
        ),
        "explorer.js": (script(_SCRIPTS), "text/javascript"),
        "report.js": (script(), "text/javascript"),
        "icon.svg": (ICON, "image/svg+xml"),
    }


def result_json(site: Site, _: Request) -> Response:
    """What may be shared, as data."""
    return Response(site.result_json, media_type="application/json")


def static_file(_: Site, request: Request) -> Response:
    """One of the files beside the pages."""
    known = static_files().get(request.path_params["name"])
    if known is None:
        return PlainTextResponse("There is no such file.\n", HTTPStatus.NOT_FOUND)
    text, kind = known
    return Response(text, media_type=kind)

"""What all pages share: the places of the window, its templates, its files, and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from audit.explorer.opened import OPEN, OpenedRun
from audit.explorer.sheets import address
from reports.page import style
from reports.words import EXACT, MARKS, SEVERITY, number, printable

if TYPE_CHECKING:
    import jinja2

Parameters: TypeAlias = Mapping[str, str]
"""The parameters of an address."""
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><g fill="#0f4c82">'
    '<path d="M1 1h4v14H1zM6 1h4v8H6zM11 1h4v4h-4z"/></g></svg>'
)


def page(run: OpenedRun, template: str, title: str, *, status: int = 200, **shown: Any) -> Response:
    """A page of HTML."""
    places = [("/", "Verdict"), (address("/table/findings", status=OPEN), "Findings")]
    if run.root:
        places.append((address("/node", id=run.root), "Hierarchy"))
    if run.shows_records:
        places.append(("/records", "Records"))
    made = environment().get_template(f"{template}.html.jinja")
    base = {"run": run, "title": printable(title), "places": [*places, ("/tables", "Tables")]}
    return HTMLResponse(made.render(**base, **{"asked": {}, **shown}), status)


def missing(run: OpenedRun, what: str, status: int = 404) -> Response:
    """The page for something that the run does not have."""
    return page(run, "sheets", "Not here", status=status, lead=[printable(what)], sheets=[])


@cache
def static_file(named: str) -> Response:
    """A style sheet, script or icon of the pages by its name; status 404 for another name."""
    folder = files("audit.explorer").joinpath("static")
    known = {
        "window.css": lambda: folder.joinpath("window.css").read_text("utf-8") + style("figures"),
        "window.js": lambda: folder.joinpath("window.js").read_text("utf-8"),
        "icon.svg": lambda: ICON,
    }
    if named not in known:
        return Response("There is no such file.\n", 404, media_type="text/plain")
    kinds = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    return Response(known[named](), media_type=kinds[named.rpartition(".")[2]])


def parameters(request: Request) -> dict[str, str]:
    """The parameters of an address that say something; of one that is there twice, the last."""
    return {name: value for name, value in request.query_params.items() if value}


@cache
def environment() -> jinja2.Environment:
    """The templates of the window, with autoescaping, and errors for undefined names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("audit.explorer", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"address": address, "exact": EXACT, "marks": MARKS, "severities": SEVERITY}
    made.filters |= {"number": number, "printable": printable}
    return made

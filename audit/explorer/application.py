"""The application: its pages behind its guard, and its server."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from audit.base.errors import InputError
from audit.explorer.guard import Guard
from audit.explorer.site import FileAsked, NotThereError, Site, View, result_json, static_file
from audit.explorer.views import (
    findings,
    hierarchy,
    instances,
    nodes,
    pairs,
    parts,
)

HOST = "127.0.0.1"
PAGES: Mapping[str, View] = {
    **findings.PAGES,
    **nodes.PAGES,
    **pairs.PAGES,
    **hierarchy.PAGES,
    **parts.PAGES,
    **instances.PAGES,
    "/result.json": result_json,
    "/static/{name}": static_file,
}
"""What answers at each address, given the application's run and the request."""
_OF_TABLES = frozenset(("start", "sheet", "csv", "order"))
"""Parameters of every page: those of its tables."""
_QUERY = ("finding", "behaviour", "nodes", "predicted", "outcome", "mass", "least")
_SUBGRAPHS = ("first", "second", "side")
ASKED: Mapping[str, tuple[str, ...]] = {
    "/": (),
    "/findings": ("check", "severity", "state", "branch"),
    "/finding": ("id",),
    "/node": ("id", "relation"),
    "/confusions": ("relation", "depth", "below"),
    "/search": ("q",),
    "/pair": ("a", "b"),
    "/hierarchy": ("id", "open"),
    "/model": ("name", "scope"),
    "/subgraphs": _SUBGRAPHS[:2],
    "/instances": (*_QUERY, *_SUBGRAPHS),
    "/instance": ("id", *_QUERY, *instances.CHOICES),
}
"""Further parameters of pages; those of the tables of an analysis are their columns."""


def application(site: Site, port: int, secret: str) -> Guard:
    """The guarded application."""
    return Guard(pages_of(site), port, secret)


def pages_of(site: Site) -> ASGIApp:
    """The application without its guard."""
    return Starlette(
        routes=[Route(path, partial(_answer_to, page, site)) for path, page in PAGES.items()],
        exception_handlers={
            FileAsked: lambda _, asked: asked.file,
            NotThereError: lambda request, what: site.missing(request, str(what)),
            404: lambda request, _: site.missing(request, "There is no such page."),
            OSError: lambda request, _: site.gone(request),
        },
    )


def serve(site: Site, port: int, opened: Callable[[str], None]) -> None:
    """Serve on this machine alone until interrupted; an `InputError` if the port is in use."""
    with listening_at(port) as listening:
        taken = listening.getsockname()[1]
        guarded = application(site, taken, secrets.token_urlsafe(32))
        settings = uvicorn.Config(
            guarded,
            http="h11",
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        opened(f"http://{HOST}:{taken}{guarded.root}/")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(settings).run(sockets=[listening])


def _answer_to(page: View, site: Site, request: Request) -> Response:
    """A page; an address with a parameter that the page does not have is refused."""
    known = ASKED.get(request.url.path)
    unknown = [] if known is None else sorted({*request.query_params} - {*known} - _OF_TABLES)
    if known is not None and unknown:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise NotThereError(f"This page has no parameter {', '.join(unknown)}; {has}.")
    return page(site, request)


def listening_at(port: int) -> socket.socket:
    """A socket that listens on this machine alone."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        made.listen()  # whoever reads the address may ask at once
    except OSError as error:
        made.close()
        raise InputError(
            "a port that is free is required",
            found=f"{port}: {error.strerror}",
            hint="name another with --port, or leave it out for any that is free",
        ) from None
    return made

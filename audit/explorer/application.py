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
from audit.explorer import pages
from audit.explorer.guard import Guard
from audit.explorer.opened import OpenedRun
from audit.explorer.record_page import CHOICES, show_record
from audit.explorer.sheets import refuse_unknown
from audit.explorer.site import missing, parameters, static_file
from audit.explorer.tables import NotThereError

HOST = "127.0.0.1"
PAGES: Mapping[str, tuple[pages.View, tuple[str, ...]]] = {
    "/": (pages.show_verdict, ()),
    "/finding": (pages.show_finding, ("id", "start")),
    "/node": (pages.show_node, ("id", "start")),
    "/pair": (pages.show_pair, ("a", "b")),
    "/record": (show_record, ("id", "finding", *CHOICES)),
    "/search": (pages.show_search, ("q", "start")),
    "/tables": (pages.show_tables, ()),
    "/result.json": (pages.result_json, ()),
}
"""What answers at each address, and the parameters that it has."""
GONE = (
    "A table of the run cannot be read any more: the run was moved, replaced or judged again since"
    " it was opened. End audit explore, and start it again."
)


def application(run: OpenedRun, port: int, secret: str) -> Guard:
    """The pages of a run behind their guard, at a port, below a path that ``secret`` names."""
    return Guard(pages_of(run), port, secret)


def pages_of(run: OpenedRun) -> ASGIApp:
    """The application without its guard."""

    def table(request: Request) -> Response:
        return pages.show_table(run, parameters(request), request.path_params["name"])

    return Starlette(
        routes=[
            *(Route(path, partial(_answer, run, *page)) for path, page in PAGES.items()),
            Route("/table/{name}", table),
            Route("/records", lambda request: pages.show_records(run, parameters(request))),
            Route("/static/{name}", lambda one: static_file(one.path_params["name"])),
        ],
        exception_handlers={
            NotThereError: lambda _, what: missing(run, str(what)),
            404: lambda *_: missing(run, "There is no such page."),
            OSError: lambda *_: missing(run, GONE, 500),
        },
    )


def _answer(run: OpenedRun, page: pages.View, known: tuple[str, ...], request: Request) -> Response:
    """The answer of a page; NotThereError for a parameter that is not ``known``."""
    asked = parameters(request)
    refuse_unknown(asked, known)
    return page(run, asked)


def serve(run: OpenedRun, port: int, opened: Callable[[str], None]) -> None:
    """Serve on this machine alone until interrupted, at a free port for 0.

    ``opened`` is called with the address. InputError if the port is in use.
    """
    with listening_at(port) as listening:
        taken = listening.getsockname()[1]
        guarded = application(run, taken, secrets.token_urlsafe(32))
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


def listening_at(port: int) -> socket.socket:
    """A socket on this machine alone, at any free port for 0; InputError if the port is in use."""
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

"""The application: its pages behind its guard, its server, and the same pages as plain files."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import socket
from asyncio import AbstractEventLoop, TimerHandle, Transport
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import h11
import uvicorn
from anyio.from_thread import start_blocking_portal
from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message
from uvicorn.protocols.http.h11_impl import H11Protocol

from audit.base.disk import on_disk, working_beside
from audit.base.errors import InputError, OutputError
from audit.base.machine import cores
from audit.explorer.guard import Guard
from audit.explorer.run.opened_run import OpenedRun
from audit.explorer.site import FileAsked, NotThereError, Site, View, result_json, static_file
from audit.explorer.views import (
    findings,
    fixes,
    hierarchy,
    instances,
    nodes,
    other_runs,
    pairs,
    parts,
)

_LOG = logging.getLogger("uvicorn.error")
MOST = 64
"""Connections at once; a browser opens six."""
PATIENCE = 10.0
"""Seconds in which a request must have come whole."""


class Connection(H11Protocol):
    """One connection, which ends where no whole request comes, or where too many are open."""

    _due: TimerHandle

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin; where too many are open, the one that has waited longest for a request ends."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST:
            open_ones = [one for one in self.connections if isinstance(one, Connection)]
            waiting = [one for one in open_ones if not one._answers()]
            min(waiting, key=lambda one: one._due.when()).transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._due.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if hasattr(self, "_due"):
            self._due.cancel()
        self._due = self.loop.call_later(PATIENCE, self._give_up)

    def _give_up(self) -> None:
        if not self._answers():
            self.transport.abort()

    def _answers(self) -> bool:
        """Whether a whole request has come whose answer is under way."""
        begun = self.cycle is not None and not self.cycle.response_complete
        return begun and self.conn.their_state is not h11.SEND_BODY


def tell_errors_once(loop: AbstractEventLoop) -> None:
    """Have a loop log one line for each kind of its errors, not a traceback for each error."""
    told: set[tuple[str, str]] = set()

    def tell(_: AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        kind = (str(context["message"]), type(error).__name__)
        if kind not in told:
            told.add(kind)
            _LOG.error("%s: %s", kind[0], error or kind[1])

    loop.set_exception_handler(tell)


HOST = "127.0.0.1"
PAGES: Mapping[str, View] = {
    **findings.PAGES,
    **fixes.PAGES,
    **nodes.PAGES,
    **pairs.PAGES,
    **hierarchy.PAGES,
    **parts.PAGES,
    **instances.PAGES,
    **other_runs.PAGES,
    "/result.json": result_json,
    "/static/{name}": static_file,
}
"""What answers at each address, given the application's run and the request."""
FORMS: Mapping[str, Callable[[Site], Any]] = {**findings.FORMS, **fixes.FORMS}
"""What answers a form at each address."""
_OF_TABLES = frozenset(("start", "sheet", "csv", "svg", "order"))
"""Parameters of every page: those of its tables and pictures."""
_QUERY = ("finding", "behaviour", "nodes", "predicted", "outcome", "mass", "least")
_SUBGRAPHS = ("first", "second", "side")
ASKED: Mapping[str, tuple[str, ...]] = {
    "/": (),
    "/findings": ("check", "severity", "state", "branch"),
    "/finding": ("id",),
    "/fixes": ("finding", "certainty"),
    "/judged": ("id",),
    "/node": ("id", "relation"),
    "/confusions": ("relation", "depth", "below"),
    "/search": ("q",),
    "/pair": ("a", "b"),
    "/branches": ("id", "measure"),
    "/hierarchy": ("id", "open"),
    "/model": ("name", "scope"),
    "/subgraphs": _SUBGRAPHS[:2],
    "/instances": (*_QUERY, *_SUBGRAPHS),
    "/instance": ("id", *_QUERY, *instances.CHOICES),
    "/media": ("id",),
}
"""Further parameters of pages; those of the tables of an analysis are their columns."""


def application(site: Site, port: int, secret: str) -> Guard:
    """The guarded application."""
    site.guard = Guard(pages_of(site), port, secret)
    return site.guard


def pages_of(site: Site) -> ASGIApp:
    """The application without its guard."""
    return Starlette(
        routes=[
            *(Route(path, partial(_answer_to, page, site)) for path, page in PAGES.items()),
            *(Route(path, form(site), methods=["POST"]) for path, form in FORMS.items()),
        ],
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
            http=Connection,
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        opened(f"http://{HOST}:{taken}{guarded.root}/")
        with suppress(KeyboardInterrupt):
            asyncio.run(_answer(uvicorn.Server(settings), listening))


def _answer_to(page: View, site: Site, request: Request) -> Response:
    """A page; an address with a parameter that the page does not have is refused."""
    known = ASKED.get(request.url.path)
    unknown = [] if known is None else sorted({*request.query_params} - {*known} - _OF_TABLES)
    if known is not None and unknown:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise NotThereError(f"This page has no parameter {', '.join(unknown)}; {has}.")
    return page(site, request)


async def _answer(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until interrupted, with as many pages at once as there are cores.

    Further ones wait for their turn: made all at once, each would take as long as all of them.
    """
    current_default_thread_limiter().total_tokens = cores()
    tell_errors_once(asyncio.get_running_loop())
    await server.serve(sockets=[listening])


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


_KINDS = {
    "text/html": "html",
    "text/csv": "csv",
    "text/css": "css",
    "text/javascript": "js",
    "image/svg+xml": "svg",
    "application/json": "json",
}
_DIGITS = 12
"""Digits of the digest in the name of a file."""
_LINK = re.compile(r'(href|src)="(/[^"]*)"')


def write_plain_files(run: OpenedRun, folder: Path) -> int:
    """Write every page that the links of the first page lead to, and what the pages need.

    Links become names of files beside each other, so that the folder can lie anywhere.

    Returns:
        Number of files; the same run gives the same bytes.
    """
    assert not run.in_full, "only a shared view is written to be shared"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(
            "a new or an empty folder is required",
            found="something that is there already",
            where=folder,
            hint="name another",
        )
    with start_blocking_portal() as portal:  # a notebook has a loop of its own
        pages = portal.call(_pages, pages_of(Site(run, plain=True)))
    names = {address: _name(address, page.kind) for address, page in pages.items()}
    out = folder.resolve()
    with working_beside(out) as begun, on_disk(out):
        for address, page in pages.items():
            text = _with_file_links(page.text, names) if page.links else page.text
            (begun / names[address]).write_text(text, "utf-8", newline="\n")
        if out.exists():
            out.rmdir()
        begun.rename(out)
    return len(pages)


@dataclass(frozen=True, slots=True)
class _Page:
    """What the application answers to one address.

    ``kind`` is the last part of a file's name.
    """

    text: str
    kind: str

    @property
    def links(self) -> list[str]:
        """Addresses that it leads to; only pages lead anywhere."""
        found = _LINK.findall(self.text) if self.kind == "html" else []
        return [unescape(link).split("#")[0] for _, link in found]


async def _pages(app: ASGIApp) -> dict[str, _Page]:
    """Every page and file that can be reached, by its address."""
    pages: dict[str, _Page] = {}
    waiting = deque(["/"])
    while waiting:
        address = waiting.popleft()
        if address not in pages:
            pages[address] = page = await _page(app, address)
            waiting += page.links
    return pages


async def _page(app: ASGIApp, address: str) -> _Page:
    """What the application answers to one address."""
    parts = urlsplit(address)
    body: list[bytes] = []
    status: list[int] = []
    kinds: list[str] = []
    scope: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": [],
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])
            kinds.append(_KINDS[Headers(raw=message["headers"])["content-type"].split(";")[0]])
        else:
            body.append(message.get("body", b""))

    await app(scope, receive, send)
    assert status == [200], f"a page leads to {address}, which is answered by {status}"
    return _Page(b"".join(body).decode("utf-8"), kinds[0])


def _with_file_links(text: str, names: Mapping[str, str]) -> str:
    """A page whose links lead to files."""

    def to_file(match: re.Match[str]) -> str:
        address, *rest = unescape(match[2]).split("#")
        return f'{match[1]}="{escape("#".join([names[address], *rest]))}"'

    return _LINK.sub(to_file, text)


def _name(address: str, kind: str) -> str:
    """Name of the file of an address: its place, and a digest where that has several pages.

    The page of a node or finding is called the same in every run.
    """
    parts = urlsplit(address)
    place = parts.path.removeprefix("/static/").strip("/") or "index"
    if place.endswith(f".{kind}"):
        return place
    digest = sha256(parts.query.encode()).hexdigest()[:_DIGITS]
    return f"{place}-{digest}.{kind}" if parts.query else f"{place}.{kind}"

"""The application: its pages behind its guard, and the server that it runs in."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from audit.base.cores import cores
from audit.base.errors import InputError
from audit.explorer.guard import Guard
from audit.explorer.site import FileAsked, NotThereError, Site, View, result_json, static_file
from audit.explorer.views import (
    findings,
    hierarchy,
    instances,
    judging,
    media,
    nodes,
    other_runs,
    pairs,
    parts,
    report,
)

HOST = "127.0.0.1"
PAGES: Mapping[str, View] = {
    **report.PAGES,
    **findings.PAGES,
    **judging.PAGES,
    **nodes.PAGES,
    **pairs.PAGES,
    **hierarchy.PAGES,
    **parts.PAGES,
    **instances.PAGES,
    **media.PAGES,
    **other_runs.PAGES,
    "/result.json": result_json,
    "/static/{name}": static_file,
}
"""What answers at each address, given the application's run and the request."""


def application(site: Site, port: int, token: str) -> Guard:
    """The guarded application.

    Args:
        site: The run that is looked at, and what is beside it.
        port: Port that it is served at.
        token: Secret of the address that opens it.
    """
    site.guard = Guard(pages_of(site), port, token)
    return site.guard


def pages_of(site: Site) -> ASGIApp:
    """The application without its guard."""
    return Starlette(
        routes=[
            *(Route(path, partial(page, site)) for path, page in PAGES.items()),
            *(Route(path, form(site), methods=["POST"]) for path, form in judging.FORMS.items()),
        ],
        exception_handlers={
            FileAsked: lambda _, asked: asked.file,
            NotThereError: lambda request, what: site.missing(request, str(what)),
            404: lambda request, _: site.missing(request, "There is no such page."),
            OSError: lambda request, _: site.gone(request),
        },
    )


def serve(site: Site, port: int, opened: Callable[[str], None]) -> None:
    """Serve the application on this machine alone, until it is interrupted.

    Args:
        site: The run that is looked at, and what is beside it.
        port: Port to serve at; 0 for any that is free.
        opened: Called with the address that opens it, once it answers.

    Raises:
        InputError: If the port is in use.
    """
    with listening_at(port) as listening:
        taken = listening.getsockname()[1]
        token = secrets.token_urlsafe(32)
        settings = uvicorn.Config(
            application(site, taken, token),
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        opened(f"http://{HOST}:{taken}/?token={token}")
        with suppress(KeyboardInterrupt):
            asyncio.run(_answer(uvicorn.Server(settings), listening))


async def _answer(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until interrupted, with as many pages at once as there are cores.

    Further ones wait for their turn: made all at once, each would take as long as all of them.
    """
    current_default_thread_limiter().total_tokens = cores()
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

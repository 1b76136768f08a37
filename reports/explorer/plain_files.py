"""The window as plain files: every page that the shared view of a run has, for any web server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message

from audit.base.disk import on_disk, working_beside
from audit.base.errors import OutputError
from audit.results.exploration import ExploredRun
from reports.explorer.application import pages_of

_LINK = re.compile(r'(href|src)="(/[^"]*)"')


def write_plain_files(run: ExploredRun, folder: Path) -> int:
    """Write every page that the links of the first page lead to, and what the pages need.

    Links become names of files beside each other, so that the folder can lie anywhere.

    Args:
        run: The shared view of a run: what it does not show cannot be written.
        folder: A new or an empty folder.

    Returns:
        Number of files; the same run gives the same bytes.

    Raises:
        OutputError: If the folder holds something, or cannot be written.
    """
    assert not run.in_full, "only a shared view is written to be shared"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(
            "a new or an empty folder is required",
            found="something that is there already",
            where=folder,
            hint="name another",
        )
    pages = asyncio.run(_pages(pages_of(run, plain=True)))
    names = {address: _name(address, number) for number, address in enumerate(pages)}
    out = folder.resolve()
    with working_beside(out) as begun, on_disk(out):
        for address, text in pages.items():
            (begun / names[address]).write_text(_led(text, names), "utf-8", newline="\n")
        if out.exists():
            out.rmdir()
        begun.rename(out)
    return len(pages)


async def _pages(app: ASGIApp) -> dict[str, str]:
    """The text of every page and file that can be reached, by its address."""
    pages: dict[str, str] = {}
    waiting = ["/"]
    while waiting:
        address = waiting.pop(0)
        if address not in pages:
            pages[address] = text = await _text(app, address)
            waiting += [_target(link) for _, link in _LINK.findall(text)]
    return pages


async def _text(app: ASGIApp, address: str) -> str:
    """What the application answers to one address."""
    parts = urlsplit(address)
    body: list[bytes] = []
    status: list[int] = []
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
        else:
            body.append(message.get("body", b""))

    await app(scope, receive, send)
    assert status == [200], f"a page leads to {address}, which is answered by {status}"
    return b"".join(body).decode("utf-8")


def _target(link: str) -> str:
    return unescape(link).split("#")[0]


def _led(text: str, names: Mapping[str, str]) -> str:
    """A page whose links lead to files."""

    def to_file(match: re.Match[str]) -> str:
        address, *rest = unescape(match[2]).split("#")
        return f'{match[1]}="{escape("#".join([names[address], *rest]))}"'

    return _LINK.sub(to_file, text)


def _name(address: str, number: int) -> str:
    """Name of the file of an address: by its place, numbered where that has several pages."""
    parts = urlsplit(address)
    place = parts.path.strip("/").replace("/", "-") or "index"
    if parts.path.startswith("/static/"):
        return place.removeprefix("static-")
    kind = "csv" if "csv=" in parts.query else "html"
    return f"{place}-{number}.{kind}" if parts.query else f"{place}.{kind}"

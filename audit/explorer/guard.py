"""Who may look: one browser on this machine, below an unguessable path and by a cookie."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterator

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer."""
_LINK = re.compile(rb'\b(href|src|action)="(?=/)')
"""What leads from a page to another one; in texts of data, quotes are escaped."""


class Guard:
    """Answers only who opened the address that the command printed, and only below that address.

    The cookie of the session is sent to nothing else: browsers send cookies of a machine to every
    port of it, but only to the path that they name.

    Args:
        app: The application behind it, which knows nothing of the path that it is served below.
        secret: Name of the path that all pages lie below; its first request opens the session.
    """

    def __init__(self, app: ASGIApp, port: int, secret: str) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.root = f"/{secret}"
        self._opened = False
        self._session = secrets.token_urlsafe(32)
        self._cookie = f"audit_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it in plain text."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = self._refusal(scope) or self._entrance(scope)
        if answer is not None:
            await answer(scope, receive, _with_headers(send))
            return
        path = scope["path"].removeprefix(self.root)
        below = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(below, receive, _with_headers(_below(self.root.encode(), send)))

    def _refusal(self, scope: Scope) -> Response | None:
        """Refusal of a wrong host, a method that may write, or another site's request; or None."""
        headers = Headers(scope=scope)
        if headers.get("host") not in self._hosts:
            return _refused("This address is not served here.", 421)
        if scope["method"] not in ("GET", "HEAD"):
            return _refused("Pages are only read.", 405)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _refused("Requests from other sites are refused.", 403)
        return None

    def _entrance(self, scope: Scope) -> Response | None:
        """Nothing for the open session; the cookie for its first request; a refusal for others."""
        asked = scope["path"].encode()
        below = hmac.compare_digest(asked[: len(self.root) + 1], f"{self.root}/".encode())
        if below and any(hmac.compare_digest(one, self._session) for one in self._sent(scope)):
            return None
        if self._opened or not below or len(asked) > len(self.root) + 1:
            return _refused(
                "Open the address that `audit explore` printed. It opens one browser; for another, "
                "start the command again.",
                403,
            )
        self._opened = True
        answer = RedirectResponse(f"{self.root}/", 303)
        answer.set_cookie(
            self._cookie, self._session, httponly=True, samesite="strict", path=self.root
        )
        return answer

    def _sent(self, scope: Scope) -> Iterator[str]:
        """Values of the cookie; what other programs set is passed over, however it is written."""
        for each in Headers(scope=scope).get("cookie", "").split(";"):
            name, _, value = each.strip().partition("=")
            if name == self._cookie and value.isascii():
                yield value


def _refused(text: str, status: int) -> Response:
    return PlainTextResponse(f"{text}\n", status)


def _with_headers(send: Send) -> Send:
    """A ``send`` that adds `HEADERS` to every answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sending


def _below(root: bytes, send: Send) -> Send:
    """A ``send`` that puts a path before the links of HTML pages, and before redirections."""
    started: list[Message] = []
    body = bytearray()

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if headers.get("location", "").startswith("/"):
                headers["location"] = f"{root.decode()}{headers['location']}"
            if headers.get("content-type", "").startswith("text/html"):
                started.append(message)
                return
        elif started:
            body.extend(message.get("body", b""))
            if message.get("more_body"):
                return
            page = _LINK.sub(rb'\1="' + root, bytes(body))
            MutableHeaders(scope=started[0])["content-length"] = str(len(page))
            await send(started[0])
            message = {**message, "body": page}
        await send(message)

    return sending

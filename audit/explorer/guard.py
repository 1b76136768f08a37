"""Who may look: one browser on this machine, by a token that is exchanged for a cookie."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # without one, browsers send forms without their origin
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer."""
LARGEST_FORM = 100_000
"""Bytes of a form at most."""


class Guard:
    """Answers only who opened the address that the command printed, and only at that address.

    Args:
        app: The application behind it.
        port: Port that it is served at.
        token: Secret of the printed address; it opens one session and no second.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._token: str | None = token
        self._session = secrets.token_urlsafe(32)
        self._cookie = f"audit_{port}"
        self.form_token = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it in plain text."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = self._refusal(scope) or self._entrance(scope)
        app = self._app if answer is None else answer
        await app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        """Why a request is refused, whoever sends it."""
        headers = Headers(scope=scope)
        if headers.get("host") not in self._hosts:
            return _plain("This address is not served here.", 421)
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return _plain("Requests from other sites are refused.", 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _plain("Requests from other sites are refused.", 403)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _plain("Only reading, and sending a form, is served.", 405)
        return None

    def _entrance(self, scope: Scope) -> Response | None:
        """Nothing for the open session; the cookie for the token; a refusal for all others."""
        if hmac.compare_digest(self._cookie_of(scope), self._session):
            return None
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token", "")
        if self._token is None or not hmac.compare_digest(given.encode(), self._token.encode()):
            return _plain(
                "Open the address that `audit explore` printed. It opens one browser; for another, "
                "start the command again.",
                403,
            )
        self._token = None
        answer = RedirectResponse(scope["path"], 303)
        answer.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        return answer

    def _cookie_of(self, scope: Scope) -> str:
        try:
            sent = SimpleCookie(Headers(scope=scope).get("cookie", ""))
        except CookieError:
            return ""
        return sent[self._cookie].value if self._cookie in sent else ""

    def accepts(self, form: Mapping[str, str]) -> bool:
        """Whether a form was made by a page of this application."""
        return hmac.compare_digest(form.get("form_token", "").encode(), self.form_token.encode())


def _plain(text: str, status: int) -> Response:
    return PlainTextResponse(f"{text}\n", status)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sending

"""Connections of the window: few at once, and none that is kept open without a whole request."""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop, TimerHandle, Transport
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

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

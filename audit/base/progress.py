"""Progress callbacks for long-running work."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Protocol


class Progress(Protocol):
    """A callback that receives the current step and how much of it is done."""

    def __call__(self, step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
        """Report the progress of a step; a step of another name ends the one before.

        Args:
            total: How much there is to do; None if that is not known.
        """


def silent(step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
    """A progress callback that does nothing."""


def logged(step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
    """A progress callback that logs each step as it begins: ``audit``, of level INFO."""
    if not done:
        logging.getLogger("audit").info("%s", step)


def blocks(progress: Progress, step: str, starts: range, unit: str) -> Iterator[int]:
    """The starts of blocks; progress is reported before each block and at the end.

    >>> list(blocks(silent, "counting", range(0, 10, 4), "instances"))
    [0, 4, 8]
    """
    for start in starts:
        progress(step, start, starts.stop, unit)
        yield start
    progress(step, starts.stop, starts.stop, unit)

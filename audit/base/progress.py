"""How long work tells how far it is: a function that is handed down, and called now and then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class Progress(Protocol):
    """What is called with the step that runs, and how much of it is done."""

    def __call__(self, step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
        """Tell of a step; a step of another name ends the one before.

        Args:
            step: What is being done.
            done: How much of it is done.
            total: How much there is to do; None where that is not known.
            unit: What both count.
        """


def silent(step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
    """Tell nobody."""


def blocks(progress: Progress, step: str, starts: range, unit: str) -> Iterator[int]:
    """The starts of blocks, telling before each how much is done, and all at the end.

    >>> list(blocks(silent, "counting", range(0, 10, 4), "instances"))
    [0, 4, 8]
    """
    for start in starts:
        progress(step, start, starts.stop, unit)
        yield start
    progress(step, starts.stop, starts.stop, unit)

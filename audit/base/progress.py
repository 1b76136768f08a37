"""Progress callbacks for long-running work."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from time import perf_counter
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


_STAGES = {
    **dict.fromkeys(("starting", "reading", "recognising"), "read"),
    **dict.fromkeys(("judging", "scanning"), "judge"),
    **dict.fromkeys(("writing", "sealing"), "write"),
    "applying": "check",
    "protecting": "protect",
    "rendering": "render",
}
"""Stage of an audit by the first word of a step; all other steps count."""


class Clock:
    """A progress callback that hands on each step and times it."""

    def __init__(self, progress: Progress = silent) -> None:
        self._progress, self._steps = progress, dict[str, list[float]]()
        self._step, self._since = "starting", _now()

    def __call__(self, step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
        """Hand a step on; one of another name ends the one before."""
        if step != self._step:
            self._stop()
            self._step = step
        self._progress(step, done, total, unit)

    def timings(self) -> list[dict[str, str | float]]:
        """``stage, step, seconds, processor_seconds`` of each step up to now, in their order.

        Those of a child process count for the step in which it ended.
        """
        self._stop()
        return [
            {
                "stage": _STAGES.get(step.partition(" ")[0], "count"),
                "step": step,
                "seconds": round(seconds, 3),
                "processor_seconds": round(of_processors, 3),
            }
            for step, (seconds, of_processors) in self._steps.items()
        ]

    def _stop(self) -> None:
        now, spent = _now(), self._steps.setdefault(self._step, [0.0, 0.0])
        for place, (then, until) in enumerate(zip(self._since, now, strict=True)):
            spent[place] += until - then
        self._since = now


def _now() -> tuple[float, float]:
    return perf_counter(), sum(os.times()[:4])


def blocks(progress: Progress, step: str, starts: range, unit: str) -> Iterator[int]:
    """The starts of blocks; progress is reported before each block and at the end.

    >>> list(blocks(silent, "counting", range(0, 10, 4), "instances"))
    [0, 4, 8]
    """
    for start in starts:
        progress(step, start, starts.stop, unit)
        yield start
    progress(step, starts.stop, starts.stop, unit)

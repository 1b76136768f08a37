"""Live progress display in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.progress import Progress as Live
from rich.text import Text

if TYPE_CHECKING:
    from audit.base.progress import Progress


def progress_columns() -> tuple[ProgressColumn, ...]:
    """Columns of a running step: progress, speed, and time left or elapsed."""
    return (
        SpinnerColumn(finished_text=" "),
        TextColumn("{task.description}"),
        _Bar(bar_width=24),
        _Rate(),
        _Time(),
    )


def following(live: Live) -> Progress:
    """Progress callback that shows each step on its own line; a new name ends the previous step."""
    shown: list[tuple[str, TaskID]] = []

    def follow(step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
        if not shown or shown[-1][0] != step:
            for _, before in shown[-1:]:
                _end(live, before)
            shown.append((step, live.add_task(step, total=total, unit=unit)))
        live.update(shown[-1][1], completed=done, total=total, unit=unit)

    return follow


def _end(live: Live, step: TaskID) -> None:
    """Stop the clock of a step; one without a known end has come to it."""
    task = live.tasks[step]
    if not task.finished:
        live.update(step, total=task.completed, completed=task.completed)


class _Bar(BarColumn):
    """A bar where the end is known and ahead."""

    def render(self, task: Task) -> Any:
        return super().render(task) if task.total and not task.finished else Text("")


class _Rate(ProgressColumn):
    """What is done, of how much, and how much of it a second."""

    def render(self, task: Task) -> Text:
        unit = task.fields.get("unit", "")
        if not unit or not task.completed:
            return Text("")
        of = "" if task.finished else f" of {int(task.total or 0):,}"
        seconds = task.finished_time or task.elapsed
        rate = f", {_few_digits(task.completed / seconds)} {unit}/s" if seconds else ""
        return Text(f"{int(task.completed):,}{of} {unit}{rate}", "dim")


class _Time(ProgressColumn):
    """The time left where it can be estimated, else the time passed."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        left = None if task.finished else task.time_remaining
        if left is not None:
            return Text(f"{_clock(left)} left", "dim")
        return Text(_clock(task.finished_time or task.elapsed or 0), "dim")


def _few_digits(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"

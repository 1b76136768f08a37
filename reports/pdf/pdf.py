"""The report as a PDF/A-3a and PDF/UA-1 of at most sixty pages, with ``result.json`` attached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any

from audit.base.errors import RenderError
from audit.base.source_date import dated
from audit.results.result import to_json_bytes
from reports.chapters.report import Report, build
from reports.pdf.budget import PAGES, Printed, budgets
from reports.pdf.paper import paper
from reports.pdf.typesetting import (
    AGAIN,
    Limits,
    Task,
    TooLongError,
    UnshownError,
    typeset,
    typesetting,
)
from reports.words.parts import UNNAMED, Imprint

ATTACHMENT = "result.json"


@dataclass(frozen=True, slots=True)
class Typeset:
    """A report that is typeset.

    Args:
        content: The bytes of the file.
        unshown: Characters that its pages show boxes for, each once; where there are any, the file
            conforms to no standard, and says so.
    """

    content: bytes
    unshown: str = ""


@contextmanager
def rendering_pdf(
    shared: Mapping[str, Any], limits: Limits | None = None, imprint: Imprint = UNNAMED
) -> Iterator[Callable[[], Typeset]]:
    """Start rendering the file: it is typeset in a child process while the block runs.

    Args:
        shared: The shared view of a result.
        limits: Resource limits of typesetting; None for a few minutes and a gigabyte.
        imprint: What the report says of itself.

    Yields:
        A function that waits for the file, with the exact bytes of ``result.json`` attached. It
        raises `RenderError` if WeasyPrint or Pango is missing, a limit is reached or rendering
        fails.

    Raises:
        RenderError: If the document cannot be made.
        InputError: If ``SOURCE_DATE_EPOCH`` is not a valid timestamp.

    Typesetting takes about 0.2 s a page, and twice as long if a font lacks a character.
    """
    limits = limits or Limits()
    tasks_of = partial(_tasks, shared, imprint, dated())
    tasks = tasks_of()
    with typesetting(next(tasks), limits) as first:
        yield lambda: _typeset(first, tasks, tasks_of, limits)


def pdf_bytes(shared: Mapping[str, Any], imprint: Imprint = UNNAMED) -> bytes:
    """Render the complete file; parameters and errors as in `rendering_pdf`."""
    with rendering_pdf(shared, imprint=imprint) as finished:
        return finished().content


def _typeset(
    first: Callable[[], bytes],
    others: Iterable[Task],
    tasks_of: Callable[[str], Iterable[Task]],
    limits: Limits,
) -> Typeset:
    """The document, which says that it conforms only if it does."""

    def attempts(tasks: Iterable[Task]) -> Iterator[Callable[[], bytes]]:
        return (partial(typeset, task, limits) for task in tasks)

    try:
        return Typeset(_first_that_fits(chain([first], attempts(others))))
    except UnshownError as found:
        again = tasks_of(found.characters)
        return Typeset(_first_that_fits(attempts(again)), found.characters)


def _tasks(
    shared: Mapping[str, Any], imprint: Imprint, moment: datetime, unshown: str = ""
) -> Iterator[Task]:
    """The document within each budget; what it says of standards depends on ``unshown``."""
    attached = to_json_bytes(shared).decode("utf-8")
    try:
        report = build(shared, imprint)
        for kept in budgets(report):
            yield _task(report, kept, attached, moment, unshown)
    except RenderError:
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise RenderError("report.pdf could not be rendered", found=found, hint=AGAIN) from error


def _first_that_fits(attempts: Iterable[Callable[[], bytes]]) -> bytes:
    for attempt in attempts:
        try:
            return attempt()
        except TooLongError as long:
            pages = long.pages
    raise RenderError(f"report.pdf has {PAGES} pages at most", found=f"{pages} pages")


def _task(report: Report, kept: Printed, attached: str, moment: datetime, unshown: str) -> Task:
    return Task(
        html=paper(kept, moment.strftime("%Y-%m-%dT%H:%M:%SZ"), unshown),
        attached=attached,
        attachment=ATTACHMENT,
        identifier=report.result_sha256[:32],
        moment=int(moment.timestamp()),
        pages=PAGES,
        claims=not unshown,
    )

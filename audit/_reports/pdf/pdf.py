"""The report as a PDF/A-3a and PDF/UA-1 of at most sixty pages, with ``result.json`` attached."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from audit._reports.chapters.report import Report, build, sections
from audit._reports.html import environment, own_sheets, style
from audit._reports.pdf import budget
from audit._reports.pdf.budget import PAGES, Printed, budgets
from audit._reports.pdf.typesetting import (
    AGAIN,
    Limits,
    Task,
    TooLongError,
    UnshownError,
    typeset,
    typesetting,
)
from audit._reports.words.parts import Table
from audit._reports.words.words import UNNAMED, Imprint
from audit.base.disk import dated
from audit.base.errors import RenderError
from audit.base.plurals import counted
from audit.results.result import to_json_bytes

if TYPE_CHECKING:
    import jinja2


_NAMED = 5


def conformance(unshown: str) -> str:
    """Say that the document conforms to PDF/A-3a and PDF/UA-1, or which characters forbid it.

    >>> conformance("\\u5fc3").rpartition(": ")[2]
    'U+5FC3 (cjk unified ideograph-5fc3).'
    """
    if not unshown:
        return "This document conforms to PDF/A-3a (ISO 19005-3) and to PDF/UA-1 (ISO 14289-1)."
    more = len(unshown) - _NAMED
    named = ", ".join(map(_name_of, unshown[:_NAMED])) + (f" and {more:,} more" if more > 0 else "")
    return (
        "This document conforms neither to PDF/A-3a nor to PDF/UA-1, for its pages show boxes in "
        f"place of {counted(len(unshown), 'characters')}. No font of the machine that made it has "
        "these characters, or they are for private use; install a font of their script, and "
        f"render the report again: {named}."
    )


def _name_of(character: str) -> str:
    name = unicodedata.name(character, "").lower()
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")


def paper(kept: Printed, created: str, unshown: str = "") -> str:
    """Render the document as HTML."""
    return (
        _environment()
        .get_template("paper.html.jinja")
        .render(
            report=kept.report,
            kept=kept,
            most_pages=PAGES,
            sections=sections(kept.report),
            css=style("paper", own_sheets(kept.report)),
            paper=True,
            created=created,
            conformance=conformance(unshown),
        )
    )


@cache
def _environment() -> jinja2.Environment:
    """The screen's templates, with those of the folder ``paper`` in place of their namesakes."""
    from jinja2 import ChoiceLoader, PackageLoader

    own = PackageLoader("audit._reports", "templates/paper")
    shared = environment()
    made = shared.overlay(loader=ChoiceLoader([own, PackageLoader("audit._reports", "templates")]))
    made.filters = {**shared.filters, "column_widths": _percents}
    return made


def _percents(table: Table) -> list[str]:
    return [f"{share:.2%}" for share in budget.widths(table)]


ATTACHMENT = "result.json"


@dataclass(frozen=True, slots=True)
class Typeset:
    """A report that is typeset.

    Args:
        unshown: Characters that its pages show boxes for, each once; where there are any, the file
            conforms to no standard, and says so.
    """

    content: bytes
    unshown: str = ""


@contextmanager
def rendering_pdf(
    shared: Mapping[str, Any],
    limits: Limits | None = None,
    imprint: Imprint = UNNAMED,
    moment: datetime | None = None,
) -> Iterator[Callable[[], Typeset]]:
    """Start rendering the file: it is typeset in a child process while the block runs.

    Args:
        moment: When it says that it was made; None for `dated`.

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
    tasks_of = partial(_tasks, shared, imprint, moment or dated())
    tasks = tasks_of()
    with typesetting(next(tasks), limits) as first:
        yield lambda: _typeset(first, tasks, tasks_of, limits)


def pdf_bytes(
    shared: Mapping[str, Any], imprint: Imprint = UNNAMED, moment: datetime | None = None
) -> bytes:
    """Render the complete file; parameters and errors as in `rendering_pdf`."""
    with rendering_pdf(shared, imprint=imprint, moment=moment) as finished:
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

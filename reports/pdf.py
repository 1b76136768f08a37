"""The report as a PDF/A-3a file with ``result.json`` inside, in sixty pages at most."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from audit.errors import RenderError
from audit.result import to_json_bytes
from reports.budget import PAGES, Printed, budgets
from reports.model import Report, build
from reports.paper import paper
from reports.typesetting import Limits, Task, TooLongError, typeset

ATTACHMENT = "result.json"


def pdf_bytes(shared: Mapping[str, Any], limits: Limits | None = None) -> bytes:
    """The whole file, with the exact bytes of ``result.json`` attached.

    Args:
        shared: The shared view of a result.
        limits: What typesetting may take; None: a few minutes and a gigabyte.

    Raises:
        RenderError: If WeasyPrint or Pango is missing, a limit is reached or rendering fails.

    Typesetting takes about 0.3 s a page, in a process of its own.
    """
    moment = _moment()
    attached = to_json_bytes(shared).decode("utf-8")
    try:
        report = build(shared)
        for kept in budgets(report):
            try:
                return typeset(_task(report, kept, attached, moment), limits or Limits())
            except TooLongError as long:
                pages = long.pages
    except RenderError:
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise RenderError("report.pdf could not be rendered", found=found) from error
    raise RenderError(f"report.pdf has {PAGES} pages at most", found=f"{pages} pages")


def _task(report: Report, kept: Printed, attached: str, moment: datetime) -> Task:
    return Task(
        html=paper(kept, moment.strftime("%Y-%m-%dT%H:%M:%SZ")),
        attached=attached,
        attachment=ATTACHMENT,
        identifier=report.result_sha256[:32],
        moment=int(moment.timestamp()),
        pages=PAGES,
    )


def _moment() -> datetime:
    """``SOURCE_DATE_EPOCH`` where it is set, else the present."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        return datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise RenderError(
            "SOURCE_DATE_EPOCH is the seconds since 1970 that report.pdf is dated with",
            found=str(epoch),
            hint="a whole number, or unset it",
        ) from error

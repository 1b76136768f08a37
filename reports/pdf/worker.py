"""Typeset one HTML document as PDF/A-3a, in a process of its own: ``python -m reports.pdf.worker``.

It reads one JSON object from standard input and writes the file to standard output. Where it
cannot, it writes nothing there, says why in the last line of standard error, again as JSON, and
ends with status `TOLD`. It imports nothing else of this project: it starts at once, and the memory
it is limited in is WeasyPrint's.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from datetime import UTC, datetime
from typing import Any

TOLD = 3
"""The exit status of a failure that standard error explains."""

VARIANT = "pdf/a-3a"


class RefusedError(Exception):
    """What the document cannot be typeset for, as the parts of an error message."""

    def __init__(self, **told: object) -> None:
        self.told = told
        super().__init__(told)


def main() -> int:
    """Read the task, typeset it within its limits, and answer."""
    answer = os.dup(1)
    os.dup2(2, 1)  # libraries that print notices do not print them into the file
    sys.stdout = sys.stderr
    try:
        task = json.load(sys.stdin)
        limit_time(task["seconds"])
        weasyprint = renderer()
        limit_memory(task["memory"])
        written = typeset(weasyprint, task)
    except RefusedError as refused:
        return _tell(refused.told)
    except Exception as error:
        return _tell({"found": f"{type(error).__name__}: {error}"})
    with os.fdopen(answer, "wb") as file:
        file.write(written)
    return 0


def renderer() -> Any:
    """WeasyPrint, or what is missing to have it."""
    try:
        import weasyprint
    except OSError as error:
        raise RefusedError(missing="pango", found=str(error)) from error
    except ImportError as error:
        raise RefusedError(missing="weasyprint", found=str(error)) from error
    return weasyprint


def limit_time(seconds: int) -> None:
    """End this process when it has used so much of a processor, should nobody else end it."""
    _limit("RLIMIT_CPU", seconds)


def limit_memory(size: int) -> None:
    """Refuse this process more address space than so many bytes, where the system can."""
    _limit("RLIMIT_AS", size)


def typeset(weasyprint: Any, task: dict[str, Any]) -> bytes:
    """The file's bytes.

    Raises:
        RefusedError: If it has more pages than it may have; nothing is painted then.
    """
    moment = datetime.fromtimestamp(task["moment"], UTC)
    attachment = weasyprint.Attachment(
        string=task["attached"].encode("utf-8"),
        name=task["attachment"],
        description="The audit's result, which this document renders",
        created=moment,
        modified=moment,
        relationship="Source",
    )
    options = {
        "pdf_variant": VARIANT,
        "pdf_identifier": task["identifier"].encode("ascii"),
        "attachments": [attachment],
    }
    with warnings.catch_warnings():
        # WeasyPrint leaves its colour profile to be closed by the collector.
        warnings.simplefilter("ignore", ResourceWarning)
        nothing = weasyprint.urls.URLFetcher(allowed_protocols=(), fail_on_errors=True)
        document = weasyprint.HTML(string=task["html"], url_fetcher=nothing).render(**options)
        if len(document.pages) > task["pages"]:
            raise RefusedError(pages=len(document.pages))
        written: bytes = document.write_pdf(**options)
    return written


def _limit(name: str, most: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    limit = getattr(resource, name)
    hard = resource.getrlimit(limit)[1]
    within = most if hard == resource.RLIM_INFINITY else min(most, hard)
    try:
        resource.setrlimit(limit, (within, hard))
    except (OSError, ValueError):  # macOS knows the name of some limits alone
        return


def _tell(told: dict[str, object]) -> int:
    os.write(2, f"\n{json.dumps(told)}\n".encode("ascii"))
    return TOLD


if __name__ == "__main__":
    sys.exit(main())

"""Worker process that typesets one HTML document as PDF/A-3a: ``python -m reports.pdf.worker``.

It reads one JSON object from standard input and writes the file to standard output. On failure it
writes nothing there, explains the error as JSON in the last line of standard error, and exits with
status `REFUSED`. Of this project it imports only `reports.pdf.universal_access`, so that it starts
fast and its memory limit applies to WeasyPrint only.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from datetime import UTC, datetime
from functools import partial
from typing import Any

from reports.pdf.universal_access import identify, make_accessible, unshown, without_claims

REFUSED = 3
"""Exit status of a failure that is explained on standard error."""

VARIANT = "pdf/a-3a"


class RefusedError(Exception):
    """Why the document cannot be typeset, as the parts of an error message."""

    def __init__(self, **refusal: object) -> None:
        self.refusal = refusal
        super().__init__(refusal)


def main() -> int:
    """Read the task, typeset it within its limits, and answer; returns the exit status."""
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
        return _report_refusal(refused.refusal)
    except Exception as error:
        return _report_refusal({"found": f"{type(error).__name__}: {error}"})
    with os.fdopen(answer, "wb") as file:
        file.write(written)
    return 0


def renderer() -> Any:
    """Import WeasyPrint; raises RefusedError if it or one of its libraries is missing."""
    try:
        import weasyprint
    except OSError as error:
        raise RefusedError(missing="pango", found=str(error)) from error
    except ImportError as error:
        raise RefusedError(missing="weasyprint", found=str(error)) from error
    return weasyprint


def limit_time(seconds: int) -> None:
    """Limit the processor time of this process, in case its parent does not end it."""
    _limit("RLIMIT_CPU", seconds)


def limit_memory(size: int) -> None:
    """Limit the address space of this process to so many bytes, if the system supports it."""
    _limit("RLIMIT_AS", size)


def typeset(weasyprint: Any, task: dict[str, Any]) -> bytes:
    """Typeset the document; returns the bytes of the file.

    Raises:
        RefusedError: If it has too many pages, and is not painted then; or if it is to say that
            it conforms, and has characters that forbid it.
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
        finisher = partial(_finish, claims=task["claims"])
        written: bytes = document.write_pdf(finisher=finisher, **options)
    return written


def _finish(document: Any, pdf: Any, *, claims: bool) -> None:
    make_accessible(pdf)
    if not claims:
        return without_claims(pdf)
    if lacking := unshown(document.fonts.values()):
        raise RefusedError(unshown=lacking)
    return identify(pdf)


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


def _report_refusal(refusal: dict[str, object]) -> int:
    os.write(2, f"\n{json.dumps(refusal)}\n".encode("ascii"))
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())

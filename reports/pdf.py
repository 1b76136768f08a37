"""The report as a PDF/A-3a file with ``result.json`` inside, by WeasyPrint."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from types import ModuleType
from typing import Any

from audit.errors import RenderError
from audit.result import to_json_bytes
from reports.html import page
from reports.model import Report, build

VARIANT = "pdf/a-3a"
ATTACHMENT = "result.json"
INSTALL_PANGO = (
    "install Pango. Debian, Ubuntu: sudo apt-get install -y libpango-1.0-0 libpangoft2-1.0-0 "
    "libharfbuzz-subset0. macOS: brew install pango"
)


def pdf_bytes(shared: Mapping[str, Any]) -> bytes:
    """The whole file, with the exact bytes of ``result.json`` attached.

    Raises:
        RenderError: If Pango is missing or the renderer fails.
    """
    weasyprint = _weasyprint()
    try:
        return _rendered(weasyprint, build(shared), to_json_bytes(shared), _moment())
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise RenderError("report.pdf could not be rendered", found=found) from error


def _weasyprint() -> ModuleType:
    try:
        with redirect_stdout(StringIO()):  # without Pango it prints a notice of its own
            import weasyprint
    except OSError as error:
        raise RenderError(
            "report.pdf needs the system library Pango",
            found=str(error).strip().splitlines()[0] if str(error).strip() else "no Pango",
            hint=INSTALL_PANGO,
        ) from error
    except ImportError as error:
        raise RenderError(
            "report.pdf needs the package weasyprint",
            found=str(error),
            hint="pip install weasyprint",
        ) from error
    module: ModuleType = weasyprint
    return module


def _rendered(weasyprint: ModuleType, report: Report, attached: bytes, moment: datetime) -> bytes:
    html = weasyprint.HTML(
        string=page(report, paper=True, created=moment.strftime("%Y-%m-%dT%H:%M:%SZ")),
        url_fetcher=_refuse,
    )
    attachment = weasyprint.Attachment(
        string=attached,
        name=ATTACHMENT,
        description="The audit's result, which this document renders",
        created=moment,
        modified=moment,
        relationship="Source",
    )
    with warnings.catch_warnings():
        # WeasyPrint leaves its colour profile to be closed by the collector.
        warnings.simplefilter("ignore", ResourceWarning)
        written: bytes = html.write_pdf(
            pdf_variant=VARIANT,
            pdf_identifier=report.result_sha256[:32].encode("ascii"),
            attachments=[attachment],
        )
    return written


def _refuse(url: str, *_: object, **__: object) -> dict[str, Any]:
    raise ValueError(f"a report refers to nothing outside itself, yet asks for {url}")


def _moment() -> datetime:
    """``SOURCE_DATE_EPOCH`` where it is set, else the present."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)

"""Each report once for all tests: rendering is the slow part."""

from __future__ import annotations

from pathlib import Path

import pikepdf
import pytest

import reports
from audit.results.result import AuditResult
from fixtures import results
from fixtures.once import filled_once

EPOCH = "1700000000"


@pytest.fixture(scope="session")
def rich() -> AuditResult:
    return results.rich_result()


@pytest.fixture(scope="session")
def html(rich: AuditResult, tmp_path_factory: pytest.TempPathFactory) -> str:
    def fill(folder: Path) -> None:
        reports.write_html(rich, folder / "report.html")

    folder = filled_once("rich_html", fill, tmp_path_factory)
    return (folder / "report.html").read_text("utf-8")


@pytest.fixture(scope="session")
def pdf_path(rich: AuditResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def fill(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SOURCE_DATE_EPOCH", EPOCH)
            reports.write_pdf(rich, folder / "report.pdf")

    return filled_once("rich_pdf", fill, tmp_path_factory) / "report.pdf"


@pytest.fixture
def pdf(pdf_path: Path) -> pikepdf.Pdf:
    return pikepdf.open(pdf_path)

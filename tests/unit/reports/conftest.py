"""Each report once a session: rendering is the slow part."""

from __future__ import annotations

from pathlib import Path

import pikepdf
import pytest

import reports
from audit.results.result import AuditResult
from fixtures import results

EPOCH = "1700000000"


@pytest.fixture(scope="session")
def rich() -> AuditResult:
    return results.rich_result()


@pytest.fixture(scope="session")
def html(rich: AuditResult, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("html") / "report.html"
    reports.write_html(rich, path)
    return path.read_text("utf-8")


@pytest.fixture(scope="session")
def pdf_path(rich: AuditResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pdf") / "report.pdf"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", EPOCH)
        reports.write_pdf(rich, path)
    return path


@pytest.fixture
def pdf(pdf_path: Path) -> pikepdf.Pdf:
    return pikepdf.open(pdf_path)

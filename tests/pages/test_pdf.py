"""The PDF: the page with the result inside, by a standard that it follows, or by none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pikepdf
import pytest

import audit
import reports
from audit import AuditError, AuditResult
from fixtures import pdf_validator, results
from fixtures.leaving import to_json_bytes
from fixtures.once import filled_once
from fixtures.pdf_validator import Validator
from reports import pdf
from reports.pdf import Typeset, Variant, typeset

pytestmark = pytest.mark.slow

EPOCH = "1700000000"
PRIVATE = "\U0010fffd"
"""A character that has no meaning in any font."""
ANCIENT = "\U00010600"
"""The first character of Linear A, which few machines have a font of."""
PAGES = 7
"""Pages of the report of the sample."""


@pytest.fixture(scope="session")
def rich() -> AuditResult:
    return results.rich_result()


@pytest.fixture(scope="session")
def pdf_path(rich: AuditResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def fill(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SOURCE_DATE_EPOCH", EPOCH)
            reports.write_pdf(rich, folder / "report.pdf")

    return filled_once("rich_pdf", fill, tmp_path_factory) / "report.pdf"


def titled(text: str) -> dict[str, Any]:
    """The view of a release whose title holds a text."""
    sample = results.sample_result()
    data = {**sample.identity["data"], "title": f"Release {text}"}
    return replace(sample, identity={**sample.identity, "data": data}).shared()


def claims_of(path: Path) -> tuple[str, str | None]:
    """What the metadata of a file name of both standards."""
    with pikepdf.open(path) as file, file.open_metadata() as metadata:
        return metadata.pdfa_status, metadata.get("pdfuaid:part")


def test_it_is_tagged_titled_dated_and_holds_the_result(rich: AuditResult, pdf_path: Path) -> None:
    with pikepdf.open(pdf_path) as file:
        assert file.Root.MarkInfo.Marked
        assert str(file.Root.Lang) == "en"
        assert str(file.docinfo["/Title"]) == "Audit of The third release"
        assert str(file.docinfo["/CreationDate"]).startswith("D:20231114221320")
        attached = file.attachments["result.json"].get_file()
        assert attached.read_bytes() == to_json_bytes(rich.shared())
        assert str(attached.obj.Params.ModDate).startswith("D:20231114221320")
        assert str(file.Root.AF[0].AFRelationship) == "/Source"
        with file.open_outline() as outline:
            titles = [item.title for item in outline.root[0].children]
    assert {"To act on first", "Findings by check", "The model"} <= {*titles}
    assert claims_of(pdf_path) == ("3A", None)


def test_same_bytes_later_from_what_may_be_shared_alone(rich: AuditResult, pdf_path: Path) -> None:
    moment = datetime.fromtimestamp(int(EPOCH), UTC)
    again = typeset(json.loads(to_json_bytes(rich.shared())), moment=moment)

    assert again.content == pdf_path.read_bytes()


@pytest.mark.parametrize("text", [PRIVATE, f"{ANCIENT} and more"])
def test_what_no_font_shows_is_named_and_nothing_is_claimed(tmp_path: Path, text: str) -> None:
    made = typeset(titled(text))
    (tmp_path / "report.pdf").write_bytes(made.content)

    assert made.unshown in (text[:1], "")
    assert bool(made.unshown) or text[:1] == ANCIENT  # a machine may have the font
    assert claims_of(tmp_path / "report.pdf") == (("", None) if made.unshown else ("3A", None))
    assert (f"U+{ord(text[0]):04X}" in made.warning()) == bool(made.unshown)


def test_many_characters_are_counted_and_the_first_named() -> None:
    said = Typeset(b"", "".join(map(chr, range(0x10600, 0x10600 + 1_007)))).warning("pdf/ua-1")

    assert said.startswith("it is no PDF/UA-1")
    assert said.endswith("U+10604 (linear a sign ab005), 1,002 more")


def refuse_wide(path: Path) -> None:
    """Nothing stands beyond the margin."""
    if shutil.which("pdftotext"):
        told = subprocess.run(["pdftotext", "-bbox", path, "-"], capture_output=True, check=True)
        ends = [float(one.split('"')[0]) for one in told.stdout.decode().split('xMax="')[1:]]
        assert max(ends) * 25.4 / 72 <= 210 - 11


def test_the_sample_has_few_pages_and_nothing_beyond_their_margins(
    sample_runs: Path, tmp_path: Path
) -> None:
    view = json.loads((sample_runs / "second" / "result.json").read_text("utf-8"))
    (tmp_path / "report.pdf").write_bytes(typeset(view).content)

    with pikepdf.open(tmp_path / "report.pdf") as file:
        assert len(file.pages) <= PAGES
    refuse_wide(tmp_path / "report.pdf")


@pytest.mark.parametrize("length", [20, 120])
def test_long_words_break_where_a_table_would_be_wider_than_the_page(
    tmp_path: Path, length: int
) -> None:
    a, b, c, d = (name * length for name in "abcd")
    tree = {"top": {a: {b: {}, c: {}}, d: {}}}
    labels = audit.load_labels([[b, d], [b, d], [a], [a, c]] * 100, tree)
    reports.write_pdf(audit.run_audit(labels), tmp_path / "report.pdf")
    refuse_wide(tmp_path / "report.pdf")


# --- the process ----------------------------------------------------------------------------------


def stand_in(folder: Path, patch: pytest.MonkeyPatch, source: str) -> None:
    """A module that the process imports in place of WeasyPrint."""
    (folder / "weasyprint.py").write_text(source, "utf-8")
    patch.syspath_prepend(str(folder))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import os; os.abort()", "with status -6"),
        ("import os; os._exit(7)", "with status 7"),
        ("raise RuntimeError('torn')", "RuntimeError: torn"),
        ("raise MemoryError", "it needs more"),
        ("raise OSError('cannot load libpango-1.0-0')", "needs the system library Pango"),
        ("raise ImportError('No module')", "pip install weasyprint"),
        ("print('a notice'); raise RuntimeError('torn')", "torn"),
    ],
)
def test_a_process_that_fails_is_one_message_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, told: str
) -> None:
    stand_in(tmp_path, monkeypatch, source)
    with pytest.raises(AuditError, match=told) as caught:
        reports.write_pdf(results.empty_result(), tmp_path / "report.pdf")
    assert caught.value.exit_status == 3
    assert "Traceback" not in str(caught.value)
    assert not (tmp_path / "report.pdf").exists()


def test_limits_of_time_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "<!doctype html><title>t</title>" + "<p>Many words to be set in lines.</p>" * 40_000
    task = {"html": page, "attached": "{}", "identifier": "0" * 32, "moment": 0,
            "variant": "pdf/a-3a"}  # fmt: skip
    monkeypatch.setattr(pdf, "SECONDS", 1)
    with pytest.raises(AuditError, match=r"within 1 s\nFound: it takes longer"):
        pdf._made(task)
    # what is set in this process does not reach the other
    limited = "import sys, reports.pdf as p; p.MEMORY = 100 << 20; sys.exit(p._main())"
    command = [sys.executable, "-c", limited]
    done = subprocess.run(
        command, input=json.dumps(task), capture_output=True, text=True, check=False
    )
    assert done.returncode == pdf.REFUSED or sys.platform != "linux"
    assert "MemoryError" in done.stderr or sys.platform != "linux"


@pytest.mark.parametrize("url", ["https://example.org/x.svg", "file:///etc/hostname"])
def test_nothing_is_fetched(url: str) -> None:
    task = {"html": f"<title>t</title><img src='{url}'>", "attached": "{}", "identifier": "0",
            "moment": 0, "variant": "pdf/a-3a"}  # fmt: skip
    with pytest.raises(AuditError, match="Error fetching") as caught:
        pdf._made(task)
    assert url in str(caught.value)


def test_an_epoch_that_is_no_number_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(AuditError, match="Found: 'yesterday'"):
        typeset(results.empty_result().shared())


def test_the_process_has_little_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")

    assert "SECRET" not in pdf.child_environment()
    assert pdf.child_environment()["PATH"] == os.environ["PATH"]


# --- by veraPDF -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def validator() -> Iterator[Validator]:
    if lacking := pdf_validator.missing():
        pytest.skip(f"needs {lacking}")
    with pdf_validator.running_validator() as running:
        yield running


@pytest.mark.parametrize(("variant", "name"), pdf.STANDARDS.items())
@pytest.mark.parametrize(
    "text", ["אבחנה ראשית", "e\u0301 \u200d \ufe0e", PRIVATE, ANCIENT, "🫀 heart", "心臓"]
)
def test_verapdf_agrees_with_what_is_claimed(
    validator: Validator, tmp_path: Path, text: str, variant: Variant, name: str
) -> None:
    made = typeset(titled(text), variant=variant)
    path = tmp_path / "report.pdf"
    path.write_bytes(made.content)

    assert bool(validator.failures(path, name)) == bool(made.unshown)


@pytest.mark.parametrize(("variant", "name"), pdf.STANDARDS.items())
@pytest.mark.parametrize("make", [results.rich_result, results.hostile_result])
def test_verapdf_finds_no_fault(
    validator: Validator, tmp_path: Path, make: Any, variant: Variant, name: str
) -> None:
    made = typeset(make().shared(), variant=variant)
    (tmp_path / "report.pdf").write_bytes(made.content)

    assert made.unshown or validator.failures(tmp_path / "report.pdf", name) == {}

"""A PDF says that it conforms to PDF/A-3a and PDF/UA-1 where it does, and nowhere else."""

from __future__ import annotations

import base64
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pikepdf
import pytest
import weasyprint

import reports
from audit._reports.pdf.pdf import conformance
from audit._reports.pdf.worker import make_accessible
from fixtures import pdf_validator, results
from fixtures.pdf_validator import FLAVOURS, Validator
from tests.unit.reports.document import joined

pytestmark = pytest.mark.slow

PRIVATE = "\U0010fffd"
"""A character that has no meaning in any font."""
ANCIENT = "\U00010600"
"""The first character of Linear A, which few machines have a font of."""
CLAIM = joined(conformance(""))


def written(folder: Path, text: str) -> Path:
    """The report of a release whose title holds a text."""
    sample = results.sample_result()
    data = {**sample.identity["data"], "title": f"Release {text}"}
    path = folder / "report.pdf"
    reports.write_pdf(replace(sample, identity={**sample.identity, "data": data}), path)
    return path


def claims_of(path: Path) -> tuple[str, str | None]:
    """What the metadata of a file name of both standards."""
    with pikepdf.open(path) as pdf, pdf.open_metadata() as metadata:
        return metadata.pdfa_status, metadata.get("pdfuaid:part")


def text_of(path: Path) -> str:
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    command = ["pdftotext", "-raw", str(path), "-"]
    return joined(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def has_font(character: str) -> bool:
    """Whether fontconfig knows a font with a character."""
    if shutil.which("fc-list") is None:
        pytest.skip("fc-list is not installed")
    command = ["fc-list", f":charset={ord(character):x}"]
    return bool(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_report_of_known_characters_says_that_it_conforms(pdf_path: Path) -> None:
    assert CLAIM in text_of(pdf_path)
    assert claims_of(pdf_path) == ("3A", "1")


def test_a_character_for_private_use_is_named_and_nothing_is_claimed(tmp_path: Path) -> None:
    path = written(tmp_path, PRIVATE)
    text = text_of(path)

    assert claims_of(path) == ("", None)
    assert CLAIM not in text
    assert joined("conforms neither to PDF/A-3a nor to PDF/UA-1") in text
    assert "U+10FFFD" in text


def test_what_is_claimed_follows_the_fonts_of_the_machine(tmp_path: Path) -> None:
    path = written(tmp_path, f"{ANCIENT} and more")

    assert (claims_of(path) == ("3A", "1")) == has_font(ANCIENT)
    assert ("U+10600(linearasignab001)" in text_of(path)) == (not has_font(ANCIENT))


def test_many_characters_are_counted_and_the_first_named() -> None:
    said = conformance("".join(map(chr, range(0x10600, 0x10600 + 1_007))))

    assert "in place of 1,007 characters" in said
    assert "U+10604 (linear a sign ab005) and 1,002 more." in said
    assert "U+10605" not in said


def picture() -> str:
    """The address of a PNG of one red pixel, made here."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + pixel + chunk(b"IEND", b"")
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_pictures_as_fonts_of_emoji_hold_them_are_not_interpolated(tmp_path: Path) -> None:
    def finish(_: Any, pdf: Any) -> None:
        make_accessible(pdf)

    page = f"<html lang='en'><title>x</title><p><img alt='red' src='{picture()}'>"
    weasyprint.HTML(string=page).write_pdf(
        tmp_path / "picture.pdf", finisher=finish, pdf_variant="pdf/a-3a", pdf_identifier=b"0"
    )
    with pikepdf.open(tmp_path / "picture.pdf") as pdf:
        streams = (one for one in pdf.objects if isinstance(one, pikepdf.Stream))
        images = [one for one in streams if one.get("/Subtype") == "/Image"]
        assert [bool(image.get("/Interpolate", False)) for image in images] == [False]


# --- by veraPDF -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def validator() -> Iterator[Validator]:
    if lacking := pdf_validator.missing():
        pytest.skip(f"needs {lacking}")
    with pdf_validator.running_validator() as running:
        yield running


@pytest.mark.parametrize(
    "text", ["אבחנה ראשית", "e\u0301 \u200d \ufe0e", PRIVATE, ANCIENT, "🫀 heart", "心臓"]
)
def test_verapdf_agrees_with_what_is_claimed(
    validator: Validator, tmp_path: Path, text: str
) -> None:
    path = written(tmp_path, text)
    conforms = not any(validator.failures(path, standard) for standard in FLAVOURS)

    assert (claims_of(path) == ("3A", "1")) == conforms
    assert (CLAIM in text_of(path)) == conforms


def test_verapdf_agrees_on_hostile_titles(validator: Validator, tmp_path: Path) -> None:
    path = tmp_path / "hostile.pdf"
    reports.write_pdf(results.hostile_result(), path)
    conforms = not any(validator.failures(path, standard) for standard in FLAVOURS)

    assert (claims_of(path) == ("3A", "1")) == conforms

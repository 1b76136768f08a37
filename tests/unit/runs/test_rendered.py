"""What stands on the pages of a PDF is read back as one text."""

from __future__ import annotations

import warnings
from pathlib import Path

import weasyprint

from audit.runs.consistency import comparable, one_way, read_pdf

PAGE = """<style>
@page { size: A4; margin: 24mm 20mm 22mm; @top-left { content: "Running head" }
        @bottom-right { content: "Page " counter(page) " of " counter(pages) } }
p { font-size: 40pt }
</style>"""


def test_a_sentence_over_lines_and_pages_is_one(tmp_path: Path) -> None:
    sentence = " ".join(
        f"number-{n} well-known-and-far-away ({n / 7:.2f} %, <{n})" for n in range(30)
    )
    escaped = sentence.replace("<", "&lt;")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        weasyprint.HTML(string=f"{PAGE}<p>{escaped}</p>").write_pdf(tmp_path / "long.pdf")
    report = read_pdf(tmp_path / "long.pdf")

    assert comparable(sentence) in comparable(report.text)
    assert "Running head" not in report.text
    assert report.attachments == {}


def test_text_from_right_to_left_is_known() -> None:
    assert one_way("a “b” 1 - 2 é 心 🫀")
    assert not one_way("a מ")
    assert not one_way("ع 1")

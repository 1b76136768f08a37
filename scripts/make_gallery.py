"""Take the pictures of the README: audit ``sample_data/`` and photograph its report.

Writes ``report-light.png``, ``report-dark.png``, ``report-pdf.png`` and ``window.png`` into
``docs/gallery/``. Needs ``chromium``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pypdfium2
from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery"
AUDIT = Path(sys.executable).with_name("audit")
PDF_WIDTH = 800
DATED = {"SOURCE_DATE_EPOCH": "1735689600"}


def main() -> None:
    """Audit the sample release and its model, and write the pictures in 64 colours."""
    sample = ROOT / "sample_data"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run = Path(folder) / "run"
        command = [AUDIT, "run", sample / "release_2", "--hierarchy", "icd9cm", "--out", run]
        command += ["--predictions", sample / "predictions.psv", "--quiet"]
        subprocess.run(command, check=True, env=os.environ | DATED)
        window = subprocess.Popen([AUDIT, "explore", run], stdout=subprocess.PIPE, text=True)
        assert window.stdout is not None
        opened = window.stdout.readline().removeprefix("Open ").strip()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1200, "height": 1250})
        page.goto(opened)
        page.screenshot(path=GALLERY / "window.png")
        page.goto((run / "report.html").as_uri())
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=GALLERY / f"report-{scheme}.png")
        window.terminate()
        first = pypdfium2.PdfDocument(run / "report.pdf")[0]
        drawn = first.render(scale=PDF_WIDTH / first.get_width()).to_pil()
        drawn.save(GALLERY / "report-pdf.png")
    for picture in sorted(GALLERY.glob("*.png")):  # a reader sees no difference to all colours
        few = Image.open(picture).convert("RGB")
        few.quantize(64, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
            picture, optimize=True
        )


if __name__ == "__main__":
    main()

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
SIZE = {"width": 1200, "height": 1250}
PDF_WIDTH = 800
DATED = {"SOURCE_DATE_EPOCH": "1735689600"}


def main() -> None:
    """Audit the sample release and its model, and write the pictures."""
    sample = ROOT / "sample_data"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run = Path(folder) / "run"
        command = [AUDIT, "run", sample / "release_2", "--hierarchy", "icd9cm", "--out", run]
        command += ["--predictions", sample / "predictions.psv", "--quiet"]
        subprocess.run(command, check=True, env=os.environ | DATED)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport=SIZE, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto((run / "report.html").as_uri())
            page.screenshot(path=GALLERY / f"report-{scheme}.png")
        window = subprocess.Popen([AUDIT, "explore", run], stdout=subprocess.PIPE, text=True)
        assert window.stdout is not None
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(window.stdout.readline().removeprefix("Open ").strip())
        page.screenshot(path=GALLERY / "window.png")
        window.terminate()
        first = pypdfium2.PdfDocument(run / "report.pdf")[0]
        drawn = first.render(scale=PDF_WIDTH / first.get_width()).to_pil()
        drawn.save(GALLERY / "report-pdf.png")
    for picture in sorted(GALLERY.glob("*.png")):
        shrink(picture)


def shrink(picture: Path) -> None:
    """Keep 64 colours of a picture: a reader sees no difference, and the file is a third."""
    with Image.open(picture) as drawn:
        few = drawn.convert("RGB").quantize(64, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(picture, optimize=True)


if __name__ == "__main__":
    main()

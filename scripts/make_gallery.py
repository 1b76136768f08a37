"""Take the pictures of the README: audit ``sample_data/`` and photograph its report.

Writes ``report-light.png``, ``report-dark.png``, ``report-pdf.png`` and ``window.png`` into
``docs/gallery/``, or into the folder that is named as the only argument. Needs ``chromium`` and
``pdftoppm``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = (1200, 1250)
"""Width and height of the window, in pixels."""
SCHEMES = {"light": 1, "dark": 0}
"""Chromium's numbers of the colour schemes that a reader may prefer."""
PDF_WIDTH = 800
"""Pixels of the page's width."""
SECONDS = 120
"""How long one program may take."""


def main() -> None:
    """Audit the sample release and its model, and write the pictures."""
    gallery = Path(sys.argv[1]) if len(sys.argv) > 1 else GALLERY
    browser = program(*BROWSERS, package="chromium")
    printer = program("pdftoppm", package="poppler-utils")
    gallery.mkdir(parents=True, exist_ok=True)
    with sample_run() as run:
        for scheme in SCHEMES:
            page = (run / "report.html").as_uri()
            photograph(browser, page, gallery / f"report-{scheme}.png", scheme)
        draw_page(printer, run / "report.pdf", gallery / "report-pdf.png", page=1)
        with window_onto(run) as address:
            photograph(browser, address, gallery / "window.png", "light")
    for picture in sorted(gallery.glob("*.png")):
        shrink(picture)
        print(f"{picture.stat().st_size / 1000:7.0f} kB  {picture}")


def program(*names: str, package: str) -> str:
    """The first of some programs that is installed; ends with a line that says what to install."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        sys.exit(f"Error: {names[0]} is required\nHint: apt install {package}")
    return found


@contextmanager
def sample_run() -> Iterator[Path]:
    """A run of the sample release with its model, gone when the block ends."""
    with tempfile.TemporaryDirectory(prefix="gallery-") as folder:
        run = Path(folder) / "run"
        audit = Path(sys.executable).with_name("audit")
        sample = ROOT / "sample_data"
        _done(
            audit, "run", sample / "release_2", "--hierarchy", "icd9cm",
            "--predictions", sample / "predictions.psv", "--out", run,
        )  # fmt: skip
        yield run


@contextmanager
def window_onto(run: Path) -> Iterator[str]:
    """The address of the window onto a run, which is closed when the block ends."""
    command = [str(Path(sys.executable).with_name("audit")), "explore", str(run)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as window:
        try:
            assert window.stdout is not None
            yield window.stdout.readline().removeprefix("Open ").strip()
        finally:
            window.terminate()


def photograph(browser: str, page: str, picture: Path, scheme: str) -> None:
    """The top of a page as it looks on a laptop, without a network and without scroll bars."""
    with tempfile.TemporaryDirectory(prefix="browser-") as profile:
        _done(
            browser,
            "--headless=new",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            "--disable-gpu",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            "--force-prefers-reduced-motion",
            f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            f"--window-size={SIZE[0]},{SIZE[1]}",
            f"--user-data-dir={profile}",
            f"--screenshot={picture.absolute()}",
            page,
        )


def draw_page(printer: str, pdf: Path, picture: Path, *, page: int) -> None:
    """One page of a PDF as a picture."""
    only = ["-f", str(page), "-l", str(page), "-singlefile"]
    size = ["-scale-to-x", str(PDF_WIDTH), "-scale-to-y", "-1"]
    _done(printer, "-png", *only, *size, pdf, picture.with_suffix(""))


def shrink(picture: Path) -> None:
    """Keep 64 colours of a picture: a reader sees no difference, and the file is a third."""
    with Image.open(picture) as drawn:
        few = drawn.convert("RGB").quantize(64, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(picture, optimize=True)


def _done(*command: str | Path) -> None:
    """Run a program to its end; ends with what it said where it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1735689600"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        sys.exit(f"Error: {command[0]} ended with {done.returncode}\n{done.stderr.strip()}")


if __name__ == "__main__":
    main()

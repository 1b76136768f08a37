"""The command that takes the README's pictures, on a small page and a small PDF."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pikepdf
import pytest
from PIL import Image

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "make_gallery.py"
PAGE = """<!doctype html><html lang="en"><title>Page</title><style>
html { color-scheme: light dark; background: #fff; height: 9000px }
@media (prefers-color-scheme: dark) { html { background: #102030 } }
</style><body></body></html>"""
BACKGROUND = {"light": (255, 255, 255), "dark": (0x10, 0x20, 0x30)}


def script() -> ModuleType:
    specification = importlib.util.spec_from_file_location("make_gallery", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def size(picture: Path) -> tuple[int, int]:
    with Image.open(picture) as image:
        return image.size


def corners(picture: Path) -> set[object]:
    with Image.open(picture) as image:
        colours, (width, height) = image.convert("RGB"), image.size
        return {colours.getpixel((x, y)) for x in (0, width - 1) for y in (0, height - 1)}


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_taken_in_the_scheme_asked_for_and_without_scroll_bars(
    tmp_path: Path, scheme: str
) -> None:
    gallery = script()
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(PAGE, "utf-8")
    gallery.photograph("chromium", page.as_uri(), picture, scheme)
    first = picture.read_bytes()
    gallery.photograph("chromium", page.as_uri(), picture, scheme)

    assert size(picture) == gallery.SIZE
    assert corners(picture) == {BACKGROUND[scheme]}
    assert picture.read_bytes() == first


@pytest.mark.skipif(not shutil.which("pdftoppm"), reason="needs pdftoppm")
def test_one_page_of_a_pdf_is_drawn(tmp_path: Path) -> None:
    gallery = script()
    pdf = pikepdf.new()
    for width in (200, 400):
        pdf.add_blank_page(page_size=(width, 400))
    pdf.save(tmp_path / "two.pdf")
    gallery.draw_page("pdftoppm", tmp_path / "two.pdf", tmp_path / "page.png", page=2)

    assert size(tmp_path / "page.png") == (gallery.PDF_WIDTH, gallery.PDF_WIDTH)


def test_a_missing_browser_is_told_with_what_installs_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "gallery")],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: chromium is required\nHint: apt install chromium\n"
    assert not (tmp_path / "gallery").exists()


def test_the_readme_shows_the_pictures_that_the_command_takes() -> None:
    told = (ROOT / "README.md").read_text("utf-8")
    pictures = {ROOT / path for path in re.findall(r"docs/gallery/[\w-]+\.png", told)}

    assert pictures == set((ROOT / "docs" / "gallery").glob("*.png"))
    assert all(picture.stat().st_size < 300_000 for picture in pictures)

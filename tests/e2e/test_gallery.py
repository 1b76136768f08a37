"""The pictures of the README are those that `scripts/make_gallery.py` takes, and small."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_readme_shows_the_pictures_that_the_command_takes() -> None:
    told = (ROOT / "README.md").read_text("utf-8")
    pictures = {ROOT / path for path in re.findall(r"docs/gallery/[\w-]+\.png", told)}

    assert pictures == set((ROOT / "docs" / "gallery").glob("*.png"))
    assert all(picture.stat().st_size < 300_000 for picture in pictures)

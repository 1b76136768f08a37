"""Snapshots: ``UPDATE_GOLDEN=1 pytest tests/golden`` writes them anew; look at the difference."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compares a text with the snapshot of that name, or writes it where asked to."""

    def compare(name: str, text: str) -> None:
        path = Path(__file__).parent / "reports" / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert text == path.read_text("utf-8"), f"{name} changed: see tests/golden/conftest.py"

    return compare

"""What the tests open, and how."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from playwright.sync_api import Page


class Visit(Protocol):
    """Opens a file as a reader would; `options` are those of a browser context."""

    def __call__(self, path: Path, *, width: int = 1280, **options: Any) -> Page: ...


class Opened(Protocol):
    """Opens a page of a window as somebody who has entered; `options` as in `Visit`."""

    def __call__(self, path: str, *, width: int = 1280, **options: Any) -> Page: ...


@dataclass(frozen=True)
class Runs:
    """Two audits of the sample data, the later with a model, and what changed between them."""

    folder: Path

    @property
    def report(self) -> Path:
        return self.folder / "second" / "report.html"

    @property
    def shared(self) -> dict[str, Any]:
        view: dict[str, Any] = json.loads(
            (self.folder / "second" / "result.json").read_text("utf-8")
        )
        return view

    @property
    def comparison(self) -> Path:
        return self.folder / "comparison" / "comparison.html"

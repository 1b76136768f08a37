"""axe-core, on every document: in light, in dark, and as wide as a phone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.browser.pages import Visit

NO_CONTRAST = {"color-contrast": {"enabled": False}}
TAGS = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
MANNERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "light": ({"color_scheme": "light"}, {"runOnly": TAGS}),
    "dark": ({"color_scheme": "dark"}, {"runOnly": ["color-contrast"]}),
    "phone": ({"width": 390}, {"runOnly": TAGS, "rules": NO_CONTRAST}),
}
"""How a page is opened, and the rules it is held against: in the dark only colours differ, and
on a phone only they do not."""


LARGE = pytest.param("sample", marks=pytest.mark.slow)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize(
    "document", [LARGE, "comparison", "hostile", "empty", "explained", "tested"], indirect=True
)
def test_no_violation_of_wcag_2_2_aa(document: Path, visit: Visit, manner: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe-playwright-python"
    )
    opened, rules = MANNERS[manner]
    page = visit(document, **opened)
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")

    found = axe.Axe().run(page, options={**rules, "resultTypes": ["violations"]})

    assert found.violations_count == 0, found.generate_report()

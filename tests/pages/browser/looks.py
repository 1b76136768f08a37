"""How a page is judged: by axe-core, and by how wide it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

Rules: TypeAlias = Mapping[str, Any]
"""Options of `axe.run`."""

TAGS = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
EVERY: Rules = {"runOnly": TAGS}
COLOURS: Rules = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""For the dark, where only colours differ."""
NO_CONTRAST: Rules = {"runOnly": TAGS, "rules": {"color-contrast": {"enabled": False}}}
"""For another width, where nearly all colours stay; to compare them takes most of the time."""
MANNERS: Mapping[str, tuple[dict[str, Any], Rules]] = {
    "light": ({"color_scheme": "light"}, EVERY),
    "dark": ({"color_scheme": "dark"}, COLOURS),
    "phone": ({"width": 420}, NO_CONTRAST),
}
"""How a page is opened, and the rules it is held against. What is of another colour on a phone
alone, `test_walk` sees there in light and in dark."""


FEW = r"""() => {
    const kept = new Set(["class", "style", "role", "scope", "type", "fill", "stroke"]);
    const told = ({name, value}) =>
        name + (kept.has(name) ? "=" + value.replace(/[\d.]+(%|px|r?em)/g, "") : value && "=");
    const forms = one => [...new Set([...one.childNodes].map(form))].join("");
    const form = one => one.nodeType === Node.ELEMENT_NODE
        ? one.tagName + [...one.attributes].map(told) + `(${forms(one)})`
        : one.textContent.trim() && "text";
    const [seen, cut] = [new Map(), []];
    for (const one of document.querySelectorAll("article, details, tr, li, svg *")) {
        const kind = form(one);
        const alike = seen.get(one.parentNode) ?? seen.set(one.parentNode, {}).get(one.parentNode);
        alike[kind] = (alike[kind] ?? 0) + 1;
        if (alike[kind] > 2) cut.push([document.createComment(""), one]);
    }
    for (const [mark, one] of cut) one.replaceWith(mark);
    window.whole = () => cut.reverse().forEach(([mark, one]) => mark.replaceWith(one));
}"""
"""Leaves two of all rows, items and marks that differ in texts and sizes alone, for axe-core takes
long over thousands. `whole()` puts the others back."""


def assert_accessible(page: Page, rules: Rules = EVERY) -> None:
    """Nothing violates WCAG 2.2 AA, as far as these rules tell."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe-playwright-python"
    )
    page.evaluate(FEW)
    found = axe.Axe().run(page, options={**rules, "resultTypes": ["violations"]})
    page.evaluate("whole()")
    assert found.violations_count == 0, (page.url, found.generate_report())


def assert_fits(page: Page) -> None:
    """Nothing is wider than the window."""
    size = page.viewport_size
    assert size is not None
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], page.url


def unfold(page: Page) -> None:
    """Open whatever is folded."""
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")

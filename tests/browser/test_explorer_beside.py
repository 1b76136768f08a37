"""Runs beside each other in a real browser: two releases of the sample data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.explored import Visitor, entered
from tests.browser.looks import (
    COLOURS,
    EVERY,
    NO_CONTRAST,
    Rules,
    assert_accessible,
    assert_fits,
    unfold,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

MANNERS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1920, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 420, "height": 900}},
}


@pytest.fixture(scope="module")
def window(browser: Browser, sample_runs: Path) -> Iterator[Visitor]:
    with entered(sample_runs / "second", sample_runs / "first") as visitor:
        yield visitor


@pytest.fixture(params=MANNERS)
def page(browser: Browser, window: Visitor, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of somebody who has entered; no error shows, and nothing else is asked."""
    faults: list[str] = []
    here = f"http://127.0.0.1:{window.port}{window.root}"
    context = browser.new_context(base_url=f"{here}/", **MANNERS[request.param])
    name, value = window.cookie.split("=", 1)
    context.add_cookies([{"name": name, "value": value, "url": here}])
    opened = context.new_page()
    opened.on(
        "request", lambda asked: None if asked.url.startswith(here) else faults.append(asked.url)
    )
    opened.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: faults.append(f"error: {error}"))
    yield opened
    context.close()
    assert not faults


@pytest.mark.parametrize(
    ("page", "rules"),
    [("light", EVERY), ("dark", COLOURS), ("phone", NO_CONTRAST)],
    indirect=["page"],
)
def test_no_violation_of_wcag_2_2_aa(page: Page, rules: Rules) -> None:
    for path in ("/node?id=428", "/node?id=250.00", "/model", "/history"):
        page.goto(path.removeprefix("/"))
        unfold(page)
        assert_accessible(page, rules)
        assert_fits(page)


def test_from_a_node_to_the_history_and_back(page: Page) -> None:
    page.goto("node?id=428")
    shares = page.locator("#beside tbody tr td:nth-child(4)").all_inner_texts()
    assert len(shares) == 2
    assert all(share.endswith("%") for share in shares)
    page.click("text=History of the runs")
    page.wait_for_url("**/history")
    assert page.locator("#runs table").first.locator("tbody tr").count() == 2
    page.go_back()
    assert page.url.endswith("/node?id=428")

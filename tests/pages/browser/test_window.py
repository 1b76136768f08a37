"""The window in a real browser: the walk from the verdict to one record and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import pytest

from fixtures.explored import Visitor, entered
from tests.pages.browser.explored_runs import explored
from tests.pages.browser.looks import MANNERS, assert_accessible, assert_fits, unfold

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.pages.browser.pages import Opened

pytestmark = pytest.mark.slow

PAGES = (
    "/table/findings?status=open", "/table/pairs?order=-joint&depth=2", "/table/nodes?below=428",
    "/tables", "/node?id=428", "/pair?a=428&b=584", "/records", "/search?q=anemia", "/nowhere",
)  # fmt: skip


@pytest.fixture(scope="session", params=["sample", "mimic"])
def window(
    browser: Browser, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Visitor]:
    with entered(explored(request.param, tmp_path_factory), show_instances=True) as visitor:
        yield visitor


def test_the_walk_by_keyboard_alone(opened: Opened) -> None:
    page = opened("/")
    focus_on(page, "nav a[href$='/records']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/records")
    focus_on(page, "tbody a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/record?*")
    first = page.locator("h1").inner_text()
    with page.expect_navigation():
        page.keyboard.press("ArrowRight")
    assert page.locator("h1").inner_text() != first
    with page.expect_navigation():
        page.keyboard.press("ArrowLeft")
    assert page.locator("h1").inner_text() == first
    page.keyboard.press("/")
    page.keyboard.type("428.0")
    page.keyboard.press("Enter")
    page.wait_for_url("**/node?id=428.0")


def focus_on(page: Page, selector: str) -> None:
    """Press the tabulator until the first element of a selector has the focus."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement === document.querySelector({selector!r})"):
            return
    raise AssertionError(f"the keyboard does not reach {selector}")


@pytest.mark.parametrize("manner", MANNERS)
def test_no_violation_of_wcag_2_2_aa(opened: Opened, manner: str) -> None:
    options, rules = MANNERS[manner]
    page = opened("/", **options)
    start = page.url.rstrip("/")
    page.goto(start + "/table/findings")
    one = page.locator("tbody a").first.get_attribute("href") or ""
    page.goto(start + "/records")
    record = page.locator("tbody a").first.get_attribute("href") or ""
    for path in ("/", *PAGES, one, record):
        page.goto(urljoin(start, path) if path in (one, record) else start + path)
        unfold(page)
        assert_accessible(page, rules)
        assert_fits(page)


def test_every_page_is_complete_without_a_script(opened: Opened) -> None:
    page = opened("/table/findings", java_script_enabled=False)
    page.click("summary")
    page.select_option("[name=severity]", "warning")
    page.click("main form button")
    page.wait_for_url("**severity=warning**")
    page.click("tbody a >> nth=0")
    page.wait_for_selector("text=Who publishes the data")


def test_a_waiver_is_copied_for_the_policy(opened: Opened) -> None:
    page = opened("/table/findings", permissions=["clipboard-read", "clipboard-write"])
    page.click("tbody a >> nth=0")
    page.click("main details summary")
    page.click("main details button")
    page.wait_for_selector("button:text('Copied')")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.replace("\r", "") == page.locator("main textarea").input_value()
    assert "[[waivers]]" in copied


def test_what_is_asked_most_is_found_in_a_few_clicks(opened: Opened) -> None:
    page = opened("/")
    page.click(".worst a >> nth=0")
    page.click("tbody th a >> nth=0")
    assert page.locator("h1").inner_text().startswith("Record ")
    page.fill("[type=search]", "428.0")
    page.press("[type=search]", "Enter")
    page.wait_for_url("**/node?id=428.0")
    if page.locator("caption:has-text('Most confused with it')").count():
        confused = page.locator("section:has(caption:text('Most confused with it')) tbody a")
        assert "/node?" in (confused.first.get_attribute("href") or "")
        page.click("text=Labelled with it, and missed by the model")
        assert "unpredicted=428.0" in page.url
        assert page.locator("tbody a").count() > 0

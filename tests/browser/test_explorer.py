"""The window in a real browser: the walk from the verdict to one record and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import pytest

from fixtures.explored import Visitor, entered
from tests.browser.explored_runs import explored
from tests.browser.looks import MANNERS, assert_accessible, assert_fits, unfold

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.browser.pages import Opened

pytestmark = pytest.mark.slow

PAGES = (
    "/", "/findings", "/hierarchy?id=001-999", "/hierarchy?open=001-999/390-459&open=00-99",
    "/node?id=428", "/pair?a=428&b=584", "/instances", "/search?q=anemia", "/nowhere",
)  # fmt: skip


@pytest.fixture(scope="session", params=["sample", "mimic"])
def window(
    browser: Browser, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Visitor]:
    with entered(explored(request.param, tmp_path_factory), show_instances=True) as visitor:
        yield visitor


@pytest.mark.parametrize("width", [420, 1280, 1920])
def test_the_walk_to_a_record_takes_four_clicks_and_leads_back(opened: Opened, width: int) -> None:
    page = opened("/", width=width)
    page.click("nav >> text=Findings")
    page.click("#findings tbody tr:has(td:last-child:not(:text('0'))) th a")
    page.click("#cases tbody tr >> nth=0 >> a")
    assert page.locator("h1").inner_text().startswith("Instance ")
    assert page.locator(".tree summary").count() > 0
    page.click(".tree a.node >> nth=0")
    assert "/node?" in page.url
    for _ in range(4):
        page.go_back()
    assert page.url.endswith("/")


def test_the_walk_by_keyboard_alone(opened: Opened) -> None:
    page = opened("/")
    focus_on(page, "nav a[href$='/instances']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/instances")
    focus_on(page, "#instances tbody a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/instance?*")
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
    finding = page.locator("#checks tbody a").first.get_attribute("href") or ""
    page.goto(urljoin(start, finding))
    one = page.locator("#findings tbody a").first.get_attribute("href") or ""
    page.goto(start + "/instances")
    instance = page.locator("#instances tbody a").first.get_attribute("href") or ""
    for path in (*(start + path for path in PAGES), one, instance):
        page.goto(urljoin(start, path))
        unfold(page)
        assert_accessible(page, rules)
        assert_fits(page)


def test_every_page_is_complete_without_a_script(opened: Opened) -> None:
    page = opened("/findings", java_script_enabled=False)
    page.select_option("[name=severity]", "warning")
    page.click("text=Filter")
    page.wait_for_url("**severity=warning**")
    page.click("#findings tbody a >> nth=0")
    page.wait_for_selector("dl.advice")


@pytest.mark.parametrize(
    ("fold", "says"), [("ticket", "not to be shared"), ("waiver", "[[waivers]]")]
)
def test_a_finding_is_copied_for_a_ticket_and_its_waiver_for_the_policy(
    opened: Opened, fold: str, says: str
) -> None:
    page = opened("/findings", permissions=["clipboard-read", "clipboard-write"])
    page.click("#findings tbody a >> nth=0")
    page.click(f".{fold} summary")
    page.click(f".{fold} button")
    page.wait_for_selector("output:text('Copied.')")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.replace("\r", "") == page.locator(f".{fold} textarea").input_value()
    assert says in copied

"""Places in the hierarchy in a real browser: the tree without a script, and who cannot see well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from audit.explorer.run.opened_run import open_run
from audit.runs.folder import write_run
from fixtures.drifting import drifting
from fixtures.explored import Visitor, served
from tests.browser.looks import EVERY, NO_CONTRAST, Rules, assert_accessible, assert_fits

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    folder = write_run(drifting(), tmp_path_factory.mktemp("places") / "run")
    with served(open_run(folder, "places")) as visitor:
        visitor.enter()
        yield visitor


def entered(context: BrowserContext, window: Visitor) -> str:
    """Let a browser in; the address of the window."""
    here = f"http://127.0.0.1:{window.port}{window.root}"
    name, value = window.cookie.split("=", 1)
    context.add_cookies([{"name": name, "value": value, "url": here}])
    return here


@pytest.mark.parametrize(
    ("width", "scheme", "rules"),
    [(420, "dark", EVERY), (1280, "light", EVERY), (1920, "dark", NO_CONTRAST)],
)
def test_no_violation_of_wcag_2_2_aa(
    browser: Browser, window: Visitor, width: int, scheme: str, rules: Rules
) -> None:
    size = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
    here, page = entered(context, window), context.new_page()
    for path in ("/node?id=a", "/node?id=c", "/hierarchy?open=left"):
        page.goto(here + path)
        assert_accessible(page, rules)
        assert_fits(page)
        small = page.evaluate(
            "[...document.querySelectorAll('.twig a')].map(one =>"
            " one.getBoundingClientRect()).filter(one => one.height < 24 || one.width < 24).length"
        )
        assert small == 0, path
    context.close()


def test_the_tree_opens_and_closes_without_a_script_by_the_keyboard(
    browser: Browser, window: Visitor
) -> None:
    context = browser.new_context(java_script_enabled=False)
    here, page = entered(context, window), context.new_page()
    page.goto(f"{here}/hierarchy")
    assert page.locator(".twig").count() == 2
    page.locator("#at-left .toggle").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url == f"{here}/hierarchy?id=root&open=left#at-left"
    assert page.locator("#at-left .toggle").get_attribute("aria-expanded") == "true"
    assert page.locator(".twig").count() == 4
    with page.expect_navigation():
        page.click("#at-left .toggle")
    assert page.locator(".twig").count() == 2
    with page.expect_navigation():
        page.click("#at-left a.zoom")
    assert page.url == f"{here}/hierarchy?id=left"
    with page.expect_navigation():
        page.click(".crumbs a")
    assert page.url == f"{here}/hierarchy?id=root"
    context.close()

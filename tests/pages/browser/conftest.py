"""The reports in a real browser: the system's Chromium, driven by Playwright, its network cut.

Its headless shell is taken where it is installed: the same engine without windows, which opens a
page in a third of the time. Where Playwright or both are missing these tests skip.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import reports
from fixtures import results
from fixtures.explored import Visitor
from fixtures.once import filled_once
from tests.pages.browser.pages import Opened, Runs, Visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    driver = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium: apt-get install chromium")
    with driver.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Whatever a test does with a page, it asks for nothing but itself, and no error shows."""
    faults: list[str] = []
    contexts: list[BrowserContext] = []

    def open_page(path: Path, *, width: int = 1280, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        context.set_offline(True)
        context.route("**/*", _only(path.as_uri(), faults))
        page = context.new_page()
        page.on("console", lambda message: faults.extend(_complaint(message)))
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


def _only(url: str, faults: list[str]) -> Callable[[Route], None]:
    def decide(route: Route) -> None:
        if route.request.url == url:
            route.continue_()
        else:
            faults.append(f"asked for {route.request.url}")
            route.abort()

    return decide


def _complaint(message: ConsoleMessage) -> list[str]:
    return [f"{message.type}: {message.text}"] if message.type in ("error", "warning") else []


@pytest.fixture
def opened(browser: Browser, window: Visitor) -> Iterator[Opened]:
    """Opens a page as somebody who has entered; nothing is asked of other places."""
    faults: list[str] = []
    contexts: list[BrowserContext] = []
    here = f"http://127.0.0.1:{window.port}{window.root}"

    def open_page(path: str, *, width: int = 1280, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        name, value = window.cookie.split("=", 1)
        context.add_cookies([{"name": name, "value": value, "url": here}])
        page = context.new_page()
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(here) else faults.append(asked.url),
        )
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.goto(f"{here}{path}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


@pytest.fixture(scope="session")
def runs(browser: Browser, sample_runs: Path) -> Runs:
    return Runs(sample_runs)


@pytest.fixture(scope="session")
def made(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of results made by hand: rich, hostile, empty."""
    return filled_once("made", _make, tmp_path_factory)


def _make(folder: Path) -> None:
    reports.write_html(results.rich_result(), folder / "rich.html")
    reports.write_html(results.hostile_result(), folder / "hostile.html")
    reports.write_html(results.empty_result(), folder / "empty.html")


@pytest.fixture(params=["sample", "comparison", "rich", "hostile", "empty"])
def document(request: pytest.FixtureRequest) -> Path:
    """Each document in turn."""
    if request.param in ("sample", "comparison"):
        runs: Runs = request.getfixturevalue("runs")
        return runs.report if request.param == "sample" else runs.comparison
    made: Path = request.getfixturevalue("made")
    return made / f"{request.param}.html"

"""The public pages of an audit, and its charts as files, in a real browser without a network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from audit.explorer.application import write_plain_files
from audit.explorer.run.opened_run import open_shared
from fixtures.explored import entered
from fixtures.once import filled_once
from tests.browser.explored_runs import explored
from tests.browser.looks import MANNERS, assert_accessible, assert_fits

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    Opened = Callable[..., Page]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def public(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plain files of a run of the sample data."""
    run = explored("sample", tmp_path_factory)

    def write(folder: Path) -> None:
        shared = open_shared(run, "release_2", day=date(2026, 3, 1))
        with ThreadPoolExecutor(1) as apart:  # the driver of the browser runs a loop in this thread
            apart.submit(write_plain_files, shared, folder / "public").result()

    return filled_once("public", write, tmp_path_factory) / "public"


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Opens a file; nothing is asked of other places."""
    faults: list[str] = []
    contexts: list[BrowserContext] = []

    def open_file(path: Path, *, width: int = 1280, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        context.set_offline(True)
        page = context.new_page()
        page.on("request", lambda asked: asked.url.startswith("file:") or faults.append(asked.url))
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.goto(path.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert not faults


def test_a_visitor_walks_from_the_verdict_to_a_node_and_its_finding(
    opened: Opened, public: Path
) -> None:
    page = opened(public / "index.html", java_script_enabled=False)
    for selector in (
        ".places a[href='hierarchy.html']",
        "#told a.node >> nth=3",
        ".finding-list a >> nth=0",
        "a.node >> nth=0",
    ):
        with page.expect_navigation():
            page.click(selector)
    assert re.search(r"/node-\w+\.html$", page.url)
    assert page.locator("dl.facts dd").first.inner_text()


@pytest.mark.parametrize("manner", MANNERS)
def test_no_violation_of_wcag_2_2_aa(opened: Opened, public: Path, manner: str) -> None:
    options, rules = MANNERS[manner]
    nodes = [path.name for path in sorted(public.glob("node-*.html"))[:2]]
    page = opened(public / "index.html", **options)
    for name in ("index.html", "branches.html", "hierarchy.html", *nodes):
        page.goto((public / name).as_uri())
        assert_accessible(page, rules)
        assert_fits(page)


def test_each_chart_of_the_window_opens_alone_and_lies_within_its_frame(
    opened: Opened, public: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pages = ("/hierarchy?id=001-999", "/pair?a=428&b=584", "/node?id=428", "/instance?id=300001")
    run = explored("sample", tmp_path_factory)
    with entered(run, show_instances=True) as visitor:
        for number, address in enumerate(pages):
            found = re.findall(r'href="(/[^"]*[?;]svg=[^"]*)"', visitor.ask("GET", address).text)
            assert found, address
            for link in found:
                text = visitor.ask("GET", unescape(link)).text
                (tmp_path / f"{number}-{len(text)}.svg").write_text(text, "utf-8")
    files = [*tmp_path.iterdir(), *public.glob("report-*.svg"), *public.glob("branches-*.svg")]
    page = opened(public / "icon.svg")
    for path in files:
        page.goto(path.as_uri())
        outside = page.evaluate(
            """() => {
              const root = document.documentElement, whole = root.getBoundingClientRect();
              return [...root.querySelectorAll("text, rect, path, circle")].filter((shape) => {
                const box = shape.getBoundingClientRect();
                return box.width && (box.left < whole.left - 1 || box.right > whole.right + 1
                  || box.top < whole.top - 1 || box.bottom > whole.bottom + 1);
              }).map((shape) => shape.textContent || shape.outerHTML);
            }"""
        )
        assert outside == [], path.name

"""Explanations, concepts and tuples in a real browser: accessible, and walked through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.explored import Visitor, entered
from fixtures.once import filled_once
from fixtures.part_runs import PARTS, write_part_runs
from tests.browser.looks import COLOURS, EVERY, assert_accessible, assert_fits, unfold

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    Opened = Callable[..., Page]

pytest.importorskip("sklearn")
pytestmark = pytest.mark.slow
PAGES = {
    "explanations": ("nodes?measure=alignment_expert&order=value", "examples", "branches"),
    "concepts": ("nodes?holding=a", "classes", "points"),
    "entailment": ("quality_mismatches", "graph_components", "quality_agreement"),
}


@pytest.fixture(scope="module")
def windows(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Somebody who looks at a run of each part."""
    runs: Path = filled_once("part_runs", write_part_runs, tmp_path_factory)
    with ExitStack() as opened:
        yield {part: opened.enter_context(entered(runs / part)) for part in PARTS}


@contextmanager
def page_of(browser: Browser, window: Visitor, path: str, **options: Any) -> Iterator[Page]:
    """A page as somebody sees it who has entered; no script fails on it."""
    faults: list[str] = []
    here = f"http://127.0.0.1:{window.port}{window.root}"
    context = browser.new_context(**options)
    name, value = window.cookie.split("=", 1)
    context.add_cookies([{"name": name, "value": value, "url": here}])
    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(here + path)
    yield page
    context.close()
    assert not faults


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("width", [420, 1280])
def test_no_violation_of_wcag_2_2_aa(
    browser: Browser, windows: dict[str, Visitor], part: str, width: int
) -> None:
    node = "Noun-Entail" if part == "entailment" else "a1"
    paths = [
        f"/analyses/{part}",
        *(f"/analyses/{part}/{one}" for one in PAGES[part]),
        f"/node?id={node}",
    ]
    scheme = "dark" if width == 420 else "light"
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    for path in paths:
        with page_of(browser, windows[part], path, **options) as page:
            unfold(page)
            assert_accessible(page, COLOURS if scheme == "dark" else EVERY)
            assert_fits(page)

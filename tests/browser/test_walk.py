"""From the verdict to one record's weighted DAG and back, on real releases, by hand and by key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from fixtures.explored import Visitor, entered
from tests.browser.explored_runs import explored
from tests.browser.looks import COLOURS, EVERY, Rules, assert_accessible, assert_fits
from tests.browser.test_explorer import focus_on

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.pages import Opened

pytestmark = pytest.mark.slow
WALKS = (
    ("audioset", "mouse", 420, "dark"),
    ("audioset", "keyboard", 1280, "light"),
    ("cifar", "mouse", 1280, "dark"),
    ("cifar", "keyboard", 420, "light"),
    ("mimic", "mouse", 1920, "light"),
    ("mimic", "keyboard", 420, "dark"),
    ("sample", "mouse", 420, "light"),
    ("sample", "keyboard", 1920, "dark"),
)
"""Every release with both hands, and every width with both hands, in light and in dark."""
MOST_STEPS = 4
"""Steps from the verdict to a record at most."""
BARS = """() => [...document.querySelectorAll(".tree .branch")].flatMap(branch => {
  const bar = row => [...row.querySelectorAll(":scope > .amount > .label > rect")].map(
    drawn => [drawn.getBoundingClientRect().left, drawn.getBoundingClientRect().right])[0];
  const parts = branch.querySelectorAll(
    ":scope > details > .parts > .tree-row, :scope > details > .parts > .branch > .tree-row");
  const whole = bar(branch.querySelector(":scope > .tree-row"));
  return [...parts].map(bar).filter(Boolean).map(part => [whole, part]);
})"""
"""Left and right of the bar of labels of each node, and of those of the nodes right below it."""


@pytest.fixture(scope="module")
def window(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Visitor]:
    with entered(explored(request.param, tmp_path_factory), show_instances=True) as visitor:
        yield visitor


@dataclass
class Walker:
    """Somebody who follows links by mouse or by keyboard, one step each."""

    page: Page
    hand: str
    rules: Rules
    steps: int = 0

    def follow(self, link: str) -> None:
        """Follow the first link of a selector, and wait for the page that it leads to."""
        if self.hand == "keyboard":
            focus_on(self.page, link)
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert self.page.evaluate(outline) != "none", f"nobody sees the focus on {link}"
        with self.page.expect_navigation():
            if self.hand == "keyboard":
                self.page.keyboard.press("Enter")
            else:
                self.page.locator(link).first.click()
        self.steps += 1

    def look(self) -> None:
        """The page obeys the rules, and nothing on it is wider than the window."""
        assert_accessible(self.page, self.rules)
        assert_fits(self.page)


@pytest.mark.parametrize(("window", "hand", "width", "scheme"), WALKS, indirect=["window"])
def test_the_walk_leads_to_a_record_and_back(
    opened: Opened, hand: str, width: int, scheme: str
) -> None:
    page = opened("/", width=width, color_scheme=scheme)
    walker = Walker(page, hand, EVERY if scheme == "light" else COLOURS)
    walker.look()
    walker.follow("section tbody a")
    walker.look()
    records = page.locator("section tbody tr td:nth-child(5)").all_inner_texts()
    known = next(at for at, told in enumerate(records, start=1) if told != "0")
    walker.follow(f"section tbody tr:nth-child({known}) a")
    walker.look()
    finding = page.url
    walker.follow("section tbody th a")
    walker.look()

    assert walker.steps <= MOST_STEPS
    assert page.locator("h1").inner_text().startswith("Record ")
    assert_no_bar_is_longer_below(page)

    walker.follow(".tree a.node")
    walker.look()
    assert "/node?" in page.url
    with page.expect_navigation():
        page.go_back()
    walker.follow(".way a")
    assert page.url == finding
    walker.follow("nav a[href$='/']")
    assert page.locator(".verdict").is_visible()


@pytest.mark.parametrize("window", ["audioset", "cifar", "mimic", "sample"], indirect=True)
def test_what_is_worst_is_two_steps_from_its_records(opened: Opened) -> None:
    walker = Walker(opened("/"), "mouse", EVERY)
    walker.follow(".worst a")
    walker.follow("section tbody th a")
    assert_no_bar_is_longer_below(walker.page)


def assert_no_bar_is_longer_below(page: Page) -> None:
    """On the screen the bar of each node begins and ends within that of the node above it."""
    bars = page.evaluate(BARS)
    assert bars
    for (left, right), (begin, end) in bars:
        assert left - 0.1 <= begin <= end <= right + 0.1

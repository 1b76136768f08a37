"""A report as it is read: at any width, with the keyboard, without scripts, on paper."""

from __future__ import annotations

import unicodedata
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pypdfium2
import pytest

from tests.browser.looks import unfold

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.pages import Runs, Visit

pytestmark = pytest.mark.slow

WIDTHS = (320, 390, 768, 1280)

REACHED = """() => {
  const wanted = "a[href], button, input, select, summary, [tabindex='0']";
  window.reachable = [...document.querySelectorAll(wanted)].filter((one) => one.checkVisibility());
  window.reached = [];
  document.addEventListener("focusin", ({ target }) => {
    const style = getComputedStyle(target);
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    window.reached.push([window.reachable.indexOf(target), outlined]);
  });
  return window.reachable.length;
}"""


def test_no_page_is_wider_than_its_window(document: Path, visit: Visit) -> None:
    page = visit(document)
    unfold(page)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{wide} px in a window of {width}"


@pytest.mark.parametrize("width", [390, 1280])
def test_the_tab_key_reaches_each_control_in_order(made: Path, visit: Visit, width: int) -> None:
    page = visit(made / "rich.html", width=width)
    count = page.evaluate(REACHED)
    for _ in range(count):
        page.keyboard.press("Tab")
    reached = page.evaluate("window.reached")

    assert count > 40
    assert [place for place, _ in reached] == list(range(count))
    assert all(outlined for _, outlined in reached)


def test_the_first_stop_leads_past_the_contents(made: Path, visit: Visit) -> None:
    page = visit(made / "rich.html")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the report")
    box = skip.bounding_box()
    assert box is not None
    assert box["x"] >= 0

    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_a_part_stops_the_tab_key_only_where_it_goes_on(made: Path, visit: Visit) -> None:
    page = visit(made / "rich.html")
    unfold(page)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(100)
        regions = page.evaluate(
            "[...document.querySelectorAll('.scroll')]"
            ".map((one) => [one.scrollWidth > one.clientWidth + 1, one.tabIndex === 0])"
        )
        assert all(wide == stops for wide, stops in regions)
        assert any(wide for wide, _ in regions) or width > 390


def test_the_contents_say_where_one_reads(runs: Runs, visit: Visit) -> None:
    page = visit(runs.report, reduced_motion="reduce")
    links = page.get_by_role("navigation", name="Contents").get_by_role("link")
    assert reading(page) == links.first.inner_text()
    for link in links.all():
        link.click()
        page.locator(".contents [aria-current]", has_text=link.inner_text()).wait_for()
    for end, name in (("Home", links.first.inner_text()), ("End", links.last.inner_text())):
        page.keyboard.press(end)
        page.locator(".contents [aria-current]", has_text=name).wait_for()
    assert page.locator(".contents [aria-current]").count() == 1


def test_motion_is_left_out_where_a_reader_asks_for_that(made: Path, visit: Visit) -> None:
    scrolling = "getComputedStyle(document.documentElement).scrollBehavior"
    calm = visit(made / "empty.html", reduced_motion="reduce")
    usual = visit(made / "empty.html", reduced_motion="no-preference")

    assert calm.evaluate(scrolling) == "auto"
    assert usual.evaluate(scrolling) == "smooth"


def test_all_folds_open_and_close_at_once(runs: Runs, visit: Visit) -> None:
    page = visit(runs.report)
    folds, opened = page.locator("details"), page.locator("details[open]")
    assert folds.count() > 5
    assert opened.count() == 0

    page.get_by_role("button", name="Unfold all").click()
    assert opened.count() == folds.count()
    folds.first.locator("summary").click()
    page.get_by_role("button", name="Unfold all").click()
    page.get_by_role("button", name="Fold all").click()
    assert opened.count() == 0


def test_on_paper_nothing_is_folded(runs: Runs, visit: Visit) -> None:
    page = visit(runs.report)
    page.locator("details").nth(1).locator("summary").first.click()
    before = page.locator("details[open]").count()
    with pypdfium2.PdfDocument(BytesIO(page.pdf())) as pdf:
        text = comparable("".join(sheet.get_textpage().get_text_bounded() for sheet in pdf))

    for finding in findings(runs.shared):
        assert comparable(finding["statement"]) in text
        assert comparable(finding["curator"]) in text
    for caption in page.locator("details caption .caption").all_text_contents():
        assert comparable(caption) in text
    assert text.count(comparable("".join(longest_headings(page)))) > 1, "headings are repeated"
    assert comparable("Unfold all") not in text
    assert page.locator("details[open]").count() == before == 1


def test_without_scripts_all_is_there(runs: Runs, visit: Visit) -> None:
    page = visit(runs.report, java_script_enabled=False)
    text = comparable(page.locator("main").text_content() or "")
    for finding in findings(runs.shared):
        for words in ("statement", "curator", "data_user"):
            assert comparable(finding[words]) in text

    assert page.locator("button, input, select, output").count() == 0
    last = page.locator("#findings article").last
    assert not last.locator(".finding-id").is_visible()
    last.locator("summary").first.click()
    assert last.locator(".finding-id").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_is_as_dark_as_asked_for(
    made: Path, visit: Visit, scheme: Literal["light", "dark"]
) -> None:
    page = visit(made / "rich.html", color_scheme=scheme)
    red, *_ = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert (red < 64) == (scheme == "dark")

    page.emulate_media(media="print", color_scheme=scheme)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def longest_headings(page: Page) -> list[str]:
    """Headings of the table with the most rows."""
    longest = max(page.locator("table").all(), key=lambda table: table.locator("tr").count())
    return longest.locator("thead th").all_text_contents()


def reading(page: Page) -> str:
    return page.locator(".contents [aria-current]").inner_text()


def findings(shared: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for check in shared["checks"] for finding in check["findings"]]


def comparable(text: str) -> str:
    """Text without spaces, ligatures, and the marks that stand for a hyphen at a line's end."""
    plain = unicodedata.normalize("NFKC", text).translate({0xFFFE: "-", 0x02: "-"})
    return "".join(plain.split())

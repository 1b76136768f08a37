"""The marks of an instance in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from fixtures.explained_notes import HOSTILE, write_notes
from fixtures.explored import Visitor, entered
from tests.pages.browser.looks import assert_accessible, assert_fits

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    folder = tmp_path_factory.mktemp("notes")
    write_notes(folder)
    with entered(folder / "run", show_instances=True) as visitor:
        yield visitor


@pytest.fixture
def opened(browser: Browser, reader: Visitor) -> Iterator[Callable[..., Page]]:
    """Opens the page of an instance as somebody who has entered; nothing is complained of."""
    faults: list[str] = []
    contexts: list[BrowserContext] = []
    here = f"http://127.0.0.1:{reader.port}{reader.root}"

    def open_page(instance: str, *, width: int = 1280, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        name, value = reader.cookie.split("=", 1)
        context.add_cookies([{"name": name, "value": value, "url": here}])
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.goto(f"{here}/record?{urlencode({'id': instance})}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


@pytest.mark.parametrize(("width", "scheme"), [(420, "light"), (1280, "dark")])
def test_no_violation_of_wcag_2_2_aa_with_marks(
    opened: Callable[..., Page], width: int, scheme: str
) -> None:
    for instance in ("both", HOSTILE):
        page = opened(instance, width=width, color_scheme=scheme)
        assert_accessible(page)
        assert_fits(page)


def test_a_method_is_chosen_without_a_script(opened: Callable[..., Page]) -> None:
    page = opened("both", java_script_enabled=False)
    assert page.locator("#attributions .passage mark").count() == 3
    page.click("#attributions >> text=occlusion")
    mark = page.locator("#attributions .passage mark")
    assert mark.all_inner_texts() == ["\u05e9\u05dc\u05d5\u05dd"]
    assert (mark.get_attribute("class") or "").split() == ["s4", "against"]

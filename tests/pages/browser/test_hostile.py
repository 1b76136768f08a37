"""Titles that try to be more than text stay text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.results import HOSTILE_TITLES
from reports.words import printable

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.pages.browser.pages import Visit

pytestmark = pytest.mark.slow


def test_they_run_nothing_and_are_shown(made: Path, visit: Visit) -> None:
    page = visit(made / "hostile.html")
    page.on("dialog", lambda dialog: (_ for _ in ()).throw(AssertionError(dialog.message)))
    text = " ".join((page.locator("body").text_content() or "").split())

    for title in HOSTILE_TITLES:
        assert " ".join(printable(title).split()) in text
    assert page.locator("script").count() == 0
    assert page.locator("img, iframe, object, embed, link, [onerror], [onmouseover]").count() == 0


def test_the_policy_lets_no_script_and_no_picture_in(made: Path, browser: Browser) -> None:
    """Added as an attacker would, who found a way to write markup: nothing of it takes effect."""
    page = browser.new_page()
    page.goto((made / "empty.html").as_uri())
    refused = page.evaluate(
        """() => new Promise((resolve) => {
          const refused = [];
          document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
            refused.push(effectiveDirective);
            if (refused.length === 2) resolve(refused);
          });
          const script = document.createElement("script");
          script.textContent = "document.title = 'taken'";
          const image = document.createElement("img");
          image.src = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";
          document.body.append(script, image);
        })"""
    )
    assert sorted(refused) == ["img-src", "script-src-elem"]
    assert page.title() != "taken"
    page.close()

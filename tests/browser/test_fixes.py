"""Deciding on proposals in a real browser by keys, and applying the sheet that it gives."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from audit.explorer.run.opened_run import open_run, open_shared
from fixtures.explored import Visitor, served
from fixtures.sample_runs import run_command
from tests.browser.looks import assert_accessible, assert_fits
from tests.browser.test_explorer import focus_on

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
LABELS = [
    *((f"r{n}", code) for n in range(40) for code in ("250.00", "401.9", "427.31")),
    *((f"r{n}", "250") for n in range(30)),
    *(("r3", "4O1.93"), ("r4", "999.99.9")),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fixes")
    rows = [("id", "label"), *LABELS]
    (folder / "labels.csv").write_text("".join(f"{a},{b}\n" for a, b in rows), "utf-8")
    kept = ("--out", folder / "run", "--no-pdf", "--keep-instances")
    run_command("run", folder / "labels.csv", "--hierarchy", "icd9cm", *kept)
    return folder / "run"


@pytest.fixture
def visitor(run: Path) -> Iterator[Visitor]:
    with served(open_run(run, "run", show_instances=True)) as opened:
        opened.enter()
        yield opened


def opened(browser: Browser, visitor: Visitor, **options: Any) -> Page:
    context = browser.new_context(accept_downloads=True, **options)
    name, value = visitor.cookie.split("=", 1)
    here = f"http://127.0.0.1:{visitor.port}{visitor.root}"
    context.add_cookies([{"name": name, "value": value, "url": here}])
    page = context.new_page()
    page.goto(f"{here}/fixes")
    return page


def downloaded(page: Page, path: Path) -> Path:
    page.get_by_role("button", name="Download the sheet").focus()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    download.value.save_as(path)
    return path


def test_what_is_decided_by_keys_is_applied(
    browser: Browser, visitor: Visitor, run: Path, tmp_path: Path
) -> None:
    page = opened(browser, visitor)
    page.locator("[name=certainty]").focus()
    for key in ("c", "Tab", "Enter"):  # those that are certain
        page.keyboard.press(key)
    page.wait_for_url(lambda url: "certainty=certain" in url)
    focus_on(page, ".proposal")
    first = int(page.evaluate("document.activeElement.dataset.number"))

    for _ in range(25):  # the page turns once all of it are decided
        page.keyboard.press("a")
    page.wait_for_url(lambda url: "start=25" in url)
    at(page, first + 25)
    for key in ("r", "a", "k", "u", "n", "n"):
        page.keyboard.press(key)
    at(page, first + 28)
    page.goto(page.url.split("?")[0] + "?certainty=likely")
    focus_on(page, ".proposal")
    likely = page.evaluate("document.activeElement.dataset.number")
    page.keyboard.press("o")
    page.keyboard.type("401.1")
    page.keyboard.press("Enter")
    page.locator(".proposal").first.focus()
    page.keyboard.press("m")
    page.keyboard.type('asked Ann, "no"')
    page.keyboard.press("Enter")
    at(page, int(likely))
    page.reload()
    assert "27 of 71 decided: 1 other, 25 accept, 1 reject" in page.inner_text("[data-told]")
    sheet = downloaded(page, tmp_path / "sheet.csv")

    copy = tmp_path / "copy.csv"
    run_command("apply", run, "--decisions", sheet, "--by", "me", "--out", copy)
    rows = [*csv.DictReader(sheet.read_text("utf-8").splitlines())]
    assert {row["number"]: row["note"] for row in rows if row["note"]} == {
        likely: 'asked Ann, "no"'
    }
    decided = {row["number"]: row["decision"] for row in rows if row["decision"]}
    accepted = {str(n): "accept" for n in range(first, first + 25)}
    assert decided == {**accepted, str(first + 25): "reject", likely: "other: 401.1"}
    log = json.loads((tmp_path / "copy.csv.changes.json").read_text("utf-8"))["changes"]
    assert [one["new"] for one in log if one["kind"] == "replace"] == ["401.1"]
    assert sum(one["label"] == "250" for one in log) == 25


def at(page: Page, number: int) -> None:
    """Wait until a proposal has the focus."""
    page.wait_for_function(f"document.activeElement.dataset.number === '{number}'")


@pytest.mark.parametrize("width", [420, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_and_fits(
    browser: Browser, visitor: Visitor, width: int, scheme: Any
) -> None:
    page = opened(browser, visitor, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.locator(".proposal").first.focus()
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    page.keyboard.press("j")
    assert page.evaluate(outline) == "solid"
    assert_accessible(page)
    assert_fits(page)


def test_foreign_decisions_are_refused_and_shared_views_propose_nothing(
    visitor: Visitor, run: Path
) -> None:
    assert visitor.ask("POST", "/fixes/sheet", "decisions=1+accept").status == 403
    token = visitor.get("/fixes").text.split('name="form_token" value="')[1].split('"')[0]
    wrong = ("decisions=99999 accept", "decisions=1 perhaps", "decisions=one accept", "notes=0 x")
    for one in wrong:
        form = f"form_token={token}&{one.replace(' ', '+')}"
        assert visitor.ask("POST", "/fixes/sheet", form).status == 400
    with served(open_shared(run, "run")) as shared:
        shared.enter()
        assert shared.get("/fixes").status == 404
        assert "/fixes" not in shared.get("/").text

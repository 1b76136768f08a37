"""Deciding on a finding in a real browser: with a script and without, and by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from audit.explorer.run.opened_run import open_run
from audit.explorer.run.policy_editor import EditedPolicy
from audit.policy.reading import load_policy
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from fixtures.explored import Visitor, served
from fixtures.labelled import labelled, tree
from tests.browser.looks import assert_accessible, assert_fits
from tests.browser.test_explorer import focus_on

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
LATER = (date.today() + timedelta(days=90)).isoformat()
OURS = b"# Ours.\r\n[residual_share]\r\nvalue = 0.5\r\nreason = 'Ours.'\r\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_bytes(OURS)
    return path


@pytest.fixture
def visitor(file: Path, tmp_path: Path) -> Iterator[Visitor]:
    labels = {"one": ["a"], "none": []}
    run = write_run(run_audit(labelled(tree("a b < root"), labels)), tmp_path / "run")
    with served(open_run(run, "run"), EditedPolicy(file)) as opened:
        opened.enter()
        yield opened


@pytest.fixture(params=["scripted", "plain", "phone"])
def page(browser: Browser, visitor: Visitor, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page of the run's only finding."""
    manners: dict[str, dict[str, Any]] = {
        "scripted": {},
        "plain": {"java_script_enabled": False},
        "phone": {"viewport": {"width": 420, "height": 900}, "color_scheme": "dark"},
    }
    context = browser.new_context(**manners[request.param])
    name, value = visitor.cookie.split("=", 1)
    here = f"http://127.0.0.1:{visitor.port}{visitor.root}"
    context.add_cookies([{"name": name, "value": value, "url": here}])
    made = context.new_page()
    made.goto(f"{here}/findings")
    with made.expect_navigation():
        made.click("#findings tbody a")
    yield made
    context.close()


def decide(page: Page, verdict: str) -> None:
    page.check(f"input[value={verdict}]")
    page.fill("[name=owner]", "Ward 7")
    page.fill("[name=reason]", 'Say "so".\nThen so.')
    page.fill("[name=expires]", LATER)
    send(page, "Show the change")


def send(page: Page, text: str) -> None:
    """Press a button or a link, and wait for the page that answers."""
    with page.expect_navigation():
        page.click(f"text={text}")


def test_a_decision_is_shown_written_and_taken_back(page: Page, file: Path) -> None:
    decide(page, "accept")
    assert '+decision = "accepted"' in page.locator("pre").inner_text()
    assert file.read_bytes() == OURS
    send(page, "Write it")
    assert "/judged?" in page.url
    assert load_policy(file).waivers[0].reason == 'Say "so".\nThen so.'

    send(page, "Back to the finding")
    assert page.locator("[name=owner]").input_value() == "Ward 7"
    send(page, "Take the decision back")
    send(page, "Write it")
    assert file.read_bytes() == OURS


@pytest.mark.parametrize("page", ["scripted"], indirect=True)
def test_a_decision_takes_the_keyboard_alone(page: Page, file: Path) -> None:
    page.focus("[name=verdict]")
    page.keyboard.press("Space")
    for text in ("Ward 7", "So.", f"{LATER[5:7]}{LATER[8:]}{LATER[:4]}"):
        page.keyboard.press("Tab")
        page.keyboard.type(text)
    focus_on(page, "form.decision button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/judging")
    focus_on(page, "main form button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/judged?*")
    assert load_policy(file).waivers[0].decision == "to_fix"


@pytest.mark.parametrize("page", ["scripted", "phone"], indirect=True)
def test_no_page_of_a_decision_violates_wcag_2_2_aa(page: Page, file: Path) -> None:

    def judge() -> None:
        assert_accessible(page)
        assert_fits(page)

    judge()
    decide(page, "waive")
    judge()
    file.write_bytes(OURS + b"# changed\r\n")
    send(page, "Write it")
    assert page.locator("[role=alert]").is_visible()
    judge()
    send(page, "Show the change")
    send(page, "Write it")
    judge()

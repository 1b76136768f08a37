"""Deciding in the window: shown as a difference, written once confirmed, judged by afterwards."""

from __future__ import annotations

import html
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest

from audit.explorer.run.opened_run import open_run, open_shared
from audit.explorer.run.policy_editor import EditedPolicy
from audit.policy.reading import load_policy
from fixtures.explored import Answer, Visitor, served
from fixtures.sample_runs import run_command

JUDGE = ["audit", "report"]
LATER = (date.today() + timedelta(days=90)).isoformat()


@dataclass
class Window:
    """Somebody who decides in the window, the run's folder and the policy file."""

    visitor: Visitor
    run: Path
    file: Path

    def finding(self) -> str:
        """The id of a finding of the run."""
        shared = json.loads((self.run / "result.json").read_text())
        found: str = next(one["id"] for check in shared["checks"] for one in check["findings"])
        return found

    def page_of(self, finding: str) -> str:
        return self.visitor.get("/finding", id=finding).text

    def send(self, path: str, form: dict[str, str], **headers: str) -> Answer:
        return self.visitor.ask("POST", path, urlencode(form), **headers)


def _command(page: str) -> list[str]:
    """The command that a page gives to judge the run again, as a shell takes it apart."""
    return shlex.split(re.findall(r"audit report .*(?=</pre>)", html.unescape(page))[0])


@pytest.fixture(scope="module")
def opened(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    place = tmp_path_factory.mktemp("decisions")
    run, file = shutil.copytree(folder, place / "ward's run"), place / "our policy.toml"
    with served(open_run(run, "run"), EditedPolicy(file)) as visitor:
        visitor.enter()
        yield Window(visitor, run, file)


@pytest.fixture
def window(opened: Window) -> Iterator[Window]:
    """The window, its policy file as the user wrote it."""
    opened.file.write_text("# Ours.\n[residual_share]\nvalue = 0.5\nreason = 'Ours.' # all\n")
    yield opened
    opened.file.unlink(missing_ok=True)


def fields(page: str, action: str) -> dict[str, str]:
    """What a form of a page holds, as a browser would send it."""
    form = re.search(rf'<form[^>]*action="{action}">(.*?)</form>', page, re.DOTALL)
    assert form, f"no form to {action}"
    inputs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form[1])
    areas = re.findall(r'<textarea name="(\w+)"[^>]*>\n(.*?)</textarea>', form[1], re.DOTALL)
    return {name: html.unescape(value) for name, value in (*inputs, *areas)}


def difference(page: str) -> str:
    shown = re.search(r'<pre class="difference".*?>(.*?)</pre>', page, re.DOTALL)
    assert shown
    return html.unescape(shown[1])


def decided(window: Window, **changed: str) -> dict[str, str]:
    """The form on a finding's page, filled in."""
    filled = {"verdict": "accept", "owner": "Ward 7", "reason": "So.", "expires": LATER}
    return fields(window.page_of(window.finding()), "/judging") | filled | changed


def test_a_decision_is_shown_and_then_written(window: Window) -> None:
    before = window.file.read_text()
    reason = 'They\r\nsay "so" <b>&amp;</b>.'
    shown = window.send("/judging", decided(window, reason=reason))
    page = shown.text

    assert shown.status == 200
    assert window.file.read_text() == before
    assert f'+finding = "{window.finding()}"' in difference(page)
    assert '+reason = "They\\nsay \\"so\\" <b>&amp;</b>."' in difference(page)
    assert "<b>" not in page.split("<main")[1]

    written = window.send("/judging/write", fields(page, "/judging/write"))
    assert written.status == 303
    assert window.file.read_text().startswith(before)
    (waiver,) = load_policy(window.file).waivers
    assert (waiver.finding, waiver.decision) == (window.finding(), "accepted")
    assert waiver.reason == 'They\nsay "so" <b>&amp;</b>.'

    assert window.visitor.get("/findings", state="all").text.count("decided since") == 1
    after = window.visitor.get(written.headers["location"]).text
    assert "Accepted</strong> by Ward 7" in after
    assert _command(after)[2:] == [str(window.run), "--overwrite", "--policy", str(window.file)]


def test_the_command_names_the_earlier_run_that_it_was_judged_beside(
    folder: Path, tmp_path: Path
) -> None:
    run, file = shutil.copytree(folder, tmp_path / "run"), tmp_path / "policy.toml"
    file.write_text("# Ours.\n")
    run_command("report", run, "--overwrite", "--policy", file, "--reference", folder, "--no-pdf")
    beside = ["--reference", str(folder)]
    assert open_shared(run, "run").judged_with == beside
    page = _page_of_decision(run, file)
    command = _command(page)

    assert command == [*JUDGE, str(run), "--overwrite", "--policy", str(file), *beside]
    run_command(*command[1:], "--no-pdf")
    assert open_run(run, "run").judged_with == beside


def _page_of_decision(run: Path, file: Path) -> str:
    """The page that follows a decision on a run's first finding."""
    with served(open_run(run, "run"), EditedPolicy(file)) as visitor:
        visitor.enter()
        window = Window(visitor, run, file)
        shown = window.send("/judging", decided(window)).text
        written = window.send("/judging/write", fields(shown, "/judging/write"))
        return visitor.get(written.headers["location"]).text


@pytest.mark.slow
def test_the_run_is_judged_by_what_was_decided(window: Window, tmp_path: Path) -> None:
    shown = window.send("/judging", decided(window)).text
    window.send("/judging/write", fields(shown, "/judging/write"))
    run = shutil.copytree(window.run, tmp_path / "run")
    run_command("report", run, "--overwrite", "--policy", window.file, "--no-pdf")
    judged = json.loads((run / "result.json").read_text())
    found = [one for check in judged["checks"] for one in check["findings"]]
    assert [one["id"] for one in found if one["waiver"]] == [window.finding()]


def test_a_decision_is_taken_back_by_the_page(window: Window) -> None:
    before = window.file.read_bytes()
    shown = window.send("/judging", decided(window)).text
    window.send("/judging/write", fields(shown, "/judging/write"))
    assert window.file.read_bytes() != before

    page = window.page_of(window.finding())
    assert "Accepted</strong> by Ward 7" in page
    shown = window.send("/judging", fields(page, "/judging")).text
    assert "-owner" in difference(shown)
    written = window.send("/judging/write", fields(shown, "/judging/write"))
    assert window.file.read_bytes() == before
    assert (
        "says nothing of this finding alone any more"
        in window.visitor.get(written.headers["location"]).text
    )


def test_of_two_windows_the_second_is_told_and_writes_nothing(window: Window) -> None:
    pages = [window.send("/judging", decided(window, owner=owner)).text for owner in ("A", "B")]
    first, second = (
        window.send("/judging/write", fields(page, "/judging/write")) for page in pages
    )

    assert first.status == 303
    assert second.status == 409
    assert "changed since" in second.text
    assert "Nothing was written" in second.text
    assert load_policy(window.file).waivers[0].owner == "A"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"owner": " "}, "must say who answers for it"),
        ({"expires": "2001-01-01"}, "must not have passed"),
        ({"expires": "<script>"}, "must say until which day"),
        ({"verdict": "forget"}, "a decision is one of"),
        ({"verdict": "open"}, "must be in the policy file"),
        ({"reason": "x" * 90_000, "owner": ""}, "must say who answers for it"),
    ],
)
def test_a_form_that_cannot_be_written_comes_back_as_it_was_filled_in(
    window: Window, changed: dict[str, str], told: str
) -> None:
    before = window.file.read_bytes()
    form = decided(window, **changed)
    answer = window.send("/judging", form)
    page = answer.text

    assert answer.status == 409
    assert told in html.unescape(page)
    assert "<script>" not in page
    assert "Traceback" not in page
    if form["verdict"] != "open":
        assert html.escape(form["reason"]) in page
    assert window.file.read_bytes() == before


@pytest.mark.parametrize("path", ["/judging", "/judging/write"])
@pytest.mark.parametrize(
    ("changed", "headers", "status"),
    [
        ({"form_token": ""}, {}, 403),
        ({"form_token": "guessed"}, {}, 403),
        ({}, {"Origin": "http://evil.example"}, 403),
        ({}, {"Host": "evil.example"}, 421),
        ({}, {"Cookie": ""}, 403),
        ({"reason": "x" * 200_000}, {}, 413),
        ({f"f{n}": "" for n in range(100)}, {}, 403),
        ({"finding": "unknown_code:no_such"}, {}, 404),
    ],
)
def test_what_no_page_of_the_window_sent_is_refused(
    window: Window, path: str, changed: dict[str, str], headers: dict[str, str], status: int
) -> None:
    before = window.file.read_bytes()
    shown = window.send("/judging", decided(window)).text
    form = fields(shown, "/judging/write") | changed

    assert window.send(path, form, **headers).status == status
    assert window.file.read_bytes() == before


def test_a_policy_that_is_broken_is_told_on_the_finding_s_page(window: Window) -> None:
    form = decided(window)
    window.file.write_text("colour = 'red'")

    assert "every key of the policy must be known" in window.page_of(window.finding())
    answer = window.send("/judging", form)
    page = answer.text
    assert answer.status == 409
    assert "every key of the policy must be known" in page
    assert window.file.read_text() == "colour = 'red'"


def test_a_file_that_is_missing_is_begun(window: Window) -> None:
    window.file.unlink()
    page = window.send("/judging", decided(window)).text
    assert difference(page).startswith("--- /dev/null")
    assert window.send("/judging/write", fields(page, "/judging/write")).status == 303
    assert len(load_policy(window.file).waivers) == 1


def test_the_same_decision_again_has_nothing_to_write(window: Window) -> None:
    shown = window.send("/judging", decided(window)).text
    window.send("/judging/write", fields(shown, "/judging/write"))
    assert "says so already" in window.send("/judging", decided(window)).text


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that nobody may write to")
def test_a_file_that_cannot_be_written_is_told_and_the_form_is_kept(folder: Path) -> None:
    file = Path("/proc/policy.toml")
    with served(open_run(folder, "run"), EditedPolicy(file)) as visitor:
        visitor.enter()
        window = Window(visitor, folder, file)
        shown = window.send("/judging", decided(window, owner="Ward 9")).text
        answer = window.send("/judging/write", fields(shown, "/judging/write"))

    assert answer.status == 409
    assert "Nothing was written" in answer.text
    assert "a writable folder is required" in answer.text
    assert "Ward 9" in answer.text
    assert "Traceback" not in answer.text


def test_a_run_that_the_file_did_not_judge_is_told_of_and_decided_on(window: Window) -> None:
    told = "was judged by the policy <bdi>default</bdi> as it was then"
    assert told in window.page_of(window.finding())
    assert window.send("/judging", decided(window)).status == 200
    window.file.unlink()
    assert told not in window.page_of(window.finding())


@pytest.mark.slow
def test_the_page_falls_silent_once_the_run_is_judged_by_the_file(
    window: Window, tmp_path: Path
) -> None:
    run = shutil.copytree(window.run, tmp_path / "run")
    run_command("report", run, "--overwrite", "--policy", window.file, "--no-pdf")
    with served(open_run(run, "run"), EditedPolicy(window.file)) as visitor:
        visitor.enter()
        judged = Window(visitor, run, window.file)
        assert "as it was then" not in judged.page_of(judged.finding())
        shown = judged.send("/judging", decided(judged)).text
        judged.send("/judging/write", fields(shown, "/judging/write"))
        assert "as it was then" in judged.page_of(judged.finding())


def test_only_forms_are_taken(window: Window) -> None:
    assert window.visitor.get("/judging").status == 405
    assert window.visitor.get("/judged", id="no_such").status == 404

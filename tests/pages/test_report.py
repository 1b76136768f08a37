"""The report: each number from one row of the view, few words, the same page everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import reports
from audit import AuditResult
from fixtures import results
from fixtures.registered import twin_of
from reports import core, findings
from reports.page import html_text
from reports.words import EXACT, Imprint, printable

SEEN, IN_ALL = 2_660, 5_000
"""Words of the report of the sample: those that are not folded, and all."""
VOID = {"meta", "br", "path", "rect", "circle"}
VIEWS = [
    results.sample_result, results.model_result, results.set_valued_result, results.rich_result,
    results.judged_result, results.hostile_result, results.empty_result,
]  # fmt: skip


class Read(HTMLParser):
    """A page read back: its text, what is folded apart, its ids and links, and what is unclosed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.folded: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open += [tag] * (tag not in VOID)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name == "href"]
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "title", "svg"} & {*self.open}:
            hidden = (
                "details" in self.open and "summary" not in self.open[self.open.index("details") :]
            )
            (self.folded if hidden else self.seen).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join((*self.seen, *self.folded)).split())


@pytest.fixture(scope="module")
def sample(sample_runs: Path) -> dict[str, Any]:
    view: dict[str, Any] = json.loads((sample_runs / "second" / "result.json").read_text("utf-8"))
    return view


@pytest.mark.slow
def test_the_report_of_the_sample_stays_within_its_words(sample: Mapping[str, Any]) -> None:
    page = Read(html_text(sample))
    seen, folded = (len(" ".join(part).split()) for part in (page.seen, page.folded))

    assert seen <= SEEN
    assert seen + folded <= IN_ALL


@pytest.mark.slow
def test_ten_stand_first_each_once_and_lead_to_their_checks(sample: Mapping[str, Any]) -> None:
    page = Read(html_text(sample))
    first = [one.id for one in findings.ten(sample)]

    assert first == sample["worst"]
    assert len({*first}) == len(first) == 10
    assert {link.removeprefix("#") for link in page.links} == {*first}
    assert len({*page.ids}) == len(page.ids)


@pytest.mark.slow
def test_every_finding_that_is_shown_has_its_id_and_its_count(sample: Mapping[str, Any]) -> None:
    for block, check in zip(
        findings.blocks(sample), [c for c in sample["checks"] if c["findings"]], strict=True
    ):
        ids = [one.id for one in block.found]
        ids += [row[0].id for row in block.table.rows] if block.table else []
        shown = [one["id"] for one in check["findings"]]
        assert ids == [one for one in shown if one in ids]
        joined = {twin_of(one) for one in shown} & {*shown}
        more = check["total"] - check["folded"] - len(ids) - len(joined)
        assert any(f"{more:,} more" in note for note in block.notes) == (more > 0)


@pytest.mark.parametrize("make", VIEWS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("paper", [False, True])
def test_every_page_is_whole_and_refers_to_nothing(
    make: Callable[[], AuditResult], paper: bool
) -> None:
    html = html_text(make().shared(), paper=paper)
    page = Read(html)

    assert page.open == []
    assert {link[:1] for link in page.links} <= {"#"}
    assert not page.tags & {"script", "img", "link", "iframe", "object", "base", "form"}
    assert "url(" not in html
    assert len({*page.ids}) == len(page.ids)


def test_hostile_titles_stay_text() -> None:
    text = Read(html_text(results.hostile_result().shared())).text

    for title in filter(None, results.HOSTILE_TITLES):
        assert " ".join(printable(title).split()) in text


def test_a_finding_without_nodes_or_numbers_is_told_by_its_sentence() -> None:
    view = results.sample_result().shared()
    (check, *_) = [one for one in view["checks"] if one["findings"]]
    bare = {**check["findings"][0], "nodes": [], "evidence": {}, "parts": [], "statement": "Odd."}
    check["findings"] = [bare]

    assert "Odd." in Read(html_text(view)).text


def test_a_release_without_title_has_the_name_of_what_was_read() -> None:
    view = results.empty_result().shared()
    for imprint, title in (
        (Imprint(name="release_2"), "release_2"),
        (Imprint(title="Spring", name="release_2"), "Spring"),
        (Imprint(title="<script>\u202e"), "<script>\ufffd"),
    ):
        data = {"title": "", "format": "csv", "called": "instances"}
        named = {**view, "identity": {**view["identity"], "data": data}}
        html = html_text(named, imprint)
        found = re.search("<h1>(.*?)</h1>", html)
        assert found
        assert unescape(found[1]) == f"Audit of {title}"


def test_exact_numbers_have_a_band_and_a_day_is_said() -> None:
    result = results.rich_result()
    exact = html_text(result.exact(), Imprint(exact=True))
    shared = html_text(result.shared(), Imprint(day=date(2031, 5, 4)))

    assert EXACT in exact
    assert "Counts are exact." in exact
    assert EXACT not in shared
    assert "4 May 2031" in shared
    assert "they are middles of bins of 10; &lt;11 may be none." in shared


def test_the_model_is_told_in_lines_and_by_level() -> None:
    view = results.model_result().shared()
    seen, _ = core.of_view(view)
    (model,) = [one for one in seen if one.anchor == "model"]

    assert core.model_lines(view)
    assert model.tables[0].title == "Metrics"
    assert "Not measured" in model.tables[0].note or not view["metrics_absent"]
    assert core.model_lines(results.empty_result().shared()) == []


def test_what_a_check_looked_at_that_may_be_all_is_told_by_its_total() -> None:
    view = results.rich_result().shared()
    read = Read(html_text(view)).text

    assert [n for one in view["checks"] if (n := one["denominator"]) in (195, 390)]
    assert "record cap 200 instances with labels" in read
    assert "not specific 395 rows" in read
    assert "waiver expired 2 waivers" in read


def test_a_verdict_is_on_the_checks_that_apply_and_the_answers_there_are() -> None:
    view = results.model_result().shared()
    row, checks = view["overview"]["answered"][0], {one["name"]: one for one in view["checks"]}
    view["ledger"]["predictions"]["single_label"], row["branches"] = True, ["pet"]
    head, lines, applied = findings.verdict(view), core.model_lines(view), len(checks)
    applied -= [one["status"] for one in view["checks"]].count("not_applicable")
    checks["model_confuses"] |= {"status": "not_applicable", "reason": "why"}
    row["branches"] = []

    assert f" of {applied} checks " in head.head
    assert f" in {applied} checks, " in repr(results.model_result())
    judged = "Nothing of the model could be judged: why."
    assert findings.verdict(view).sentences == (*head.sentences, judged)
    assert lines == [*core.model_lines(view), "Branches here: Animal (pet)."]
    row["answers"] = 0
    assert core.model_lines(view) == []


def test_a_share_that_moved_is_told_once() -> None:
    view = results.judged_result().shared()
    id, moved = view["worst"][0], {"effect": "share", "before": 0.1, "now": 0.3}
    view["since_reference"]["findings"] = [{**moved, "id": one} for one in (id, twin_of(id))]

    assert [one["id"] for one in findings.moved(view)] == [id]


def test_rules_on_persons_hold_where_a_column_says_who_they_are() -> None:
    view = results.sample_result().shared()
    for person in ({}, {"sex": "sex"}):
        view["policy"] |= {"person": person, "person_rules": [{}, {}]}
        _, folded = core.of_view(view)
        assert all(one.folded for one in folded)
        assert any("2 rules on the sex" in one.lead for one in folded) == bool(person)


def test_a_notebook_shows_the_bytes_of_the_file_in_a_sandbox(tmp_path: Path) -> None:
    result = results.hostile_result()
    reports.write_html(result, tmp_path / "report.html")
    shown = reports.show(result)
    frame = re.fullmatch(
        r'<iframe srcdoc="(.*?)" .* sandbox .*></iframe>', shown._repr_html_(), re.S
    )

    assert frame
    assert unescape(frame[1]) == (tmp_path / "report.html").read_text("utf-8")
    assert len(repr(shown)) < 100


def test_exact_numbers_stand_as_they_are_and_their_page_has_no_digest() -> None:
    view = results.set_valued_result().exact()
    exact = html_text(view, Imprint(exact=True), paper=True)

    assert "511 answers are labels" in core.model_lines(view)[0]
    assert "about" not in " ".join(core.model_lines(view))
    assert "Micro average" in exact
    assert "result.json" not in exact
    assert "result.json" in html_text(view, paper=True)

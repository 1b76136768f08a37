"""The HTML report: self-contained, inert, accessible, and the same each time."""

from __future__ import annotations

import base64
import hashlib
import re
from itertools import pairwise
from pathlib import Path

import pytest

import reports
from audit._reports.html import html_text
from audit._reports.words.words import printable
from audit.base.errors import RenderError
from audit.results.result import AuditResult
from fixtures import results
from tests.unit.reports.document import Document, joined

MEGABYTE = 1_000_000


def test_refers_to_nothing_outside_itself(html: str) -> None:
    document = Document(html)
    assert {"link", "img", "iframe", "object", "base"}.isdisjoint(
        tag for tag, _ in document.elements
    )
    for tag, attributes in document.elements:
        for name in ("href", "src", "xlink:href", "action", "data", "poster", "srcset"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
    assert not re.search(r"https?:|url\(|@import|@font-face", html)


def test_policy_allows_one_script_and_one_style_sheet(html: str) -> None:
    policies = [
        meta["content"] or ""
        for meta in Document(html).of("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    script, style = (
        re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.S) for tag in ("script", "style")
    )
    assert len(script) == len(style) == 1
    assert policies == [
        f"default-src 'none'; script-src {_source(script[0])}; style-src {_source(style[0])}; "
        "base-uri 'none'; form-action 'none'"
    ]
    assert html.count("<script") == html.count("<style") == 1
    assert not re.search(r"\son\w+=|\sstyle=|javascript:", html.split("<script>")[0])


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_every_finding_stands_in_it(rich: AuditResult, html: str) -> None:
    text = Document(html).text
    for check in rich.shared()["checks"]:
        for finding in check["findings"]:
            for words in (finding["statement"], finding["curator"], finding["data_user"]):
                assert joined(words) in text


def test_same_result_same_bytes(rich: AuditResult, html: str) -> None:
    assert html_text(rich.shared()) == html


def test_result_and_its_shared_view_give_the_same(
    rich: AuditResult, html: str, tmp_path: Path
) -> None:
    reports.write_html(rich.shared(), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == html


def test_no_path_and_no_time(html: str) -> None:
    assert not re.search(r"/home|/Users|/tmp|/usr", html)
    assert not re.search(r"20\d\d-\d\d-\d\dT", html)


def test_how_counts_are_rounded_is_said_once(html: str) -> None:
    text = Document(html).text
    said = "Counts are rounded: they are middles of bins of 10; <11 may be none."
    assert joined("fewer than 11 of about 45 instances") in text
    assert text.count(joined(said)) == 1


def test_what_the_policy_made_of_findings_is_told() -> None:
    text = Document(html_text(results.judged_result().shared())).text
    for words in (
        "Note, waived",
        "Warning, known",
        "401.9 | 401.1, 403.90",
        "Severities that the policy sets",
        "What the reference run has too, and no worse, counts as a note.",
        "Agreed with the coding office.",
    ):
        assert joined(words) in text


def test_every_threshold_of_the_policy_is_printed_with_its_reason(
    rich: AuditResult, html: str
) -> None:
    text = Document(html).text
    for threshold in rich.shared()["policy"]["thresholds"]:
        assert joined(threshold["reason"]) in text


def test_the_methods_are_found_at_an_address(html: str) -> None:
    assert "/docs/methods.md" in html


def test_headings_are_in_order(html: str) -> None:
    levels = [int(tag[1]) for tag, _ in Document(html).elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_landmarks_language_and_skip_link(html: str) -> None:
    document = Document(html)
    assert document.of("html") == [{"lang": "en"}]
    assert len(document.of("main")) == 1
    assert {"header", "nav", "footer"} <= {tag for tag, _ in document.elements}
    first = document.of("a")[0]
    assert first == {"class": "skip", "href": f"#{document.of('main')[0]['id']}"}


def test_ids_are_unique_and_links_lead_somewhere(html: str) -> None:
    document = Document(html)
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {(link["href"] or "")[1:] for link in document.of("a")}
    targets |= {
        target
        for _, attributes in document.elements
        for target in (attributes.get("aria-labelledby") or "").split()
    }
    assert targets <= set(ids)


def test_tables_have_captions_and_scopes(html: str) -> None:
    document = Document(html)
    assert len(document.of("caption")) == len(document.of("table")) > 5
    assert {cell.get("scope") for cell in document.of("th")} == {"col", "row"}


def test_pictures_say_what_they_show(html: str) -> None:
    pictures = [svg for svg in Document(html).of("svg") if svg.get("role") == "img"]
    assert len(pictures) > 5
    assert all(picture["aria-label"] for picture in pictures)


def test_elements_are_balanced(html: str) -> None:
    document = Document(html)
    assert not document.unbalanced
    assert not document.open


def test_hostile_titles_are_inert() -> None:
    hostile, sample = (
        Document(html_text(result.shared()))
        for result in (results.hostile_result(), results.sample_result())
    )
    tags = {tag for tag, _ in hostile.elements}
    assert tags == {tag for tag, _ in sample.elements}
    assert not any(
        name.startswith("on") for _, attributes in hostile.elements for name in attributes
    )
    assert not hostile.unbalanced
    for title in results.HOSTILE_TITLES:
        assert joined(printable(title)) in hostile.text
    assert "\u202e" not in hostile.text
    assert "\x00" not in hostile.text


def test_empty_release_says_so() -> None:
    html = html_text(results.empty_result().shared())
    assert "No check found anything to report." in html
    assert "Release labelled with icd9cm" in html
    assert "Metrics" not in Document(html).text
    assert "Themodel" not in Document(html).text


@pytest.mark.slow
def test_big_release_stays_small() -> None:
    assert len(html_text(results.big_result().shared()).encode()) < 5 * MEGABYTE


def test_failure_is_a_render_error() -> None:
    with pytest.raises(RenderError, match=r"report\.html could not be rendered"):
        html_text({"identity": {}})

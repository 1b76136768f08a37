"""Marks on the page of an instance, asked for over a real server."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from fixtures.explained_notes import HOSTILE, SCORES, TOKENS, write_notes
from fixtures.explored import Visitor, entered
from reports.words import printable

STEPS = (0.1, 0.25, 0.5, 0.75)
"""Sizes from which each shade is drawn, as the page says in words."""


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    write_notes(folder)
    return folder


@pytest.fixture(scope="module")
def reader(notes: Path) -> Iterator[Visitor]:
    with entered(notes / "run", show_instances=True) as visitor:
        yield visitor


def page_of(visitor: Visitor, instance: str, **asked: str) -> str:
    answer = visitor.get("/record", id=instance, **asked)
    assert answer.status == 200
    return answer.text


def passage(text: str, label: str) -> str:
    """What stands in the box of a text."""
    start = text.index(f'aria-label="{label}')
    return text[text.index("<bdi>", start) + 5 : text.index("</bdi></div>", start)]


@pytest.mark.parametrize("method", SCORES)
@pytest.mark.parametrize("target", ["a1", "b1"])
def test_marks_are_the_scores_of_the_table(reader: Visitor, method: str, target: str) -> None:
    asked = {"method": method, "target": target}
    text = page_of(reader, "both", **asked)
    drawn = re.findall(r'<mark class="s(\d)( against)?">(.*?)</mark>', passage(text, "Tokens"))
    table = [*zip(range(5), map(printable, TOKENS), SCORES[method], strict=True)]
    largest = max(abs(score) for *_, score in table)
    marked = [row for row in table if row[2]]

    assert [unescape(token) for *_, token in drawn] == [
        token for _, token, score in marked if abs(score) >= STEPS[0] * largest
    ]
    assert [(int(level), bool(against)) for level, against, _ in drawn] == [
        (sum(abs(score) >= step * largest for step in STEPS), score < 0)
        for *_, score in marked
        if abs(score) >= STEPS[0] * largest
    ]
    listed = text[text.index('aria-label="Largest scores"') :]
    told = re.findall(r'<span class="muted">([^<]+)</span>', listed[: listed.index("</ol>")])
    scores = [abs(float(one.replace("−", "-"))) for one in told]
    assert scores == sorted(map(abs, SCORES[method]), reverse=True)


def test_tokens_that_are_markup_stay_text(reader: Visitor) -> None:
    text = page_of(reader, "both")

    assert "<script>alert" not in text
    assert "\u202e" not in text
    shown = unescape(re.sub("<[^>]+>", "", passage(text, "Tokens"))).split(" ")
    assert shown[:-1] == " ".join(map(printable, TOKENS)).split(" ")


def test_links_lead_to_every_method_and_label(reader: Visitor) -> None:
    text = page_of(reader, "both")
    links = re.findall(r'<a href="([^"]+)#attributions"><bdi>(.*?)</bdi>', text)

    assert [words for _, words in links] == ["b1", "occlusion"]
    for to, words in links:
        led = reader.get(unescape(to))
        assert f"<strong><bdi>{words}</bdi></strong>" in led.text


def test_what_an_address_asks_for_and_is_not_there_is_the_first(reader: Visitor) -> None:
    first = page_of(reader, "both", method="gradient", target="a1")
    other = page_of(reader, "both", method=HOSTILE, target="nowhere", model="x", seed="-1")

    assert passage(other, "Tokens") == passage(first, "Tokens")


def test_many_tokens_are_cut_and_it_is_said(
    reader: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.explorer.record_page.MOST_TOKENS", 2)
    text = page_of(reader, "both")

    assert "3 more tokens are not shown" in text


def test_attributions_that_the_run_was_not_made_from_are_not_shown(
    notes: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(notes, tmp_path / "notes")
    file = notes / "attributions.jsonl"
    before = file.read_bytes()
    file.write_bytes(before + b"\n")
    try:
        with entered(folder / "run", show_instances=True) as visitor:
            assert 'id="attributions"' not in page_of(visitor, "both")
    finally:
        file.write_bytes(before)


def test_hit_miss_and_false_are_words_and_no_colour_alone(visitor: Visitor) -> None:
    """Labels d and b1, answers d and a1."""
    tree = visitor.get("/record", id="two").text
    tree = tree[tree.index('class="tree"') :]
    rows = re.findall(
        r'<span class="name">(.*?)</span>\n<span class="what">(.*?)</span>', tree, re.S
    )
    marked = {
        re.sub("<[^>]+>", "", name).split("·")[0].split()[0]: re.sub("<[^>]+>", "", mark)
        for name, mark in rows
    }

    assert {node: marked[node] for node in ("=1+1", "b1", "a1")} == {
        "=1+1": "hit",
        "b1": "miss",
        "a1": "false",
    }

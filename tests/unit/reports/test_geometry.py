"""What a ruler tells: the shapes of HTML and PDF are drawn from what may be shared alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import reports
from audit._reports.html import html_text
from audit.results.result import AuditResult, to_json_bytes
from fixtures.reader import drawn

pytestmark = pytest.mark.slow

WITHHELD = tuple(range(4, 49, 3))
"""Seeds of releases, in whose pictures some counts are withheld and some are not."""


def read_again(result: AuditResult) -> Any:
    """What whoever is given ``result.json`` has, and nothing else."""
    return json.loads(to_json_bytes(result.shared()))


def picture_of(html: str) -> str:
    """The picture of the hierarchy on a page; empty where there is none."""
    figure = html.partition('id="figure-hierarchy"')[2]
    return figure.partition('class="chart"')[2].partition("</svg>")[0]


def bars_of(picture: str) -> list[tuple[float, float]]:
    """Width and height in pixels of each bar."""
    sizes = re.findall(r'd="M[\d.,]+h([\d.]+)v([\d.]+)h-[\d.]+Z" fill="#', picture)
    return [(float(width), float(height)) for width, height in sizes]


def heights(rows: Sequence[Mapping[str, Any]], whole: float) -> Iterator[float]:
    """Heights of the bars by the numbers that are printed: a bound stands for its number."""
    children: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        children.setdefault(row["parent"], []).append(row)
    (root,) = children[None]

    def printed(row: Mapping[str, Any]) -> float:
        return float(str(row["instances"]).strip("<>"))

    def below(row: Mapping[str, Any], height: float) -> Iterator[float]:
        mine = children.get(row["node"], [])
        of = max(printed(row), sum(map(printed, mine)))
        for child in mine:
            own = height * printed(child) / of
            yield own
            yield from below(child, own)

    yield from below(root, whole)


@pytest.mark.parametrize("seed", WITHHELD)
def test_bars_are_as_long_as_the_numbers_printed_beside_them(seed: int) -> None:
    shared = drawn(seed).shared()
    picture = picture_of(html_text(shared))
    (whole,) = re.findall(r'viewBox="0 0 720 (\d+)"', picture) or ["0"]
    drawn_, printed = (
        sorted(height for _, height in bars_of(picture)),
        sorted(heights(shared["overview"]["tree"], float(whole))),
    )

    assert drawn_ == pytest.approx(printed, abs=0.011)


def test_some_of_these_bars_are_of_withheld_counts() -> None:
    of = [row["instances"] for seed in WITHHELD for row in drawn(seed).shared()["overview"]["tree"]]

    assert sum(isinstance(n, str) for n in of) >= 5
    assert sum(isinstance(n, int) for n in of) >= 5


@pytest.mark.parametrize("seed", WITHHELD)
def test_a_page_is_drawn_from_what_may_be_shared_alone(seed: int, tmp_path: Path) -> None:
    result = drawn(seed)
    reports.write_html(result, tmp_path / "report.html")

    assert (tmp_path / "report.html").read_text("utf-8") == html_text(read_again(result))

"""What a ruler tells: the shapes of HTML and PDF are drawn from what may be shared alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

import reports
from audit._reports.html import html_text
from audit.results.result import AuditResult, to_json_bytes
from audit.runs.audit import run_audit
from fixtures.labelled import labelled, repeated, tree

pytestmark = pytest.mark.slow

BODY = tree("lung heart skin < body", "asthma flu < lung", "attack failure < heart")
SEEDS = range(4)


def drawn(seed: int) -> AuditResult:
    """The audit of a random release, some of whose labels are few."""
    random = Random(seed)
    leaves = ("asthma", "flu", "attack", "failure", "skin")
    counts = [
        (random.choice((0, 4, 9, 30, 80)), random.sample(leaves, 1 + n % 2)) for n in range(9)
    ]
    return run_audit(labelled(BODY, repeated([(60, ["flu"]), *counts]), persons=True))


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
    """Heights of the bars by the numbers that are told."""
    children: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        children.setdefault(row["parent"], []).append(row)
    (root,) = children[None]

    def below(row: Mapping[str, Any], height: float) -> Iterator[float]:
        mine = children.get(row["node"], [])
        of = max(row["instances"], sum(child["instances"] for child in mine))
        for child in mine:
            own = height * child["instances"] / of
            yield own
            yield from below(child, own)

    yield from below(root, whole)


@pytest.mark.parametrize("seed", SEEDS)
def test_bars_are_as_long_as_the_numbers_printed_beside_them(seed: int) -> None:
    shared = drawn(seed).shared()
    picture = picture_of(html_text(shared))
    (whole,) = re.findall(r'viewBox="0 0 720 (\d+)"', picture) or ["0"]
    drawn_, printed = (
        sorted(height for _, height in bars_of(picture)),
        sorted(heights(shared["overview"]["tree"], float(whole))),
    )

    assert drawn_ == pytest.approx(printed, abs=0.011)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_page_is_drawn_from_what_may_be_shared_alone(seed: int, tmp_path: Path) -> None:
    result = drawn(seed)
    reports.write_html(result, tmp_path / "report.html")

    assert (tmp_path / "report.html").read_text("utf-8") == html_text(read_again(result))

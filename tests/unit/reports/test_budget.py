"""What is printed: findings first, and every row either stands or is counted."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit._reports.chapters.report import Report, build
from audit._reports.pdf import budget
from audit._reports.pdf.budget import BUDGETS, PAGES, Budget, budgets, pages, printed
from audit._reports.words.parts import Column, Named, Table
from fixtures.examples import examples
from tests.unit.reports.huge import huge_view


@cache
def huge(findings: int = 20, length: int = 300) -> Report:
    return build(_view(findings, length))


def _view(findings: int, length: int) -> dict[str, Any]:
    return huge_view(findings, ("of a condition in its later course " * 60)[:length])


def ids(report: Report) -> set[str]:
    named = [row[0] for one in report.blocks for row in one.table.rows]
    return {cell.name for cell in named if isinstance(cell, Named)}


@pytest.mark.slow
def test_every_finding_stands_within_what_a_policy_shows() -> None:
    kept = next(budgets(huge()))
    assert len(ids(kept.report)) == 480
    assert kept.findings == 0
    assert pages(kept) <= PAGES


@pytest.mark.slow
@pytest.mark.parametrize("findings", [20, 60])
@pytest.mark.parametrize("budget", BUDGETS)
def test_findings_stand_or_are_counted(budget: Budget, findings: int) -> None:
    report = huge(findings)
    kept = printed(report, budget)
    total = sum(len(one.findings) for one in report.blocks)
    assert len(ids(kept.report)) + kept.findings == total


@pytest.mark.parametrize("budget", BUDGETS)
def test_rows_stand_or_are_counted(budget: Budget) -> None:
    waivers = printed(huge(), budget).report.waivers
    assert waivers is not None
    assert waivers.rows
    assert len(waivers.rows) + waivers.left_out == 500


@pytest.mark.slow
def test_each_budget_takes_fewer_pages() -> None:
    taken = [pages(printed(huge(), budget)) for budget in BUDGETS]
    assert taken == sorted(taken, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize(("findings", "length"), [(20, 5), (20, 900), (150, 300)])
def test_the_last_budget_fits_whatever_comes(findings: int, length: int) -> None:
    *_, last = budgets(huge(findings, length))
    assert pages(last) <= PAGES


words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=400)


@examples(60)
@given(st.integers(1, 9).flatmap(lambda n: st.lists(st.tuples(*[words] * n), max_size=6)))
def test_columns_share_the_width_of_the_page(rows: list[tuple[str, ...]]) -> None:
    headings = [f"h{place}" for place in range(len(rows[0]) if rows else 3)]
    table = Table("t", "c", tuple(map(Column, headings)), tuple(rows))
    shares = budget.widths(table)
    assert len(shares) == len(headings)
    assert sum(shares) == pytest.approx(1)
    assert min(shares) > 0
    assert len(budget.line_counts(table)) == len(rows)

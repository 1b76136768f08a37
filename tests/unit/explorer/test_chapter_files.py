"""Every table of the report's chapters as a file: the rows that are printed."""

from __future__ import annotations

import csv
import io
import re
from html import unescape

import pytest

from audit._reports.words.parts import (
    Badge,
    Code,
    Codes,
    Column,
    Judged,
    Linked,
    Named,
    Node,
    Nodes,
    Ranged,
    Table,
)
from audit.explorer.chapter_files import table_rows
from audit.explorer.sheets import csv_lines
from fixtures.explored import Visitor

TABLE = re.compile(r"<table.*?</table>\s*</div>\s*(?:<p class=\"pager\">(.*?)</p>)?", re.DOTALL)


@pytest.mark.slow
def test_each_table_of_the_report_has_a_file_of_its_rows(visitor: Visitor) -> None:
    page = visitor.get("/report").text
    tables = list(TABLE.finditer(page))

    assert len(tables) == page.count("<table")
    assert len(tables) > 10
    for found in tables:
        link = re.search(r'href="([^"]*csv=[^"]*)"', found[1] or "")
        assert link, found[0][:300]
        answer = visitor.ask("GET", unescape(link[1]))
        assert answer.headers["content-type"].startswith("text/csv")
        assert "unsuppressed" not in answer.headers["content-disposition"]
        rows = list(csv.reader(io.StringIO(answer.text)))
        printed = re.findall(r"<tr>.*?</tr>", found[0], re.DOTALL)
        assert len(rows) == len(printed)
        for row, cells in zip(rows, printed, strict=True):
            assert len(row) == len(re.findall(r"<t[hd][ >]", cells))


def test_what_names_no_table_is_the_page(visitor: Visitor) -> None:
    assert "text/html" in visitor.ask("GET", "/report?csv=none").headers["content-type"]


def test_every_kind_of_cell_is_a_line_of_text() -> None:
    badge = Badge("Fails", "error")
    cells = (
        ("=1+1", "=1+1"),
        (Node("a", "A"), "A (a)"),
        (Node("a"), "a"),
        (Nodes((Node("a", "A"), Node("b")), 1200), "A (a); b; and 1,200 more"),
        (badge, "Fails"),
        (Judged(badge, ("one", "two")), "Fails; one; two"),
        (Ranged("1.5", "1.0 to 2.0"), "1.5 (1.0 to 2.0)"),
        (Code("x"), "x"),
        (Codes(("x", "y")), "x; y"),
        (Linked("words", "there"), "words"),
        (Named("words", "name"), "words (name)"),
    )
    columns = tuple(Column(str(n)) for n in range(len(cells)))
    row = tuple(cell for cell, _ in cells)
    heading, *rows = table_rows(Table("t", "T", columns, (row,), total=row))

    assert heading == [column.heading for column in columns]
    assert rows == [[text for _, text in cells]] * 2


def test_a_formula_is_defused() -> None:
    assert next(csv.reader(io.StringIO(csv_lines([["=1+1"]]))))[0] != "=1+1"

"""Readings: what data are taken to mean, as a run tells it."""

from __future__ import annotations

import pytest

from audit.base.readings import Reading, asked, read_as

READING = Reading("each row is one answer", "all rows sum to one", 1200, "--sigmoid", "instances")


def test_a_reading_says_what_why_how_many_and_what_decides_otherwise() -> None:
    assert str(READING) == (
        "each row is one answer, since all rows sum to one (1,200 instances; otherwise: --sigmoid)"
    )


@pytest.mark.parametrize(("rows", "shown"), [(0, 0), (1, "<11"), (10, "<11"), (11, 11)])
def test_a_small_number_of_rows_is_shown_as_a_bound(rows: int, shown: object) -> None:
    reading = Reading("a", "b", rows, "--c").shown(11)

    assert reading["rows"] == shown
    assert (f"({rows} row" in read_as(reading)) == isinstance(shown, int)


def test_a_question_names_every_reading_with_its_rows_and_its_option() -> None:
    other = Reading("each class is asked by itself", "", 3, "--softmax")

    error = asked("it must be known what scores are", [READING, other], "p.csv")

    assert str(error) == (
        "p.csv: it must be known what scores are\n"
        "Found: each row is one answer (1,200 instances); or each class is asked by itself (3 rows)"
        "\nHint: --sigmoid if each row is one answer; --softmax if each class is asked by itself"
    )

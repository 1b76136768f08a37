"""Readings: what data are taken to mean, as a run tells it."""

from __future__ import annotations

from audit.base.readings import Reading, as_typed, asked

READING = Reading("each row is one answer", "all rows sum to one", 1200, "--sigmoid", "instances")


def test_a_reading_says_what_why_how_many_and_what_decides_otherwise() -> None:
    assert str(READING) == (
        "each row is one answer, since all rows sum to one (1,200 instances; otherwise: --sigmoid)"
    )


def test_a_question_names_every_reading_with_its_rows_and_its_option() -> None:
    other = Reading("each class is asked by itself", "", 3, "--softmax")

    error = asked("it must be known what scores are", [READING, other], "p.csv")

    assert str(error) == (
        "p.csv: it must be known what scores are\n"
        "\n--sigmoid\n    each row is one answer (1,200 instances)\n"
        "\n--softmax\n    each class is asked by itself (3 rows)"
    )


def test_a_value_that_begins_as_an_option_is_typed_behind_an_equals_sign() -> None:
    typed = as_typed({"hierarchy_sep": "--", "skip_rows": 2, "sep": ","})

    assert typed == "--hierarchy-sep=-- --skip-rows 2 --sep ,"

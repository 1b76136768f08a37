"""The first thing that is said of a model."""

from __future__ import annotations

from typing import Any

import pytest

from audit._reports.chapters.model_verdict import model_verdict


def _at(name: str, value: float | None, n: int | str | None, **parameters: Any) -> dict[str, Any]:
    ends = (None, None) if value is None else (value - 0.01, value + 0.01)
    low, high = ends
    return {"name": name, "scope": "all", "value": value, "low": low, "high": high, "n": n,
            "parameters": parameters}  # fmt: skip


def _answers(kind: str, up: tuple[int, ...], recovered: tuple[float | None, ...], n: Any) -> Any:
    """A model with 100 wrong answers of 1,000 at the first cut, and some of them right above."""
    rows = [_at("accuracy", 0.9, 1_000, **{f"{kind}_to": up[0]})]
    for at, share in zip(up[1:], recovered, strict=True):
        value = None if share is None else 0.9 + 0.1 * share
        rows.append(_at("accuracy", value, 1_000, **{f"{kind}_to": at}))
        for name, found in (("recovered", share), ("lost", 0.0), ("accuracy_alignment", share)):
            between = {f"{kind}_from": up[0], f"{kind}_to": at}
            rows.append(_at(name, found, n, **between))
    return rows


def _sets(*values: float) -> Any:
    where = ({"up": 0}, {"up": 1}, {"depth_to": 1})
    return [_at("f1", value, 50, **at) for value, at in zip(values, where, strict=True)]


CASES = {
    "stays within": (
        _answers("depth", (3, 2, 1), (0.4, 0.9), 100),
        "Of 100 wrong answers 40 (40.0%) are right one level up (depth 2) and 90 (90.0%) are right "
        "by branch: most of the error lies within the right branch.",
        ["Leaves (depth 3)", "One level up (depth 2)", "By branch"],
    ),
    "the next level joins nothing": (
        _answers("depth", (4, 3, 2, 1), (0.0, 0.1, 0.2), 100),
        "Of 100 wrong answers 10 (10.0%) are right at depth 2 and 20 (20.0%) are right "
        "by branch: most of the error lies beyond the right branch.",
        ["Leaves (depth 4)", "At depth 2", "By branch"],
    ),
    "about a half is not judged": (
        _answers("depth", (2, 1), (0.5,), 100),
        "Of 100 wrong answers 50 (50.0%) are right by branch.",
        ["Leaves (depth 2)", "By branch"],
    ),
    "levels of the paper": (
        _answers("level", (1, 2, 3), (0.4, 0.9), 100),
        "Of 100 wrong answers 40 (40.0%) are right one level up (level 2) and 90 (90.0%) are right "
        "at level 3.",
        ["Leaves (level 1)", "One level up (level 2)", "At level 3"],
    ),
    "what is not told is left out": (
        _answers("depth", (3, 2, 1), (None, 0.9), 100),
        "Of 100 wrong answers 90 (90.0%) are right by branch: most of the error lies within the "
        "right branch.",
        ["Leaves (depth 3)", "One level up (depth 2)", "By branch"],
    ),
    "nor how many are wrong": (
        _answers("depth", (2, 1), (None,), None),
        "",
        ["Leaves (depth 2)", "By branch"],
    ),
    "sets": (
        _sets(0.6, 0.6, 0.9),
        "F1 is 60.0%, and 0.0 points better one level up and 30.0 points better by branch: most "
        "of what it lacks lies within the right branch.",
        ["Labels as given", "One level up", "By branch"],
    ),
    "sets that gain little": (
        _sets(0.6, 0.59, 0.65),
        "F1 is 60.0%, and 1.0 points worse one level up and 5.0 points better by branch: most of "
        "what it lacks lies beyond the right branch.",
        ["Labels as given", "One level up", "By branch"],
    ),
    "no levels": (_answers("depth", (1,), (), 100), "", ["Leaves (depth 1)"]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_model_is_told_in_a_sentence_and_a_line_a_level(case: str) -> None:
    metrics, sentence, places = CASES[case]
    found = model_verdict({"metrics": metrics})

    assert found is not None
    assert found.sentence == sentence
    assert [row[0] for row in found.table.rows] == places


def test_without_predictions_there_is_none() -> None:
    assert model_verdict({"metrics": []}) is None

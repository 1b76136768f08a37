"""Rows of attributions in any order: what is read is the same, and each row is kept or counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError
from fixtures.attribution_files import ROW, adds_up, written
from fixtures.doors import read_attributions
from fixtures.examples import examples

WORDS = ["Heart", "fail", "##ure", ".", "Ġno", "▁x", "end</w>", "[CLS]", "the", "é", "##", " "]
SCORES = st.floats(allow_nan=False, allow_infinity=False)
KINDS = ("none", "marks", "spans", "explanation")


def evidence(kind: str, offsets: list[list[int]]) -> st.SearchStrategy[dict[str, Any]]:
    """Evidence of one kind for tokens at some places."""
    n = len(offsets)
    mask = st.lists(st.integers(0, 1), min_size=n, max_size=n)
    spans = st.lists(st.sampled_from(offsets), max_size=3)
    own: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "none": {},
        "marks": {"marks": st.lists(mask, min_size=1, max_size=3)},
        "spans": {"spans": st.lists(spans, min_size=1, max_size=3), "offsets": st.just(offsets)},
        "explanation": {"explanation": st.sampled_from(["No heart FAILURE.", "the end", "x"])},
    }
    return st.fixed_dictionaries(own[kind])


@st.composite
def releases(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of a few texts by a few methods and seeds, and one row that is always sound."""
    kind, rows = draw(st.sampled_from(KINDS)), [ROW | {"id": "anchor"}]
    for number in range(draw(st.integers(1, 4))):
        tokens = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
        places = [[3 * place, 3 * place + 2] for place in range(len(tokens))]
        own = draw(evidence(kind, places))
        for method in draw(st.lists(st.sampled_from("ab"), min_size=1, unique=True)):
            row = st.fixed_dictionaries(
                {
                    "target": st.sampled_from(["428.0", "486"]),
                    "seed": st.integers(0, 2),
                    "gold": st.none() | st.booleans(),
                    "group": st.none() | st.just("g"),
                    "scores": st.lists(SCORES, min_size=len(tokens), max_size=len(tokens)),
                }
            )
            rows.append(
                {"id": f"n{number}", "method": method, "tokens": tokens, **draw(row), **own}
            )
    return rows


@examples(40)
@given(rows=releases(), draw=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter_and_each_is_counted(
    rows: list[dict[str, Any]], draw: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    read = read_attributions(written(folder, *rows))
    draw.shuffle(rows)
    again = read_attributions(written(folder, *rows))
    assert read.rows.equals(again.rows)
    assert read.ledger == again.ledger
    assert adds_up(read.ledger)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"tokens": [], "scores": []}, "no_tokens"),
        ({"id": None}, "missing_value"),
        ({"scores": [1, 2]}, "length_differs"),
        ({"seed": 1.5}, "missing_value"),
    ],
)
def test_one_bad_row_is_counted(tmp_path: Path, fault: dict[str, Any], reason: str) -> None:
    bad = ROW | {"id": "bad"} | fault
    read = read_attributions(written(tmp_path, ROW, bad))
    assert read.rows["id"].to_list() == ["n1"]
    assert read.ledger[reason] == 1
    assert adds_up(read.ledger)
    with pytest.raises(InputError, match=f"1 {reason}|are required"):
        read_attributions(written(tmp_path, bad))


def test_rows_under_one_key_are_counted(tmp_path: Path) -> None:
    again = ROW | {"scores": [0, 0, 0, 0, 0, 1]}
    assert read_attributions(written(tmp_path, ROW, ROW, ROW)).ledger["repeated"] == 2
    read = read_attributions(written(tmp_path, ROW, again, ROW | {"id": "n2"}))
    assert read.rows["id"].to_list() == ["n2"]
    assert read.ledger["conflicting"] == 2
    assert adds_up(read.ledger)

"""Masks, spans and free text become marks on the tokens that each model has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.reading.reading import read_attributions
from audit.analyses.explanations.reading.spans import lists_with_crossing, marked_tokens, spans_in
from audit.base.errors import InputError, SchemaError
from fixtures.attribution_files import PASSAGE, ROW, adds_up, written

OFFSETS = PASSAGE["offsets"]


def marks(read: Attributions, item: int = 0) -> list[float]:
    assert read.evidence is not None
    return read.evidence.marks[item].tolist()


def evidence_words(read: Attributions, item: int = 0) -> list[str]:
    assert read.evidence is not None
    return read.vocabulary.gather(read.evidence.words[item]).to_list()


def read_with(
    folder: Path, evidence: dict[str, Any], *rows: dict[str, Any], **options: Any
) -> Attributions:
    records = written(folder, {"id": "n1", "target": "428.0"} | evidence, name="evidence.jsonl")
    return read_attributions(written(folder, *(rows or (ROW,))), records, **options)


@pytest.mark.parametrize(
    ("mask", "shares"),
    [
        ([0, 1, 1, 0, 0, 0], [1, 1, 0, 0]),
        ([True, True, False, True, False, True], [1, 0, 1, 0]),
        ([1, 1, 0, 0], [1, 1, 0, 0]),
        ([[0, 1, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0]], [1, 0.5, 0, 0]),
        ([[1, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 1]], [2 / 3, 0, 0, 2 / 3]),
    ],
)
def test_masks_with_and_without_special_tokens(tmp_path: Path, mask: Any, shares: Any) -> None:
    read = read_with(tmp_path, {"marks": mask})
    assert marks(read) == pytest.approx(shares)
    assert read.rows["item"].to_list() == [0]
    assert adds_up(read.ledger)


@pytest.mark.parametrize("mask", [[0, 0, 1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0]])
def test_a_merged_word_is_marked_if_a_piece_is(tmp_path: Path, mask: list[int]) -> None:
    assert marks(read_with(tmp_path, {"marks": mask}, word_pieces="sum")) == [0, 1, 0]


def test_words_of_marks(tmp_path: Path) -> None:
    read = read_with(tmp_path, {"marks": [1, 0, 0, 1]})
    assert evidence_words(read) == [".", "heart"]
    assert read.ledger["one_annotator"] == 1


@pytest.mark.parametrize(
    ("spans", "shares"),
    [
        ([[0, 5]], [1, 0, 0, 0]),
        ([[4, 7]], [1, 1, 0, 0]),
        ([[5, 6]], [0, 0, 0, 0]),
        ([[0, 14]], [1, 1, 1, 1]),
        ([], [0, 0, 0, 0]),
        ([[0, 14], [6, 10]], [1, 1, 1, 1]),
        ([[[0, 5]], [[0, 1], [12, 14]]], [1, 0, 0.5, 0.5]),
        ([[], [[0, 1]]], [0.5, 0, 0, 0]),
    ],
)
def test_spans(tmp_path: Path, spans: Any, shares: list[float]) -> None:
    read = read_with(tmp_path, {"spans": spans}, ROW | PASSAGE)
    assert marks(read) == shares


def test_spans_reach_every_tokenisation(tmp_path: Path) -> None:
    other = ROW | {
        "model": "b",
        "tokens": ["Heart", "failure."],
        "scores": [1, 2],
        "offsets": [[0, 5], [6, 14]],
    }
    read = read_with(tmp_path, {"spans": [[6, 13]]}, ROW | PASSAGE, other)
    assert [marks(read, item) for item in read.rows["item"]] == [[0, 1], [0, 1, 1, 0]]


@pytest.mark.parametrize(
    ("explanation", "shares", "words"),
    [
        ({"explanation": "The HEART does fail"}, [1, 1, 0, 0], ["fail", "heart"]),
        ({"explanation": "the heart."}, [1, 0, 0, 1], [".", "heart"]),
        ({"explanation_tokens": ["Heart", "##ure", "the"]}, [1, 0, 1, 0], ["heart", "ure"]),
        ({"explanation": "none at all"}, [0, 0, 0, 0], ["none"]),
    ],
)
def test_free_text(tmp_path: Path, explanation: Any, shares: list[float], words: list[str]) -> None:
    read = read_with(tmp_path, explanation)
    assert marks(read) == shares
    assert evidence_words(read) == words


def test_free_text_on_one_row_is_evidence_for_all_models(tmp_path: Path) -> None:
    other = ROW | {"model": "b", "tokens": ["heart", "failure"], "scores": [1, 2]}
    read = read_attributions(written(tmp_path, ROW | {"explanation": "a heart"}, other))
    assert [marks(read, item) for item in read.rows["item"]] == [[1, 0], [1, 0, 0, 0]]


def test_negations_count_only_without_the_papers_stop_words(tmp_path: Path) -> None:
    row = ROW | {"tokens": ["no", "heart", "the"], "scores": [1, 2, 3]}
    told = {"explanation": "No, the heart."}
    assert marks(read_with(tmp_path, told, row)) == [0, 1, 0]
    assert marks(read_with(tmp_path, told, row, stop_words="clinical")) == [1, 1, 0]


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        ({"marks": [1, 0]}, "evidence_length_differs"),
        ({"marks": [[1, 0, 0, 0], [1, 0, 0]]}, "evidence_length_differs"),
        ({"marks": [1, 0, 0, 2]}, "evidence_outside_0_to_1"),
        ({"marks": [1, 0, 0, -0.5]}, "evidence_outside_0_to_1"),
        ({"marks": [[1, 0, 0, 0], [1, 0, 0, float("nan")]]}, "evidence_outside_0_to_1"),
        ({"marks": "1000"}, "evidence_wrong_type"),
        ({"marks": {"a": 1}}, "evidence_wrong_type"),
        ({"marks": []}, "evidence_length_differs"),
        ({"spans": [[0, 15]]}, "evidence_outside_text"),
        ({"spans": [[-1, 5]]}, "evidence_outside_text"),
        ({"spans": [[5, 5]]}, "evidence_outside_text"),
        ({"spans": [[6, 2]]}, "evidence_outside_text"),
        ({"spans": [[0, 7], [6, 10]]}, "evidence_spans_cross"),
        ({"spans": [[0, 7, 8]]}, "evidence_wrong_type"),
        ({"spans": [1, 2]}, "evidence_wrong_type"),
        ({"explanation": ["a"]}, "evidence_wrong_type"),
        ({"id": "n3", "marks": [1, 0, 0, 0]}, "evidence_of_no_row"),
        ({"target": "486", "marks": [1, 0, 0, 0]}, "evidence_of_no_row"),
        ({"model": "b", "marks": [1, 0, 0, 0]}, "evidence_of_no_row"),
        ({"id": None, "marks": [1, 0, 0, 0]}, "evidence_missing_value"),
    ],
)
def test_bad_evidence_is_counted(tmp_path: Path, evidence: Any, reason: str) -> None:
    kind = next(name for name in ("marks", "spans", "explanation") if name in evidence)
    good = {"marks": [1, 0, 0, 0], "spans": [[0, 5]], "explanation": "heart"}[kind]
    rows = written(tmp_path, ROW | PASSAGE, ROW | PASSAGE | {"id": "n2"})
    bad = {"id": "n1", "target": "428.0"} | evidence
    records = written(tmp_path, bad, {"id": "n2", "target": "428.0", kind: good}, name="e.jsonl")
    read = read_attributions(rows, records)
    assert read.rows["item"].to_list() == [None, 0]
    assert read.ledger[reason] == 1
    assert read.ledger["rows_without_evidence"] == 1
    assert adds_up(read.ledger)
    told = "1 of a wrong type" if reason == "evidence_wrong_type" else f"1 {reason}"
    with pytest.raises(InputError, match=told):
        read_attributions(rows, written(tmp_path, bad, name="e.jsonl"))


def test_spans_without_offsets(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 evidence_without_offsets"):
        read_with(tmp_path, {"spans": [[0, 5]]})
    short = ROW | PASSAGE | {"offsets": OFFSETS[1:]}
    with pytest.raises(InputError, match="1 evidence_without_offsets"):
        read_with(tmp_path, {"spans": [[0, 5]]}, short)


def test_a_mask_that_fits_two_tokenisations_is_not_guessed(tmp_path: Path) -> None:
    other = ROW | {"model": "b", "tokens": ["He", "art", "failure", "."], "scores": [1, 2, 3, 4]}
    third = ROW | {"id": "n2"}
    records = [
        {"id": "n1", "target": "428.0", "marks": [1, 0, 0, 0]},
        {"id": "n2", "target": "428.0", "marks": [1, 0, 0, 0]},
    ]
    rows = written(tmp_path, ROW, other, third)
    read = read_attributions(rows, written(tmp_path, *records, name="e.jsonl"))
    assert read.ledger["evidence_ambiguous"] == 1
    assert read.rows.select("id", "model", "item").rows() == [
        ("n1", "b", None), ("n1", "model", None), ("n2", "model", 0),
    ]  # fmt: skip
    records[0]["model"] = "b"
    read = read_attributions(rows, written(tmp_path, *records, name="e.jsonl"))
    assert read.rows["item"].to_list() == [0, None, 1]
    assert "evidence_ambiguous" not in read.ledger


def test_models_that_divide_a_text_alike_share_a_mask(tmp_path: Path) -> None:
    read = read_with(tmp_path, {"marks": [1, 0, 0, 0]}, ROW, ROW | {"model": "b"})
    assert [marks(read, item) for item in read.rows["item"]] == [[1, 0, 0, 0]] * 2


def test_different_evidence_on_one_text(tmp_path: Path) -> None:
    rows = [
        ROW | {"method": "a", "marks": [1, 0, 0, 0]},
        ROW | {"method": "b", "marks": [0, 0, 0, 1]},
        ROW | {"method": "c", "id": "n2", "marks": [0, 0, 0, 1]},
        ROW | {"method": "d", "id": "n2"},
    ]
    read = read_attributions(written(tmp_path, *rows))
    assert read.rows["item"].to_list() == [None, None, 0, 0]
    assert read.ledger["evidence_conflicting"] == 2
    assert adds_up(read.ledger)


def test_evidence_is_of_a_target(tmp_path: Path) -> None:
    rows = [ROW | {"marks": [1, 0, 0, 0]}, ROW | {"target": "486", "marks": [0, 0, 0, 1]}]
    read = read_attributions(written(tmp_path, *rows))
    assert [marks(read, item) for item in read.rows["item"]] == [[1, 0, 0, 0], [0, 0, 0, 1]]
    assert read.rows["text"].to_list() == [0, 0]


def test_one_kind_at_a_time(tmp_path: Path) -> None:
    path = written(tmp_path, ROW | {"marks": [1, 0, 0, 0], "explanation": "failure fail"})
    with pytest.raises(InputError, match="one kind of evidence"):
        read_attributions(path)


def test_a_file_of_evidence_without_any(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="marks, spans, explanation"):
        read_with(tmp_path, {"note": "x"})


def test_evidence_in_parquet(tmp_path: Path) -> None:
    rows = written(tmp_path, ROW | PASSAGE)
    key = {"id": ["n1"], "target": ["428.0"]}
    for name, values in {
        "marks": [[1, 0, 0, 0]],
        "spans": [[[0, 5]]],
        "explanation": ["heart"],
    }.items():
        for shaped in (values, [values]) if name != "explanation" else (values,):
            path = tmp_path / "evidence.parquet"
            pl.DataFrame(key | {name: shaped}).write_parquet(path)
            assert marks(read_attributions(rows, path)) == [1, 0, 0, 0]


SPAN = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda one: [one[0], sum(one)])
LISTS = st.lists(st.lists(SPAN, max_size=5), min_size=1, max_size=4)


@given(LISTS, st.data())
def test_tokens_are_marked_if_they_share_a_character(lists: list[Any], data: st.DataObject) -> None:
    token = st.tuples(st.integers(0, 14), st.integers(0, 3)).map(lambda one: [one[0], sum(one)])
    tokens = [data.draw(st.lists(token, max_size=5)) for _ in lists]
    column = pl.List(pl.List(pl.Int64))
    spans, seen = (spans_in(pl.Series(one, dtype=column)) for one in (lists, tokens))
    expected = [
        any(set(range(*one)) & set(range(*span)) for span in own)
        for own, of_text in zip(lists, tokens, strict=True)
        for one in of_text
    ]
    assert marked_tokens(spans, seen).tolist() == expected


@given(LISTS)
def test_crossing_spans(lists: list[Any]) -> None:
    def cross(one: list[int], other: list[int]) -> bool:
        a, b = set(range(*one)), set(range(*other))
        return bool(a & b) and not (a <= b or b <= a)

    spans = spans_in(pl.Series(lists, dtype=pl.List(pl.List(pl.Int64))))
    expected = [any(cross(a, b) for a in own for b in own) for own in lists]
    assert lists_with_crossing(spans).tolist() == expected
    assert isinstance(lists_with_crossing(spans), np.ndarray)

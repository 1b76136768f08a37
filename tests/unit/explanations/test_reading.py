"""Attributions are read whole; each fault is counted, or refused with what was found."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.explanations.reading.reading import read_attributions
from audit.base.errors import AuditError, InputError, SchemaError
from fixtures.attribution_files import PASSAGE, ROW, adds_up, same, write_seeds, written
from fixtures.damaged import Reader
from fixtures.examples import examples
from fixtures.structured import became, plain


def test_a_row_with_nothing_but_what_is_required(tmp_path: Path) -> None:
    read = read_attributions(written(tmp_path, ROW))

    assert read.rows.rows(named=True) == [
        {
            "id": "n1",
            "target": "428.0",
            "method": "attribution",
            "model": "model",
            "seed": 0,
            "gold": None,
            "predicted": None,
            "group": None,
            "borrowed": False,
            "text": 0,
            "item": None,
        }
    ]
    assert read.tokens.to_list() == ["Heart", "fail", "##ure", "."]
    assert read.scores[0].tolist() == [0.25, -1, 2, 0]
    assert read.vocabulary.gather(read.words[0]).to_list() == ["heart", "fail", "ure", "."]
    assert read.evidence is None
    assert read.ledger["special_tokens"] == 2
    assert adds_up(read.ledger)


def test_numbers_of_codes_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"id": 07.0, "target": 428.0, "tokens": [5, "mg"], "scores": [1, 2]}'.replace("07", "7")
    )
    read = read_attributions(path)
    assert read.rows.select("id", "target").rows() == [("7.0", "428.0")]
    assert read.tokens.to_list() == ["5", "mg"]


def test_packed_lines_and_parquet_are_read_alike(tmp_path: Path) -> None:
    rows = [ROW | {"method": "a", "seed": 3, "gold": True}, ROW | {"method": "b", "gold": False}]
    plain = written(tmp_path, *rows)
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    table = tmp_path / "rows.parquet"
    pl.DataFrame(rows).write_parquet(table)

    read = read_attributions(plain)
    assert read.rows.select("method", "seed", "gold").rows() == [("a", 3, True), ("b", 0, False)]
    assert same(read, read_attributions(packed))
    assert same(read, read_attributions(table))


def test_methods_that_see_other_special_tokens_share_a_text(tmp_path: Path) -> None:
    bare = ROW | {"tokens": ROW["tokens"][1:-1], "scores": [1, 2, 3, 4], "method": "lime"}
    read = read_attributions(written(tmp_path, ROW, bare))
    assert read.rows["text"].to_list() == [0, 0]
    assert len(read.words) == 1


def test_no_word_goes_on_across_texts_or_special_tokens(tmp_path: Path) -> None:
    row = ROW | {"scores": [1, 2]}
    texts = (["##a", "##b"], ["##c", "##d"])
    rows = [row | {"id": str(n), "tokens": tokens} for n, tokens in enumerate(texts)]
    around = ROW | {"id": "2", "tokens": ["[CLS]", "a", "##b", "[SEP]", "##c", "##d"]}
    read = read_attributions(written(tmp_path, *rows, around), word_pieces="sum")
    assert read.tokens.to_list() == ["##ab", "##cd", "ab", "##cd"]
    assert read.scores.values.tolist() == [3, 3, -0.75, 0.5]


def test_token_lists_of_two_models_stay_apart(tmp_path: Path) -> None:
    other = ROW | {"model": "b", "tokens": ["Ġheart", "Ġfailure", "."], "scores": [1, 2, 3]}
    read = read_attributions(written(tmp_path, ROW, other))
    assert read.rows.select("model", "text").rows() == [("b", 0), ("model", 1)]
    assert read.vocabulary.gather(read.words[0]).to_list() == ["heart", "failure", "."]


def test_named_special_tokens(tmp_path: Path) -> None:
    path = written(tmp_path, ROW)
    assert len(read_attributions(path, special="none").scores[0]) == 6
    assert len(read_attributions(path, special=["."]).scores[0]) == 5
    with pytest.raises(InputError, match="bert, roberta"):
        read_attributions(path, special="elmo")


@pytest.mark.parametrize(
    ("first", "last", "end"), [("<|startoftext|>", "<|im_end|>", 0), ("[BOS]", "heart", 14)]
)
def test_tokens_without_a_character_are_special_whatever_their_names(
    first: str, last: str, end: int, tmp_path: Path
) -> None:
    tokens = [first, *ROW["tokens"][1:-1], last]
    offsets = [*PASSAGE["offsets"][:-1], [end, end]]
    rows = [ROW | PASSAGE | {"tokens": tokens, "offsets": offsets}, ROW | {"id": "n2"}]
    path = written(tmp_path, *rows, ROW | {"id": "n3", "offsets": [[0, 0]] * 6})
    read = read_attributions(path)

    assert same(read, read_attributions(written(tmp_path, *(ROW | {"id": f"n{n}"} for n in "123"))))
    (reading,) = read.readings
    assert (reading.rows, reading.unit, reading.option) == (2, "tokens", "--special-tokens all")
    written(tmp_path, *rows)
    assert read_attributions(path, special="all").scores.lengths.tolist() == [6, 4]
    assert read_attributions(written(tmp_path, ROW | PASSAGE)).readings == ()


@pytest.mark.parametrize("score", [float("nan"), float("inf"), None])
def test_the_score_of_a_token_that_is_left_out_may_be_anything(score: Any, tmp_path: Path) -> None:
    row = ROW | {"scores": [*ROW["scores"][:-1], score]}
    assert same(*(read_attributions(written(tmp_path, one)) for one in (row, ROW)))
    with pytest.raises(InputError, match="1 not_finite"):
        read_attributions(written(tmp_path, row), special="none")


@pytest.mark.parametrize("values", [(2, 0), ("HEART", "LUNG"), ("LABEL_1", "LABEL_2")])
@pytest.mark.parametrize("name", ["gold", "predicted"])
def test_labels_none_of_which_is_a_target_are_refused(
    name: str, values: Any, tmp_path: Path
) -> None:
    rows = [ROW | {"target": "heart", name: value} for value in values]
    with pytest.raises(SchemaError, match="labels that are among the targets"):
        read_attributions(written(tmp_path, *rows))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"scores": [1, 2]}, "length_differs"),
        ({"scores": [1, 2, 3, 4, float("nan"), 6]}, "not_finite"),
        ({"scores": [1, 2, 3, 4, float("inf"), 6]}, "not_finite"),
        ({"scores": [1, 2, 3, 4, None, 6]}, "not_finite"),
        ({"scores": [1, "a", 3, 4, 5, 6]}, "not_finite"),
        ({"scores": 3}, "wrong_type"),
        ({"scores": [[1], 2, 3, 4, 5, 6]}, "wrong_type"),
        ({"tokens": "Heart failure"}, "wrong_type"),
        ({"tokens": [True, "b", "c", "d", "e", "f"]}, "wrong_type"),
        ({"tokens": [None, "b", "c", "d", "e", "f"]}, "missing_value"),
        ({"tokens": ["[CLS]"], "scores": [1]}, "no_tokens"),
        ({"tokens": [], "scores": []}, "no_tokens"),
        ({"id": None}, "missing_value"),
        ({"id": " "}, "missing_value"),
        ({"target": ["428.0"]}, "wrong_type"),
        ({"seed": "first"}, "wrong_type"),
        ({"seed": 1.5}, "wrong_type"),
        ({"gold": {"a": 1}}, "wrong_type"),
    ],
)
def test_one_bad_row_is_counted(tmp_path: Path, fault: dict[str, Any], reason: str) -> None:
    bad = ROW | {"id": "bad"} | fault
    read = read_attributions(written(tmp_path, ROW, bad))
    assert read.rows["id"].to_list() == ["n1"]
    assert read.ledger[reason] == 1
    assert adds_up(read.ledger)
    with pytest.raises(InputError, match=f"1 {reason}"):
        read_attributions(written(tmp_path, bad))


def test_rows_under_one_key(tmp_path: Path) -> None:
    again = ROW | {"scores": [0, 0, 0, 0, 0, 1]}
    assert read_attributions(written(tmp_path, ROW, ROW, ROW)).ledger["repeated"] == 2
    read = read_attributions(written(tmp_path, ROW, again, ROW | {"id": "n2"}))
    assert read.rows["id"].to_list() == ["n2"]
    assert read.ledger["conflicting"] == 2
    assert adds_up(read.ledger)


def test_draws_of_a_borrowed_explanation_do_not_conflict(tmp_path: Path) -> None:
    draws = [ROW | {"borrowed": True, "scores": [0, 0, 0, 0, 0, n]} for n in (2, 1)]
    read = read_attributions(written(tmp_path, ROW, *draws, special_row()), special="none")
    assert read.rows["borrowed"].to_list() == [False, True, True, False]
    assert [read.scores[row][-1] for row in (1, 2)] == [1, 2]


def special_row() -> dict[str, Any]:
    return ROW | {"id": "z"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((True, False), [True, False]),
        ((1, 0), [True, False]),
        (("1", "0"), [True, False]),
        (("True", "False"), [True, False]),
        (("428.0", "486"), [True, False]),
        ((428.0, 486), [True, False]),
        ((1.0, 0.0, None), [True, False, None]),
        (("1.0", "428.0"), [False, True]),
        ((None, True), [None, True]),
    ],
)
def test_gold_is_a_flag_or_a_label(tmp_path: Path, values: Any, expected: list[Any]) -> None:
    rows = [ROW | {"id": str(n), "gold": value} for n, value in enumerate(values)]
    assert read_attributions(written(tmp_path, *rows)).rows["gold"].to_list() == expected


def test_0_and_1_where_1_is_a_target(tmp_path: Path) -> None:
    rows = [ROW | {"target": "1", "gold": 1}, ROW | {"target": "0", "gold": 1}]
    with pytest.raises(SchemaError, match="labels as text"):
        read_attributions(written(tmp_path, *rows))
    texts = [row | {"gold": "1"} for row in rows]
    assert read_attributions(written(tmp_path, *texts)).rows["gold"].to_list() == [False, True]


def test_missing_columns_are_named_with_those_there_are(tmp_path: Path) -> None:
    for path in (
        written(tmp_path, {"id": 1, "words": ["a"]}),
        tmp_path / "rows.parquet",
    ):
        if path.suffix == ".parquet":
            pl.DataFrame({"id": [1], "words": [["a"]]}).write_parquet(path)
        with pytest.raises(SchemaError, match=r"'id', 'words', without 'target', 'tokens'"):
            read_attributions(path)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("tokens", ["a b"]),
        ("tokens", [[1, 2]]),
        ("scores", [["a", "b"]]),
        ("scores", [1.0]),
        ("marks", [["yes"]]),
        ("marks", [1]),
        ("spans", [[1, 2]]),
        ("id", [[1]]),
    ],
)
def test_a_column_of_a_wrong_type_is_refused(tmp_path: Path, column: str, values: Any) -> None:
    path = tmp_path / "rows.parquet"
    row = {"id": [1], "target": ["a"], "tokens": [["a", "b"]], "scores": [[1.0, 2.0]]}
    pl.DataFrame(row | {column: values}).write_parquet(path)
    with pytest.raises(SchemaError, match=f"the column '{column}' must hold"):
        read_attributions(path)


@pytest.mark.parametrize("name", ["rows.pkl", "rows.jsonl", "rows.parquet", "rows.jsonl.gz"])
def test_a_pickle_is_refused_by_what_it_begins_with(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = pickle.dumps([ROW])
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(InputError, match="pickled objects"):
        read_attributions(path)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet", "rows.jsonl.gz"])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"")
    with pytest.raises(InputError, match="is required"):
        read_attributions(path)


def test_a_key_that_stands_twice_and_a_line_that_is_no_object(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1, "id": 2}')
    with pytest.raises(InputError, match="more than one value of the key 'id'"):
        read_attributions(path)
    path.write_text(json.dumps(ROW) + "\n[1]")
    with pytest.raises(InputError, match=r"rows.jsonl:2: every line must be a JSON object"):
        read_attributions(path)


WORDS = ["Heart", "fail", "##ure", ".", "Ġno", "▁x", "end</w>", "[CLS]", "the", "é", "##", " "]
SCORES = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def releases(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of a few texts by a few models and methods, with evidence of one kind or none."""
    kind = draw(st.sampled_from(["none", "marks", "spans", "explanation"]))
    rows = []
    for number in range(draw(st.integers(1, 4))):
        tokens = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
        offsets = [[3 * place, 3 * place + 2] for place in range(len(tokens))]
        mask = st.lists(st.integers(0, 1), min_size=len(tokens), max_size=len(tokens))
        span = st.sampled_from(offsets)
        evidence = {
            "none": st.just({}),
            "marks": st.fixed_dictionaries({"marks": st.lists(mask, min_size=1, max_size=3)}),
            "spans": st.fixed_dictionaries(
                {
                    "spans": st.lists(st.lists(span, max_size=3), min_size=1, max_size=3),
                    "offsets": st.just(offsets),
                }
            ),
            "explanation": st.fixed_dictionaries(
                {"explanation": st.sampled_from(["No heart FAILURE.", "the end", "x"])}
            ),
        }[kind]
        own = draw(evidence)
        for method in draw(st.lists(st.sampled_from("ab"), min_size=1, unique=True)):
            rows.append(
                {
                    "id": f"n{number}",
                    "target": draw(st.sampled_from(["428.0", "486"])),
                    "method": method,
                    "seed": draw(st.integers(0, 2)),
                    "gold": draw(st.none() | st.booleans()),
                    "group": draw(st.none() | st.just("g")),
                    "tokens": tokens,
                    "scores": draw(st.lists(SCORES, min_size=len(tokens), max_size=len(tokens))),
                    **own,
                }
            )
    return rows


def anchored(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With a row that is always sound, so that there is something to read."""
    return [*rows, ROW | {"id": "anchor"}]


@examples(40)
@given(rows=releases(), draw=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(
    rows: list[dict[str, Any]], draw: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    rows = anchored(rows)
    read = read_attributions(written(folder, *rows))
    draw.shuffle(rows)
    again = read_attributions(written(folder, *rows))
    assert same(read, again)
    assert read.ledger == again.ledger
    assert adds_up(read.ledger)


def test_damaged_evidence_is_read_or_refused(tmp_path: Path) -> None:
    attributions = tmp_path / "rows.jsonl"
    written(tmp_path, ROW | PASSAGE)
    reader = Reader("evidence", write_seeds, lambda path: read_attributions(attributions, path))
    folder = tmp_path / "damaged"
    folder.mkdir()
    assert {*became(reader, range(60), 2, folder, plain)} <= {"read", "refused"}


def test_errors_are_of_this_tool() -> None:
    with pytest.raises(AuditError, match="rule for merging"):
        read_attributions("nowhere", word_pieces="median")
    with pytest.raises(AuditError, match="nothing there"):
        read_attributions("nowhere.jsonl")

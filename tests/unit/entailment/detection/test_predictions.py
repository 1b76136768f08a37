"""Predictions of validity, read from each form of file; every row is used or counted."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from audit.analyses.entailment.analysis import Entailment
from audit.analyses.entailment.predictions import read_validity_predictions, together
from audit.analyses.entailment.settings import Entailing
from audit.base.errors import InputError, SchemaError
from audit.base.progress import silent

ROWS = [
    {"id": "1", "score": 0.25, "prediction": "invalid"},
    {"id": "2", "score": 0.75, "prediction": "valid"},
    {"id": "3", "score": 1.0, "prediction": "0"},
]


def written(path, frame):
    match path.suffix:
        case ".csv":
            frame.write_csv(path)
        case ".tsv":
            frame.write_csv(path, separator="\t")
        case ".jsonl":
            frame.write_ndjson(path)
        case ".parquet":
            frame.write_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_every_form_of_file_says_the_same(tmp_path, suffix):
    read = read_validity_predictions([written(tmp_path / f"bert{suffix}", pl.DataFrame(ROWS))])
    assert read.frame["id"].to_list() == ["1", "2", "3"]
    assert read.frame["score"].to_list() == [0.25, 0.75, 1.0]
    assert read.frame["valid"].to_list() == [False, True, False]
    assert read.frame["model"].unique().to_list() == ["bert"]
    assert (read.rows_read, read.ledger) == (3, {})


@given(st.lists(st.tuples(*[st.floats(-30, 30)] * 2), min_size=1, max_size=8))
def test_two_logits_give_the_softmax_of_those_two(tmp_path_factory, logits):
    path = tmp_path_factory.mktemp("logits") / "nli.parquet"
    first, second = zip(*logits, strict=True)
    frame = pl.DataFrame(
        {"id": [str(k) for k in range(len(logits))], "entailment": first, "neutral": second}
    ).with_columns(contradiction=pl.lit(99.0))
    read = read_validity_predictions([written(path, frame)])
    expected = softmax(logits, axis=1)[:, 0]
    assert read.frame["score"].to_list() == pytest.approx(expected.tolist(), abs=1e-12)


def test_rows_that_cannot_be_used_are_counted(tmp_path):
    lines = ["id,score,prediction", "1,0.5,", ",0.5,", "2,,", "3,high,", "4,nan,1", "5,,maybe"]
    path = tmp_path / "p.csv"
    path.write_text("\n".join(lines) + "\n")
    read = read_validity_predictions([path])
    assert read.ledger == {"missing_id": 1, "no_answer": 1, "bad_score": 2}
    assert read.rows_read == len(lines) - 1 == read.frame.height + sum(read.ledger.values())
    assert read.frame.filter(pl.col("unparsable"))["id"].to_list() == ["5"]


def test_columns_may_have_other_names_and_models_their_own(tmp_path):
    path = tmp_path / "p.jsonl"
    rows = [{"key": 7, "p": 0.1, "model": "a", "trained_on": "Noun-Entail"}]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    read = read_validity_predictions([path], {"id": "key", "score": "P"})
    assert read.frame.row(0) == ("a", "Noun-Entail", "7", 0.1, None, False)


def test_several_files_are_several_models(tmp_path):
    paths = [written(tmp_path / f"{name}.csv", pl.DataFrame(ROWS)) for name in ("a", "b")]
    assert read_validity_predictions(paths).frame.height == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("score\n0.5\n", "'id'"),
        ("id,text\n1,x\n", "a score of valid, a prediction or two logits"),
        ("id,score\n1,3.5\n", "between 0 and 1"),
        ("id,entailment\n1,3.5\n", "two logits"),
        ("id,score,entailment\n1,.5,3.5\n", "not both"),
        ("id,score,entailment,neutral\n1,.5,3.5,1\n", "two logits"),
        ("id,score\n1,0.5\n1,0.6\n", "one answer to each question"),
        ("id,score\n1,x\n", "1 bad_score"),
        ("id,score\n", "rows is required"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, text, message):
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises((InputError, SchemaError), match=message):
        read_validity_predictions([path])


def test_an_unknown_role_or_column_is_refused(tmp_path):
    path = written(tmp_path / "p.csv", pl.DataFrame(ROWS))
    with pytest.raises(InputError, match="columns are named for"):
        read_validity_predictions([path], {"scores": "score"})
    with pytest.raises(SchemaError, match="'p_valid'"):
        read_validity_predictions([path], {"score": "p_valid"})


def test_several_readings_together_keep_every_count(tmp_path):
    scored = written(tmp_path / "a.csv", pl.DataFrame(ROWS))
    partly = tmp_path / "b.csv"
    partly.write_text("id,score\n1,0.5\n2,\n")
    both = together([read_validity_predictions([path]) for path in (scored, partly)])
    assert (both.rows_read, dict(both.ledger)) == (5, {"no_answer": 1})
    assert both.frame["model"].to_list() == ["a", "a", "a", "b"]
    assert both.sources == (scored, partly)
    with pytest.raises(InputError, match="one answer to each question"):
        together([both, both])
    assert together([]).frame.is_empty()


def read_beside(folder, predictions, **settings):
    """Three tuples without ids, and predictions on them."""
    rows = "dog,pet,1\ncat,pet,0\noak,tree,1\n"
    (tuples := folder / "tuples.csv").write_text("hyponym,hypernym,label\n" + rows)
    (path := folder / "model.csv").write_text(predictions)
    entailing = Entailing(files=(tuples,), kind="hypernyms", predictions=(path,), **settings)
    return Entailment.read(entailing, silent)


@pytest.mark.parametrize(
    ("ids", "expected"), [("012", "012"), ("123", "012"), ("02", "02"), ("31", "20"), ("20", "20")]
)
def test_ids_beside_tuples_without_ids_are_numbers_of_records(tmp_path, ids, expected):
    rows = "id,score\n" + "".join(f"{one},0.5\n" for one in ids)
    read = read_beside(tmp_path, rows)
    assert read.beside.predictions.frame["id"].to_list() == list(expected)
    (reading,) = read.readings
    other = read_beside(tmp_path, rows, numbered_from=int(reading.option[-1]))
    assert other.beside.predictions.frame["id"].to_list() != list(expected)
    assert other.readings == ()


@pytest.mark.parametrize("ids", ["12", "2", "0123"])
def test_ids_that_may_be_numbers_from_0_or_1_are_asked(tmp_path, ids):
    with pytest.raises(InputError, match=r"(?s)--numbered-from 0\n.*--numbered-from 1\n"):
        read_beside(tmp_path, "id,score\n" + "".join(f"{one},0.5\n" for one in ids))


def test_as_many_rows_without_ids_as_tuples_are_joined_by_order(tmp_path):
    read = read_beside(tmp_path, "score\n0.1\n0.2\n0.3\n")
    assert read.beside.predictions.frame["id"].to_list() == ["0", "1", "2"]
    assert len(read.readings) == 1
    with pytest.raises(SchemaError, match="for each record of tuples"):
        read_beside(tmp_path, "score\n0.1\n0.2\n")


@pytest.mark.parametrize(
    ("words", "message"), [("012", r"0 \(1 rows\), 1 .*, 2"), ("abc", "'a', 'b', 'c'"), ("-A", "-")]
)
def test_predictions_that_say_neither_are_refused(tmp_path, words, message):
    with pytest.raises(InputError, match=message):
        read_beside(tmp_path, "id,prediction\n" + "".join(f"3,{word}\n" for word in words))


def test_classes_by_name_say_valid_or_not(tmp_path):
    rows = "prediction\nentailment\nneutral\nContradiction\n"
    read = read_beside(tmp_path, rows).beside.predictions
    assert read.frame["valid"].to_list() == [True, False, False]


@pytest.mark.parametrize(
    ("kind", "rows"),
    [("answers", "id,answer\n{},yes\n1,no\n"), ("generations", "id,text\n{},pet\n1,pet\n")],
)
@pytest.mark.parametrize(("number", "expected"), [("0", "01"), ("2", "21"), ("3", "20")])
def test_what_models_say_names_tuples_by_numbers_as_predictions_do(
    tmp_path, kind, rows, number, expected
):
    (path := tmp_path / "said.csv").write_text(rows.format(number))

    def ids(**stated):
        read = read_beside(tmp_path, "id,score\n0,0.5\n1,0.5\n", **{kind: (path,)}, **stated)
        found = read.beside.generations or read.beside.predictions
        return found.frame.filter(model="said")["id"].to_list(), read.readings

    found, (*_, reading) = ids()
    assert (found, reading.unit) == ([*expected], kind)
    assert ids(numbered_from=int(reading.option[-1]))[0] != found

"""Answers of language models: what they say, and the same predictions from the same file."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.answers import read_answers, said_valid
from audit.analyses.entailment.detection import measure_detection
from audit.analyses.entailment.generations import read_generations, read_ratings
from audit.base.errors import InputError, SchemaError
from fixtures.entailment_world.world import clean_world

SAID = {
    "Yes": True,
    "no.": False,
    "**Yes**, because animals include dogs, no doubt": True,
    "Step 1: a dog is no cat. Step 2: Yes": True,
    "The concept is valid.": True,
    "It is not valid": None,
    "A dog is not a cat. So: no.": False,
    "That is not a valid claim": None,
    "yes or no": True,
    "I would say yes, though some say no, I think": None,
    "perhaps": None,
    "": None,
    "know": None,
    "Invalid": False,
}


@pytest.mark.parametrize(("answer", "meaning"), SAID.items())
def test_what_answers_say(answer, meaning):
    assert pl.select(said_valid(pl.lit(answer))).item() is meaning


@given(st.sampled_from(["yes", "Yes!", "NO", "no,"]), st.lists(st.sampled_from("ab "), max_size=9))
def test_the_first_word_decides(first, rest):
    said = pl.select(said_valid(pl.lit(f"{first} {''.join(rest)}"))).item()
    assert said is first.lower().startswith("yes")


def test_answers_make_predictions_without_scores(tmp_path):
    world = clean_world(11)
    asked = world.tuples.filter(split="test").group_by("relation", maintain_order=True).head(10)
    rows = [
        {"id": name, "answer": "Yes" if valid else "No."}
        for name, valid in asked.select("id", "valid").iter_rows()
    ]
    rows[0]["answer"], rows[1]["answer"] = "who knows", ""
    path = tmp_path / "gpt.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"answer": "Yes"}]))
    read = read_answers([path])
    assert (read.rows_read, read.ledger) == (31, {"missing_id": 1})
    found, _ = measure_detection(world, read)
    line = found["detection_coverage"].filter(relation="All").row(0, named=True)
    assert (line["answered"], line["unparsable"]) == (28, 2)
    assert line["missing"] == line["tuples"] - 30
    own = found["detection_measured"].filter(model="gpt", relation="All")
    known = dict(own.drop_nulls("value").select("measure", "value").iter_rows())
    assert known == {"accuracy": 1, "accuracy_strict": 28 / 30, "macro_f1": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\n1\n", "'answer'"),
        ("answer\nyes\n", "'id'"),
        ("id,answer\n1,yes\n1,no\n", "one answer to each question"),
        ("id,answer\n,yes\n", "1 missing_id"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises((InputError, SchemaError), match=message):
        read_answers([path])


@pytest.mark.parametrize("read", [read_answers, read_generations, read_ratings])
def test_a_column_called_as_the_hint_says_is_read(read, tmp_path):
    path, text = tmp_path / "m.csv", "one,two\nt1,1\n"
    for column in ("one", "two"):
        path.write_text(text)
        with pytest.raises(SchemaError) as caught:
            read([path])
        text = text.replace(column, caught.value.hint.split("'")[1])
    path.write_text(text)

    assert len(read([path]).frame) == 1

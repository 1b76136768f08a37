"""Tuples and what stands beside them: every row of a file is used or counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.analysis import Entailment
from audit.analyses.entailment.answers import (
    read_answers,
    read_generations,
    read_ratings,
    read_validity_predictions,
    said_valid,
    together,
)
from audit.analyses.entailment.generation import measure_generation, rating_tables
from audit.analyses.entailment.settings import Entailing
from audit.base.errors import InputError, SchemaError
from audit.base.progress import silent
from audit.data.records import Records
from fixtures.doors import read_entailment
from fixtures.entailed_release import stated

PREDICTED, ANSWERED = read_validity_predictions, read_answers
LEDGERS = [
    (PREDICTED, "id,score,prediction\n1,0.5,\n,0.5,\n2,,\n3,high,\n4,nan,1\n5,,maybe\n",
     {"missing_id": 1, "no_answer": 1, "bad_score": 2}),
    (PREDICTED, "id,entailment,neutral\n1,2,1\n2,x,1\n3,,\n", {"bad_score": 1, "no_answer": 1}),
    (ANSWERED, "id,answer\n1,yes\n,no\n2,\n", {"missing_id": 1}),
    (read_generations, "id,head,relation,text\n1,,,a\n,h,noun,b\n,h,what,c\n,,,d\n",
     {"missing_key": 1, "unknown_relation": 1}),
    (read_ratings, "id,rating\n1,1\n,0\n2,\n", {"missing_id": 1, "missing_rating": 1}),
]  # fmt: skip
REFUSED = [
    (PREDICTED, "score\n0.5\n", "'id'"),
    (PREDICTED, "id,text\n1,x\n", "a score of valid, a prediction, or the two logits"),
    (PREDICTED, "id,score\n1,3.5\n", "between 0 and 1"),
    (PREDICTED, "id,entailment\n1,3.5\n", "two logits"),
    (PREDICTED, "id,score,entailment,neutral\n1,.5,3.5,1\n", "two logits"),
    (PREDICTED, "id,score\n1,0.5\n1,0.6\n", "one answer to each question"),
    (PREDICTED, "id,score\n1,x\n", "1 bad_score"),
    (PREDICTED, "id,prediction\n1,maybe\n", "'maybe'"),
    (PREDICTED, "id,prediction\n1,2\n", r"2 \(1 rows\)"),
    (ANSWERED, "id\n1\n", "'answer'"),
    (ANSWERED, "id,answer\n1,yes\n1,no\n", "one answer to each question"),
    (read_generations, "id\n1\n", "'text'"),
    (read_generations, "text\nx\n", "the id of a tuple"),
    (read_ratings, "id\n1\n", "'rating'"),
    (read_ratings, "id,rating\n1,1\n1,0\n", "one answer to each question"),
]
SAID = {
    "Yes.": True, "no": False, "True or false?": True, "It is invalid": False, "I think yes": True,
    "yes and no": True, "It is not valid": None, "Hm": None, "": None, "a valid claim": True,
    "well, no": False, "maybe valid or false": None, "Invalid": False,
}  # fmt: skip


def read(reader: Callable[..., Records], folder: Path, text: str) -> Records:
    (path := folder / "gpt.test.csv").write_text(text)
    return reader([path])


@pytest.mark.parametrize(("reader", "text", "ledger"), LEDGERS)
def test_rows_that_cannot_be_used_are_counted(
    reader: Callable[..., Records], text: str, ledger: dict[str, int], tmp_path: Path
) -> None:
    found = read(reader, tmp_path, text)

    assert found.ledger == ledger
    assert found.rows_read == text.count("\n") - 1
    assert found.frame["model"].unique().to_list() == ["gpt"]


@pytest.mark.parametrize(("reader", "text", "message"), REFUSED)
def test_a_file_of_another_kind_is_refused(
    reader: Callable[..., Records], text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises((InputError, SchemaError), match=message):
        read(reader, tmp_path, text)


def test_two_logits_give_their_softmax_and_words_their_meaning(tmp_path: Path) -> None:
    logits = read(
        PREDICTED, tmp_path, "id,entailment,neutral,contradiction\n1,2,1,9\n2,-800,800,9\n"
    )
    assert logits.frame["score"].to_list() == pytest.approx([0.7310585786300049, 0.0])
    words = read(PREDICTED, tmp_path, "id,prediction\n1,entailment\n2,Neutral\n3,1.0\n4,hm\n")
    assert words.frame["valid"].to_list() == [True, False, True, None]
    assert words.frame["unparsable"].to_list() == [False, False, False, True]


def test_what_an_answer_says() -> None:
    frame = pl.DataFrame({"answer": [*SAID]}).select(said_valid(pl.col("answer")))
    assert dict(zip(SAID, frame.to_series(), strict=True)) == SAID


def test_several_readings_together_keep_every_count(tmp_path: Path) -> None:
    scored = read(PREDICTED, tmp_path, "id,score,model\n1,0.5,a\n2,,a\n")
    said = read(ANSWERED, tmp_path, "id,answer\n1,yes\n")
    both = together([scored, said])

    assert (both.rows_read, dict(both.ledger)) == (3, {"no_answer": 1})
    assert both.frame.select("model", "id").rows() == [("a", "1"), ("gpt", "1")]
    with pytest.raises(InputError, match="one answer to each question"):
        together([said, said])


def beside(folder: Path, text: str, what: str = "predictions", **settings: Any) -> Entailment:
    """Three tuples without ids, and a file beside them."""
    rows = "dog,pet,1\ncat,pet,0\noak,tree,1\n"
    (tuples := folder / "tuples.csv").write_text("hyponym,hypernym,label\n" + rows)
    (path := folder / "model.csv").write_text(text)
    files = {what: (path,), "files": (tuples,), "kind": "hypernyms"}
    return Entailment.read(Entailing(**files, **settings), silent)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ids", "expected"), [("012", "012"), ("123", "012"), ("02", "02"), ("31", "20"), ("20", "20")]
)
def test_ids_beside_tuples_without_ids_are_numbers_of_records(
    ids: str, expected: str, tmp_path: Path
) -> None:
    rows = "id,score\n" + "".join(f"{one},0.5\n" for one in ids)
    found = beside(tmp_path, rows)
    (reading,) = found.readings
    other = beside(tmp_path, rows, numbered_from=int(reading.option[-1]))

    assert found.given["predictions"].frame["id"].to_list() == [*expected]
    assert other.given["predictions"].frame["id"].to_list() != [*expected]
    assert other.readings == ()


@pytest.mark.parametrize("ids", ["12", "2", "0123"])
def test_ids_that_may_be_numbers_from_0_or_1_are_asked(ids: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"(?s)--numbered-from 0\n.*--numbered-from 1\n"):
        beside(tmp_path, "id,score\n" + "".join(f"{one},0.5\n" for one in ids))


def test_prompts_count_from_0_and_rows_without_ids_stand_in_order(tmp_path: Path) -> None:
    said = beside(tmp_path, "id,answer\n1,yes\n", "answers").given["answers"]
    scored = beside(tmp_path, "score\n0.1\n0.2\n0.3\n").given["predictions"]

    assert said.frame["id"].to_list() == ["1"]
    assert scored.frame["id"].to_list() == ["0", "1", "2"]
    with pytest.raises(SchemaError, match="for each record of tuples"):
        beside(tmp_path, "score\n0.1\n0.2\n")


def test_every_text_is_accounted_for_and_the_first_line_counts(tmp_path: Path) -> None:
    rows = [("h", "Noun-Entail", a, b, v) for a, b, v in
            (("a", "x", True), ("a", "y", True), ("b", "x", False), ("c", "z", True))]  # fmt: skip
    tuples = stated(rows).tuples
    split = pl.Series("split", ["test", "test", "test", "train"])
    text = 'id,text\nt0,"\n X \nmore"\nt1," X "\nt2,x\nt3,x\nt9,x\n,x\n'
    given = read(read_generations, tmp_path, text)
    tables, ledger = measure_generation(tuples.with_columns(split), given, None, silent)

    assert ledger == {
        "rows_read": 6, "used": 1, "repeated": 1, "without_reference": 1, "other_split": 1,
        "unknown": 1, "missing_key": 1,
    }  # fmt: skip
    found = dict(tables["generation_measured"].select("measure", "value").rows())
    assert (found["exact_match"], found["rouge_l_f1"], found["bleu_1_precision"]) == (1, 1, 0)
    with pytest.raises(InputError, match="all parts of speech"):
        measure_generation(tuples, given, tmp_path, silent)


def test_ratings_by_level_and_how_far_raters_agree(tmp_path: Path) -> None:
    tuples = stated(("h", "Noun-Entail", "a", c, True) for c in "xyz").tuples
    votes = {"t0": "110", "t1": "111", "t2": "00"}
    rows = [f"{one},{rater},{vote}" for one, of in votes.items() for rater, vote in enumerate(of)]
    ratings = read(read_ratings, tmp_path, "id,rater,rating\n" + "\n".join([*rows, "t9,0,1\n"]))
    tables, ledger = rating_tables(ratings, tuples)

    assert ledger == {"rows_read": 9, "used": 8, "unknown_id": 1}
    shares = dict(tables["generation_ratings"].select("level", "share").rows())
    assert shares == {"valid": 5 / 8, "invalid": 3 / 8}
    found = {row["measure"]: row for row in tables["generation_agreement"].to_dicts()}
    assert found["pairwise"]["value"] == pytest.approx((2 + 6 + 2) / (6 + 6 + 2))
    assert found["fleiss"]["value"] is None
    by_chance = (5 * 4 + 3 * 2) / (8 * 7)
    assert found["alpha"]["value"] == pytest.approx(((1 + 3 + 2) / 8 - by_chance) / (1 - by_chance))
    assert (found["alpha"]["items"], found["alpha"]["raters"]) == (3, 3)


SOUND = {
    "head": "a cat sleeps",
    "relation": "Noun-Entail",
    "tail": "a pet sleeps",
    "instance": "cat",
    "concept": "pet",
    "label": "1",
}
ANY = st.sampled_from(["", "1", "0", "valid", "maybe", "Noun-Entail", "x", "y z"])


ROWS = st.fixed_dictionaries(
    {"id": ANY, **{name: st.just(value) | st.just(value) | ANY for name, value in SOUND.items()}}
)
"""Records of which a column is sound more often than not."""


@given(rows=st.lists(ROWS, min_size=1, max_size=12))
def test_every_record_of_a_dataset_is_kept_or_counted(
    rows: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "tuples.csv"
    pl.DataFrame([{**SOUND, "id": "sound"}, *rows]).write_csv(path)
    found = read_entailment(path)

    assert found.rows_read == len(rows) + 1
    assert found.tuples.height + sum(found.refused.values()) == found.rows_read
    assert found.tuples["id"].is_unique().all()
    assert found.tuples.select("head", "tail", "valid").null_count().sum_horizontal().sum() == 0

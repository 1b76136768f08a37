"""Tuples and what stands beside them: every row of a file is used or counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.answers import (
    read_generations,
    read_predictions,
    read_ratings,
    said_valid,
)
from audit.analyses.entailment.generation import measure_generation, rating_tables
from audit.base.errors import InputError, SchemaError
from audit.base.progress import silent
from audit.data.records import Records
from fixtures.doors import read_entailment
from fixtures.entailed import dataset_of, stated

LEDGERS = [
    (read_predictions, "id,score,prediction\n1,0.5,\n,0.5,\n2,,\n3,high,\n4,nan,1\n5,,maybe\n",
     {"missing_id": 1, "no_answer": 1, "bad_score": 2}),
    (read_predictions, "id,entailment,neutral\n1,2,1\n2,x,1\n3,,\n",
     {"bad_score": 1, "no_answer": 1}),
    (read_predictions, "id,answer\n1,yes\n,no\n2,\n", {"missing_id": 1, "no_answer": 1}),
    (read_generations, "id,head,relation,text\n1,,,a\n,h,noun,b\n,h,what,c\n,,,d\n",
     {"missing_key": 1, "unknown_relation": 1}),
    (read_ratings, "id,rating\n1,1\n,0\n2,\n", {"missing_id": 1, "missing_rating": 1}),
]  # fmt: skip
REFUSED = [
    (read_predictions, "score\n0.5\n"),
    (read_predictions, "id,text\n1,x\n"),
    (read_predictions, "id,score\n1,3.5\n"),
    (read_predictions, "id,entailment\n1,3.5\n"),
    (read_predictions, "id,score\n1,0.5\n1,0.6\n"),
    (read_predictions, "id,score\n1,x\n"),
    (read_predictions, "id,score\nnobody,0.5\n"),
    (read_predictions, "id,prediction\n1,2\n"),
    (read_generations, "id\n1\n"),
    (read_generations, "text\nx\n"),
    (read_ratings, "id\n1\n"),
    (read_ratings, "id,rating\n1,1\n1,0\n"),
]
SAID = {
    "Yes.": True, "no": False, "True or false?": True, "It is invalid": False, "I think yes": True,
    "yes and no": True, "It is not valid": None, "Hm": None, "": None, "a valid claim": True,
    "well, no": False, "maybe valid or false": None, "Invalid": False,
}  # fmt: skip
ROWS = [("h", "Noun-Entail", a, b, v) for a, b, v in
        (("a", "x", True), ("a", "y", True), ("b", "x", False), ("c", "z", True))]  # fmt: skip
TUPLES = stated(ROWS)
Reader = Callable[..., Records]


def read(reader: Reader, folder: Path, text: str, **dataset: bool) -> Records:
    """What a reader makes of a file beside tuples 1 to 4."""
    (path := folder / "gpt.test.csv").write_text(text)
    ids = TUPLES.with_columns(id=pl.col("row").cast(pl.String))
    return reader([path], dataset_of(ids, **dataset))


@pytest.mark.parametrize(("reader", "text", "ledger"), LEDGERS)
def test_rows_that_cannot_be_used_are_counted(
    reader: Reader, text: str, ledger: dict[str, int], tmp_path: Path
) -> None:
    found = read(reader, tmp_path, text)

    assert (found.ledger, found.rows_read) == (ledger, text.count("\n") - 1)
    assert found.frame["model"].unique().to_list() == ["gpt"]


@pytest.mark.parametrize(("reader", "text"), REFUSED)
def test_a_file_of_another_kind_is_refused(reader: Reader, text: str, tmp_path: Path) -> None:
    with pytest.raises((InputError, SchemaError)):
        read(reader, tmp_path, text)


def test_logits_give_their_softmax_and_words_their_meaning(tmp_path: Path) -> None:
    logits = "id,entailment,neutral,contradiction\n1,2,1,9\n2,-800,800,9\n"
    scores = read(read_predictions, tmp_path, logits).frame["score"]
    assert scores.to_list() == pytest.approx([0.7310585786300049, 0.0])
    words = "id,prediction,answer\n1,entailment,\n2,Neutral,\n3,,No!\n4,hm,\n"
    found = read(read_predictions, tmp_path, words).frame
    assert found["valid"].to_list() == [True, False, False, None]
    assert found["unparsable"].to_list() == [False, False, False, True]
    frame = pl.DataFrame({"answer": [*SAID]}).select(said_valid(pl.col("answer")))
    assert dict(zip(SAID, frame.to_series(), strict=True)) == SAID


def test_tuples_without_ids_are_answered_in_order_and_never_by_number(tmp_path: Path) -> None:
    scores = "score\n0.1\n0.2\n0.3\n0.4\n"
    in_order = read(read_predictions, tmp_path, scores, numbered=True)
    assert in_order.frame["id"].to_list() == ["0", "1", "2", "3"]
    for text in ("score\n0.1\n0.2\n", "id,score\n1,0.1\n"):
        with pytest.raises(SchemaError):
            read(read_predictions, tmp_path, text, numbered=True)


def test_every_text_is_accounted_for_and_the_first_line_counts(tmp_path: Path) -> None:
    split = pl.Series("split", ["test", "test", "test", "train"])
    tuples = TUPLES.with_columns(split, id=pl.col("row").cast(pl.String))
    text = 'id,text\n1,"\n X \nmore"\n2," X "\n3,x\n4,x\n9,x\n,x\n'
    given = read(read_generations, tmp_path, text)
    tables, ledger = measure_generation(tuples, given, None, silent)

    assert ledger == {
        "rows_read": 6, "used": 1, "repeated": 1, "without_reference": 1, "other_split": 1,
        "unknown": 1, "missing_key": 1,
    }  # fmt: skip
    rows = tables["generation_measured"]
    assert rows.select("n", "instances", "references").unique().rows() == [(1, 1, 2.0)]
    found = dict(rows.select("measure", "value").rows())
    assert (found["rouge_l_f1"], found["bleu_1_precision"]) == (1, 0)
    with pytest.raises(InputError):
        measure_generation(tuples, given, tmp_path, silent)


def test_ratings_by_level(tmp_path: Path) -> None:
    votes = {"1": "110", "2": "111", "3": "00"}
    rows = [f"{one},{rater},{vote}" for one, of in votes.items() for rater, vote in enumerate(of)]
    text = "id,rater,rating\n" + "\n".join([*rows, "9,0,1\n"])
    ids = TUPLES.with_columns(id=pl.col("row").cast(pl.String))
    tables, ledger = rating_tables(read(read_ratings, tmp_path, text), ids)

    assert ledger == {"rows_read": 9, "used": 8, "unknown_id": 1}
    found = tables["generation_ratings"].select("level", "share", "ratings", "items").rows()
    assert found == [("invalid", 3 / 8, 8, 3), ("valid", 5 / 8, 8, 3)]


SOUND = {
    "head": "a cat sleeps",
    "relation": "Noun-Entail",
    "tail": "a pet sleeps",
    "instance": "cat",
    "concept": "pet",
    "label": "1",
}
MEANT = {"1": True, "valid": True, "0": False}
ANY = st.sampled_from(["", "1", "0", "valid", "maybe", "Noun-Entail", "x", "y z"])
RECORDS = st.fixed_dictionaries(
    {
        **dict.fromkeys(("id", "worker_a", "worker_b"), ANY),
        **{name: st.just(value) | st.just(value) | ANY for name, value in SOUND.items()},
    }
)
"""Records of which a column is sound more often than not."""


@given(rows=st.lists(RECORDS, min_size=1, max_size=12))
def test_every_record_of_a_dataset_is_kept_or_counted(
    rows: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "tuples.csv"
    first: dict[str, Any] = {**SOUND, "id": "sound", "worker_a": "1", "worker_b": ""}
    pl.DataFrame([first, *rows]).write_csv(path)
    found = read_entailment(path, columns={"votes": "worker_*"})

    assert found.rows_read == len(rows) + 1
    assert found.tuples.height + sum(found.refused.values()) == found.rows_read
    assert found.tuples["id"].is_unique().all()
    assert found.tuples.select("head", "tail", "valid").null_count().sum_horizontal().sum() == 0
    for row, *votes in found.tuples.select("row", "votes", "votes_valid").rows():
        given = [[first, *rows][row - 1][name] for name in ("worker_a", "worker_b")]
        said = [MEANT[vote] for vote in given if vote]
        assert votes == ([len(said), sum(said)] if said else [None, None])

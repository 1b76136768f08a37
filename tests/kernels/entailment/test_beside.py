"""Tuples and what stands beside them, each row used or counted; what checks of them tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import CheckResult
from audit.analyses.entailment.analysis import Entailment
from audit.analyses.entailment.answers import (
    read_generations,
    read_predictions,
    read_ratings,
    said_valid,
)
from audit.analyses.entailment.dataset import EVENT, HYPERNYM, NOUN
from audit.analyses.entailment.generation import measure_generation, rating_tables
from audit.analyses.entailment.quality import agreement
from audit.base.errors import InputError, SchemaError
from audit.base.plurals import filled
from audit.base.progress import silent
from audit.data.records import Records
from fixtures.doors import read_entailment
from fixtures.entailed import Stated, dataset_of, measured_tuples, stated

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


def test_rows_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    for reader, text, ledger in LEDGERS:
        found = read(reader, tmp_path, text)

        assert (found.ledger, found.rows_read) == (ledger, text.count("\n") - 1)
        assert found.frame["model"].unique().to_list() == ["gpt"]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    for reader, text in REFUSED:
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


CHECKS = {check.name: check for check in Entailment.checks}


def run(name: str, tuples: pl.DataFrame, positives: pl.DataFrame | None = None) -> CheckResult:
    return CHECKS[name].run(measured_tuples(tuples, positives))


def told(name: str, tuples: pl.DataFrame, *evidence: str, **given: Any) -> list[list[Any]]:
    """Key, severity and some evidence of each finding, and the places of the tuples behind it."""
    measured, cases = measured_tuples(tuples, **given), CHECKS[name].cases
    assert cases is not None
    found = []
    for one in CHECKS[name].run(measured).findings:
        assert "{" not in filled(one.statement, one.evidence)
        behind = cases(measured, one).tolist()
        found.append([one.key, one.severity, *(one.evidence[n] for n in evidence), behind])
    return found


def types(*edges: str) -> pl.DataFrame:
    """Valid edges of two letters each, one that begins with ``-`` denied, of whole heads."""
    return stated((edge[-2], HYPERNYM, edge[-2], edge[-1], edge[0] != "-") for edge in edges)


def under(heads: str, *edges: str) -> pl.DataFrame:
    """The same, each under a head of a letter."""
    both = zip(heads, edges, strict=True)
    return stated((head, NOUN, edge[-2], edge[-1], edge[0] != "-") for head, edge in both)


@pytest.mark.parametrize(
    ("name", "edge"),
    [("contradiction", "aa"), ("cycle", "-ab"), ("transitivity", "ab"),
     ("head_in_two_splits", "ab"), ("weak_label", "ab"), ("generation_mismatch", "ab")],
)  # fmt: skip
def test_where_there_is_nothing_to_judge_it_does_not_apply(name: str, edge: str) -> None:
    assert run(name, types(edge)).not_applicable


@pytest.mark.parametrize(
    ("name", "edges"),
    [("contradiction", ("ab", "-ab")), ("cycle", ("ab", "bc", "ca")),
     ("transitivity", ("ab", "bc", "-ac"))],
)  # fmt: skip
def test_what_needs_several_heads_is_a_note(name: str, edges: tuple[str, ...]) -> None:
    last, every = len(edges) - 1, [*range(len(edges))]
    ((_, same, *behind),) = told(name, under("h" * len(edges), *edges))
    ((_, other, *_),) = told(name, under("h" * last + "g", *edges))
    ((_, whole, *_),) = told(name, types(*edges))

    assert (same, other, whole, behind) == ("warning", "note", "warning", [every])


def test_evidence_of_edges_is_of_those_of_the_relation() -> None:
    cycle = told("cycle", types("ab", "ba", "bc", "cb"), "texts", "edges")
    denied = told(
        "transitivity", under("hhhhh", "ab", "bc", "-ac", "cd", "-xy"),
        "edges", "of", "chains", "open",
    )  # fmt: skip
    on_cycle = told("contradiction", types("ab", "bc", "ca", "-ac"), "edges", "of")

    assert cycle == [[(HYPERNYM, "a"), "note", 3, 4, [0, 1, 2, 3]]]
    assert denied == [[(NOUN, "one context"), "warning", 1, 2, 2, 1, [0, 1, 2]]]
    assert on_cycle == [[(HYPERNYM, "one context"), "warning", 1, 4, [3]]]


def test_texts_are_told_as_they_are_whatever_characters_they_have() -> None:
    texts = ["{edges}", "[b]", "x" * 500]
    edges = zip(texts, [*texts[1:], texts[0]], strict=True)
    (finding,) = run("cycle", stated((a, HYPERNYM, a, b, True) for a, b in edges)).findings

    assert all(said in finding.statement for said in ("“(edges)”", "“(b)”"))
    assert len(finding.statement) < 500


def test_keys_in_two_splits_are_an_error() -> None:
    rows: list[Stated] = [("h", NOUN, "h", concept, True) for concept in "abc"]
    tuples = stated(rows).with_columns(split=pl.Series(["train", "test", "train"]))
    found = told("head_in_two_splits", tuples, "keys", "of", "astray")

    assert found == [[("train", "test"), "error", 1, 1, 1, [0, 1, 2]]]
    assert run("head_in_two_splits", tuples).findings[0].nodes == ()


def test_each_fault_of_a_tail_is_a_finding() -> None:
    rows = [("a dog", NOUN, "dog", "pet", True), ("a cat", NOUN, "whale", "pet", True),
            ("a cat naps", EVENT, "a cat", "rest", True)]  # fmt: skip
    tuples = stated(rows).with_columns(tail=pl.Series(["a d", "a pet", "rest"]))

    assert sorted(told("tail_mismatch", tuples, "tuples", "of")) == [
        [(EVENT, "instance_not_head"), "warning", 1, 1, [2]],
        [(NOUN, "head_lacks_instance"), "warning", 1, 2, [1]],
        [(NOUN, "tail_differs"), "warning", 1, 2, [0]],
    ]


def test_ties_and_labels_against_the_votes_are_counted_apart() -> None:
    rows = [(f"h{n}", NOUN, "h", f"c{n}", label) for n, label in enumerate((1, 1, 0, 1, 0))]
    votes = {"votes_valid": pl.Series([2, 1, 4, 4, 1]), "votes": pl.Series([4, 4, 4, 4, 5])}
    tuples = stated((*row[:4], bool(row[4])) for row in rows).with_columns(**votes)

    assert told("weak_label", tuples, "tuples", "of", "ties", "against") == [
        [(NOUN,), "error", 3, 5, 1, 2, [0, 1, 2]]
    ]


def test_two_votes_are_the_fewest_that_agree() -> None:
    rows = [("h", NOUN, "h", concept, True) for concept in "abc"]
    votes = {"votes_valid": pl.Series([2, 1, 1]), "votes": pl.Series([2, 2, 1])}
    found = agreement(stated(rows).with_columns(**votes)).filter(relation=NOUN)

    assert found.filter(measure="pairwise").select("tuples", "votes", "value").row(0) == (2, 4, 0.5)


def test_what_a_generation_set_lacks_and_has_too_much() -> None:
    detection, given = (
        stated(("h", NOUN, "h", c, valid) for c, valid in rows.items())
        for rows in ({"a": True, "b": True, "c": True, "x": False},
                     {"b": True, "c": True, "d": True, "e": False, "x": True})
    )  # fmt: skip
    found = told(
        "generation_mismatch", detection, "lacking", "of", "more", "instances", positives=given
    )

    assert found == [[(NOUN,), "warning", 1, 3, 3, 1, [0, 3]]]

"""Tuples of entailment graphs from files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from audit.analyses.entailment.dataset import (
    ENTAILS,
    EVENT,
    HYPERNYM,
    NOUN,
    VERB,
    EntailmentDataset,
)
from audit.analyses.entailment.reading import REASONS, read_entailment
from audit.analyses.entailment.tuple_files import ELEMENTS
from audit.base.errors import InputError, SchemaError
from fixtures.entailment_world.files import wide, write_splits, write_tuples
from fixtures.entailment_world.world import clean_world

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
VOTES = {"votes": "worker_*"}
SOUND: dict[str, Any] = {
    "head": "a cat sleeps",
    "relation": NOUN,
    "tail": "a pet sleeps",
    "instance": "cat",
    "concept": "pet",
    "label": "1",
}


def table(folder: Path, *rows: dict[str, Any], name: str = "tuples.csv") -> Path:
    frame = pl.DataFrame([SOUND | row for row in rows], infer_schema_length=None)
    return write_tuples(frame, folder / name)


def read_rows(folder: Path, *rows: dict[str, Any], **options: Any) -> EntailmentDataset:
    return read_entailment(table(folder, *rows), **options)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_again(suffix: str, tmp_path: Path) -> None:
    world = clean_world(5)
    path = write_tuples(wide(world), tmp_path / f"world{suffix}")

    read = read_entailment(path, columns=VOTES)

    assert_frame_equal(read.tuples, world.tuples)
    named = world.votes.with_columns(annotator="worker_" + pl.col("annotator"))
    assert_frame_equal(read.votes, named)
    assert (read.rows_read, read.refused, read.sources) == (world.tuples.height, {}, (path,))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_a_split_reads_as_one_file_with_a_column(suffix: str, tmp_path: Path) -> None:
    world = clean_world(5)
    files = write_splits(wide(world), tmp_path / "splits", suffix)

    of_files, of_folder = read_entailment(files), read_entailment(tmp_path / "splits")

    columns = ["id", "split", "head", "valid"]
    expected = world.tuples.select(columns).sort("id")
    for read in (of_files, of_folder):
        assert_frame_equal(read.tuples.select(columns).sort("id"), expected)


def test_packed_files_read_as_plain_ones(tmp_path: Path) -> None:
    import gzip

    path = table(tmp_path, {})
    packed = tmp_path / "test.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))

    assert_frame_equal(read_entailment(packed).tuples, read_entailment(path).tuples)


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("Noun-Entail", NOUN), ("noun", NOUN), ("NOUN_ENTAILMENT", NOUN), ("verb entail", VERB),
        ("Event", EVENT), ("entails", ENTAILS), ("Hypernym", HYPERNYM),
    ],
)  # fmt: skip
def test_relations_are_known_however_they_are_spelt(
    text: str, relation: str, tmp_path: Path
) -> None:
    read = read_rows(tmp_path, {"relation": text})
    assert read.tuples["relation"].to_list() == [relation]


@pytest.mark.parametrize("text", ["1", "1.0", "true", "TRUE", "valid", "Yes", "y"])
def test_labels_say_valid_in_several_words(text: str, tmp_path: Path) -> None:
    opposite = {"1": "0", "1.0": "0.0", "true": "false", "valid": "invalid", "yes": "no", "y": "n"}
    read = read_rows(tmp_path, {"label": text}, {"label": opposite[text.lower()]})
    assert read.tuples["valid"].to_list() == [True, False]


@pytest.mark.parametrize("labels", [(0, 1, 2), (-1, 1), (1, 2), ("0.0", "2.0"), (0, 1, 2, -1)])
@pytest.mark.parametrize("role", ["label", "worker_1"])
def test_numbers_of_classes_are_refused_with_what_they_are(
    labels: tuple[Any, ...], role: str, tmp_path: Path
) -> None:
    rows = [{"label": "1", "worker_1": "1"} | {role: str(label)} for label in labels]
    with pytest.raises(InputError, match=r"1 and 0; other numbers are classes") as raised:
        read_rows(tmp_path, *rows, columns=VOTES)
    told = re.findall(r"(-?\d) \(1 rows\)", raised.value.found)
    assert sorted(map(int, told)) == sorted(int(float(label)) for label in labels)


@pytest.mark.parametrize("names", [("entailment", "neutral", "contradiction"),
                                   ("contradiction", "entailment", "neutral"),
                                   ("entailment", "not_entailment")])  # fmt: skip
@pytest.mark.parametrize("role", ["label", "worker_1"])
def test_numbers_of_classes_are_read_by_their_names(
    names: tuple[str, ...], role: str, tmp_path: Path
) -> None:
    rows = [{"label": "entailment", "worker_1": "yes"} | {role: str(n)} for n in range(len(names))]
    none = {"label": "neutral", "worker_1": "1.0", role: "-1"}
    (tmp_path / "names").write_text("\n".join(names))
    for classes in (names, tmp_path / "names"):
        read = read_rows(tmp_path, *rows, none, columns=VOTES, classes=classes)
        found = (read.tuples if role == "label" else read.votes)["valid"].to_list()
        assert found == [name == "entailment" for name in names]
    with pytest.raises(InputError, match="must be from 0 to 0"):
        read_rows(tmp_path, *rows, columns=VOTES, classes=names[:1])
    with pytest.raises(InputError, match="leave out --classes"):
        read_rows(tmp_path, {"label": "yes", "worker_1": "no"}, columns=VOTES, classes=names)


def test_premises_with_labels_0_and_1_are_stated(tmp_path: Path) -> None:
    path = tmp_path / "rte.csv"
    path.write_text("premise,hypothesis,label\na,b,0\nc,d,1\n")
    stated = read_entailment(path, "premises")
    turned = read_entailment(path, "premises", classes=["entailment", "not_entailment"])
    assert [read.tuples["valid"].to_list() for read in (stated, turned)] == [
        [False, True], [True, False]]  # fmt: skip
    assert [told.option for told in stated.readings] == ["--classes FILE"]
    assert not turned.readings


def test_names_of_classes_say_valid_or_invalid(tmp_path: Path) -> None:
    names = ("entailment", "neutral", "-", "contradiction", "not_entailment")
    read = read_rows(tmp_path, *({"label": name} for name in names))
    assert read.tuples["valid"].to_list() == [True, False, False, False]
    assert read.refused == {"bad_label": 1}


def test_columns_that_the_user_names_make_a_header(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("gold\tsentence1\tsentence2\tid\nyes\ta cat sleeps\ta pet sleeps\tp\n")
    named = {"premise": "Sentence1", "hypothesis": "sentence2", "label": "gold"}
    row = read_entailment(path, "premises", named).tuples.row(0, named=True)
    assert (row["head"], row["tail"], row["id"]) == ("a cat sleeps", "a pet sleeps", "p")


def test_columns_are_found_in_any_case_and_by_other_names(tmp_path: Path) -> None:
    frame = pl.DataFrame([SOUND]).rename({"head": "HEAD ", "label": "is_valid"})
    path = write_tuples(frame, tmp_path / "named.csv")

    read = read_entailment(path, columns={"label": "Is_Valid"})

    assert read.tuples["head"].to_list() == ["a cat sleeps"]


def test_premises_of_levy_and_holt_come_second(tmp_path: Path) -> None:
    bare = tmp_path / "bare.txt"
    bare.write_text("an animal sleeps\ta cat sleeps\ty\n")
    named = tmp_path / "named.csv"
    named.write_text("premise,hypothesis,label\na cat sleeps,an animal sleeps,1\n")

    for path in (bare, named):
        row = read_entailment(path, "premises").tuples.row(0, named=True)
        assert (row["head"], row["tail"]) == ("a cat sleeps", "an animal sleeps")
        assert (row["instance"], row["concept"]) == ("a cat sleeps", "an animal sleeps")
        assert (row["relation"], row["valid"]) == (ENTAILS, True)


def test_hypernym_pairs_need_no_label(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("cat,pet\ndog,pet\n")

    read = read_entailment(path, "hypernyms").tuples

    assert read["instance"].to_list() == ["cat", "dog"]
    assert read["relation"].to_list() == [HYPERNYM] * 2
    assert read["valid"].all()


FAULTY: dict[str, dict[str, Any]] = {
    **{f"empty_{name}": {name: " "} for name in (*ELEMENTS, "label", "id")},
    "unknown_relation": {"relation": "Adverb-Entail"},
    "bad_label": {"label": "perhaps"},
    "bad_vote": {"worker_1": "hm"},
    "self_loop": {"concept": "cat"},
    "repeated_id": {"id": "first"},
}


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_record_is_refused_for_one_reason(reason: str, suffix: str, tmp_path: Path) -> None:
    first, last = {"id": "first", "worker_1": "1"}, {"id": "last", "worker_1": None}
    rows = [first, {**last, "id": "wrong", **FAULTY[reason]}, last]
    path = table(tmp_path, *rows, name=f"tuples{suffix}")

    read = read_entailment(path, columns=VOTES)

    assert read.tuples["id"].to_list() == ["first", "last"]
    assert read.tuples["row"].to_list() == [1, 3]
    assert (read.rows_read, read.refused) == (3, {reason: 1})
    assert read.votes.rows() == [("first", "worker_1", True)]


def test_a_head_without_its_instance_is_kept(tmp_path: Path) -> None:
    assert read_rows(tmp_path, {"instance": "whale"}).tuples.height == 1


ANY = st.sampled_from(["", "1", "0", "valid", "maybe", NOUN, "x", "y z"])


@given(rows=st.lists(st.fixed_dictionaries(dict.fromkeys((*SOUND, "id"), ANY)), min_size=1))
def test_every_record_is_kept_or_counted(
    rows: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = table(tmp_path_factory.mktemp("any"), {"id": "sound"}, *rows)

    read = read_entailment(path)

    assert read.rows_read == len(rows) + 1
    assert read.tuples.height + sum(read.refused.values()) == read.rows_read
    assert read.tuples["id"].is_unique().all()
    assert read.tuples.select("head", "tail", "valid").null_count().sum_horizontal().sum() == 0


COUNTS = [
    ("3", "5", (3, 5)), ("3.0", "5", (3, 5)), ("", "", (None, None)), ("0", "0", (None, None)),
    ("6", "5", None), ("-1", "5", None), ("x", "5", None), ("3", "", None), ("2.5", "5", None),
]  # fmt: skip


@pytest.mark.parametrize(("valid", "votes", "expected"), COUNTS)
def test_counts_of_votes(
    valid: str, votes: str, expected: tuple[int | None, int | None] | None, tmp_path: Path
) -> None:
    read = read_rows(
        tmp_path, {"votes_valid": "1", "votes": "1"}, {"votes_valid": valid, "votes": votes}
    )

    if expected is None:
        assert read.refused == {"bad_vote": 1}
    else:
        assert read.tuples.select("votes_valid", "votes").row(1) == expected
    assert read.votes.is_empty()


def test_annotators_are_named_by_a_list(tmp_path: Path) -> None:
    read = read_rows(tmp_path, {"ann": "1", "bob": "0"}, columns={"votes": "ann, BOB"})

    assert read.votes.rows() == [("0", "ann", True), ("0", "bob", False)]
    assert read.tuples.select("votes_valid", "votes").row(0) == (1, 2)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"kind": "stories"}, "a kind of file is one of"),
    ({}, {"columns": {"haed": "x"}}, "columns are named for"),
    ({}, {"columns": {"label": "gold"}}, "a column named 'gold' is required"),
    ({}, {"columns": {"votes": "worker_*"}}, "a column of votes named"),
    ({"votes": "3"}, {}, "two columns, votes and votes_valid"),
    ({"label": "unsure"}, {}, "1 bad_label; label 'unsure'"),
    ({"relation": "AtLocation"}, {}, "1 unknown_relation; relation 'AtLocation'"),
]


@pytest.mark.parametrize(("row", "options", "message"), REFUSED)
def test_files_that_cannot_be_read_are_refused(
    row: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        read_rows(tmp_path, row, **options)


HEADER = ",".join([*ELEMENTS, "label"])
WRITTEN = [
    (f"{HEADER},label\n", "tuples.csv", "one column named 'label'"),
    (f"{HEADER},split,split\n", "tuples.csv", "one column named 'split'"),
    ("[\n{}\n]\n", "tuples.json", "a column named 'head'"),
]


@pytest.mark.parametrize(("text", "name", "message"), WRITTEN)
def test_files_written_otherwise_are_refused_with_what_helps(
    text: str, name: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_entailment(path)


def test_what_a_vote_may_be_is_said_where_none_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a vote is 1, true"):
        read_rows(tmp_path, {"worker_1": "maybe"}, columns=VOTES)


def test_files_without_records_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tuples.csv"
    path.write_text(",".join(SOUND) + "\n")
    with pytest.raises(InputError, match="no records"):
        read_entailment(path)
    (empty := tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="a folder with files"):
        read_entailment(empty)


@pytest.mark.parametrize("name", SOUND)
def test_a_missing_column_is_named(name: str, tmp_path: Path) -> None:
    path = write_tuples(pl.DataFrame([SOUND]).drop(name), tmp_path / "tuples.csv")
    with pytest.raises(SchemaError, match=f"a column named {name!r} is required"):
        read_entailment(path)


def test_a_column_of_lists_is_no_column_of_text(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="'head' must hold plain values"):
        read_entailment(table(tmp_path, {"head": ["a", "cat"]}, name="tuples.jsonl"))


def test_lists_in_other_columns_do_no_harm(tmp_path: Path) -> None:
    path = table(tmp_path, {"tokens": ["a", "cat"]}, name="tuples.jsonl")
    assert read_entailment(path).tuples.height == 1


def test_files_with_and_without_ids_do_not_mix(tmp_path: Path) -> None:
    with_ids, without = table(tmp_path, {"id": "a"}), table(tmp_path, {}, name="test.csv")
    with pytest.raises(SchemaError, match="a column of ids, or none"):
        read_entailment([with_ids, without])


def test_rows_without_a_header_are_two_or_three_columns(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("a\tb\t1\textra\n")
    with pytest.raises(SchemaError, match="rows without a header"):
        read_entailment(path, "premises")

"""Proposed corrections, and corrected copies of the files."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from audit.base.errors import InputError, OutputError
from audit.entailment.copies import split_of, write_splits
from audit.entailment.corrections import CORRECTIONS, corrections, write_corrected
from audit.entailment.dataset import NOUN, EntailmentDataset
from audit.entailment.measure import measure_entailment
from audit.entailment.reading import read_entailment
from fixtures.entailed_release import stated
from fixtures.entailment_world.faults import FAULTS
from fixtures.entailment_world.files import wide, write_tuples
from fixtures.entailment_world.files import write_splits as write_split_files
from fixtures.entailment_world.world import clean_world, dataset_of

VOTES = {"votes": "worker_*"}
SUFFIXES = (
    ".csv",
    *(pytest.param(suffix, marks=pytest.mark.slow) for suffix in (".tsv", ".jsonl", ".parquet")),
)
FIXED = ("head_in_two_splits", "tail_mismatch", "weak_label", "contradiction")
WORLD = clean_world(7)


RATE = 0.05


def all_proposed(dataset: EntailmentDataset) -> pl.DataFrame:
    return corrections(measure_entailment(dataset), RATE)


def proposed(dataset: EntailmentDataset) -> pl.DataFrame:
    """What is corrected without people."""
    return all_proposed(dataset).filter(pl.col("action") != "review")


def corrected(paths: list[Path], folder: Path) -> EntailmentDataset:
    """The dataset as read again after its corrections."""
    dataset = read_entailment(paths, columns=VOTES)
    write_corrected(dataset, proposed(dataset), folder, columns=VOTES)
    return read_entailment([folder / path.name for path in paths], columns=VOTES)


def test_a_clean_world_needs_no_correction() -> None:
    found = all_proposed(WORLD)
    assert found.is_empty()
    assert found.schema == pl.Schema(CORRECTIONS)


@pytest.mark.parametrize("fault", FIXED)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_corrected_copies_have_no_fault(fault: str, suffix: str, tmp_path: Path) -> None:
    planted = FAULTS[fault](WORLD).dataset
    path = write_tuples(wide(planted), tmp_path / f"world{suffix}")

    after = corrected([path], tmp_path / "fixed")

    assert not proposed(planted).is_empty()
    assert proposed(after).is_empty()


@pytest.mark.parametrize(
    ("fault", "classes"),
    [
        ("weak_label", ("entailment", "neutral")),
        ("contradiction", ("neutral", "no", "entailment")),
    ],
)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_copies_of_numbered_labels_say_what_copies_of_words_say(
    fault: str, suffix: str, classes: tuple[str, ...], tmp_path: Path
) -> None:
    words = wide(FAULTS[fault](WORLD).dataset)
    number = {1: classes.index("entailment"), 0: classes.index("neutral")}
    numbers = words.with_columns(pl.col("^label|worker_.*$").replace(number))
    read = {}
    for name, table, told in (("words", words, None), ("numbers", numbers, classes)):
        path = write_tuples(table, tmp_path / f"{name}{suffix}")
        dataset = read_entailment(path, columns=VOTES, classes=told)
        made = tmp_path / name
        write_corrected(dataset, proposed(dataset), made, columns=VOTES, classes=told)
        read[name] = read_entailment(made / path.name, columns=VOTES, classes=told).tuples
    assert_frame_equal(read["words"], read["numbers"])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_was_planted_is_undone(suffix: str, tmp_path: Path) -> None:
    for fault in ("head_in_two_splits", "tail_mismatch"):
        path = write_tuples(wide(FAULTS[fault](WORLD).dataset), tmp_path / f"{fault}{suffix}")
        after = corrected([path], tmp_path / fault)
        assert_frame_equal(after.tuples, WORLD.tuples)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_records_move_between_files_of_splits(suffix: str, tmp_path: Path) -> None:
    planted = FAULTS["head_in_two_splits"](WORLD).dataset
    files = write_split_files(wide(planted), tmp_path / "splits", suffix)

    after = corrected(files, tmp_path / "fixed")

    key = ["id", "head", "split", "valid"]
    assert_frame_equal(after.tuples.select(key).sort("id"), WORLD.tuples.select(key).sort("id"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_records_without_a_correction_and_other_columns_stay(suffix: str, tmp_path: Path) -> None:
    frame = wide(FAULTS["tail_mismatch"](WORLD).dataset).with_columns(
        note=pl.lit('a "note", with\nlines'), number=pl.int_range(pl.len())
    )
    bad = frame.head(1).with_columns(relation=pl.lit("Adverb"), id=pl.lit("bad"))
    path = write_tuples(pl.concat([bad, frame]), tmp_path / f"world{suffix}")
    before = path.read_bytes()

    after = corrected([path], tmp_path / "fixed")

    assert after.refused == {"unknown_relation": 1}
    written = (tmp_path / "fixed" / path.name).read_bytes()
    assert path.read_bytes() == before
    if suffix == ".parquet":
        old, new = pl.read_parquet(path), pl.read_parquet(tmp_path / "fixed" / path.name)
        assert old.schema == new.schema
        assert_frame_equal(old.drop("tail"), new.drop("tail"))
        return
    old_lines, new_lines = before.split(b"\n"), written.split(b"\n")
    changed = [a for a, b in zip(old_lines, new_lines, strict=True) if a != b]
    assert len(changed) == 3


def test_json_keeps_the_types_of_values(tmp_path: Path) -> None:
    row = {
        "head": "a cat sleeps", "relation": "noun", "tail": "a pet naps", "instance": "cat",
        "concept": "pet", "label": False, "weight": 0.50, "tags": ["é"], "votes": 5,
        "votes_valid": 5,
    }  # fmt: skip
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    dataset = read_entailment(path)

    write_corrected(dataset, proposed(dataset), tmp_path / "fixed")

    written = (tmp_path / "fixed" / "one.jsonl").read_text(encoding="utf-8")
    made = json.loads(written)
    assert "é" in written
    assert made == row | {"tail": "a pet sleeps", "label": True}


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), ("1", "0"), ("valid", "invalid")])
def test_labels_are_spelt_as_elsewhere_in_the_file(yes: str, no: str, tmp_path: Path) -> None:
    rows = [("a", yes, 5), ("b", no, 5), ("c", no, 0)]
    text = "head,relation,tail,instance,concept,label,votes_valid,votes\n" + "".join(
        f"cat,event,{concept},cat,{concept},{label},{valid},5\n" for concept, label, valid in rows
    )
    path = tmp_path / "tuples.csv"
    path.write_text(text)
    dataset = read_entailment(path)

    write_corrected(dataset, proposed(dataset), tmp_path / "fixed")

    fixed = pl.read_csv(tmp_path / "fixed" / "tuples.csv", infer_schema=False)
    assert fixed["label"].to_list() == [yes, yes, no]


def test_repeats_are_dropped_but_for_the_first() -> None:
    rows = [("h", NOUN, "h", concept, True) for concept in "aabaca"]
    found = proposed(stated(rows))
    assert found.select("id", "check", "action").rows() == [
        ("t1", "near_duplicate", "drop"), ("t3", "near_duplicate", "drop"),
        ("t5", "near_duplicate", "drop"),
    ]  # fmt: skip


CONTRADICTING = [
    ([5, 0], [("x0", "contradiction"), ("x1", "contradiction")]),
    ([5, 1], [("x1", "contradiction")]),
    ([4, 0], [("x0", "contradiction")]),
    ([None, None], [("x0", "contradiction"), ("x1", "contradiction")]),
]


@pytest.mark.parametrize(("valid", "expected"), CONTRADICTING)
def test_of_contradicting_tuples_those_against_all_votes_are_dropped(
    valid: list[int | None], expected: list[tuple[str, str]]
) -> None:
    made = stated([("h", NOUN, "h", "c", True), ("h", NOUN, "h", "c", False)])
    votes = None if valid[0] is None else 5
    tuples = made.tuples.with_columns(
        id="x" + pl.col("id").str.slice(1),
        votes_valid=pl.Series(valid, dtype=pl.Int64),
        votes=pl.lit(votes, pl.Int64),
    )
    found = proposed(replace(made, tuples=tuples))
    assert found.select("id", "check").rows() == expected


def test_a_dropped_record_has_no_other_correction() -> None:
    planted = FAULTS["weak_label"](FAULTS["tail_mismatch"](WORLD).dataset)
    both = planted.dataset.tuples.with_columns(
        tail=pl.when(pl.col("id").is_in(sorted(planted.ids))).then(pl.lit("x")).otherwise("tail")
    )
    found = proposed(dataset_of(both, planted.dataset.votes))

    dropped = found.filter(action="drop")["id"]
    assert set(dropped) == planted.ids
    assert found.filter(pl.col("id").is_in(dropped.implode())).height == len(dropped)


def test_packed_files_stay_packed(tmp_path: Path) -> None:
    plain = write_tuples(wide(FAULTS["tail_mismatch"](WORLD).dataset), tmp_path / "world.csv")
    path = tmp_path / "world.csv.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))

    after = corrected([path], tmp_path / "fixed")

    assert gzip.decompress((tmp_path / "fixed" / path.name).read_bytes()).startswith(b"id,head")
    assert_frame_equal(after.tuples, WORLD.tuples)


def test_premises_without_a_header_get_none(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("a pet\ta cat\ty\na pet\ta cat\ty\na cow\ta cat\tn\n")
    dataset = read_entailment(path, "premises")

    write_corrected(dataset, proposed(dataset), tmp_path / "fixed", "premises")

    assert (tmp_path / "fixed" / "pairs.tsv").read_text() == "a pet\ta cat\ty\na cow\ta cat\tn\n"


def test_an_existing_folder_is_not_touched(tmp_path: Path) -> None:
    path = write_tuples(wide(WORLD), tmp_path / "world.csv")
    dataset = read_entailment(path, columns=VOTES)
    with pytest.raises(OutputError, match="a new folder is required"):
        write_corrected(dataset, proposed(dataset), tmp_path, columns=VOTES)
    assert [one.name for one in tmp_path.iterdir()] == ["world.csv"]


def test_files_that_changed_meanwhile_are_refused(tmp_path: Path) -> None:
    path = write_tuples(wide(WORLD), tmp_path / "world.csv")
    dataset = read_entailment(path)
    write_tuples(wide(WORLD).head(10), path)
    with pytest.raises(InputError, match="must not change"):
        write_corrected(dataset, proposed(dataset), tmp_path / "fixed")
    assert not (tmp_path / "fixed").exists()


def test_files_of_one_name_are_refused(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        frame = wide(WORLD).with_columns(id=name + pl.col("id"))
        paths.append(write_tuples(frame, tmp_path / name / "test.csv"))
    dataset = read_entailment(paths)
    with pytest.raises(InputError, match="files of different names"):
        write_corrected(dataset, proposed(dataset), tmp_path / "fixed")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("valid_only", [False, True])
def test_files_of_splits_read_as_the_split_says(
    suffix: str, valid_only: bool, tmp_path: Path
) -> None:
    path = write_tuples(wide(WORLD), tmp_path / f"world{suffix}")
    dataset = read_entailment(path)

    counts = write_splits(dataset, tmp_path / "out", "90:5:5", seed=3, valid_only=valid_only)

    after = read_entailment(tmp_path / "out").tuples
    kept = WORLD.tuples.filter("valid") if valid_only else WORLD.tuples
    expected = kept.with_columns(split_of(kept, "90:5:5", 3))
    columns = ["id", "split", "tail", "valid"]
    assert_frame_equal(after.select(columns).sort("id"), expected.select(columns).sort("id"))
    assert dict(after["split"].value_counts().iter_rows()) == counts


def test_files_of_one_dataset_are_split_together(tmp_path: Path) -> None:
    files = write_split_files(wide(WORLD), tmp_path / "splits")
    dataset = read_entailment(files)

    write_splits(dataset, tmp_path / "out")

    after = read_entailment(tmp_path / "out").tuples
    assert after.height == WORLD.tuples.height
    assert (after["split"] == split_of(after)).all()

"""The worked example: a sound model points to the evidence, one with a shortcut does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fixtures.clinical_notes import SHORTCUT_BRANCH
from fixtures.doors import read_attributions
from fixtures.sample_runs import run_command

pytest.importorskip("torch")
pytest.importorskip("captum")
pytest.importorskip("shap")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

METHODS = ("integrated_gradients", "occlusion")


@pytest.fixture(scope="module")
def examples(one_thread: None) -> Any:
    from fixtures.text_classifier import audited_notes, example

    notes = audited_notes(50)
    return [example(0, notes, shortcut=shortcut, methods=METHODS) for shortcut in (False, True)]


def test_both_models_answer_rightly(examples: Any) -> None:
    from fixtures.text_classifier import f1

    assert all(f1(one.classifier, one.notes) > 0.97 for one in examples)


def test_the_shortcut_is_seen_in_its_branch_alone(examples: Any) -> None:
    from fixtures.text_classifier import mass_in_evidence

    sound, twin = (mass_in_evidence(one.notes, one.explained).drop("model") for one in examples)
    both = sound.join(twin, on=["method", "branch"], suffix="_twin", validate="1:1")
    assert len(both) == 5 * len(METHODS)
    for row in both.iter_rows(named=True):
        if row["branch"] == SHORTCUT_BRANCH:
            assert row["share_twin"] < 0.5 * row["share"]
        else:
            assert abs(row["share_twin"] - row["share"]) < 0.2 * row["share"]


def test_a_written_example_has_all_that_an_audit_reads(examples: Any, tmp_path: Path) -> None:
    from fixtures.text_classifier import write_examples

    write_examples(examples, tmp_path)
    lines = [
        json.loads(one) for one in (tmp_path / "attributions.jsonl").read_text("utf-8").splitlines()
    ]
    rows = sum(len(one.explained) for one in examples)
    assert len(lines) == rows
    for line in lines:
        assert len(line["tokens"]) == len(line["scores"]) == len(line["offsets"])
        words = [line["text"][start:stop] for start, stop in line["offsets"]]
        assert words == line["tokens"]
        assert np.isfinite(line["scores"]).all()
    assert {line["model"] for line in lines} == {"sound", "shortcut"}
    labels = (tmp_path / "labels.csv").read_text("utf-8").splitlines()
    assert len(labels) == 1 + sum(len(note.codes) for note in examples[0].notes)


def test_what_is_written_is_read_again(examples: Any, tmp_path: Path) -> None:
    from fixtures.text_classifier import marks_of, write_examples

    write_examples(examples, tmp_path)
    read = read_attributions(tmp_path / "attributions.jsonl", tmp_path / "evidence.jsonl")
    notes = {note.id: note for note in examples[0].notes}
    assert len(read.rows) == sum(len(one.explained) for one in examples)
    evidence = read.evidence
    assert evidence is not None
    for row in read.rows.unique(["id", "target"]).iter_rows(named=True):
        marks = marks_of(notes[row["id"]], row["target"])
        assert (evidence.marks[row["item"]] == marks).all() if row["gold"] else True
    keys = ["id", "target", "method", "model", "seed"]
    for one in examples:
        theirs = read.rows.with_row_index("place").filter(pl.col("model") == one.name)
        own = one.explained.join(theirs.select("place", *keys), on=keys, maintain_order="left")
        again = read.scores.take(own["place"].to_numpy().astype(np.int64))
        assert again.values.tolist() == own["scores"].explode().to_list()


def test_an_audit_finds_the_shortcut_by_its_branch(examples: Any, tmp_path: Path) -> None:
    from fixtures.text_classifier import write_examples

    write_examples(examples, tmp_path)
    run_command(
        "explanations", tmp_path / "attributions.jsonl",
        "--evidence", tmp_path / "evidence.jsonl",
        "--hierarchy", "icd9cm", "--no-pdf", "--out", tmp_path / "run",
    )  # fmt: skip
    shared = json.loads((tmp_path / "run" / "result.json").read_bytes())
    found = {check["name"]: check["findings"] for check in shared["checks"]}
    assert [finding["id"] for finding in found["evidence_ignored"]] == [
        f"evidence_ignored:shortcut:{SHORTCUT_BRANCH}"
    ]

"""Text of other forms is read as the JSON lines that say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import AuditError
from audit.explanations.reading.reading import read_attributions
from fixtures.attribution_files import NOTES, PASSAGE, ROW, TRACK_X, as_text, same, written
from fixtures.examples import examples

TEXTS = [["he", "played", "a", "bully"], ["a", "smash", "hit"], ["it's", "so"]]
MARKS = [[0.1, 0.5, 0.15, 0.25], [0.2, 0.3, 0.5], [0.75, 1e-05]]


def in_lines(folder: Path, tokens: list[Any], scores: list[Any], name: str = "lines.txt") -> Path:
    path = folder / name
    path.write_text("".join(f"{t}\t{s}\n" for t, s in zip(tokens, scores, strict=True)), "utf-8")
    return path


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1),
                min_size=1, max_size=4))  # fmt: skip
@examples(20)
@pytest.mark.parametrize("write", [list, np.array, json.dumps, tuple])
def test_lists_written_as_text_are_the_lists(
    tmp_path_factory: pytest.TempPathFactory, write: Any, tokens: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("text")
    scores = [n / 8 for n in range(len(tokens))]
    row = {"id": "0", "target": "a", "tokens": tokens, "scores": scores, "marks": scores}
    as_written = {"tokens": tokens if write is np.array else write(tokens)}
    as_written |= {"scores": write(scores), "marks": write(scores)}
    read = read_attributions(as_text(folder / "r.csv", row | as_written))
    assert same(read, read_attributions(written(folder, row)))


@pytest.mark.parametrize("with_tokens", [False, True])
@pytest.mark.parametrize("ends", [[], ["[SEP]"]])
def test_lines_of_tokens_and_of_graded_marks_belong_together(
    tmp_path: Path, ends: list[str], with_tokens: bool
) -> None:
    rows = in_lines(tmp_path, [one + ends for one in TEXTS], [m + [9.0] * len(ends) for m in MARKS])
    marks = tmp_path / "marks.txt"
    marks.write_text("".join(f"{', '.join(map(str, one))}\n" for one in MARKS), "utf-8")

    if with_tokens:
        ended = [[*one, "[SEP]"] for one in TEXTS]
        in_lines(tmp_path, ended, [[*one, 0] for one in MARKS], "marks.txt")

    read = read_attributions(rows, marks)
    objects = [
        {"id": str(n), "target": "text", "tokens": t, "scores": m, "marks": m}
        for n, (t, m) in enumerate(zip(TEXTS, MARKS, strict=True), start=1)
    ]
    assert same(read, read_attributions(written(tmp_path, *objects)))
    assert [told.rows for told in read.readings] == [3, 3]


def test_lines_of_equal_length_are_no_columns_of_a_fixed_width(tmp_path: Path) -> None:
    rows = in_lines(tmp_path, [["a", "b"], ["c", "d"]], [[0.5, 1], [1, 0.5]])
    (tmp_path / "marks.txt").write_text("0.1 0.9\n0.5 0.2\n", "utf-8")

    read = read_attributions(rows, tmp_path / "marks.txt")

    assert read.evidence is not None
    assert read.evidence.marks.values.tolist() == [0.1, 0.9, 0.5, 0.2]


@pytest.mark.parametrize("name", ["x.tsv", "notes.json", "notes.jsonl", "folder", "spans.csv"])
def test_places_of_one_label_are_the_evidence_of_one_annotator(tmp_path: Path, name: str) -> None:
    path, of_folder = tmp_path / name, tmp_path / "folder"
    of_folder.mkdir()
    (of_folder / "7.json").write_text(json.dumps(NOTES, indent=4), "utf-8")
    if name == "spans.csv":
        as_text(path, {"id": "n1", "target": "428.0", "spans": "0 8;8 13"})
    elif name != "folder":
        indent = 2 if name == "notes.json" else None
        path.write_text(TRACK_X if name == "x.tsv" else json.dumps(NOTES, indent=indent), "utf-8")
    whole = written(tmp_path, {"id": "n1", "target": "428.0", "spans": [[0, 13]]}, name="e.jsonl")
    rows = written(tmp_path, ROW | PASSAGE)
    assert same(read_attributions(rows, path), read_attributions(rows, whole))


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ("0.1, 0.5, 0.15, 25\n0.2 3 0.5\n0.75 9", "3 evidence_outside_0_to_1"),
        ("0.1, 0.5, 0.15, 0.25\n\n0.75 0.1", "2 up to line 3"),
        ("0.1, 0.5, 0.15, 0.25\n0.2 much 0.5\n0.75 0.1", "a score for each token"),
        ("0.1, 0.5\n0.2\n0.75", "3 evidence_length_differs"),
        (TRACK_X.replace("4 8", "4-8"), "307 316;348 361"),
        ("score,mark\n1,2", "columns 'id' are required"),
        ("id,spans,spans\nn1,0 1,2 3", "every column must have its own name"),
        ("id,spans,Spans\nn1,0 1,2 3", "every column must have its own name"),
        ('{"notes": [{"note_id": 1, "annotations": [{"code": "Z"}]}]}', "code, begin and end"),
        ('{\n"notes": [', "a JSON object is required"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, evidence: str, said: str) -> None:
    path = tmp_path / "evidence.txt"
    path.write_text(evidence, "utf-8")
    with pytest.raises(AuditError) as refused:
        read_attributions(in_lines(tmp_path, TEXTS, MARKS), path)
    assert said in str(refused.value)


def test_codes_written_otherwise_are_shown_beside_each_other(tmp_path: Path) -> None:
    (path := tmp_path / "x.tsv").write_text(TRACK_X.replace("428.0", "i50.9"), "utf-8")
    with pytest.raises(AuditError, match=r"of 'n1', 'i50.9', the first row of 'n1', 'I50.9'"):
        read_attributions(written(tmp_path, ROW | PASSAGE | {"target": "I50.9"}), path)


def test_spans_outside_of_the_text_are_said(tmp_path: Path) -> None:
    (path := tmp_path / "x.tsv").write_text(TRACK_X.replace("6 13", "6 99"), "utf-8")
    with pytest.raises(AuditError, match="1 evidence_outside_text"):
        read_attributions(written(tmp_path, ROW | PASSAGE), path)

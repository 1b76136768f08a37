"""Text of other forms is read as the JSON lines that say the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.analyses.explanations.reading.reading import read_attributions
from audit.base.errors import AuditError
from fixtures.attribution_files import NOTES, PASSAGE, ROW, TRACK_X, same, written


@pytest.mark.parametrize("name", ["x.tsv", "notes.json", "notes.jsonl", "folder"])
def test_places_of_one_label_are_the_evidence_of_one_annotator(tmp_path: Path, name: str) -> None:
    path, of_folder = tmp_path / name, tmp_path / "folder"
    of_folder.mkdir()
    (of_folder / "7.json").write_text(json.dumps(NOTES, indent=4), "utf-8")
    if name != "folder":
        indent = 2 if name == "notes.json" else None
        path.write_text(TRACK_X if name == "x.tsv" else json.dumps(NOTES, indent=indent), "utf-8")
    whole = written(tmp_path, {"id": "n1", "target": "428.0", "spans": [[0, 13]]}, name="e.jsonl")
    rows = written(tmp_path, ROW | PASSAGE)
    assert same(read_attributions(rows, path), read_attributions(rows, whole))


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (TRACK_X.replace("4 8", "4-8"), "307 316;348 361"),
        ("id,spans\nn1,0 1", "are lines of JSON objects, or Parquet"),
        ('{"notes": [{"note_id": 1, "annotations": [{"code": "Z"}]}]}', "code, begin and end"),
        ('{\n"notes": [', "a JSON object is required"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, evidence: str, said: str) -> None:
    path = tmp_path / "evidence.txt"
    path.write_text(evidence, "utf-8")
    with pytest.raises(AuditError) as refused:
        read_attributions(written(tmp_path, ROW), path)
    assert said in str(refused.value)


def test_codes_written_otherwise_are_shown_beside_each_other(tmp_path: Path) -> None:
    (path := tmp_path / "x.tsv").write_text(TRACK_X.replace("428.0", "i50.9"), "utf-8")
    with pytest.raises(AuditError, match=r"of 'n1', 'i50.9', the first row of 'n1', 'I50.9'"):
        read_attributions(written(tmp_path, ROW | PASSAGE | {"target": "I50.9"}), path)


def test_spans_outside_of_the_text_are_said(tmp_path: Path) -> None:
    (path := tmp_path / "x.tsv").write_text(TRACK_X.replace("6 13", "6 99"), "utf-8")
    with pytest.raises(AuditError, match="1 evidence_outside_text"):
        read_attributions(written(tmp_path, ROW | PASSAGE), path)

"""JSON lines of predictions, in their three shapes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.base.errors import InputError, SchemaError
from audit.data.formats import read_predictions
from audit.data.prediction_format import RawPredictions
from fixtures.prediction_files import cells_of
from fixtures.written import written


def read(tmp_path: Path, *lines: str) -> RawPredictions:
    path = written(tmp_path / "scores.jsonl", "".join(f"{line}\n" for line in lines))
    return read_predictions(path)


def test_scores_beside_an_id(tmp_path: Path) -> None:
    raw = read(
        tmp_path,
        '{"clip": 7, "scores": {"dog": 0.5, "cow": 1e-7}}',
        '{"clip": "a", "scores": {}}',
    )
    assert cells_of(raw) == {"7": {"dog": 0.5, "cow": 1e-7}, "a": {}}
    assert not raw.set_valued


def test_scores_alone_are_numbered_from_zero(tmp_path: Path) -> None:
    raw = read(tmp_path, '{"dog": 1, "cow": 0}', "", '{"cow": 0.5}')
    assert cells_of(raw) == {"0": {"dog": 1.0}, "1": {"cow": 0.5}}


def test_scores_without_an_id_are_numbered_from_zero(tmp_path: Path) -> None:
    raw = read(tmp_path, '{"scores": {"dog": 1}}', '{"scores": {"dog": 0.5}}')
    assert raw.instances == ("0", "1")


@pytest.mark.parametrize("repeated", [(), ("dog", " dog")])
def test_lists_with_several_scores_of_a_label_are_told(
    tmp_path: Path, repeated: tuple[str, ...]
) -> None:
    lists = [["dog", "cow"], [], ["cow", *repeated], ["dog"]]
    lines = [[{"label": label, "score": 0.5} for label in labels] for labels in lists]
    raw = read(tmp_path, *map(json.dumps, lines))

    assert [reading.rows for reading in raw.readings] == [1] * bool(repeated)


def test_labels_are_sets(tmp_path: Path) -> None:
    raw = read(tmp_path, '{"clip": 0, "labels": ["dog", "cow"]}', '{"clip": 1, "labels": []}')
    assert cells_of(raw) == {"0": {"dog": 1.0, "cow": 1.0}, "1": {}}
    assert raw.set_valued


def test_scores_go_before_labels(tmp_path: Path) -> None:
    raw = read(tmp_path, '{"id": 0, "labels": ["dog"], "scores": {"dog": 0.5}}')
    assert not raw.set_valued


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (('{"dog": "high"}',), "jsonl:1: every score must be a number\nFound: 'high' for 'dog'"),
        (('{"dog": 1}', '{"dog": null}'), "jsonl:2: every score must be a number"),
        (('{"dog": true}',), "jsonl:1: every score must be a number"),
        (('{"id": 1, "scores": {"dog": 1}}', '{"id": 2}'), "jsonl:2: the key 'scores' must hold"),
        (('{"id": 1, "scores": {"dog": 1}}', '{"scores": {}}'), "jsonl:2: every line must have an"),
        (('{"id": 1, "scores": {"dog": 1}}',) * 2, "each instance may occur once"),
        (('{"a": 1, "b": 2, "scores": {"dog": 1}}',), "exactly one column"),
        (('{"dog": 1, " dog": 1}',), "several: 'dog of 0'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, lines: tuple[str, ...], told: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        read(tmp_path, *lines)
    assert told in str(caught.value)


def test_half_a_character_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"scores\.jsonl"):
        read(tmp_path, '{"\\ud800": 1}')

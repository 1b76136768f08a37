"""Scores in a folder of the published interface."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.base.errors import SchemaError
from audit.data.formats import read_predictions
from audit.data.prediction_format import RawPredictions
from fixtures.prediction_files import cells_of

GRAPH = [{"id": 0, "name": "(all)"}, *({"id": n, "name": f"n{n}", "parent": 0} for n in (1, 2))]


def read(tmp_path: Path, scores: object) -> RawPredictions:
    (tmp_path / "abstraction_graph.json").write_text(json.dumps(GRAPH))
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    return read_predictions(tmp_path)


def test_instances_without_ids_are_numbered(tmp_path: Path) -> None:
    raw = read(tmp_path, [{"1": 0.25, "2": 1}, {}])
    assert cells_of(raw) == {"0": {"n1": 0.25, "n2": 1.0}, "1": {}}
    assert not raw.set_valued


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ({"0": {"1": 1}}, "a list with an object for each instance is required"),
        ([{"1": 1}, [0.5]], "for each instance is required\nFound: '[0.5]'"),
        ([{"1": "0.5"}], "every score must be a number\nFound: '0.5'"),
        ([{"1": True, "2": 0.5}], "every score must be a number\nFound: 'True'"),
        ([{"1": None}], "every score must be a number\nFound: 'None'"),
        ([{}], "every score must be a number\nFound: no score"),
        ([{"1": 1, "7": 1}, {"8": 0, "7": 0}], "of the graph\nFound: the numbers '7', '8'"),
    ],
)
def test_what_is_no_score_of_a_node_is_told(tmp_path: Path, scores: object, told: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read(tmp_path, scores)
    assert told in str(caught.value)

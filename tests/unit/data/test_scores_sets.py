"""Predicted sets: what lists the predicted nodes of each instance."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.base.errors import SchemaError
from audit.data.formats import read_predictions
from fixtures.prediction_files import cells_of
from fixtures.written import written


def test_predictions_as_caml_writes_them(tmp_path: Path) -> None:
    path = written(tmp_path / "preds_test.psv", "100001|401.9|038.0\n100002|\n100003|401.9|401.9\n")

    raw = read_predictions(path)

    assert cells_of(raw) == {
        "100001": {"401.9": 1.0, "038.0": 1.0},
        "100002": {},
        "100003": {"401.9": 1.0},
    }
    assert raw.set_valued


def test_a_blank_between_two_nodes_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "preds_test.psv", "1|a||b\n")
    with pytest.raises(SchemaError, match=r"an instance and a node\nFound: '1: \?'"):
        read_predictions(path)


def test_no_node_at_all_is_a_prediction_of_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "preds_test.psv", "1\n2\n")
    raw = read_predictions(path)
    assert raw.instances == ("1", "2")
    assert raw.classes == ()
    assert raw.scores.shape == (2, 0)

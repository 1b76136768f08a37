"""What captum and ferret give is read as a file of the same attributions is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit.base.errors import InputError
from audit.explanations.reading.adapters import from_captum, from_ferret
from audit.explanations.reading.reading import read_attributions
from fixtures.attribution_files import ROW, same, written


@dataclass
class Explanation:
    """The fields that ferret 0.4 has."""

    text: str
    tokens: list[str]
    scores: Any
    explainer: str
    target: Any = None
    target_pos_idx: int | None = None
    rationale: Any = None


@dataclass
class ExplanationEvaluation:
    explanation: Explanation
    evaluation_scores: list[Any] = field(default_factory=list)


@dataclass
class VisualizationDataRecord:
    """The fields of captum's record that are read."""

    word_attributions: Any
    raw_input_ids: list[str]
    attr_class: Any
    true_class: Any = None
    pred_class: Any = None


def test_captum_records(tmp_path: Path) -> None:
    record = VisualizationDataRecord(
        np.array(ROW["scores"]), ROW["tokens"], "428.0", "428.0", "486"
    )
    read = from_captum([record], ids=["n1"], method="ig", model="m", seed=2)
    row = ROW | {"method": "ig", "model": "m", "seed": 2, "gold": True, "predicted": False}
    assert same(read, read_attributions(written(tmp_path, row)))


def test_captum_mappings_and_numbers(tmp_path: Path) -> None:
    masks = np.array([[0, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]])
    mapping = ROW | {"scores": np.array(ROW["scores"]), "marks": masks, "gold": 1, "id": 7}
    read = from_captum([mapping])
    row = ROW | {"marks": masks.tolist(), "gold": 1, "id": 7}
    assert same(read, read_attributions(written(tmp_path, row)))
    assert from_captum([VisualizationDataRecord([1.0], ["a"], 3)]).rows.row(0)[:2] == ("0", "3")


def test_tensors_of_captum() -> None:
    torch = pytest.importorskip("torch")
    visualization = pytest.importorskip("captum.attr._utils.visualization")
    scores = torch.tensor([0.5, -1.0], requires_grad=True)
    record = visualization.VisualizationDataRecord(scores, 0.9, 1, 1, 1, -0.5, ["a", "b"], 0.0)
    read = from_captum([record])
    assert read.scores[0].tolist() == [0.5, -1.0]
    assert read.rows.select("target", "gold", "predicted").row(0) == ("1", True, True)


def test_ferret_explanations(tmp_path: Path) -> None:
    one = Explanation("Heart failure.", ROW["tokens"], np.array(ROW["scores"]), "LIME", "428.0")
    other = Explanation("Heart failure.", ROW["tokens"], np.zeros(6), "SHAP", "428.0")
    read = from_ferret([one, ExplanationEvaluation(other)], ids=["n1", "n1"], model="m")
    rows = [
        ROW | {"method": "LIME", "model": "m"},
        ROW | {"method": "SHAP", "model": "m", "scores": [0] * 6},
    ]
    assert same(read, read_attributions(written(tmp_path, *rows)))


def test_ferret_numbers_texts_and_has_a_rationale() -> None:
    made = [
        Explanation(text, ["a", "b"], [1.0, 2.0], "LIME", target_pos_idx=1, rationale=[0, 1])
        for text in ("x", "y", "x")
    ]
    made[2].explainer = "SHAP"
    read = from_ferret(made)
    assert read.rows.select("id", "target", "method").rows() == [
        ("0", "1", "LIME"), ("0", "1", "SHAP"), ("1", "1", "LIME"),
    ]  # fmt: skip
    assert read.evidence is not None
    assert read.evidence.marks[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"word_attributions": [1.0], "attr_class": 1}, "raw_input_ids"),
        (
            {"word_attributions": [[1.0]], "raw_input_ids": ["a"], "attr_class": 1},
            r"shape \(1, 1\)",
        ),
        (
            {"word_attributions": ["x"], "raw_input_ids": ["a"], "attr_class": 1},
            "one number per token",
        ),
        (
            {"word_attributions": [1.0, 2.0], "raw_input_ids": ["a"], "attr_class": 1},
            "1 length_differs",
        ),
    ],
)
def test_faults_are_told(record: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        from_captum([record])


def test_nothing_and_too_few_ids() -> None:
    with pytest.raises(InputError, match="attributions are required"):
        from_ferret([])
    with pytest.raises(InputError, match="an id for each record"):
        from_captum([ROW], ids=[])

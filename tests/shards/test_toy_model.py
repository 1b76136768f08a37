"""A small trained model: the tree that fits what it confuses is the better aligned one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import audit
from audit import Hierarchy, Policy
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")

CENTRES = {"circle": (0.0, 0.0), "oval": (1.5, 0.0), "square": (0.0, 8.0)}
"""Three Gaussian blobs, two of them close."""
PER_CLASS = 300
ALIGNED = tree("round square < shape", "circle oval < round")
MISALIGNED = tree("blue oval < shape", "circle square < blue")
CUT = {"aggregation": "descendants", "depth_from": 2, "depth_to": 1}


def blobs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    points = [draw.normal(centre, 1.0, (PER_CLASS, 2)) for centre in CENTRES.values()]
    return np.vstack(points).astype(np.float32), np.repeat(np.arange(len(CENTRES)), PER_CLASS)


@cache
def softmax() -> tuple[np.ndarray, np.ndarray]:
    """Scores of a network with one hidden layer on instances that it has not seen."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    points, given = (torch.from_numpy(part) for part in blobs(seed=1))
    for _ in range(200):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(points), given).backward()
        optimiser.step()
    unseen, truth = blobs(seed=2)
    with torch.no_grad():
        scores = torch.softmax(model(torch.from_numpy(unseen)).double(), dim=1)
    return scores.numpy(), truth


@cache
def measured(hierarchy: Hierarchy) -> dict[str, float]:
    scores, truth = softmax()
    names = list(CENTRES)
    dataset = labelled(hierarchy, {f"i{n:03}": [names[label]] for n, label in enumerate(truth)})
    said = {
        f"i{n:03}": dict(zip(names, line.tolist(), strict=True)) for n, line in enumerate(scores)
    }
    result = audit.run_audit(dataset, Policy(), predictions=predicted(dataset, said))
    return {
        metric["name"]: metric["value"]
        for metric in result.metric_rows
        if metric["scope"] == "all" and metric["parameters"] in (CUT, {"depth_to": 2} | AGGREGATION)
    }


AGGREGATION = {"aggregation": "descendants"}


def test_the_model_has_learned_something_and_confuses_the_close_blobs() -> None:
    scores, truth = softmax()
    answers = scores.argmax(axis=1)

    assert 0.75 < (answers == truth).mean() < 0.95
    assert measured(ALIGNED)["accuracy"] == (answers == truth).mean()


@pytest.mark.parametrize("name", ["accuracy_alignment", "recovered", "abstraction_match"])
def test_the_aligned_tree_beats_the_misaligned_one(name: str) -> None:
    aligned, misaligned = measured(ALIGNED)[name], measured(MISALIGNED)[name]

    assert aligned > misaligned
    assert aligned > 0.9
    assert misaligned < 0.1


def test_moving_up_the_aligned_tree_leaves_less_entropy() -> None:
    assert (
        measured(ALIGNED)["uncertainty_alignment"] < measured(MISALIGNED)["uncertainty_alignment"]
    )

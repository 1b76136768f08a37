"""Where the wrong answers of real models stand, counted again by sets of nodes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import audit
from fixtures.brute_force_answers import counted

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("AUDIT_DATA", ""))
SAMPLE = ROOT / "sample_data"
PLACES = ("related", "beside", "within", "elsewhere")
Model = tuple[audit.LabelDataset, audit.Predictions]
real = pytest.mark.skipif(
    not os.environ.get("AUDIT_DATA"), reason="AUDIT_DATA names no folder with the predictions"
)


def softmax(name: str, hierarchy: Path | pl.DataFrame) -> Model:
    classes = DATA / "softmax" / f"{name}_classes.txt"
    labels = DATA / "softmax" / f"{name}_test_labels.npy"
    dataset = audit.load_labels(labels, audit.load_hierarchy(hierarchy), classes=classes)
    scores = DATA / "softmax" / f"{name}_test_probabilities.npy"
    return dataset, audit.load_predictions(scores, dataset, classes=classes)


def read(hierarchy: str | Path, labels: Path, predictions: Path) -> Model:
    dataset = audit.load_labels(labels, audit.load_hierarchy(hierarchy))
    return dataset, audit.load_predictions(predictions, dataset)


def groups_of_news() -> pl.DataFrame:
    names = (DATA / "softmax" / "20news_classes.txt").read_text("utf-8").split()
    paths = {".".join(name.split(".")[:end]) for name in names for end in range(1, 9)}
    rows = [(path, path.rpartition(".")[0] or "news") for path in sorted(paths)]
    return pl.DataFrame(rows, ["child", "parent"], orient="row")


MODELS: dict[str, tuple[Callable[[], Model], tuple[int, ...]]] = {
    "CIFAR-10": (
        lambda: softmax("cifar10", DATA / "softmax" / "cifar10_edges.csv"), (0, 451, 151, 104),
    ),
    "20 Newsgroups": (lambda: softmax("20news", groups_of_news()), (0, 52, 181, 344)),
    "AudioSet": (
        lambda: read(DATA / "audioset" / "ontology.json", DATA / "audioset" / "labels.jsonl",
                     DATA / "audioset" / "predictions.jsonl"),
        (9_182, 2_058, 5_221, 9_611),
    ),
    "sample": (
        lambda: read("icd9cm", SAMPLE / "release_2", SAMPLE / "predictions.psv"),
        (4, 4_591, 553, 513),
    ),
}  # fmt: skip


@real
@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_wrong_answers_stand_where_a_plain_count_finds_them(name: str) -> None:
    make, places = MODELS[name]
    dataset, model = make()
    (found,) = audit.run_audit(dataset, predictions=model).model.frames["answered"].to_dicts()  # type: ignore[union-attr]
    hierarchy = model.hierarchy
    parents = {node: set[str]() for node in hierarchy.nodes}
    for child, parent in hierarchy.edge_frame().iter_rows():
        parents[child].add(parent)
    rows = model.scores.toarray() if model.single_label else None
    sides = []
    for at, gold in enumerate(model.gold(dataset.within(hierarchy))):
        own = model.scores[[at]]
        chosen = own.indices[own.data >= 0.5] if rows is None else [rows[at].argmax()]
        sides.append(({hierarchy.nodes[n] for n in gold.indices},
                      {hierarchy.nodes[n] for n in chosen}))  # fmt: skip
    wanted = counted(parents, sides)

    assert tuple(found[name] for name in PLACES) == places
    assert {name: found[name] for name in wanted} == wanted

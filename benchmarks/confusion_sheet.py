"""A sheet to judge findings on a model's confusions blind, as `pair_sheet` is one on pairs.

``AUDIT_DATA=FOLDER python -m benchmarks.confusion_sheet OUT`` writes ``sheet.md``, which tells the
labels and how often each is mistaken, and ``answers.json``, which tells what was reported.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import audit
from audit.alignment.measure import ModelMeasurements, measure_model
from audit.checks.rules import model_confuses
from audit.hierarchies.relations import relate
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy

TOP = 20


@dataclass(frozen=True)
class Source:
    """A model's answers: files below ``AUDIT_DATA``."""

    labels: str
    predictions: str
    hierarchy: str
    classes: str | None = None


SOURCES = {
    "CIFAR-10": Source(
        "softmax/cifar10_test_labels.npy",
        "softmax/cifar10_test_probabilities.npy",
        "softmax/cifar10_edges.csv",
        "softmax/cifar10_classes.txt",
    ),
    "20 Newsgroups": Source(
        "softmax/20news_test_labels.npy",
        "softmax/20news_test_probabilities.npy",
        "softmax/20news_classes.txt",
        "softmax/20news_classes.txt",
    ),
    "AudioSet": Source(
        "audioset/labels.jsonl", "audioset/predictions.jsonl", "audioset/ontology.json"
    ),
}


def main() -> None:
    """Write the sheet and the answers."""
    folder, out = Path(os.environ["AUDIT_DATA"]), Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    lines, answers = ["# Which of these labels are hard to tell apart?\n"], {}
    for name, source in SOURCES.items():
        measured, model = _measured(folder, source)
        lines.append(f"## {name}: {measured.n_instances:,} instances\n")
        for number, pair in enumerate(_shuffled(measured, model), 1):
            key = f"{name} {number}"
            answers[key] = pair
            lines.append(f"**{key}.** {' and '.join(_entry(measured, model, pair))}\n")
    (out / "sheet.md").write_text("\n".join(lines), "utf-8")
    (out / "answers.json").write_text(json.dumps(answers, indent=1), "utf-8")


def _measured(folder: Path, source: Source) -> tuple[Measurements, ModelMeasurements]:
    hierarchy = audit.load_hierarchy(folder / source.hierarchy)
    classes = None if source.classes is None else folder / source.classes
    dataset = audit.load_labels(folder / source.labels, hierarchy, classes=classes)
    answers = audit.load_predictions(folder / source.predictions, dataset, classes=classes)
    model = measure_model(dataset, answers, Policy(), seed=0)
    return replace(measure(dataset, Policy()), model=model), model


def _shuffled(measured: Measurements, model: ModelMeasurements) -> list[dict[str, Any]]:
    """The top findings, and for each a pair as often expected that is not reported."""
    hierarchy, found = measured.hierarchy, model.exchanges
    findings = sorted(model_confuses.run(measured).findings, key=lambda one: -one.strength)
    reported = {tuple(hierarchy.index(node) for node in one.nodes) for one in findings}
    a, b = np.nonzero(np.triu(np.ones((len(hierarchy),) * 2, np.bool_), 1))
    kept = found.exchangeable(a, b) & (relate(hierarchy, a, b)[0] > 0)
    a, b = a[kept], b[kept]
    expected = found.expected(a, b)
    counts = dict(zip(zip(found.a, found.b, strict=True), found.observed, strict=True))
    pairs, taken = [], set(reported)
    for finding in findings[:TOP]:
        own = tuple(hierarchy.index(node) for node in finding.nodes)
        place = int(np.flatnonzero((a == own[0]) & (b == own[1]))[0])
        pairs.append(_pair(own, counts, expected[place], reported=True))
        distance = np.abs(np.log(np.maximum(expected, 1e-9)) - np.log(expected[place]))
        for other in np.argsort(distance, kind="stable").tolist():
            ends = (int(a[other]), int(b[other]))
            if ends not in taken:
                taken.add(ends)
                pairs.append(_pair(ends, counts, expected[other], reported=False))
                break
    order = np.random.default_rng(len(pairs)).permutation(len(pairs))
    return [pairs[place] for place in order]


def _pair(
    ends: tuple[int, ...], counts: dict[tuple[int, int], int], expected: float, *, reported: bool
) -> dict[str, Any]:
    exchanged = int(counts.get((ends[0], ends[1]), 0))
    return {
        "a": ends[0],
        "b": ends[1],
        "exchanged": exchanged,
        "expected": float(expected),
        "reported": reported,
    }


def _entry(measured: Measurements, model: ModelMeasurements, pair: dict[str, Any]) -> Iterator[str]:
    for end in "ab":
        node = pair[end]
        labelled, missed = measured.direct_support[node], model.exchanges.missed[node]
        yield (
            f"{measured.hierarchy.describe(node)} (label of {labelled:,} instances; missed beside "
            f"a wrong answer on {missed:,}, wrongly answered on {model.exchanges.false[node]:,})"
        )


if __name__ == "__main__":
    main()

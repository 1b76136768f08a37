"""What other packages say of the three files of docs/compared.md; run by their own Python.

``python validation/peers.py TASK SAMPLE DATA`` prints what a package found, as JSON: sentences, and
the versions that said it. It imports nothing of this project, and each package within its task.
"""

from __future__ import annotations

import csv
import importlib
import json
import re
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

SHAPE = r"^(\d{3}\d{0,2}|V\d{2}\d{0,2}|E\d{3}\d?)$"
"""Diagnoses of ICD-9-CM without their dot, as somebody writes them into a rule."""


def pointblank_sample(sample: Path, data: Path) -> list[str]:
    """Rules that somebody writes for a table of diagnoses: presence, shape, known codes, keys."""
    pb, pd = importlib.import_module("pointblank"), importlib.import_module("pandas")
    table = pd.read_csv(sample / "release_2" / "DIAGNOSES_ICD.csv", dtype=str)
    with (data / "mimic-iii-demo" / "D_ICD_DIAGNOSES.csv").open(encoding="utf-8") as file:
        known = [row["ICD9_CODE"] for row in csv.DictReader(file)]
    validation = (
        pb.Validate(table)
        .col_vals_not_null("ICD9_CODE")
        .col_vals_regex("ICD9_CODE", SHAPE, na_pass=True)
        .col_vals_in_set("ICD9_CODE", known, pre=lambda rows: rows.dropna())
        .rows_distinct(["HADM_ID", "SEQ_NUM"])
        .rows_distinct(["HADM_ID", "ICD9_CODE"])
        .interrogate()
    )
    steps = ("rows without a code", "codes that are not shaped like one",
             "codes that the list of codes lacks", "rows of one stay and position",
             "rows of one stay and code")  # fmt: skip
    failed = validation.n_failed()
    return [f"{failed[step]:,} {what}" for step, what in enumerate(steps, 1)]


def evidently_sample(sample: Path, data: Path) -> list[str]:
    """Its data summary, and drift of the codes between the two releases."""
    pd = importlib.import_module("pandas")
    ev, presets = importlib.import_module("evidently"), importlib.import_module("evidently.presets")
    tables = [
        pd.read_csv(sample / release / "DIAGNOSES_ICD.csv", dtype=str)[["ICD9_CODE"]]
        for release in ("release_2", "release_1")
    ]
    definition = ev.DataDefinition(categorical_columns=["ICD9_CODE"])
    now, before = (ev.Dataset.from_pandas(one, data_definition=definition) for one in tables)
    report = ev.Report([presets.DataSummaryPreset(), presets.DataDriftPreset()])
    return _told(report.run(now, before).dict(), r"^MissingValueCount|Drift")


def cleanlab_cifar(sample: Path, data: Path) -> list[str]:
    """Labels that it takes for wrong."""
    return _cleanlab(data / "softmax", "cifar10")


def cleanlab_news(sample: Path, data: Path) -> list[str]:
    """Labels that it takes for wrong, and its classes that overlap."""
    return _cleanlab(data / "softmax", "20news")


def _cleanlab(folder: Path, name: str) -> list[str]:
    np, filtering = importlib.import_module("numpy"), importlib.import_module("cleanlab.filter")
    dataset = importlib.import_module("cleanlab.dataset")
    labels = np.load(folder / f"{name}_test_labels.npy")
    scores = np.load(folder / f"{name}_test_probabilities.npy")
    names = (folder / f"{name}_classes.txt").read_text("utf-8").split()
    issues = filtering.find_label_issues(
        labels, scores, filter_by="confident_learning", return_indices_ranked_by="self_confidence"
    )
    overlap = dataset.find_overlapping_classes(labels, scores, class_names=names).head(3)
    pairs = (
        f"{one['Class Name A']} and {one['Class Name B']}" for one in overlap.to_dict("records")
    )
    first = ", ".join(map(str, issues[:3]))
    return [
        f"{len(issues):,} of {len(labels):,} labels are suspect, the first at rows {first}",
        f"classes that overlap most: {', '.join(pairs)}",
    ]


def evidently_cifar(sample: Path, data: Path) -> list[str]:
    """Its report on a classifier: answers beside labels."""
    pd, np = importlib.import_module("pandas"), importlib.import_module("numpy")
    ev, presets = importlib.import_module("evidently"), importlib.import_module("evidently.presets")
    folder = data / "softmax"
    names = (folder / "cifar10_classes.txt").read_text("utf-8").split()
    labels = np.load(folder / "cifar10_test_labels.npy")
    answers = np.load(folder / "cifar10_test_probabilities.npy").argmax(axis=1)
    table = pd.DataFrame({"target": [names[n] for n in labels],
                          "prediction": [names[n] for n in answers]})  # fmt: skip
    task = ev.MulticlassClassification(target="target", prediction_labels="prediction")
    definition = ev.DataDefinition(classification=[task])
    report = ev.Report([presets.ClassificationPreset()])
    run = report.run(ev.Dataset.from_pandas(table, data_definition=definition), None)
    return _told(run.dict(), r"^(Accuracy|F1Score|Precision|Recall)\(")


def hiclass_cifar(sample: Path, data: Path) -> list[str]:
    """Hierarchical precision, recall and F1 of the answers."""
    folder = data / "softmax"
    with (folder / "cifar10_edges.csv").open(encoding="utf-8") as file:
        parents = {row["child"]: row["parent"] for row in csv.DictReader(file)}
    names = (folder / "cifar10_classes.txt").read_text("utf-8").split()

    def path(node: str) -> list[str]:
        return [*path(parents[node]), node] if node in parents else []

    return _hiclass(folder, "cifar10", [path(name) for name in names])


def hiclass_news(sample: Path, data: Path) -> list[str]:
    """The same of groups, whose names are paths."""
    folder = data / "softmax"
    names = (folder / "20news_classes.txt").read_text("utf-8").split()
    paths = [
        [".".join(name.split(".")[:depth]) for depth in range(1, name.count(".") + 2)]
        for name in names
    ]
    return _hiclass(folder, "20news", paths)


def _hiclass(folder: Path, name: str, paths: list[list[str]]) -> list[str]:
    np, metrics = importlib.import_module("numpy"), importlib.import_module("hiclass.metrics")
    deepest = max(map(len, paths))
    rows = np.array([[*path, *[""] * (deepest - len(path))] for path in paths])
    labels = rows[np.load(folder / f"{name}_test_labels.npy")]
    answers = rows[np.load(folder / f"{name}_test_probabilities.npy").argmax(axis=1)]
    return [
        f"hierarchical {what} {getattr(metrics, what)(labels, answers):.4f}"
        for what in ("precision", "recall", "f1")
    ]


def _told(report: dict[str, Any], wanted: str) -> list[str]:
    """Metrics of a report of evidently whose names are wanted, in a line each."""
    return [
        f"{one['metric_name']}: {_number(one['value'])}"
        for one in report["metrics"]
        if re.search(wanted, one["metric_name"])
    ]


def _number(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_number(one)}" for key, one in list(value.items())[:6])
    return f"{value:,.4g}" if isinstance(value, int | float) else str(value)


TASKS: dict[str, Callable[[Path, Path], list[str]]] = {
    task.__name__: task
    for task in (pointblank_sample, evidently_sample, cleanlab_cifar, evidently_cifar,
                 hiclass_cifar, cleanlab_news, hiclass_news)
}  # fmt: skip


if __name__ == "__main__":
    found = TASKS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
    package = sys.argv[1].partition("_")[0]
    print(json.dumps({"package": package, "version": version(package), "found": found}))

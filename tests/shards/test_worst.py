"""What was planted is among the findings to act on, on seven data sets with stray codes beside."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pytest

import audit
from audit import AuditResult, Finding
from fixtures.registered import OF_ONE, TEN, between
from fixtures.sample_runs import RELEASE_1, RELEASE_2, SAMPLE_DATA

DATA = Path(os.environ.get("AUDIT_DATA", ""))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("AUDIT_DATA"), reason="AUDIT_DATA names no folder"),
]
STRAY = ("unknown_code", "malformed_code", "wrong_table")
"""Checks of codes that stand nowhere."""
IsPlanted: TypeAlias = Callable[[Finding], bool]


def sample(release: Path, *, model: bool) -> tuple[AuditResult, IsPlanted]:
    dataset = audit.load_labels(release, audit.load_hierarchy("icd9cm"), missing=["N/A"])
    answers = audit.load_predictions(SAMPLE_DATA / "predictions.psv", dataset) if model else None
    truth = json.loads((SAMPLE_DATA / "truth.json").read_text("utf-8"))[release.name]["planted"]
    told = {"residual_overuse": "residual_overuse", "parent_beside_child": "parent_and_child"}
    named = {(told.get(one["kind"]), node) for one in truth for node in one["nodes"]}
    named -= {("residual_overuse", "285")}  # other and unspecified anemias: only asked about
    return audit.run_audit(dataset, predictions=answers), lambda one: any(
        (one.check, node) in named for node in one.nodes
    )


def labelled(labels: str, hierarchy: str) -> tuple[AuditResult, IsPlanted]:
    """A real release; one record in seven gets two labels that exclude each other."""
    known = audit.load_hierarchy(hierarchy if hierarchy == "icd9cm" else DATA / hierarchy)
    read = audit.load_labels(DATA / labels, known)
    nodes = pl.Series(read.hierarchy.nodes)
    rows = read.assertions.select(
        instance=read.instances["instance"].gather(read.assertions["instance"]),
        label=nodes.gather(read.assertions["node"]),
    )
    leaves = rows.filter(pl.col("label").is_in(nodes.filter(read.hierarchy.height == 0)))
    a, b = (one for one, _ in Counter(leaves["label"].sort()).most_common(2))
    faulty = rows["instance"].unique(maintain_order=True).gather_every(7)
    both = [pl.DataFrame({"instance": faulty, "label": [node] * len(faulty)}) for node in (a, b)]
    stray = pl.DataFrame({"instance": faulty[:3], "label": ["no such"] * 3})
    dataset = audit.LabelDataset.from_rows(pl.concat([rows, *both, stray]).unique(), known)
    apart = {"nodes": (a, b), "reason": "Planted."}
    policy = audit.Policy.model_validate({"exclusive": [apart]})
    return audit.run_audit(dataset, policy), lambda one: one.check == "sibling_exclusive"


def answered(
    name: str, hierarchy: pl.DataFrame | Path, a: int, b: int
) -> tuple[AuditResult, IsPlanted]:
    """Labels and a model's real answers; on one record in four of a class it gives those of b."""
    folder = DATA / "softmax"
    classes = (folder / f"{name}_classes.txt").read_text("utf-8").split()
    labels = np.load(folder / f"{name}_test_labels.npy")
    scores = np.load(folder / f"{name}_test_probabilities.npy").copy()
    wrong = np.flatnonzero(labels == a)[::4]
    scores[wrong] = np.eye(len(classes))[b]
    ids = [f"i{place:05}" for place in range(len(labels))]
    rows = pl.DataFrame({"instance": ids, "label": [classes[label] for label in labels]})
    dataset = audit.LabelDataset.from_rows(rows, audit.load_hierarchy(hierarchy))
    frame = pl.DataFrame({"instance": ids} | dict(zip(classes, scores.T, strict=True)))
    model = audit.load_predictions(frame, dataset)
    exchanged = {classes[a], classes[b]}
    return audit.run_audit(
        dataset, predictions=model
    ), lambda one: one.check == "model_confuses" and set(one.nodes) in (exchanged, {classes[b]})


def groups_of_news() -> pl.DataFrame:
    names = (DATA / "softmax" / "20news_classes.txt").read_text("utf-8").split()
    above = {name: name.partition(".")[0] for name in names}
    edges = above | dict.fromkeys(above.values(), "news")
    return pl.DataFrame(list(edges.items()), schema=["child", "parent"], orient="row")


RELEASES: dict[str, Callable[[], tuple[AuditResult, IsPlanted]]] = {
    "sample 1": partial(sample, RELEASE_1, model=False),
    "sample 2": partial(sample, RELEASE_2, model=True),
    "MIMIC demo": partial(labelled, "mimic-iii-demo", "icd9cm"),
    "AudioSet": partial(labelled, "audioset/labels.jsonl", "audioset/ontology.json"),
    "GO slim": partial(labelled, "go-slim/slim_association", "go-slim/goslim_generic.obo"),
    "CIFAR-10": lambda: answered("cifar10", DATA / "softmax" / "cifar10_edges.csv", 2, 7),
    "20 Newsgroups": lambda: answered("20news", groups_of_news(), 3, 14),
}


@pytest.mark.parametrize("name", RELEASES)
def test_what_was_planted_is_among_those_to_act_on(name: str) -> None:
    result, is_planted = RELEASES[name]()
    standing = [one for check in result.checks for one in check.standing if one.counts_as]
    stray = max((one.touched for one in standing if one.check in STRAY), default=0)
    planted = [one for one in standing if is_planted(one) and one.touched > stray]
    first = result.worst(TEN)

    assert planted, "something was planted"
    left_out(planted, first["id"].to_list())
    assert len(first) <= TEN
    assert result.findings["id"][: len(first)].to_list() == first["id"].to_list()
    shared = result.shared()
    left_out(planted, shared["worst"])
    nothing_else_may_be_told(result, shared)


def left_out(planted: Iterable[Finding], first: list[str]) -> None:
    """Fail on what is not among the first though fewer than three of its check are."""
    of_check = Counter(id_.partition(":")[0] for id_ in first)
    missing = [one.id for one in planted if one.id not in first and of_check[one.check] < OF_ONE]
    assert not missing


def nothing_else_may_be_told(result: AuditResult, shared: Mapping[str, Any]) -> None:
    """Fail where fewer than ten are shown first, and another one is told and has room."""
    first = shared["worst"]
    of_check = Counter(id_.partition(":")[0] for id_ in first)
    found = {one.id: one for check in result.checks for one in check.standing if one.counts_as}
    assert not any(between(found[id_])[2] for id_ in first), "none asks or stands aside"
    for view in (view for check in shared["checks"] for view in check["findings"]):
        finding = found.get(view["id"])
        if finding is None or finding.id in first or between(finding)[2]:
            continue
        assert len(first) == TEN or of_check[finding.check] >= OF_ONE, finding.id

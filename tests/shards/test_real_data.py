"""Real releases: the ledger sums, and every pair agrees with plain Python over sets."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest

import audit
from audit import AuditResult, LabelDataset

DATA = os.environ.get("AUDIT_DATA", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA, reason="AUDIT_DATA names no folder with the real releases"),
]


@dataclass(frozen=True)
class Release:
    """A real release and the hierarchy its labels belong to."""

    labels: str
    hierarchy: str


RELEASES = {
    "mimic-iii-demo": Release("mimic-iii-demo", "icd9cm"),
    "audioset labels": Release("audioset/labels.jsonl", "audioset/ontology.json"),
    "audioset predictions": Release("audioset/predictions.jsonl", "audioset/ontology.json"),
    "go-slim": Release("go-slim/slim_association", "go-slim/goslim_generic.obo"),
}


@cache
def audited(name: str) -> tuple[LabelDataset, AuditResult]:
    release, folder = RELEASES[name], Path(DATA)
    built_in = release.hierarchy == "icd9cm"
    hierarchy = audit.load_hierarchy("icd9cm" if built_in else folder / release.hierarchy)
    dataset = audit.load_labels(folder / release.labels, hierarchy)
    return dataset, audit.run_audit(dataset)


def plain_pairs(dataset: LabelDataset) -> Counter[tuple[str, str]]:
    """Instances of every pair, from edges and labels alone."""
    parents, labels = defaultdict(set), defaultdict(set)
    for child, parent in dataset.hierarchy.edge_frame().iter_rows():
        parents[child].add(parent)

    @cache
    def above(node: str) -> frozenset[str]:
        return frozenset({node}.union(*(above(parent) for parent in parents[node])))

    for instance, node in dataset.assertions.select("instance", "node").iter_rows():
        labels[instance].add(dataset.hierarchy.nodes[node])
    carried = (set().union(*map(above, direct)) for direct in labels.values())
    return Counter(pair for nodes in carried for pair in combinations(sorted(nodes), 2))


@pytest.mark.parametrize("name", RELEASES)
def test_counts_of_every_pair_agree_with_plain_python(name: str) -> None:
    dataset, result = audited(name)
    found = result.pairs.select("a", "b", "joint").collect()

    assert {(a, b): joint for a, b, joint in found.iter_rows()} == plain_pairs(dataset)


@pytest.mark.parametrize("name", RELEASES)
def test_the_ledger_sums(name: str) -> None:
    dataset, result = audited(name)
    ledger = result.ledger

    assert ledger["rows_read"] == ledger["rows_mapped"] + sum(ledger["refused"].values())
    assert ledger["rows_mapped"] == len(dataset.assertions) > 0
    assert ledger["instances"] == len(dataset.instances)


@pytest.mark.parametrize("name", RELEASES)
def test_no_check_crashes(name: str) -> None:
    _, result = audited(name)

    assert result.status != "error"


@pytest.mark.parametrize("name", RELEASES)
def test_the_run_is_complete_and_reads_back(name: str, tmp_path: Path) -> None:
    _, result = audited(name)
    run = audit.write_run(result, tmp_path / "run")

    assert audit.read_run(run).shared() == result.shared()
    assert {path.name for path in (run / "restricted").iterdir()} == {
        "nodes.parquet", "edges.parquet", "pairs.parquet", "residuals.parquet", "findings.parquet",
        "policy.json", "cases.parquet",
        "record.json", "manifest.json", "judged_pairs.parquet", "pair_margins.parquet",
        "pair_strata.parquet",
        "proposals.parquet",
    }  # fmt: skip


@pytest.mark.parametrize("name", RELEASES)
def test_rates_stay_in_their_bounds(name: str) -> None:
    _, result = audited(name)
    pairs = result.pairs.collect()

    assert (
        pairs["joint"] <= pairs.select(pl.min_horizontal("support_a", "support_b")).to_series()
    ).all()
    assert pairs["confusion"].is_between(0, 1).all()
    assert (pairs["confusion"] <= pairs["rate"] + 1e-12).all()


def rows_of(file: str) -> list[list[str]]:
    return [line.split(",") for line in (Path(DATA) / file).read_text("utf-8").splitlines()[1:]]


def test_mimic_reads_every_row_and_refuses_no_diagnosis() -> None:
    dataset, result = audited("mimic-iii-demo")
    diagnoses = rows_of("mimic-iii-demo/DIAGNOSES_ICD.csv")
    procedures = rows_of("mimic-iii-demo/PROCEDURES_ICD.csv")

    assert result.ledger["rows_read"] == len(diagnoses) + len(procedures)
    assert dataset.refusals.filter(pl.col("table") == "diagnoses").is_empty()
    assert result.ledger["instances"] == len({row[2] for row in (*diagnoses, *procedures)})
    assert result.ledger["groups"] == len({row[1] for row in (*diagnoses, *procedures)})


LINES: dict[str, Callable[[str], int]] = {
    "audioset labels": lambda line: line.count('"/'),
    "go-slim": lambda line: line.count("GO:"),
}


@pytest.mark.parametrize("name", LINES)
def test_every_row_of_the_file_is_read(name: str) -> None:
    _, result = audited(name)
    lines = (Path(DATA) / RELEASES[name].labels).read_text("utf-8").splitlines()

    assert result.ledger["rows_read"] == sum(map(LINES[name], lines))
    assert result.ledger["instances"] == len(lines)


def test_audioset_is_a_graph_with_several_parents() -> None:
    dataset, _ = audited("audioset labels")
    parents = dataset.hierarchy.edges.sum(axis=1)

    # hanging the tops under one root gives no node a second parent
    assert int((parents > 1).sum()) == 38

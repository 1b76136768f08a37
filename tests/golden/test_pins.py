"""What an audit of the sample data says, pinned: result, report and every table by a digest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.analysis_runs import (
    write_concept_run,
    write_entailment_run,
    write_explanation_runs,
)
from fixtures.digests import digests
from fixtures.sample_runs import RELEASE_1, run_command

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["first", "second", "comparison"])
def test_what_is_written_stays_the_same(
    name: str, sample_runs: Path, golden: Callable[[str, str], None]
) -> None:
    golden(f"pins/{name}.txt", "\n".join(digests(sample_runs / name)) + "\n")


def test_what_is_written_of_counts_stays_the_same(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    columns = ("--format", "long", "--id", "HADM_ID", "--label", "ICD9_CODE")
    options = (*columns, "--hierarchy", "icd9cm", "--memory", "4GB", "--no-pdf")
    run_command("run", RELEASE_1 / "DIAGNOSES_ICD.csv", *options, "--out", tmp_path / "batches")
    golden("pins/batches.txt", "\n".join(digests(tmp_path / "batches")) + "\n")


@pytest.fixture(scope="module")
def explanation_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of explanations with small cells, and what changed between them."""
    out = tmp_path_factory.mktemp("explanations")
    write_explanation_runs(out)
    return out


@pytest.mark.parametrize("name", ["explained", "changes"])
def test_what_is_written_of_explanations_stays_the_same(
    name: str, explanation_runs: Path, golden: Callable[[str, str], None]
) -> None:
    golden(f"pins/{name}.txt", "\n".join(digests(explanation_runs / name)) + "\n")


def test_what_is_written_of_concepts_stays_the_same(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    pytest.importorskip("sklearn")
    write_concept_run(tmp_path)
    golden("pins/tested.txt", "\n".join(digests(tmp_path / "tested")) + "\n")


def test_what_is_written_of_an_entailment_graph_stays_the_same(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    write_entailment_run(tmp_path)
    golden("pins/entailed.txt", "\n".join(digests(tmp_path / "entailed")) + "\n")

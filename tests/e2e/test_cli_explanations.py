"""``audit explanations`` from files to a run: findings, tables, what is shared, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from audit.results.result import to_json_bytes
from audit.runs.read import read_run
from audit.runs.schema import result_schema
from fixtures.attribution_files import ROW, written
from fixtures.commands import audit
from fixtures.explained_releases import explained_release, thirty_nodes, write_release

pytestmark = pytest.mark.slow

BODY = thirty_nodes()


class Files:
    """Attributions with a branch whose evidence is ignored, the hierarchy, and the labels."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.rows = folder, explained_release(1, hierarchy=BODY, ignored="b")
        self.path, self.hierarchy, self.labels = write_release(folder, self.rows, BODY)

    def run(self, out: str, *options: object, path: Path | None = None) -> Any:
        words = ("explanations", path or self.path, "--no-pdf", "--out", self.folder / out)
        made = audit(*words, *options)
        assert made.exit_code == 0, made.output
        return json.loads((self.folder / out / "result.json").read_bytes())

    def hung(self, out: str, *options: object, path: Path | None = None) -> Any:
        return self.run(out, "--hierarchy", self.hierarchy, *options, path=path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("explanations"))


@pytest.fixture(scope="module")
def alone(files: Files) -> Any:
    return files.hung("alone")


def test_a_run_of_attributions_has_its_checks_alone_and_keeps_to_the_schema(
    files: Files, alone: Any
) -> None:
    names = [check["name"] for check in alone["checks"]]
    assert names == ["evidence_ignored", "methods_disagree", "waiver_expired", "waiver_unused"]
    assert alone["identity"]["data"]["format"] == "attributions"
    assert alone["ledger"]["instances"] == 240
    Draft202012Validator(result_schema()).validate(alone)
    folder = files.folder / "alone"
    assert to_json_bytes(read_run(folder).shared()) == (folder / "result.json").read_bytes()
    assert files.hung("twice") == alone


def test_the_terminal_counts_rows_and_evidence_that_were_not_used(tmp_path: Path) -> None:
    rows = [ROW | {"id": str(n), "marks": [1.67] * 6} for n in range(3)]
    path = written(tmp_path, *rows, ROW | {"id": "bad", "scores": [1]})
    made = audit("explanations", path, "--no-pdf", "--out", tmp_path / "run")
    told = " ".join(made.output.split())
    assert "Rows read 4 Rows kept 3" in told
    assert "Counted: length differs 1" in told
    assert "Counted: evidence outside 0 to 1 3" in told


def test_with_the_labels_the_dataset_is_audited_too(files: Files) -> None:
    half = files.folder / "half.csv"
    half.write_text("".join(files.labels.read_text().splitlines(keepends=True)[:200]))
    both = files.hung("both", "--labels", half)
    names = {check["name"] for check in both["checks"]}
    assert {"evidence_ignored", "methods_disagree", "unexpected_pair"} <= names
    assert both["identity"]["data"]["format"] == "table"
    assert both["explanations"]["facts"]["instances_without_labels"] > 0


def test_without_a_hierarchy_labels_are_below_one_root(files: Files) -> None:
    assert files.run("flat")["identity"]["hierarchy"]["depth"] == 1


def test_verify_report_and_judge_work_on_the_run(files: Files) -> None:
    before, folder = files.hung("judged"), files.folder / "judged"
    assert audit("verify", folder, "--recompute").exit_code == 0
    policy = files.folder / "strict.toml"
    policy.write_text(
        '[[waivers]]\ncheck = "evidence_ignored"\nnode = "b"\nowner = "me"\nreason = "Known."\n'
        "expires = 2999-01-01\n"
    )
    assert audit("report", folder, "--overwrite", "--policy", policy, "--no-pdf").exit_code == 0
    judged = json.loads((folder / "result.json").read_bytes())
    assert judged["checks"][0]["status"] == "pass"
    assert judged["explanations"] == before["explanations"]


def test_a_comparison_of_two_runs_tells_the_finding_that_is_gone(files: Files, alone: Any) -> None:
    sound = files.folder / "sound.parquet"
    explained_release(1, hierarchy=BODY).write_parquet(sound)
    files.hung("sound", path=sound)
    runs = (files.folder / "alone", files.folder / "sound")
    compared = audit("compare", *runs, "--out", files.folder / "changes")
    assert compared.exit_code == 0, compared.output
    assert "evidence ignored" in (files.folder / "changes" / "comparison.html").read_text("utf-8")


def test_wrong_answers_alone_are_compared_on_request(files: Files) -> None:
    wrong = files.hung("wrong", "--only", "wrong")
    assert wrong["explanations"]["facts"]["only"] == "wrong"
    assert wrong["explanations"]["evidence"] == []
    status = {check["name"]: check["status"] for check in wrong["checks"]}
    assert status["evidence_ignored"] == "pass"


@pytest.mark.parametrize(
    "options",
    [
        ("--label", "code"), ("--labels", "labels.csv"), ("--informed", "m"), ("--sizes", "m=bert"),
        ("--evidence", "nothing.jsonl"), ("--reference-model", "m"), ("--accuracy", "nothing.csv"),
        ("--sizes", "m=b:l", "--sizes", "m=c:l"), ("--informed", "m=other"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_message(files: Files, options: tuple[str, ...]) -> None:
    made = audit("explanations", files.path, "--out", files.folder / "none", *options)
    assert made.exit_code == 2
    assert made.stderr.count("Error: ") == 1
    assert not (files.folder / "none").exists()


def test_models_are_compared_with_a_reference_and_by_accuracy(files: Files) -> None:
    pytest.importorskip("statsmodels")
    other = explained_release(2, hierarchy=BODY, strength=1.0, model="careless")
    both, elsewhere = files.folder / "both.parquet", files.folder / "hans.csv"
    pl.concat([files.rows, other]).write_parquet(both)
    elsewhere.write_text("model,accuracy\nm,.6\ncareless,.5\n")
    shared = files.hung("two", "--reference-model", "m", "--accuracy", elsewhere, path=both)
    models = shared["explanations"]["models"]
    assert {row["model"] for row in models} == {"careless"}
    assert all(row["high"] < 0 for row in models)
    told = {row["data"]: row["absent"] for row in shared["explanations"]["accuracy"]}
    assert told.keys() == {None, "hans.csv"}
    assert told["hans.csv"] == "2 points, and 3 are needed"
    assert audit("verify", files.folder / "two", "--recompute").exit_code == 0


def test_headline_numbers_are_metrics_too(alone: Any) -> None:
    metrics, tables = alone["metrics"], alone["explanations"]
    delta = [row["delta_a"] for row in tables["alignment"] if row["subset"] == "all"]
    assert [one["value"] for one in metrics if one["name"] == "delta_a"] == delta
    agreement = [one["parameters"] for one in metrics if one["name"] == "agreement"]
    of = {"method": "first", "other": "second", "model": "m"}
    assert of in agreement
    assert of | {"k": tables["facts"]["k"]} in agreement

"""``audit explanations`` from files to a run: findings, tables, what is shared, and mistakes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from audit.results.result import to_json_bytes
from audit.runs.read import read_run
from audit.runs.schema import result_schema
from fixtures.attributed import write_attributions
from fixtures.attribution_files import ROW, written
from fixtures.commands import audit
from fixtures.explained_releases import explained_release, thirty_nodes

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BODY = thirty_nodes()


class Files:
    """Attributions with a branch whose evidence is ignored, the hierarchy, and the labels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.attributions, dataset = explained_release(1, hierarchy=BODY, ignored="b")
        self.path = folder / "attributions.parquet"
        write_attributions(self.attributions, self.path)
        self.hierarchy = folder / "tree.csv"
        BODY.edge_frame().write_csv(self.hierarchy)
        labels = dataset.assertions.select(
            dataset.instances["instance"].gather(dataset.assertions["instance"]),
            pl.Series("label", [BODY.nodes[node] for node in dataset.assertions["node"]]),
        )
        self.labels = folder / "labels.csv"
        labels.write_csv(self.labels)

    def run(self, out: str, *options: object) -> Any:
        made = audit("explanations", self.path, "--no-pdf", "--out", self.folder / out, *options)
        assert made.exit_code == 0, made.output
        return json.loads((self.folder / out / "result.json").read_bytes())

    def hung(self, out: str, *options: object) -> Any:
        return self.run(out, "--hierarchy", self.hierarchy, *options)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("explanations"))


@pytest.fixture(scope="module")
def alone(files: Files) -> Any:
    return files.hung("alone")


def names(shared: Any) -> list[str]:
    return [check["name"] for check in shared["checks"]]


def test_the_planted_branch_is_the_finding(alone: Any) -> None:
    (found,) = alone["checks"][0]["findings"]
    assert [node["id"] for node in found["nodes"]] == ["b"]
    assert "Below b" in found["statement"]


def test_without_a_dataset_no_check_of_a_dataset_is_there(alone: Any) -> None:
    assert names(alone) == [
        "evidence_ignored", "methods_disagree", "waiver_expired", "waiver_unused",
    ]  # fmt: skip
    assert alone["identity"]["data"]["format"] == "attributions"
    assert alone["ledger"]["instances"] == 240


def test_the_terminal_counts_rows_and_evidence_that_were_not_used(tmp_path: Path) -> None:
    rows = [ROW | {"id": str(n), "marks": [1.67] * 6} for n in range(3)]
    path = written(tmp_path, *rows, ROW | {"id": "bad", "scores": [1]})
    made = audit("explanations", path, "--no-pdf", "--out", tmp_path / "run")
    told = " ".join(made.output.split())
    assert "Rows read 4 Rows kept 3" in told
    assert "Counted: length differs 1" in told
    assert "Counted: evidence outside 0 to 1 3" in told


def test_the_result_is_as_its_schema_says(alone: Any) -> None:
    schema = result_schema()
    Draft202012Validator(schema).validate(alone)


def test_with_the_labels_the_dataset_is_audited_too(files: Files) -> None:
    both = files.hung("both", "--labels", files.labels)
    asked = {"evidence_ignored", "methods_disagree", "unexpected_pair"}
    assert asked <= {*names(both)}
    assert both["identity"]["data"]["format"] == "table"


def test_without_a_hierarchy_labels_are_below_one_root(files: Files) -> None:
    flat = files.run("flat")
    assert flat["identity"]["hierarchy"]["depth"] == 1


def test_the_run_reads_back_to_the_same_bytes(files: Files, alone: Any) -> None:
    folder = files.folder / "alone"
    assert to_json_bytes(read_run(folder).shared()) == (folder / "result.json").read_bytes()


def test_verify_report_and_judge_work_on_the_run(files: Files, alone: Any) -> None:
    folder = files.folder / "alone"
    assert audit("verify", folder, "--recompute").exit_code == 0
    assert audit("report", folder, "--no-pdf").exit_code == 0
    policy = files.folder / "strict.toml"
    policy.write_text(
        '[[waivers]]\ncheck = "evidence_ignored"\nnode = "b"\nowner = "me"\nreason = "Known."\n'
        "expires = 2999-01-01\n"
    )
    assert audit("report", folder, "--overwrite", "--policy", policy, "--no-pdf").exit_code == 0
    judged = json.loads((folder / "result.json").read_bytes())
    assert judged["checks"][0]["status"] == "pass"
    assert judged["explanations"] == alone["explanations"]


def test_a_comparison_of_two_runs_tells_the_finding_that_is_gone(files: Files, alone: Any) -> None:
    attributions, _ = explained_release(1, hierarchy=BODY)
    sound = files.folder / "sound.parquet"
    write_attributions(attributions, sound)
    options = ("--hierarchy", files.hierarchy, "--no-pdf", "--out", files.folder / "sound")
    assert audit("explanations", sound, *options).exit_code == 0
    files.hung("again")
    runs = (files.folder / "again", files.folder / "sound")
    compared = audit("compare", *runs, "--out", files.folder / "changes")
    assert compared.exit_code == 0, compared.output
    assert "evidence ignored" in (files.folder / "changes" / "comparison.html").read_text("utf-8")


def test_the_same_files_give_the_same_bytes(files: Files, alone: Any) -> None:
    assert files.hung("twice") == files.hung("thrice")


def test_wrong_answers_alone_are_compared_on_request(files: Files) -> None:
    wrong = files.hung("wrong", "--only", "wrong")
    assert wrong["explanations"]["facts"]["only"] == "wrong"
    assert wrong["explanations"]["branches"] == []
    status = {check["name"]: check["status"] for check in wrong["checks"]}
    assert status["evidence_ignored"] == "pass"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--label", "code"), "--label can be given only with --labels"),
        (("--labels", "labels.csv"), "--labels needs --hierarchy"),
        (("--informed", "m"), "--informed must be MODEL=NAME"),
        (("--evidence", "nothing.jsonl"), "nothing.jsonl"),
        (("--reference-model", "m"), "one of two models or more"),
        (("--sizes", "m=bert"), "--sizes must be MODEL=FAMILY:SIZE"),
        (("--sizes", "m=b:l", "--sizes", "m=c:l"), "--sizes names each model once"),
        (("--accuracy", "nothing.csv"), "nothing.csv"),
    ],
)
def test_a_mistake_is_one_message(files: Files, options: tuple[str, ...], message: str) -> None:
    made = audit("explanations", files.path, "--out", files.folder / "none", *options)
    assert made.exit_code == 2
    assert message in made.output
    assert not (files.folder / "none").exists()


def test_the_released_code_of_dynamic_top_k_compares_a_run_with_itself_too(files: Files) -> None:
    one = pl.read_parquet(files.path)
    other = one.with_columns(pl.col("scores").list.reverse(), seed=pl.lit(1, pl.Int64))
    both = files.folder / "runs.parquet"
    pl.concat([one.with_columns(seed=pl.lit(0, pl.Int64)), other], how="diagonal").write_parquet(
        both
    )
    found = {}
    for name, options in (("text", ()), ("code", ("--compat", "kamp"))):
        out = files.folder / f"runs-{name}"
        assert audit("explanations", both, *options, "--no-pdf", "--out", out).exit_code == 0
        shared = json.loads((out / "result.json").read_bytes())["explanations"]
        found[name] = [row["difference"] for row in shared["runs"]]
        said = "By the rules of" in (out / "report.html").read_text()
        assert said == (name == "code")
    assert found["code"] == pytest.approx([value / 2 for value in found["text"]])
    assert audit("verify", files.folder / "runs-code", "--recompute").exit_code == 0


def test_an_id_that_the_labels_lack_is_counted(files: Files) -> None:
    half = files.folder / "half.csv"
    half.write_text("".join(files.labels.read_text().splitlines(keepends=True)[:200]))
    shared = files.hung("half", "--labels", half)
    assert shared["explanations"]["facts"]["instances_without_labels"] > 0


def test_models_are_compared_with_a_reference_and_by_accuracy(files: Files) -> None:
    pytest.importorskip("statsmodels")
    other = explained_release(2, hierarchy=BODY, strength=1.0)[0]
    rows = [
        one.rows.with_columns(model=pl.lit(model))
        for one, model in ((files.attributions, "careful"), (other, "careless"))
    ]
    second = replace(files.attributions, rows=rows[1], scores=other.scores, words=other.words)
    folder = files.folder / "two"
    folder.mkdir()
    both, careless = folder / "both.parquet", folder / "careless.parquet"
    for one, path in ((replace(files.attributions, rows=rows[0]), both), (second, careless)):
        write_attributions(one, path)
    pl.concat([pl.read_parquet(both), pl.read_parquet(careless)]).write_parquet(both)
    elsewhere = folder / "hans.csv"
    elsewhere.write_text("model,accuracy\ncareful,.6\ncareless,.5\n")
    made = audit(
        "explanations", both, "--hierarchy", files.hierarchy, "--reference-model", "careful",
        "--accuracy", elsewhere, "--no-pdf", "--out", folder / "run",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    shared = json.loads((folder / "run" / "result.json").read_bytes())
    models = shared["explanations"]["models"]
    assert {row["model"] for row in models} == {"careless"}
    assert all(row["high"] < 0 for row in models)
    told = {row["data"]: row["absent"] for row in shared["explanations"]["accuracy"]}
    assert told.keys() == {None, "hans.csv"}
    assert told["hans.csv"] == "2 points, and 3 are needed"
    assert audit("verify", folder / "run", "--recompute").exit_code == 0
    nodes = pl.read_parquet(folder / "run" / "restricted" / "explanations_nodes.parquet")
    assert {"kendall", "agreement_dynamic", "alignment_expert"} <= set(nodes["measure"])
    html = (folder / "run" / "report.html").read_text()
    assert "Models beside a reference" in html


def test_headline_numbers_are_metrics_too(alone: Any) -> None:
    metrics, tables = alone["metrics"], alone["explanations"]
    delta = [row for row in tables["alignment"] if row["subset"] == "all"]
    assert [one["value"] for one in metrics if one["name"] == "delta_a"] == [
        row["delta_a"] for row in delta
    ]
    nodes = {one["scope"] for one in metrics} - {"all"}
    assert nodes == {row["node"] for row in tables["branches"]}
    agreement = [one["parameters"] for one in metrics if one["name"] == "agreement"]
    k = tables["facts"]["k"]
    assert {"method": "first", "other": "second", "model": "m"} in agreement
    assert {"method": "first", "other": "second", "model": "m", "k": k} in agreement

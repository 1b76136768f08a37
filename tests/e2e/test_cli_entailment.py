"""``audit entailment`` from files to a run: findings, tables, what is shared, and mistakes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from audit.analyses.entailment.analysis import Entailment
from audit.results.result import to_json_bytes
from audit.runs.read import read_run
from audit.runs.schema import result_schema
from fixtures.commands import audit
from fixtures.entailment_world.faults import FAULTS
from fixtures.entailment_world.files import wide, write_splits, write_tuples
from fixtures.entailment_world.world import clean_world

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WIDTH = 11
VOTES = ("--column", "votes=worker_*")


def made_run(out: Path, *arguments: object) -> Any:
    made = audit("entailment", *arguments, "--no-pdf", "--out", out)
    assert made.exit_code == 0, made.output
    return json.loads((out / "result.json").read_bytes())


def findings(shared: Any) -> dict[str, list[Any]]:
    return {check["name"]: check["findings"] for check in shared["checks"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("entailment")


@pytest.fixture(scope="module")
def tuples(folder: Path) -> Path:
    path = folder / "tuples.csv"
    write_tuples(wide(FAULTS["cycle"](clean_world(WIDTH)).dataset), path)
    return path


@pytest.fixture(scope="module")
def scores(folder: Path) -> Path:
    test = clean_world(WIDTH).tuples.filter(split="test")
    path = folder / "scores.csv"
    score = pl.when("valid").then(0.8).otherwise(0.2)
    test.select("id", score=score).write_csv(path)
    return path


@pytest.fixture(scope="module")
def shared(folder: Path, tuples: Path, scores: Path) -> Any:
    return made_run(folder / "run", tuples, *VOTES, "--predictions", scores)


def test_a_clean_graph_has_no_finding(folder: Path) -> None:
    path = folder / "clean.parquet"
    write_tuples(wide(clean_world(WIDTH)), path)
    shared = made_run(folder / "clean", path, *VOTES)
    assert not any(findings(shared).values())


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_planted_is_found_and_nothing_else(name: str, tmp_path: Path) -> None:
    path = tmp_path / "tuples.jsonl"
    write_tuples(wide(FAULTS[name](clean_world(23)).dataset), path)
    shared = made_run(tmp_path / "run", path, *VOTES)
    assert {name for name, own in findings(shared).items() if own} == {name}


def test_no_check_of_a_dataset_is_there(shared: Any) -> None:
    own = {check.name for check in Entailment.checks}
    assert {*findings(shared)} == {*own, "waiver_expired", "waiver_unused"}


def test_the_result_is_as_its_schema_says(shared: Any) -> None:
    schema = result_schema()
    Draft202012Validator(schema).validate(shared)


def test_the_run_reads_back_to_the_same_bytes(folder: Path, shared: Any) -> None:
    run = folder / "run"
    assert to_json_bytes(read_run(run).shared()) == (run / "result.json").read_bytes()


def test_verify_report_judge_and_cases_work_on_the_run(
    tmp_path: Path, tuples: Path, scores: Path, shared: Any
) -> None:
    run, policy = tmp_path / "run", tmp_path / "policy.toml"
    made_run(run, tuples, *VOTES, "--predictions", scores)
    policy.write_text('[severities]\ncycle = "error"\n', "utf-8")
    verified = audit("verify", run, "--recompute")
    assert verified.exit_code == 0, verified.output
    (cycle,) = findings(shared)["cycle"]
    cases = audit("cases", run, cycle["id"])
    assert cases.exit_code == 0, cases.output
    assert audit("report", run, "--no-pdf").exit_code == 0
    judged = audit(
        "report", run, "--overwrite", "--policy", policy, "--fail-on", "error", "--no-pdf"
    )
    assert judged.exit_code == 1, judged.output


def test_the_same_files_give_the_same_bytes(
    folder: Path, tuples: Path, scores: Path, shared: Any
) -> None:
    made_run(folder / "again", tuples, *VOTES, "--predictions", scores)
    names = ("result.json", "report.html")
    run, again = folder / "run", folder / "again"
    assert [(run / n).read_bytes() for n in names] == [(again / n).read_bytes() for n in names]


def test_files_of_splits_give_the_findings_of_one_file(folder: Path, shared: Any) -> None:
    parts = folder / "parts"
    parts.mkdir()
    write_splits(wide(FAULTS["cycle"](clean_world(WIDTH)).dataset), parts, ".tsv")
    of_parts = made_run(folder / "of-parts", parts, *VOTES)
    assert findings(of_parts) == findings(shared)


def test_predictions_are_measured_beside_baselines(shared: Any) -> None:
    measured = shared["entailment"]["detection_measured"]
    accuracy = {
        row["model"]: row["value"]
        for row in measured
        if row["measure"] == "accuracy" and row["relation"] == "All"
    }
    assert accuracy.pop("scores") == 1
    assert len(accuracy) > 3
    assert all(value < 0.95 for value in accuracy.values())


def test_the_terminal_tells_how_good_models_are_and_what_was_not_used(
    folder: Path, tuples: Path
) -> None:
    ids = clean_world(WIDTH).tuples.filter(split="test")["id"].to_list()
    path = folder / "some.csv"
    path.write_text("id,score\n" + "".join(f"{one},0.9\n" for one in ids[:3]) + "nobody,0.1\n")
    made = audit("entailment", tuples, "--predictions", path, "--no-pdf", "--out", folder / "told")

    assert made.exit_code == 0, made.output
    told = " ".join(made.output.split())
    assert "Accuracy of some: " in told
    assert "Accuracy of concept_alone: " in told
    assert "Predictions: rows read 4" in told
    assert "Predictions: used 3" in told
    assert "Predictions: unknown id 1" in told


@pytest.mark.parametrize("option", ["--predictions", "--generations"])
def test_answers_none_of_which_a_tuple_has_are_refused(
    folder: Path, tuples: Path, option: str
) -> None:
    path = folder / "foreign.csv"
    path.write_text("id,score,text\nnobody,0.5,a thing\n")
    made = audit("entailment", tuples, option, path, "--no-pdf", "--out", folder / "foreign")

    assert made.exit_code == 2, made.output
    assert "of 'foreign', ids that no tuple has: 'nobody'" in made.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kind", "premises"), "premise"),
        (("--column", "head"), "a name and a column"),
        (("--column", "votes=nobody_*"), "nobody_*"),
        (("--predictions", "missing.csv"), "missing.csv"),
    ],
)
def test_a_mistake_is_one_message(
    folder: Path, tuples: Path, options: tuple[str, ...], message: str
) -> None:
    made = audit("entailment", tuples, *options, "--out", folder / "mistaken")
    assert made.exit_code == 2, made.output
    assert message in made.output
    assert "Traceback" not in made.output
    assert not (folder / "mistaken").exists()


def test_answers_are_predictions(tuples: Path, tmp_path: Path) -> None:
    ids = clean_world(WIDTH).tuples.filter(split="test")["id"].head(60).to_list()
    valid = dict(clean_world(WIDTH).tuples.select("id", "valid").iter_rows())
    answers = tmp_path / "a-model.jsonl"
    said = ["Yes." if valid.get(id, True) else "No, it is not." for id in ids]
    lines = [json.dumps({"id": id, "answer": a}) for id, a in zip(ids, said, strict=True)]
    answers.write_text(
        "\n".join([*lines[1:], json.dumps({"id": ids[0], "answer": "Hm."})]), "utf-8"
    )
    shared = made_run(tmp_path / "run", tuples, "--answers", answers)
    (whole,) = (
        row
        for row in shared["entailment"]["detection_measured"]
        if (row["model"], row["relation"], row["measure"]) == ("a-model", "All", "accuracy")
    )
    assert (whole["value"], whole["n"]) == (1, len(ids) - 1)
    assert shared["entailment"]["facts"]["models"] == 1
    kept = pl.read_parquet(tmp_path / "run" / "restricted" / "entailment_answers.parquet")
    assert kept["answer"].to_list() == [*said[1:], "Hm."]


def test_generated_concepts_and_their_ratings_are_measured(tuples: Path, tmp_path: Path) -> None:
    valid = clean_world(WIDTH).tuples.filter("valid", split="test")
    asked = valid.unique(["head", "relation", "instance"], maintain_order=True)
    texts, ratings = tmp_path / "writer.csv", tmp_path / "ratings.csv"
    asked.select("id", text="concept").write_csv(texts)
    raters = pl.DataFrame({"rater": ["r1", "r2", "r3"], "rating": [1, 1, 0]})
    rated = asked.head(10).select("id", model=pl.lit("writer")).join(raters, how="cross")
    rated.write_csv(ratings)
    shared = made_run(tmp_path / "run", tuples, "--generations", texts, "--ratings", ratings)[
        "entailment"
    ]
    exact = [row for row in shared["generation_measured"] if row["measure"] == "exact_match"]
    assert {row["value"] for row in exact} == {1}
    told = {row["level"]: row["share"] for row in shared["generation_ratings"]}
    assert told == {"valid": pytest.approx(2 / 3), "invalid": pytest.approx(1 / 3)}


def test_a_generation_set_that_lacks_a_tuple_is_one_finding(tmp_path: Path) -> None:
    world = clean_world(WIDTH)
    path, positives = tmp_path / "tuples.csv", tmp_path / "positives.csv"
    write_tuples(wide(world), path)
    write_tuples(wide(world).filter(label=1).drop("label").slice(1), positives)
    shared = made_run(tmp_path / "run", path, *VOTES, "--positives", positives)
    told = {name: len(own) for name, own in findings(shared).items() if own}
    assert told == {"generation_mismatch": 1}


def test_refused_records_stand_in_the_ledger(tmp_path: Path) -> None:
    path = tmp_path / "tuples.csv"
    frame = wide(clean_world(WIDTH))
    wrong = frame.with_columns(
        relation=pl.when(pl.int_range(pl.len()) < 3)
        .then(pl.lit("Adverb-Entail"))
        .otherwise("relation")
    )
    write_tuples(wrong, path)
    shared = made_run(tmp_path / "run", path)
    assert shared["ledger"]["refused"] == {"bad_row": 3}
    assert shared["ledger"]["rows_read"] == len(frame)
    assert shared["entailment"]["facts"]["refused"] == {"unknown_relation": 3}


@pytest.mark.skipif(not shutil.which("pdftotext"), reason="needs pdftotext")
def test_no_table_is_wider_than_the_printed_page(tmp_path: Path) -> None:
    run = tmp_path / "run"
    made = audit("entailment", ROOT / "sample_data" / "entailment" / "tuples.csv", "--out", run)
    assert made.exit_code == 0, made.output
    told = subprocess.run(
        ["pdftotext", "-bbox", run / "report.pdf", "-"], capture_output=True, text=True, check=True
    ).stdout
    width = min(map(float, re.findall(r'<page width="([\d.]+)"', told)))

    assert max(map(float, re.findall(r'xMax="([\d.]+)"', told))) < width

"""``audit explanations``, ``concepts``, ``entailment``, ``preference``: what each writes, counts,
refuses and leaves; the numbers are pinned, those of the papers have tests of their own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

import audit
from fixtures.attribution_files import ROW, written
from fixtures.doors import command, made, refused, result_schema
from fixtures.explained_releases import explained_release, thirty_nodes, write_release
from fixtures.held import read_json
from fixtures.once import filled_once
from fixtures.representation_files import write_representations
from fixtures.represented_releases import places_in_branches, represented_release
from fixtures.tuple_files import SAMPLE, VOTES

pytestmark = pytest.mark.slow
NOTES, LAYERS = SAMPLE.parent / "explanations", SAMPLE.parent / "concepts"
TUPLES, RATINGS = SAMPLE / "tuples.csv", SAMPLE / "ratings.csv"
EDGES = (
    "child,parent\nartist,person\npainter,artist\nmuralist,painter\nworker,person\ncook,worker\n"
)
ASKED = [("painter", "artist"), ("cook", "worker"), ("painter", "person"), ("unicorn", "artist")]
SCORED = [
    {"painter": 0.3, "artist": 0.2, "person": 0.1},
    {"cook": 0.2, "worker": 0.2},
    {"person": 0.4, "painter": 0.3},
]
FOUND = {
    "explanations": {"evidence_ignored"},
    "concepts": set[str](),
    "entailment": {"head_in_two_splits", "contradiction", "weak_label", "tail_mismatch", "cycle"},
    "preference": set[str](),
}
"""The checks with a finding in the sample."""


def given(name: str, folder: Path) -> Sequence[object]:
    """The files of a command; those of preference are written."""
    if name == "explanations":
        files = NOTES / "attributions.jsonl", "--evidence", NOTES / "evidence.jsonl"
        return *files, "--hierarchy", "icd9cm"
    if name == "concepts":
        files = LAYERS / "representations.npz", "--facets", LAYERS / "facets.csv"
        return *files, "--hierarchy", "icd9cm", "--seeds", 1
    if name == "entailment":
        return TUPLES, *VOTES, "--predictions", SAMPLE / "scores.csv"
    words = dict.fromkeys(re.findall(r"\w+", EDGES.partition("\n")[2]), 0.0)
    asked = [
        {"sub_label": f"S{row}", "obj_label": s, "obj2_label": g, "predicate_id": "P106"}
        for row, (s, g) in enumerate(ASKED)
    ]
    scored = [{"question": row, "scores": words | own} for row, own in enumerate(SCORED)]
    for file, rows in (("questions.jsonl", asked), ("scores.jsonl", scored)):
        (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "edges.csv").write_text(EDGES)
    files = folder / "scores.jsonl", "--questions", folder / "questions.jsonl"
    return *files, "--hierarchy", folder / "edges.csv", "--k", 1


def write_runs(folder: Path) -> None:
    for name in FOUND:
        made(name, *given(name, folder), "--no-pdf", "--out", folder / name)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled_once("analyses", write_runs, tmp_path_factory)


def found(shared: Any) -> dict[str, list[Any]]:
    return {check["name"]: check["findings"] for check in shared["checks"] if check["findings"]}


@pytest.mark.parametrize("name", FOUND)
def test_a_run_keeps_to_the_schema_finds_what_was_planted_and_is_read_back(
    runs: Path, name: str
) -> None:
    shared = read_json(runs / name / "result.json")

    Draft202012Validator(result_schema()).validate(shared)
    assert {*found(shared)} == FOUND[name]
    assert audit.read_run(runs / name).shared() == shared


@pytest.mark.parametrize("name", FOUND)
def test_a_run_is_verified_judged_again_and_reported(runs: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(runs / name, copy := tmp_path / "run")
    before, worst = read_json(copy / "result.json"), sorted(FOUND[name])[:1]
    policy = tmp_path / "policy.toml"
    stated = "".join(f'[severities]\n{one} = "error"\n' for one in worst)
    policy.write_text(f"max_findings = 5\n{stated}")
    judged = ("--overwrite", "--policy", policy, "--fail-on", "error", "--no-pdf")

    made("verify", runs / name, "--recompute")
    assert command("report", copy, *judged).exit_code == len(worst)
    assert read_json(copy / "result.json")[name] == before[name]
    for finding in (one for own in found(before).values() for one in own):
        made("cases", runs / name, finding["id"])
    made("history", runs / name, copy, "--out", tmp_path / "history")


MISTAKES: dict[str, list[tuple[object, ...]]] = {
    "explanations": [
        ("--label", "code"), ("--labels", "labels.csv"), ("--informed", "m"), ("--sizes", "m=bert"),
        ("--evidence", "nothing.jsonl"), ("--reference-model", "m"), ("--accuracy", "nothing.csv"),
        ("--sizes", "m=b:l", "--sizes", "m=c:l"), ("--informed", "m=other"),
    ],
    "concepts": [
        ("--label", "code"), ("--layer", "third"), ("--facets", "nothing.csv"),
        ("--labels", "others.csv"),
    ],
    "entailment": [
        ("--kind", "premises"), ("--column", "head"), ("--column", "votes=nobody_*"),
        ("--predictions", "missing.csv"), ("--ratings", RATINGS),
    ],
    "preference": [("--relation", "holonym"), ("--k", 0)],
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_message_and_leaves_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "others.csv").write_text("instance,label\nnobody,428.20\n")
    files = given(name, tmp_path)
    for options in MISTAKES[name]:
        told = command(name, *files, *options, "--out", "none")
        assert (told.exit_code, told.stdout) == (2, ""), (options, told.output)
        assert "Traceback" not in told.stderr
        assert not (tmp_path / "none").exists()


def test_numbers_of_classes_are_no_predictions(tmp_path: Path) -> None:
    one = represented_release()
    numbers = pl.col("labels").list.first().rank("dense").cast(pl.Int64).cast(pl.String)
    numbered = replace(one, instances=one.instances.with_columns(prediction=numbers))
    write_representations(numbered, tmp_path / "numbered.npz")
    places_in_branches().drop("nested").write_csv(tmp_path / "facets.csv")
    files = (tmp_path / "numbered.npz", "--facets", tmp_path / "facets.csv")

    told = refused("concepts", *files, "--out", tmp_path / "none")
    assert "predictions among the labels" in " ".join(told.split())


def test_what_is_not_used_is_counted_by_its_reason(tmp_path: Path) -> None:
    rows = [ROW | {"id": str(n), "marks": [1.67] * 6} for n in range(3)]
    path = written(tmp_path, *rows, ROW | {"id": "bad", "scores": [1]})
    told = " ".join(made("explanations", path, "--no-pdf", "--out", tmp_path / "notes").split())
    tuples = pl.read_csv(TUPLES, infer_schema=False)
    unknown = pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("Adverb-Entail"))
    tuples = tuples.with_columns(relation=unknown.otherwise("relation"))
    tuples.write_parquet(tmp_path / "tuples.parquet")
    made("entailment", tmp_path / "tuples.parquet", "--no-pdf", "--out", tmp_path / "tuples")
    shared = read_json(tmp_path / "tuples" / "result.json")

    assert "Rows read 4 Rows kept 3" in told
    assert "Counted: length differs 1" in told
    assert "Counted: evidence outside 0 to 1 3" in told
    assert shared["ledger"]["refused"] == {"bad_row": 3}
    assert shared["ledger"]["rows_read"] == len(tuples)
    assert shared["entailment"]["facts"]["refused"] == {"unknown_relation": 3}


def test_beside_labels_the_dataset_is_audited_too(tmp_path: Path) -> None:
    rows = [
        json.loads(line) for line in (NOTES / "attributions.jsonl").read_text("utf-8").splitlines()
    ]
    pairs = sorted({(row["id"], row["target"]) for row in rows})[: len(rows) // 4]
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\n" + "".join(f"{one},{code}\n" for one, code in pairs))
    made("explanations", *given("explanations", tmp_path), "--labels", labels,
         "--min-cell", 1, "--no-pdf", "--out", tmp_path / "run")  # fmt: skip
    both = read_json(tmp_path / "run" / "result.json")

    assert {"evidence_ignored", "methods_disagree", "unexpected_pair"} <= {
        check["name"] for check in both["checks"]
    }
    assert both["explanations"]["facts"]["instances_without_labels"] > 0


def test_files_of_splits_give_the_findings_of_one_file(runs: Path, tmp_path: Path) -> None:
    (parts := tmp_path / "parts").mkdir()
    rows = pl.read_csv(TUPLES, infer_schema=False)
    for (name,), own in rows.group_by("split", maintain_order=True):
        own.drop("split").write_csv(parts / f"{name}.tsv", separator="\t")
    made("entailment", parts, *VOTES, "--no-pdf", "--out", tmp_path / "run")

    told, expected = (
        {name: [one["evidence"] for one in own] for name, own in found(read_json(path)).items()}
        for path in (tmp_path / "run" / "result.json", runs / "entailment" / "result.json")
    )
    assert told == expected


def test_wrong_answers_alone_are_compared_on_request(tmp_path: Path) -> None:
    body = thirty_nodes()
    rows = explained_release(1, hierarchy=body, ignored="b")
    path, tree, _ = write_release(tmp_path, rows, body)
    asked = ("--hierarchy", tree, "--only", "wrong")
    made("explanations", path, *asked, "--no-pdf", "--out", tmp_path / "run")
    wrong = read_json(tmp_path / "run" / "result.json")

    assert wrong["explanations"]["facts"]["only"] == "wrong"
    assert wrong["explanations"]["evidence"] == []
    assert {check["name"]: check["status"] for check in wrong["checks"]}[
        "evidence_ignored"
    ] == "pass"


def test_headline_numbers_are_metrics_too(runs: Path) -> None:
    shared = read_json(runs / "explanations" / "result.json")
    metrics, tables = shared["metrics"], shared["explanations"]
    delta = [row["delta_a"] for row in tables["alignment"] if row["subset"] == "all"]
    agreement = [one["parameters"] for one in metrics if one["name"] == "agreement"]
    of = {"method": "gradients", "other": "occlusion", "model": "shortcut"}

    assert [one["value"] for one in metrics if one["name"] == "delta_a"] == delta != []
    assert of in agreement
    assert of | {"k": tables["facts"]["k"]} in agreement


def test_each_question_says_which_answer_it_prefers(runs: Path) -> None:
    shared = read_json(runs / "preference" / "result.json")
    told = {row["metric"]: row for row in shared["preference"]["measured"]}
    kept = pl.read_parquet(runs / "preference" / "restricted" / "preference_questions.parquet")

    counted = ("n", "won", "lost", "tied", "left_out")
    assert {metric: [row[one] for one in counted] for metric, row in told.items()} == {
        "Acc@1": [3, 1, 1, 1, 1], "P(s, g)": [3, 1, 1, 1, 1],
        "P(s-down, s-up)": [3, 1, 1, 1, 1], "P(s-updown, t)": [3, 3, 0, 0, 1],
    }  # fmt: skip
    assert kept["answers"].to_list() == ["won", "tied", "lost", "left out"]
    assert kept["node"].to_list() == ["painter", "cook", "painter", None]


@pytest.mark.skipif(not shutil.which("pdftotext"), reason="needs pdftotext")
def test_no_table_is_wider_than_the_printed_page(tmp_path: Path) -> None:
    made("entailment", TUPLES, "--out", tmp_path / "run")
    read = ["pdftotext", "-bbox", tmp_path / "run" / "report.pdf", "-"]
    told = subprocess.run(read, capture_output=True, text=True, check=True).stdout
    width = min(map(float, re.findall(r'<page width="([\d.]+)"', told)))

    assert max(map(float, re.findall(r'xMax="([\d.]+)"', told))) < width

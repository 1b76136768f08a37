"""``audit preference --out``: a run that is verified, compared and shown as any other."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from audit.cli.app import app
from audit.runs.schema import result_schema

EDGES = (
    "child,parent\nartist,person\npainter,artist\nmuralist,painter\nworker,person\ncook,worker\n"
)
ASKED = [("painter", "artist"), ("cook", "worker"), ("painter", "person"), ("unicorn", "artist")]
NONE = dict.fromkeys(["person", "artist", "painter", "muralist", "worker", "cook"], 0.0)
SCORED = [
    {"painter": 0.3, "artist": 0.2, "person": 0.1},
    {"cook": 0.2, "worker": 0.2},
    {"person": 0.4, "painter": 0.3},
]
SCHEMA = Draft202012Validator(result_schema())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("preference")
    (path / "edges.csv").write_text(EDGES)
    asked = [
        {"sub_label": f"S{row}", "obj_label": s, "obj2_label": g, "predicate_id": "P106"}
        for row, (s, g) in enumerate(ASKED)
    ]
    scored = [{"question": row, "scores": NONE | own} for row, own in enumerate(SCORED)]
    for name, rows in (("questions", asked), ("scores", scored)):
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert made(path, "--out", path / "run", "--no-pdf") == 0
    return path


def made(path: Path, *more: object) -> int:
    files = path / "scores.jsonl", "--questions", path / "questions.jsonl"
    arguments = ["preference", *files, "--hierarchy", path / "edges.csv", "--k", 1, *more]
    return CliRunner().invoke(app, [*map(str, arguments)]).exit_code


def test_a_run_has_the_metrics_and_what_each_question_says(folder: Path) -> None:
    shared = json.loads((folder / "run" / "result.json").read_bytes())
    assert list(SCHEMA.iter_errors(shared)) == []
    told = {row["metric"]: row for row in shared["preference"]["measured"]}
    assert {metric: (row["n"], row["won"], row["lost"], row["tied"], row["left_out"])
            for metric, row in told.items()} == {
        "Acc@1": (3, 1, 1, 1, 1), "P(s, g)": (3, 1, 1, 1, 1),
        "P(s-down, s-up)": (3, 1, 1, 1, 1), "P(s-updown, t)": (3, 3, 0, 0, 1),
    }  # fmt: skip
    assert [row["value"] for row in shared["metrics"]] == [row["value"] for row in told.values()]
    questions = pl.read_parquet(folder / "run" / "restricted" / "preference_questions.parquet")
    assert questions["answers"].to_list() == ["won", "tied", "lost", "left out"]
    assert questions["node"].to_list() == ["painter", "cook", "painter", None]


def test_a_comparison_tells_what_both_runs_share_of_each_metric(folder: Path) -> None:
    better = [{"painter": 0.3}, {"cook": 0.2}, {"painter": 0.3}] * 20
    asked = (folder / "questions.jsonl").read_text().splitlines()[:3] * 20
    (folder / "many.jsonl").write_text("".join(one + "\n" for one in asked))
    for name, scored in (("weak", SCORED * 20), ("strong", better)):
        lines = [
            json.dumps({"question": row, "scores": NONE | own}) for row, own in enumerate(scored)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
        arguments = [
            "preference", folder / f"{name}.jsonl", "--questions", folder / "many.jsonl",
            "--hierarchy", folder / "edges.csv", "--k", 1, "--out", folder / name, "--no-pdf",
            "--min-cell", 1,
        ]  # fmt: skip
        assert CliRunner().invoke(app, [*map(str, arguments)]).exit_code == 0
    sides = [str(folder / name) for name in ("weak", "strong")]
    done = CliRunner().invoke(app, ["compare", *sides, "--out", str(folder / "of_both")])
    assert done.exit_code == 0, done.output
    told = json.loads((folder / "of_both" / "comparison.json").read_bytes())
    apart = [row["name"] for row in told["measures"] if not row["low"] <= 0 <= row["high"]]
    assert apart == ["Acc@1", "P(s, g)", "P(s-down, s-up)"]


@pytest.mark.slow
def test_a_run_is_verified_compared_and_shown(folder: Path) -> None:
    assert made(folder, "--out", folder / "again", "--title", "Again") == 0
    assert made(folder, "--out", folder / "small", "--min-cell", 11) == 0
    for arguments in (
        ["verify", "run", "--recompute"],
        ["compare", "run", "small", "--out", "changes"],
        ["history", "run", "again", "--out", "history"],
    ):
        done = CliRunner().invoke(
            app, [one if one.startswith("-") or not at else str(folder / one)
                  for at, one in enumerate(arguments)],
        )  # fmt: skip
        assert done.exit_code == 0, done.output
    small = json.loads((folder / "small" / "result.json").read_bytes())["preference"]
    assert {row["value"] for row in small["measured"]} == {None}


def test_a_relation_is_of_a_wordnet(folder: Path) -> None:
    files = folder / "scores.jsonl", "--questions", folder / "questions.jsonl"
    arguments = ["preference", *files, "--hierarchy", folder / "edges.csv", "--relation", "holonym"]
    done = CliRunner().invoke(app, [*map(str, [*arguments, "--out", folder / "none"])])
    assert done.exit_code == 2
    assert not (folder / "none").exists()
    assert made(folder, "--out", folder / "run") == 2

"""`audit history` from runs to a folder: exit statuses, messages, and what is left behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from jsonschema import Draft202012Validator
from typer.testing import Result

from audit.base.files import sha256_of
from fixtures.commands import audit, refused
from fixtures.sealed_files import reseal

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "docs" / "history.schema.json").read_text("utf-8"))
)
EDGES = "child,parent\ndog,animal\ncow,animal\nhammer,tool\nanimal,thing\ntool,thing\n"


def audited(
    folder: Path,
    name: str,
    labels: list[str],
    hierarchy: str = "things.csv",
    title: str = "",
    edges: str = EDGES,
) -> Path:
    (folder / hierarchy).write_text(edges)
    lines = [f"i{place},{label}" for place, label in enumerate(labels)]
    (folder / f"{name}.csv").write_text("instance,label\n" + "\n".join(lines) + "\n")
    run = folder / name
    titled = ("--title", title) if title else ()
    options = ("--hierarchy", folder / hierarchy, "--out", run, "--no-pdf", *titled)
    assert audit("run", folder / f"{name}.csv", *options).exit_code == 0
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder = tmp_path_factory.mktemp("runs")
    clean = ["dog"] * 60 + ["cow"] * 60
    return (
        audited(folder, "first", clean),
        audited(folder, "second", [*clean, "dgo", "dgo"]),
        audited(folder, "third", [*clean, "dgo", "=2+2"]),
    )


def test_it_leaves_a_sealed_folder_and_a_table(runs: tuple[Path, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = audit("history", *runs, "--out", out)

    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "3 runs in the order of their times" in result.stdout
    tables = {f"{n}.{e}" for n in ("checks", "metrics", "findings") for e in ("csv", "parquet")}
    assert {path.name for path in out.iterdir()} == {
        "history.html", "history.json", "manifest.json", *tables,
    }  # fmt: skip
    manifest = json.loads((out / "manifest.json").read_text())
    assert [one["sha256"] for one in manifest["inputs"]] == [
        sha256_of(run / "result.json") for run in runs
    ]
    assert manifest["outputs"]["history.html"] == sha256_of(out / "history.html")
    checks = pl.read_parquet(out / "checks.parquet").filter(pl.col("check") == "unknown_code")
    found = checks.select(pl.sum_horizontal("error", "warning", "note")).to_series()
    assert found.to_list() == [0, 1, 1]


def test_the_same_runs_give_the_same_bytes(runs: tuple[Path, ...], tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert audit("history", *runs, "--out", tmp_path / name).exit_code == 0

    for path in (tmp_path / "a").iterdir():
        if path.name != "manifest.json":
            assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_json_prints_the_steps_alone(runs: tuple[Path, ...], tmp_path: Path) -> None:
    told = json.loads(
        audit("history", *runs[::-1], "--as-named", "--out", tmp_path / "h", "--json").stdout
    )

    assert [run["name"] for run in told["runs"]] == ["third", "second", "first"]
    steps = [(step["appeared"], step["disappeared"]) for step in told["steps"]]
    assert steps == [(0, 0), (0, 2)]


def test_an_earlier_history_is_replaced_only_when_asked(
    runs: tuple[Path, ...], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert audit("history", *runs, "--out", out).exit_code == 0

    assert "an earlier history" in refused(audit("history", *runs, "--out", out))
    assert audit("history", *runs, "--out", out, "--overwrite").exit_code == 0
    kept = (runs[0] / "result.json").read_bytes()
    assert "not a history" in refused(audit("history", *runs[1:], "--out", runs[0], "--overwrite"))
    assert (runs[0] / "result.json").read_bytes() == kept


def test_broken_input_is_refused_and_nothing_is_left(
    runs: tuple[Path, ...], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    other = audited(tmp_path, "other", ["oak"], edges="child,parent\noak,plant\nelm,plant\n")
    copy = Path(shutil.copytree(runs[0], tmp_path / "copy"))
    tampered = Path(shutil.copytree(runs[1], tmp_path / "tampered"))
    (tampered / "result.json").write_bytes((runs[0] / "result.json").read_bytes())
    cases = {
        "two runs or more": (runs[0],),
        "each run may be named only once": (runs[0], copy),
        "runs of one hierarchy": (*runs, other),
        "the folder of a run is required": (runs[0], tmp_path),
        "a run as it was sealed is required": (runs[0], tampered),
    }
    for message, named in cases.items():
        told = refused(audit("history", *named, "--out", out))
        assert message in told
        assert "Hint: " in told
        assert not out.exists()


def test_a_run_without_time_keeps_the_order_of_the_command(
    runs: tuple[Path, ...], tmp_path: Path
) -> None:
    undated = Path(shutil.copytree(runs[0], tmp_path / "undated"))
    manifest = json.loads((undated / "manifest.json").read_bytes())
    del manifest["started"]
    (undated / "manifest.json").write_text(json.dumps(manifest))
    reseal(undated)
    result = audit("history", runs[2], undated, runs[1], "--out", tmp_path / "out")

    assert result.exit_code == 0, result.stderr
    assert "in the order in which they are named" in result.stdout
    page = (tmp_path / "out" / "history.html").read_text("utf-8")
    assert "1 run of them has no time" in page


def test_a_history_validates_against_its_schema_and_a_wrong_one_does_not(
    runs: tuple[Path, ...], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert audit("history", *runs, "--out", out).exit_code == 0
    told = json.loads((out / "history.json").read_bytes())

    SCHEMA.validate(told)
    assert told["findings"]
    for part in ("runs", "steps", "checks", "findings"):
        lacking = {**told, part: [{}, *told[part][1:]]}
        assert not SCHEMA.is_valid(lacking)
    assert not SCHEMA.is_valid({**told, "beside": 1})


def test_verify_knows_a_history_and_what_changed_in_it(
    runs: tuple[Path, ...], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert audit("history", *runs, "--out", out).exit_code == 0
    whole = audit("verify", out, "--json")
    (out / "checks.csv").write_text("run\n")
    changed = audit("verify", out, "--json")
    shutil.copy(out / "history.json", out / "manifest.json")
    bare = audit("verify", out, "--json")

    assert whole.exit_code == 0, whole.output
    assert outcomes(whole) == {"files": "holds"}
    assert changed.exit_code == bare.exit_code == 1
    assert outcomes(changed) == {"files": "does not hold"}
    assert "changed: 'checks.csv'" in changed.stdout
    assert outcomes(bare)["files"] == "does not hold"


def test_titles_that_runs_were_given_name_them(tmp_path: Path) -> None:
    named = [
        audited(tmp_path, name, ["dog"] * length, title=title)
        for name, length, title in (("a", 60, "Spring"), ("b", 61, "Summer"), ("c", 62, ""))
    ]
    out = tmp_path / "out"
    assert audit("history", *named, "--out", out).exit_code == 0
    told = json.loads((out / "history.json").read_bytes())

    assert [run["title"] for run in told["runs"]] == ["Spring", "Summer", ""]
    assert told["title"] == "Summer"
    assert "Summer: history of audits" in (out / "history.html").read_text("utf-8")


def outcomes(result: Result) -> dict[str, str]:
    return {one["name"]: one["outcome"] for one in json.loads(result.stdout)["verdicts"]}


@pytest.mark.parametrize("whole", [None, 0, 1])
def test_a_comparison_of_shared_copies_is_the_history_of_what_both_say(
    runs: tuple[Path, ...], tmp_path: Path, whole: int | None
) -> None:
    copies = []
    for place, run in enumerate(runs[:2]):
        left_out = () if place == whole else ("restricted",)
        ignored = shutil.ignore_patterns(*left_out)
        copies.append(shutil.copytree(run, tmp_path / run.name, ignore=ignored))
    told = audit("compare", *copies, "--out", tmp_path / "changes", "--json")
    assert told.exit_code == 0, told.output
    both = audit("history", *runs[:2], "--as-named", "--out", tmp_path / "history", "--json")

    compared, history = json.loads(told.stdout), json.loads(both.stdout)
    assert {name: compared[name] for name in ("order", "runs", "steps")} == {
        name: history[name] for name in ("order", "runs", "steps")
    }
    assert "counts of nodes and pairs" in compared["not_compared"]
    shown = audit("compare", *copies, "--out", tmp_path / "changes", "--overwrite").stdout
    assert all(f"Not compared: {one}." in shown for one in compared["not_compared"])
    junit = tmp_path / "junit.xml"
    refused(audit("compare", *copies, "--out", tmp_path / "other", "--junit", junit))
    assert not junit.exists()
    assert not (tmp_path / "other").exists()

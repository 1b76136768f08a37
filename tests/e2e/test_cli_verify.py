"""``audit verify`` from a run to an exit status: what is told, and recomputation."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from fixtures.commands import audit
from fixtures.toy import EDGES

ROWS = ["a,dog", "a,cow", "b,dog", "c,tool", "c,bird", "d,cow", "d,cow", "e,unicorn", "f,pet"]
PREDICTED = ["a|dog", "b|dog|pet", "c|bird", "d|cow", "f|tool"]
POLICY = """
ratchet = true
[[waivers]]
check = "unknown_code"
owner = "Q. Owner"
reason = "agreed"
expires = 2999-01-01
"""


def write_rows(path: Path, rows: list[str]) -> None:
    path.write_text("\n".join(["instance,label", *rows]) + "\n")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with inputs, and with a run of each kind made of them."""
    place = tmp_path_factory.mktemp("audited")
    edges = "\n".join(",".join(edge) for edge in EDGES)
    (place / "toy.csv").write_text(f"child,parent\n{edges}\n")
    (place / "policy.toml").write_text(POLICY)
    (place / "again.toml").write_text(POLICY.replace("true", "false\nmax_findings = 1"))
    write_rows(place / "labels.csv", ROWS)
    (place / "predicted.psv").write_text("\n".join(PREDICTED) + "\n")
    of_data = ("run", place / "labels.csv", "--hierarchy", place / "toy.csv", "--no-pdf")
    of_model = ("--predictions", place / "predicted.psv", "--seed", 3, "--min-cell", 2)
    judged = ("--policy", place / "policy.toml", "--reference", place / "plain", "--no-pdf")
    for command in (
        (*of_data, "--out", place / "plain"),
        (*of_data, *of_model, *judged, "--out", place / "model"),
        (*of_data, *of_model, *judged, "--out", place / "judged"),
        ("judge", place / "judged", "--overwrite", "--policy", place / "again.toml", "--no-pdf"),
    ):
        done = audit(*command)
        assert done.exit_code == 0, done.output
    return place


def verdicts(result: Result) -> dict[str, dict[str, str]]:
    told: dict[str, Any] = json.loads(result.stdout)
    return {verdict["name"]: verdict for verdict in told["verdicts"]}


# --- what is told -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_as_written_holds(audited: Path) -> None:
    done = audit("verify", audited / "plain")

    assert done.exit_code == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len([line for line in lines if line.startswith(("holds", "not checked"))]) == 10
    assert "not asked for; add --recompute" in done.stdout


def test_json_says_the_same(audited: Path) -> None:
    done = audit("verify", audited / "plain", "--json")
    told = json.loads(done.stdout)

    assert (told["run"], told["holds"]) == (str(audited / "plain"), True)
    assert [set(verdict) for verdict in told["verdicts"]] == [{"name", "outcome", "detail"}] * 10


def test_what_does_not_hold_is_listed_and_exits_1(audited: Path, tmp_path: Path) -> None:
    run = shutil.copytree(audited / "plain", tmp_path / "run")
    with (run / "report.html").open("ab") as report:
        report.write(b" ")
    done = audit("verify", run)

    assert done.exit_code == 1
    assert "changed: 'report.html'" in done.stdout
    assert json.loads(audit("verify", run, "--json").stdout)["holds"] is False


def test_a_run_rendered_again_holds(audited: Path, tmp_path: Path) -> None:
    run = shutil.copytree(audited / "plain", tmp_path / "run")
    assert audit("report", run, "--no-pdf").exit_code == 0

    assert audit("verify", run).exit_code == 0


def test_a_newer_schema_is_one_message(audited: Path, tmp_path: Path) -> None:
    run = shutil.copytree(audited / "plain", tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    (run / "manifest.json").write_text(json.dumps({**manifest, "schema_version": "99.0"}))
    done = audit("verify", run)

    assert (done.exit_code, done.stdout) == (2, "")
    assert "'99.0'" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_no_run_exits_2(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        done = audit("verify", folder)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "the folder of a run is required" in done.stderr


def test_data_goes_with_recompute(audited: Path) -> None:
    done = audit("verify", audited / "plain", "--data", audited / "labels.csv")

    assert done.exit_code == 2
    assert "--data needs --recompute" in done.stderr


# --- recomputation ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "model", "judged"])
def test_unchanged_inputs_give_the_same_bytes(
    audited: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "32503680000")  # the year 3000: no waiver holds then
    done = audit("verify", audited / name, "--recompute", "--json")

    assert done.exit_code == 0, done.stdout
    assert verdicts(done)["inputs"]["outcome"] == "not checked"
    assert verdicts(done)["recomputation"]["outcome"] == "holds"


def test_settings_hold_from_any_folder(
    audited: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(audited)
    made = audit("run", "labels.csv", "--hierarchy", "toy.csv", "--no-pdf", "--out", tmp_path / "r")
    assert made.exit_code == 0, made.output
    monkeypatch.chdir(tmp_path)

    assert audit("verify", "r", "--recompute").exit_code == 0


ROLES = {"data": "labels.csv", "hierarchy": "toy.csv", "predictions": "predicted.psv"}
ROLES |= {"policy": "policy.toml", "reference": "plain/result.json"}


@pytest.mark.parametrize("role", ROLES)
def test_a_changed_input_is_told(audited: Path, role: str) -> None:
    path = audited / ROLES[role]
    before = path.read_bytes()
    path.write_bytes(before + b"\n")
    try:
        done = audit("verify", audited / "model", "--recompute", "--json")
    finally:
        path.write_bytes(before)

    assert done.exit_code == 1
    assert f"{role} changed: {path}" in verdicts(done)["inputs"]["detail"]
    assert verdicts(done)["recomputation"]["outcome"] == "not checked"


def test_a_dataset_that_moved_is_found_where_it_lies_now(audited: Path, tmp_path: Path) -> None:
    labels = audited / "labels.csv"
    moved = labels.rename(tmp_path / "elsewhere.csv")
    try:
        lost = audit("verify", audited / "plain", "--recompute")
        found = audit("verify", audited / "plain", "--recompute", "--data", moved)
        write_rows(tmp_path / "other.csv", ["a,dog"])
        other = audit("verify", audited / "plain", "--recompute", "--data", tmp_path / "other.csv")
    finally:
        moved.rename(labels)

    assert lost.exit_code == 1
    assert "data is not there" in lost.stdout
    assert found.exit_code == 0, found.stdout
    assert other.exit_code == 1
    assert "data changed" in other.stdout


def test_other_rows_of_a_database_are_told_and_so_is_one_that_is_gone(
    audited: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("base.db") as made:
        made.execute("CREATE TABLE tag AS SELECT 1 AS id, 'dog' AS label")
    of_table = ("run", "sqlite:///base.db", "--table", "tag", "--hierarchy", audited / "toy.csv")
    assert audit(*of_table, "--no-pdf", "--out", "run").exit_code == 0
    with sqlite3.connect("base.db") as made:
        made.execute("INSERT INTO tag VALUES (1, 'dog')")
    other = verdicts(audit("verify", "run", "--recompute", "--json"))["inputs"]
    Path("base.db").unlink()
    gone = verdicts(audit("verify", "run", "--recompute", "--json"))["inputs"]

    assert other["outcome"] == "does not hold"
    assert "other rows" in other["detail"]
    assert gone["outcome"] == "not checked"
    assert "database is needed" in gone["detail"]


@pytest.mark.slow
def test_a_folder_that_moved_is_found_where_it_lies_now(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    data, moved = tmp_path / "release", tmp_path / "moved"
    data.mkdir()
    for path in (root / "sample_data" / "release_1").iterdir():
        first = path.read_text("utf-8").splitlines(keepends=True)[:60]
        (data / path.name).write_text("".join(first), "utf-8")
    made = audit("run", data, "--hierarchy", "icd9cm", "--no-pdf", "--out", tmp_path / "run")
    assert made.exit_code == 0, made.output
    data.rename(moved)
    done = audit("verify", tmp_path / "run", "--recompute", "--data", moved, "--json")

    assert done.exit_code == 0, done.stdout
    assert verdicts(done)["recomputation"]["outcome"] == "holds"


def test_a_finding_edited_throughout_is_found_by_recomputation(
    audited: Path, tmp_path: Path
) -> None:
    """Somebody who can write tables and reports that agree cannot change the inputs."""
    from dataclasses import replace
    from datetime import UTC, datetime

    from audit.runs.folder import write_run
    from audit.runs.manifest import seal
    from audit.runs.read import read_run

    run = read_run(audited / "plain")
    manifest = json.loads((audited / "plain" / "manifest.json").read_bytes())
    edited = replace(run, ledger={**run.ledger, "rows_read": 10})
    forged = write_run(edited, tmp_path / "forged")
    seal(forged, edited, command=[], started=datetime.now(UTC), settings=manifest["settings"])
    done = audit("verify", forged, "--recompute", "--json")

    assert done.exit_code == 1
    assert verdicts(done)["tables"]["outcome"] == "holds"
    assert verdicts(done)["recomputation"]["outcome"] == "does not hold"
    assert verdicts(done)["recomputation"]["detail"].endswith(": other ledger")


def test_another_result_of_another_version_is_told_with_both(audited: Path, tmp_path: Path) -> None:
    from dataclasses import replace
    from datetime import UTC, datetime

    from audit.runs.folder import write_run
    from audit.runs.manifest import seal
    from audit.runs.read import read_run

    run = read_run(audited / "plain")
    manifest = json.loads((audited / "plain" / "manifest.json").read_bytes())
    tool = {**run.identity["tool"], "version": "0.0.1"}
    earlier = replace(run, identity={**run.identity, "tool": tool})
    written = write_run(earlier, tmp_path / "earlier")
    seal(written, earlier, command=[], started=datetime.now(UTC), settings=manifest["settings"])
    done = audit("verify", written, "--recompute", "--json")

    detail = verdicts(done)["recomputation"]["detail"]
    assert detail.endswith(f"(written by 0.0.1, checked by {run.identity['tool']['version']})")

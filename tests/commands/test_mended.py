"""From finding to fix by the command line: propose, decide, apply, audit again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.doors import command

LABELS = [
    *((f"r{n}", code) for n in range(40) for code in ("250.00", "401.9", "427.31")),
    *((f"r{n}", "8.45") for n in (2, 5, 6, 7, 8)),
    *(("r1", "250"), ("r3", "4O1.9"), ("r4", "999.99.9")),
    *((f"r{n}", "008.45") for n in range(9, 40)),
]


def audit(*arguments: object, exits: int = 0) -> str:
    done = command(*arguments, COLUMNS="200")
    assert done.exit_code == exits, done.output
    return done.output


def run(data: Path, out: Path, *options: object) -> Path:
    kept = ("--out", out, "--no-pdf", "--keep-instances", "--min-cell", 1, *options)
    audit("run", data, "--hierarchy", "icd9cm", *kept)
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fixes")
    rows = [("id", "label"), *LABELS]
    (folder / "labels.csv").write_text("".join(f"{a},{b}\n" for a, b in rows), "utf-8")
    run(folder / "labels.csv", folder / "run")
    audit("fixes", folder / "run", "--csv", folder / "sheet.csv")
    return folder


def mended(made: Path, folder: Path, *options: object) -> Path:
    """A run on a copy in which what is certain is mended."""
    audit("apply", made / "run", "--certain", "--out", folder / "copy.csv")
    changes = ("--changes", folder / "copy.csv.changes.json")
    return run(folder / "copy.csv", folder / "new", "--reference", made / "run", *changes, *options)


@pytest.fixture(scope="module")
def again(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the copy and its run, which fails where what was mended comes back."""
    folder = tmp_path_factory.mktemp("again")
    (folder / "policy.toml").write_text('ratchet = "mended"\n', "utf-8")
    mended(made, folder, "--policy", folder / "policy.toml", "--fail-on", "error")
    return folder


def status(run: Path, check: str) -> str:
    checks = json.loads((run / "result.json").read_text("utf-8"))["checks"]
    return next(str(one["status"]) for one in checks if one["name"] == check)


@pytest.mark.slow
def test_a_run_on_the_copy_tells_what_was_mended(again: Path) -> None:
    new = again / "new"
    log = json.loads((again / "copy.csv.changes.json").read_text("utf-8"))["changes"]
    exact = Counter(one["finding"] for one in log)
    told = json.loads((new / "result.json").read_text("utf-8"))["mended"]
    assert {one["id"]: one["became"] for one in told["findings"]} == dict.fromkeys(exact, "gone")
    records = {one["id"]: one["records"] for one in told["findings"]}
    assert records == exact
    assert told["decisions"] == [{"decision": "certain", "by": "", "records": len(log)}]
    assert "What was mended" in (new / "report.html").read_text("utf-8")
    audit("verify", new, "--recompute")


def _of_another_run(folder: Path, log: dict[str, Any]) -> None:
    log["run"] = "0" * 64


def _another_finding(folder: Path, log: dict[str, Any]) -> None:
    log["changes"][0]["finding"] = "none:of:it"


def _changed_copy(folder: Path, log: dict[str, Any]) -> None:
    with (folder / "copy.csv").open("a", encoding="utf-8") as stream:
        stream.write("r9,401.9\n")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_of_another_run, "a log of changes to the data of the reference"),
        (_another_finding, "changes that the reference proposes"),
        (_changed_copy, "the copy as `audit apply` wrote it"),
        (lambda _, log: log.clear(), "a log as `audit apply` wrote it"),
    ],
)
def test_a_log_that_does_not_fit_is_refused(
    damage: Callable[[Path, dict[str, Any]], None], said: str, made: Path, tmp_path: Path
) -> None:
    audit("apply", made / "run", "--certain", "--out", tmp_path / "copy.csv")
    log = tmp_path / "copy.csv.changes.json"
    content = json.loads(log.read_text("utf-8"))
    damage(tmp_path, content)
    log.write_text(json.dumps(content), "utf-8")
    command = ("run", tmp_path / "copy.csv", "--hierarchy", "icd9cm", "--out", tmp_path / "new")

    told = audit(*command, "--reference", made / "run", "--changes", log, exits=2)

    assert said in told
    assert "--reference RUN" in audit(*command, "--changes", log, exits=2)
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_what_was_mended_and_comes_back_is_an_error(
    made: Path, again: Path, tmp_path: Path
) -> None:
    audit(
        *("run", made / "labels.csv", "--hierarchy", "icd9cm", "--no-pdf"),
        *("--policy", again / "policy.toml", "--fail-on", "error", "--reference", again / "new"),
        *("--out", tmp_path / "back"),
        exits=1,
    )

    assert status(tmp_path / "back", "lost_zero") == "fail"
    for never_mended in ("parent_and_child", "malformed_code"):
        assert status(tmp_path / "back", never_mended) == "note"

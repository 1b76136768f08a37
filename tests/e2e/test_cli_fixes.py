"""From finding to fix by the command line: propose, decide, apply, audit again."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from audit.cli.app import app

LABELS = [
    *((f"r{n}", code) for n in range(40) for code in ("250.00", "401.9", "427.31")),
    *((f"r{n}", "8.45") for n in (2, 5, 6, 7, 8)),
    *(("r1", "250"), ("r3", "4O1.9"), ("r4", "999.99.9")),
    *((f"r{n}", "008.45") for n in range(9, 40)),
]


def audit(*arguments: object, exits: int = 0) -> str:
    done = CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})
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


def rows_of(sheet: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(sheet.read_text("utf-8").splitlines()))


def written(rows: list[dict[str, str]], sheet: Path) -> Path:
    with sheet.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return sheet


def status(run: Path, check: str) -> str:
    checks = json.loads((run / "result.json").read_text("utf-8"))["checks"]
    return next(str(one["status"]) for one in checks if one["name"] == check)


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


@pytest.mark.parametrize("sheets", [150, pytest.param(3_000, marks=pytest.mark.slow)])
def test_random_sheets_are_refused_or_applied_whole(
    sheets: int, made: Path, tmp_path: Path
) -> None:
    from audit.base.errors import AuditError
    from audit.runs.fixes.corrected import corrected
    from audit.runs.fixes.corrections import data_of
    from audit.runs.fixes.sheet import Proposals, decided, read_sheet
    from audit.runs.fixes.table_files import open_tables
    from audit.runs.read import read_run

    draws, rows = random.Random(sheets), rows_of(made / "sheet.csv")
    proposals, (settings, labels) = Proposals(read_run(made / "run")), data_of(made / "run")
    (opened,) = open_tables(labels, settings)
    sheet, applied = tmp_path / "sheet.csv", 0
    for _ in range(sheets):
        written(drawn_sheet(draws, rows), sheet)
        if draws.random() < 0.1:
            sheet.write_bytes(damaged(draws, sheet.read_bytes()))
        try:
            read = read_sheet(sheet)
            changes = decided(proposals, read, sheet, labels.hierarchy)
            (table,) = corrected([opened], changes)
        except AuditError:
            continue
        assert len(changes) == sum(one.lower() not in ("", "reject") for one in decisions(read))
        held = {f"{one},{label}" for one, label in table.iter_rows() if label}
        assert held == labels_after(changes)
        applied += 1
    assert sheets // 10 < applied < sheets


def drawn_sheet(draws: random.Random, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Decisions of any kind on some rows, in any order, of which a few are of other sheets."""
    own = [dict(row) for row in draws.sample(rows, draws.randint(1, len(rows)))]
    usual = ["", "accept", "reject", "remove", "other: 401.9", "other: 250.01", " Accept"]
    words = usual if draws.random() < 0.8 else [*usual, "?", "other:", "other: no code"]
    looked_at = ["", "reject", "remove", "other: 401.1"]
    for row in own:
        row["decision"] = draws.choice(looked_at if row["change"] == "review" else words)
    for _ in range(draws.choice([0] * 5 + [1])):
        row = draws.choice(own)
        row[draws.choice(list(row))] = draws.choice(["", "0", "x", "\x00", "-1", "r1", "\ufffd"])
    return own + ([draws.choice(own)] if draws.random() < 0.1 else [])


def damaged(draws: random.Random, data: bytes) -> bytes:
    """Bytes that are cut, or of which some are others."""
    place = draws.randrange(len(data))
    return draws.choice([data[:place], data[:place] + draws.randbytes(3) + data[place:], b""])


def decisions(sheet: Any) -> list[str]:
    return [one.strip() for one in sheet["decision"].to_list()]


def labels_after(changes: list[Any]) -> set[str]:
    """The rows that are left of the labels, as plain sets have them."""
    held = {(one, label) for one, label in LABELS}
    gone = {(one.instance, one.label) for one in changes if one.label and not one.keep}
    new = {(one.instance, one.new) for one in changes if one.new}
    return {f"{one},{label}" for one, label in (held - gone) | new}

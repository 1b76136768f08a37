"""``audit verify``: it holds for what was written, and names what is not as it was."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import audit
from fixtures.doors import command, made, refused
from fixtures.held import held, read_json, sha256
from fixtures.small_release import options

STEPS = ("files", "restricted", "tables", "inputs", "recomputation", "reports")
FAILS = "does not hold"
RUNS = ("first", "second_grouped", "second_modelled", "second_referred")


def outcomes(*words: object, status: int = 0) -> dict[str, str]:
    """What each step found, from the summary for machines."""
    told = json.loads(made("verify", *words, "--json", status=status))
    assert told["holds"] == (status == 0)
    assert told["run"] == str(words[0])
    return {one["name"]: one["outcome"] for one in told["verdicts"]}


def resealed(run: Path) -> None:
    """Both manifests as somebody would write them who changed a file."""
    for at, own in (("restricted/", "restricted/manifest.json"), ("", "manifest.json")):
        file = run / own
        said = read_json(file)
        names = [one for one in held(run) if one.startswith("restricted/") == bool(at)]
        own_files = (name for name in names if not name.endswith("manifest.json"))
        said["outputs"] = {name: sha256((run / name).read_bytes()) for name in own_files}
        rest = {name: value for name, value in said.items() if name != "seal"}
        written = json.dumps(rest, ensure_ascii=False, indent=1) + "\n"
        rest["seal"] = sha256(written.encode())
        file.write_text(json.dumps(rest, ensure_ascii=False, indent=1) + "\n", "utf-8")


@pytest.mark.parametrize("name", RUNS)
def test_a_fresh_run_holds(small: Path, name: str) -> None:
    found = outcomes(small / name)

    assert [*found] == [*STEPS]
    assert [*found.values()] == ["holds"] * 3 + ["not checked"] * 3
    verdicts = audit.verify_run(small / name)
    assert [(one.name, one.outcome) for one in verdicts] == [*found.items()]
    digest = f"result.json {sha256((small / name / 'result.json').read_bytes())[:12]}"
    assert digest in verdicts[0].detail


def test_a_run_that_is_made_again_gives_the_same(small: Path) -> None:
    found = outcomes(small / "second_modelled", "--recompute")

    assert [*found.values()] == ["holds"] * len(STEPS)


def test_data_that_moved_are_found_where_they_are(small: Path, tmp_path: Path) -> None:
    (tmp_path / "was").mkdir()
    data = shutil.copy(small / "first.csv", tmp_path / "was" / "data.csv")
    made("run", data, *options(small, tmp_path / "run"))
    moved = tmp_path / "moved.csv"
    shutil.move(data, moved)

    assert outcomes(tmp_path / "run", "--recompute", status=1)["inputs"] == FAILS
    found = outcomes(tmp_path / "run", "--recompute", "--data", moved)
    assert found["recomputation"] == "holds"
    with moved.open("a") as stream:
        stream.write("i000,dog,p000,south\n")
    changed = outcomes(tmp_path / "run", "--recompute", "--data", moved, status=1)
    assert changed["inputs"] == FAILS
    assert changed["recomputation"] == "not checked"


def failing(run: Path) -> str:
    """What does not hold of a run, in all words that are said of it."""
    return " ".join(one.detail for one in audit.verify_run(run) if one.outcome == FAILS)


def test_a_changed_byte_of_any_file_is_noticed_and_the_file_is_named(
    small: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(small / "second_referred", run)
    for number, (name, content) in enumerate(held(run).items()):
        at = (0, len(content) // 2, len(content) - 1)[number % 3]
        (run / name).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert name in failing(run)
        (run / name).write_bytes(content)
    assert failing(run) == ""


def test_a_missing_or_added_file_is_noticed_and_named(small: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(small / "first", run)
    for name, content in held(run).items():
        (run / name).unlink()
        assert name in failing(run)
        (run / name).write_bytes(content)
    for added in ("notes.txt", "restricted/notes.txt", "restricted/counts/notes.txt"):
        (run / added).parent.mkdir(exist_ok=True)
        (run / added).write_text("mine")
        assert added in failing(run)
        (run / added).unlink()


def changed(run: Path, table: str, **columns: pl.Expr) -> None:
    """Write other columns into a table of a run."""
    file = run / "restricted" / f"{table}.parquet"
    pl.read_parquet(file).with_columns(**columns).write_parquet(file)


def another_count(run: Path) -> None:
    mammals = pl.col("node") == "mammal"
    changed(run, "nodes", support=pl.when(mammals).then(199).otherwise("support"))


def another_pair(run: Path) -> None:
    changed(run, "pairs", joint=pl.col("joint") + 300)


def another_title(run: Path) -> None:
    changed(run, "nodes", title=pl.col("title").str.replace("Dog", "Hound"))


def another_sentence(run: Path) -> None:
    page = run / "report.html"
    page.write_text(page.read_text("utf-8").replace("34 of 36", "33 of 36"), "utf-8")


def another_ledger(run: Path) -> None:
    file = run / "result.json"
    file.write_text(file.read_text("utf-8").replace('"rows_read": 365', '"rows_read": 366'))


FORGED: dict[Callable[[Path], None], set[str]] = {
    another_count: {"tables"},
    another_pair: {"tables"},
    another_title: {"tables"},
    another_sentence: {"reports"},
    another_ledger: {"recomputation", "reports", "tables"},
}
"""What somebody may change who seals it anew, and the steps that notice with the data."""


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_what_is_sealed_anew_is_not_what_the_data_give(
    small: Path, tmp_path: Path, forge: Callable[[Path], None]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(small / "second", run)
    resealed(run)
    assert not [one for one in audit.verify_run(run) if one.outcome == FAILS]

    forge(run)
    resealed(run)
    found = outcomes(run, "--recompute", status=1)

    assert found["files"] == "holds"
    assert {step for step, outcome in found.items() if outcome == FAILS} == FORGED[forge]


def test_a_comparison_is_verified_too(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "compared"
    made("compare", *(small / name for name in ("first", "second")), "--out", out)
    assert outcomes(out)["files"] == "holds"
    with (out / "comparison.json").open("a") as stream:
        stream.write(" ")
    assert outcomes(out, status=1)["files"] == FAILS


def test_what_cannot_be_verified_is_refused(small: Path, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "absent", small / "first.csv"):
        refused("verify", place)
    assert command("verify").exit_code == 2
    assert held(tmp_path) == {}


def test_verifying_changes_nothing(small: Path, tmp_path: Path) -> None:
    before = held(small / "first")
    made("verify", small / "first", "--recompute", "--quiet")

    assert held(small / "first") == before


def test_a_changed_run_is_not_read(small: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(small / "first", run)
    with (run / "restricted" / "policy.json").open("a") as stream:
        stream.write(" ")

    with pytest.raises(audit.AuditError):
        audit.read_run(run)
    assert "policy.json" in refused("cases", run)
    assert audit.read_run(run, unsealed=True).ledger["instances"] == 200

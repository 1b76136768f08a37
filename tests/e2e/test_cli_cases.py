"""`audit cases` from a run to ids on standard output or in a file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

from fixtures.commands import audit, refused

NAMES = ("Ada-17", "Ben-23", "Cem-31", "Dot-47", "Eve-59", "Fay-61")
LABELS = (
    (0, "dog"), (0, "cow"), (1, "dog"), (2, "tool"), (2, "bird"), (3, "cow"), (3, "cow"),
    (4, "unicorn"), (5, "pet"), (5, "gnome"),
)  # fmt: skip


def audited(toy_files: tuple[Path, Path], out: Path, *options: object) -> Path:
    labels, hierarchy = toy_files
    rows = "".join(f"{NAMES[who]},{label}\n" for who, label in LABELS)
    labels.write_text(f"instance,label\n{rows}")
    done = audit("run", labels, "--hierarchy", hierarchy, "--out", out, "--no-pdf", *options)
    assert done.exit_code == 0, done.output
    return out


@pytest.fixture
def run(toy_files: tuple[Path, Path], tmp_path: Path) -> Path:
    return audited(toy_files, tmp_path / "run")


def ids(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout.splitlines()


def test_findings_are_listed_with_their_ids_and_cases(run: Path) -> None:
    lines = ids(audit("cases", run))
    findings = pl.read_parquet(run / "restricted" / "findings.parquet")["id"].to_list()

    assert [line.strip() for line in lines if line.strip() in findings] == findings
    assert lines[:2] == ["error  unknown_code  2 cases", "unknown_code:refused"]
    assert lines[2].startswith("  2 of 10 rows (20.0%) have 2 labels")


def test_the_cases_of_a_finding_are_ids_and_nothing_else(run: Path) -> None:
    assert ids(audit("cases", run, "unknown_code:refused")) == ["Eve-59", "Fay-61"]
    assert ids(audit("cases", run, "duplicates:labels")) == ["Dot-47"]


def test_all_or_one_go_to_a_file(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    assert ids(audit("cases", run, "--csv", file)) == [f"Cases: {file}"]
    every = pl.read_csv(file).rows()
    assert every == pl.read_parquet(run / "restricted" / "cases.parquet").rows()

    assert "--overwrite" in refused(audit("cases", run, "unknown_code:refused", "--csv", file))
    assert pl.read_csv(file).rows() == every
    ids(audit("cases", run, "unknown_code:refused", "--csv", file, "--overwrite"))
    assert file.read_text() == (
        "finding,instance\nunknown_code:refused,Eve-59\nunknown_code:refused,Fay-61\n"
    )


def test_mistakes_are_told(run: Path, tmp_path: Path) -> None:
    assert "nearest: unknown_code:refused" in refused(audit("cases", run, "unknown_code:refuse"))
    assert "FINDING or --csv" in refused(audit("cases", run, "--sample", 3))
    assert "needs --csv" in refused(audit("cases", run, "--overwrite"))
    assert "nothing there" in refused(audit("cases", tmp_path / "none"))
    (run / "restricted" / "cases.parquet").unlink()
    assert "missing: 'restricted/cases.parquet'" in refused(audit("cases", run))


def test_a_run_that_was_only_counted_has_none(toy_files: tuple[Path, Path], tmp_path: Path) -> None:
    counted = audited(toy_files, tmp_path / "run", "--memory", "1GB")

    assert not (counted / "restricted" / "cases.parquet").exists()
    assert "only counted" in refused(audit("cases", counted))


def test_what_is_shared_names_no_instance(run: Path) -> None:
    for name in ("result.json", "report.html", "manifest.json"):
        text = (run / name).read_text("utf-8")
        assert [who for who in NAMES if who in text] == []
    assert "cases" not in json.loads((run / "result.json").read_text("utf-8"))


def test_they_are_sealed_and_kept_where_a_run_is_judged_again(run: Path, tmp_path: Path) -> None:
    before = (run / "restricted" / "cases.parquet").read_bytes()
    policy = tmp_path / "policy.toml"
    policy.write_text('[severities]\nunknown_code = "note"\n')

    assert audit("report", run, "--overwrite", "--policy", policy, "--no-pdf").exit_code == 0
    assert (run / "restricted" / "cases.parquet").read_bytes() == before
    assert audit("verify", run).exit_code == 0
    assert ids(audit("cases", run, "unknown_code:refused")) == ["Eve-59", "Fay-61"]
    other = pl.read_parquet(run / "restricted" / "cases.parquet")
    other.head(1).write_parquet(run / "restricted" / "cases.parquet")
    verified = audit("verify", run)
    assert verified.exit_code == 1
    assert "cases.parquet" in verified.stdout


def test_a_finding_without_instances_has_no_lines(run: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[[waivers]]\ncheck = "lost_zero"\nowner = "Ada"\nreason = "So."\nexpires = 2000-01-01\n'
    )
    assert audit("report", run, "--overwrite", "--policy", policy, "--no-pdf").exit_code == 0
    (expired,) = [
        one.strip() for one in ids(audit("cases", run)) if one.strip().startswith("waiver_e")
    ]

    assert ids(audit("cases", run, expired)) == []


def test_a_comparison_holds_no_cases(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "later")
    out = tmp_path / "changes"

    assert audit("compare", run, tmp_path / "later", "--out", out).exit_code == 0
    assert not (out / "restricted" / "cases.parquet").exists()


def test_records_stand_with_their_labels_those_behind_the_finding_apart(
    toy_files: tuple[Path, Path], tmp_path: Path
) -> None:
    answers = tmp_path / "answers.csv"
    answers.write_text("instance,label\nAda-17,cow\nBen-23,bird\n")
    kept = audited(toy_files, tmp_path / "kept", "--keep-instances", "--predictions", answers)
    ids(audit("cases", kept, "--csv", tmp_path / "cases.csv"))
    told = pl.read_csv(tmp_path / "cases.csv").with_columns(pl.col(pl.String).fill_null(""))
    titles = {"dog": "Dog (dog)"} if "Dog (dog)" in "".join(told["labels"]) else {}

    def written(who: str) -> set[str]:
        return {titles.get(label, label) for name, label in LABELS if NAMES[name] == who}

    assert told.columns[2:] == ["labels", "others", "answers", "other_answers"]
    for row in told.iter_rows(named=True):
        behind, others = (set(filter(None, row[n].split("; "))) for n in ("labels", "others"))
        assert behind.isdisjoint(others)
        assert behind | others == written(row["instance"])
    unknown = told.filter(pl.col("finding") == "unknown_code:refused")
    assert unknown["labels"].to_list() == ["unicorn", "gnome"]
    assert unknown["others"].to_list() == ["", "pet"]

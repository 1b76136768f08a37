"""``audit report``: the reports of a run are made again from what it holds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import audit
from fixtures.doors import made, refused
from fixtures.held import held, read_json, sha256


def test_a_report_is_made_again_and_all_else_stays(small: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(small / "first", tmp_path / "run"))
    before = held(run)
    made("report", run, "--no-pdf", "--quiet")
    after = held(run)

    assert {name for name in before if before[name] != after.get(name)} <= {"manifest.json"}
    assert before.keys() == after.keys()
    assert not [one for one in audit.verify_run(run) if one.outcome == "does not hold"]


def test_a_foreign_report_is_no_report_of_the_run(small: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(small / "first", tmp_path / "run"))
    (run / "report.html").write_text("mine")
    before = held(run)

    refused("report", run, "--no-pdf")
    assert held(run) == before


def test_a_run_that_python_wrote_gets_its_report(small: Path, tmp_path: Path) -> None:
    run = audit.write_run(audit.read_run(small / "first"), tmp_path / "run")
    assert not (run / "report.html").exists()
    made("report", run, "--no-pdf", "--quiet")
    outputs = read_json(run / "manifest.json")["outputs"]

    assert outputs["report.html"] == sha256((run / "report.html").read_bytes())
    assert (run / "result.json").read_bytes() == (small / "first" / "result.json").read_bytes()


def test_exact_reports_are_restricted_sealed_and_kept(small: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(small / "first", tmp_path / "run"))
    before = held(run)
    made("report", run, "--exact", "--no-pdf", "--quiet")
    page = (run / "restricted" / "exact.html").read_text("utf-8")

    assert page.count("Exact numbers: for those who may see the records") == 1
    listed = {"restricted/exact.html", "restricted/manifest.json"}
    assert {name for name, held_ in held(run).items() if before.get(name) != held_} == listed
    for again in (("--no-pdf",), ("--exact", "--no-pdf")):
        made("report", run, *again, "--quiet")
        assert (run / "restricted" / "exact.html").read_text("utf-8") == page
        assert not [one for one in audit.verify_run(run) if one.outcome == "does not hold"]
    (run / "restricted" / "exact.html").unlink()
    made("report", run, "--exact", "--no-pdf", "--quiet")
    assert not [one for one in audit.verify_run(run) if one.outcome == "does not hold"]


def test_a_run_that_is_judged_again_has_no_exact_reports_of_before(
    small: Path, tmp_path: Path
) -> None:
    run, policy = Path(shutil.copytree(small / "first", tmp_path / "run")), tmp_path / "ours.toml"
    policy.write_text("# Ours.\n")
    made("report", run, "--exact", "--no-pdf", "--quiet")
    refused("report", run, "--exact", "--policy", policy)
    made("report", run, "--policy", policy, "--out", tmp_path / "new", "--no-pdf", "--quiet")

    assert not (tmp_path / "new" / "restricted" / "exact.html").exists()
    assert not [one for one in audit.verify_run(tmp_path / "new") if one.outcome == "does not hold"]


WAIVED = """
[[waivers]]
check = "unknown_code"
owner = "Office"
reason = "Elves are handled by hand."
expires = {day}
"""


def judged(small: Path, folder: Path, text: str) -> Path:
    """The first release as another policy judges it."""
    policy, out = folder / "other.toml", folder / "judged"
    policy.write_text(text)
    given = ("--policy", policy, "--out", out, "--no-pdf", "--quiet")
    made("report", small / "first", *given)
    return out


def test_what_a_policy_leaves_out_stays_as_the_run_was_made(small: Path, tmp_path: Path) -> None:
    before = read_json(small / "first" / "result.json")
    out = judged(small, tmp_path, "max_findings = 7")
    after = read_json(out / "result.json")

    assert after["policy"] == {**before["policy"], "max_findings": 7, "name": "other"}
    names = (sorted(one["name"] for one in each["checks"]) for each in (before, after))
    assert len({*map(tuple, names)}) == 1
    roles = [one["role"] for one in read_json(out / "manifest.json")["inputs"]]
    assert roles.count("policy") == 1
    outcomes = {one.name: one.outcome for one in audit.verify_run(out, recompute=True)}
    assert outcomes.pop("reports") == "not checked"
    assert {*outcomes.values()} == {"holds"}


@pytest.mark.parametrize(("day", "expired"), [("9999-01-01", False), ("2001-01-01", True)])
def test_a_waiver_counts_until_its_day(
    small: Path, tmp_path: Path, day: str, expired: bool
) -> None:
    shared = read_json(judged(small, tmp_path, WAIVED.format(day=day)) / "result.json")
    checks = {check["name"]: check["findings"] for check in shared["checks"]}

    assert [one["expired"] for one in shared["waivers"]] == [expired]
    assert bool(checks["waiver_expired"]) is expired
    assert {one["waiver"] is None for one in checks["unknown_code"]} == {expired}


def test_a_judged_run_leaves_a_second_name_of_its_files_alone(small: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(small / "first", tmp_path / "run"))
    copy = Path(shutil.copytree(run, tmp_path / "copy", copy_function=os.link))
    before = held(copy)
    (tmp_path / "other.toml").write_text('[severities]\nunknown_code = "error"\n')
    given = ("--policy", tmp_path / "other.toml", "--overwrite", "--no-pdf", "--quiet")
    made("report", run, *given)

    assert held(run) != held(copy) == before


@pytest.mark.parametrize(
    "text",
    [
        "surprise = 1",
        "ratchet = true",
        "residual_nodes = ['cow']",
        "ratchet = = 1",
        "[severities]\nno_such = 'note'",
        "[[waivers]]\ncheck = '*'\nowner = 'o'\nreason = 'r'",
    ],
)
def test_a_policy_that_cannot_judge_leaves_nothing(small: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "other.toml").write_text(text)
    given = ("--policy", tmp_path / "other.toml", "--no-pdf")

    refused("report", small / "first", *given, "--out", tmp_path / "out")
    refused("report", small / "first", *given)
    assert [one.name for one in tmp_path.iterdir()] == ["other.toml"]


@pytest.mark.slow
def test_who_stops_reading_gets_no_message_and_a_whole_run(small: Path, tmp_path: Path) -> None:
    """Files of a run that is replaced have changed since they were read, and by the command."""
    run = Path(shutil.copytree(small / "first", tmp_path / "run"))
    reading, writing = os.pipe()
    os.close(reading)
    words = (sys.executable, "-m", "audit", "report", run, "--no-pdf")
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, "")
    assert not [one for one in audit.verify_run(run) if one.outcome == "does not hold"]


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "absent"):
        refused("report", place, "--no-pdf")
    assert held(tmp_path) == {}

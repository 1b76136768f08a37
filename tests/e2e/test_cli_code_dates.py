"""Code dates from the policy to the findings, and what judging and verifying make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from audit import read_run
from fixtures.commands import audit

DATES = "code,first,last\n585,1979-01-01,2005-09-30\n585.6,2005-10-01,2015-09-30\n"
STATED = '[code_dates]\ncolumn = "admittime"\nfile = "dates/icd9cm.csv"\n'
STAYS = [
    *[("585", "2004-03-01 10:20:00")] * 20,
    *[("585", "2010-03-01 10:20:00")] * 30,
    *[("5856", "2004-03-01 10:20:00")] * 40,
    *[("4019", "2004-03-01 10:20:00")] * 50,
]
"""Label and time of admission: 20 valid, 30 headings, 40 too early, 50 without dates."""


def write_release(folder: Path, times: list[str]) -> Path:
    """A folder as MIMIC-III has it: the days stand beside the codes."""
    folder.mkdir()
    ids = range(1, len(STAYS) + 1)
    codes = [f"{i},{i},{i},1,{code}" for i, (code, _) in zip(ids, STAYS, strict=True)]
    stays = [f"{i},{i},{i},{time}" for i, time in zip(ids, times, strict=True)]
    header = "ROW_ID,SUBJECT_ID,HADM_ID"
    (folder / "DIAGNOSES_ICD.csv").write_text(
        "\n".join([f"{header},SEQ_NUM,ICD9_CODE", *codes]) + "\n"
    )
    (folder / "ADMISSIONS.csv").write_text("\n".join([f"{header},ADMITTIME", *stays]) + "\n")
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release, a policy with its dates, and a run made of them."""
    place = tmp_path_factory.mktemp("dated")
    write_release(place / "release", [time for _, time in STAYS])
    (place / "dates").mkdir()
    (place / "dates" / "icd9cm.csv").write_text(DATES)
    (place / "policy.toml").write_text(STATED)
    done = run(place, place / "release")
    assert done.exit_code == 0, done.output
    return place


def run(place: Path, release: Path, out: str = "run") -> Result:
    of_data = ("run", release, "--hierarchy", "icd9cm", "--policy", place / "policy.toml")
    return audit(*of_data, "--no-pdf", "--out", place / out)


def result(place: Path) -> dict[str, Any]:
    return read_run(place / "run").exact()


@pytest.mark.slow
def test_the_inputs_give_the_same_bytes_again(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = audit("verify", place / "run", "--recompute", "--json")
    verdicts = {one["name"]: one["outcome"] for one in json.loads(done.stdout)["verdicts"]}

    assert (done.exit_code, verdicts["recomputation"]) == (0, "holds"), done.stdout


def test_a_changed_table_is_told_by_verify_and_refused_by_judge(place: Path) -> None:
    table = place / "dates" / "icd9cm.csv"
    table.write_text(DATES.replace("2005-09-30", "2005-09-29"))
    try:
        verified = audit("verify", place / "run", "--recompute")
        judged = audit(
            "report", place / "run", "--overwrite", "--policy", place / "policy.toml", "--no-pdf"
        )
    finally:
        table.write_text(DATES)

    assert verified.exit_code == 1
    assert "code_dates changed" in " ".join(verified.stdout.split())
    assert judged.exit_code == 2
    assert "code_dates differs from the run's" in " ".join(judged.stderr.split())


@pytest.mark.slow
def test_a_judged_run_is_made_again_with_its_dates(place: Path, tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    (desk / "dates").mkdir(parents=True)
    (desk / "dates" / "icd9cm.csv").write_text(DATES)
    (desk / "again.toml").write_text(f'{STATED}[severities]\nretired_code = "error"\n')
    assert run(place, place / "release", "judged").exit_code == 0
    judged = audit(
        "report", place / "judged", "--overwrite", "--policy", desk / "again.toml", "--no-pdf"
    )
    assert judged.exit_code == 0, judged.output
    done = audit("verify", place / "judged", "--recompute", "--json")

    verdicts = {one["name"]: one["outcome"] for one in json.loads(done.stdout)["verdicts"]}
    assert (done.exit_code, verdicts["recomputation"]) == (0, "holds"), done.stdout


@pytest.mark.parametrize(
    ("time", "told"),
    [
        ("2145-03-01 10:20:00", "the true days of coding"),
        ("03/01/2004", "must be written as YYYY-MM-DD"),
        ("", "must hold days"),
    ],
)
def test_days_that_cannot_be_true_exit_2_with_one_message(
    place: Path, tmp_path: Path, time: str, told: str
) -> None:
    release = write_release(tmp_path / "release", [time] * len(STAYS))
    done = run(place, release, "refused")

    assert (done.exit_code, done.stdout) == (2, "")
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (place / "refused").exists()

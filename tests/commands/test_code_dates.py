"""Code dates of a policy: part of what a run is made of, for verifying and for judging again."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.doors import command, made, refused
from fixtures.held import read_json

DATES = "code,first,last\n585,1979-01-01,2005-09-30\n585.6,2005-10-01,2015-09-30\n"
STATED = '[code_dates]\ncolumn = "admittime"\nfile = "dates/icd9cm.csv"\n'
STAYS = [
    *[("585", "2004-03-01 10:20:00")] * 20,
    *[("585", "2010-03-01 10:20:00")] * 30,
    *[("5856", "2004-03-01 10:20:00")] * 40,
]
"""Label and time of admission: 20 valid, 30 headings, 40 too early."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder as MIMIC-III has it, a policy with dates beside it, and a run made of them."""
    (tmp_path / "dates").mkdir()
    (tmp_path / "dates" / "icd9cm.csv").write_text(DATES)
    (tmp_path / "policy.toml").write_text(STATED)
    (release := tmp_path / "release").mkdir()
    header, rows = "ROW_ID,SUBJECT_ID,HADM_ID", [*enumerate(STAYS, 1)]
    codes = "".join(f"{i},{i},{i},1,{code}\n" for i, (code, _) in rows)
    stays = "".join(f"{i},{i},{i},{time}\n" for i, (_, time) in rows)
    (release / "DIAGNOSES_ICD.csv").write_text(f"{header},SEQ_NUM,ICD9_CODE\n{codes}")
    (release / "ADMISSIONS.csv").write_text(f"{header},ADMITTIME\n{stays}")
    given = ("--hierarchy", "icd9cm", "--policy", tmp_path / "policy.toml", "--no-pdf")
    made("run", release, *given, "--out", tmp_path / "run")
    return tmp_path


@pytest.mark.slow
def test_a_judged_run_is_made_again_with_its_dates_and_with_no_others(place: Path) -> None:
    run, desk = place / "run", place / "desk"
    (desk / "dates").mkdir(parents=True)
    (desk / "dates" / "icd9cm.csv").write_text(DATES)
    (desk / "again.toml").write_text(f'{STATED}[severities]\nretired_code = "error"\n')
    judging = ("report", run, "--overwrite", "--no-pdf", "--policy")
    made(*judging, desk / "again.toml")
    assert "fail" in {check["status"] for check in read_json(run / "result.json")["checks"]}
    made("verify", run, "--recompute")

    for table in place.rglob("icd9cm.csv"):
        table.write_text(DATES.replace("2005-09-30", "2005-09-29"))
    verified = command("verify", run, "--recompute")
    assert verified.exit_code == 1
    assert "code_dates changed" in " ".join(verified.stdout.split())
    told = refused(*judging, desk / "again.toml")
    assert "code_dates differs from the run's" in " ".join(told.split())

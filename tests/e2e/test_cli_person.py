"""Rules on sex and age from the policy to the findings, and what judging says of other ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from fixtures.commands import audit

POLICY = '[person]\nsex = "gender"\nfemale = "F"\nmale = "M"\nage = "age"\n'
STAYS = [("650", "M", "30")] * 12 + [("650", "F", "30")] * 20 + [("V3000", "F", "1.5")] * 13


def write_release(folder: Path, sexes: list[str]) -> Path:
    """A folder as MIMIC-III has it: the sex stands with the patient, the age with the stay."""
    folder.mkdir()
    ids = range(1, len(STAYS) + 1)
    header = "ROW_ID,SUBJECT_ID"
    tables = {
        "DIAGNOSES_ICD": (
            "HADM_ID,SEQ_NUM,ICD9_CODE",
            [f"{i},1,{code}" for i, (code, *_) in zip(ids, STAYS, strict=True)],
        ),
        "ADMISSIONS": (
            "HADM_ID,AGE",
            [f"{i},{age}" for i, (_, _, age) in zip(ids, STAYS, strict=True)],
        ),
        "PATIENTS": ("GENDER", sexes),
    }
    for name, (columns, rows) in tables.items():
        lines = [f"{i},{i},{row}" for i, row in zip(ids, rows, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join([f"{header},{columns}", *lines]) + "\n")
    return folder


def run(place: Path, release: Path, policy: str = POLICY) -> Result:
    (place / "policy.toml").write_text(policy)
    of_data = ("run", release, "--hierarchy", "icd9cm", "--policy", place / "policy.toml")
    return audit(*of_data, "--no-pdf", "--min-cell", 1, "--out", place / "run", "--overwrite")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release and a run made of it."""
    place = tmp_path_factory.mktemp("persons")
    write_release(place / "release", [sex for _, sex, _ in STAYS])
    done = run(place, place / "release")
    assert done.exit_code == 0, done.output
    return place


def check(place: Path) -> dict[str, Any]:
    result = json.loads((place / "run" / "result.json").read_text("utf-8"))
    found: dict[str, Any] = next(c for c in result["checks"] if c["name"] == "sex_age_conflict")
    return found


@pytest.mark.slow
def test_columns_beside_the_codes_are_judged_by_the_rules_of_icd9cm(place: Path) -> None:
    told = check(place)

    assert (told["status"], told["denominator"]) == ("warn", 45)
    assert {
        f["parts"][0]["nodes"][0]["id"]: f["evidence"]["instances"] for f in told["findings"]
    } == {
        "650": 12,
        "V30.00": 13,
    }


def test_the_report_prints_the_rules_that_were_applied(place: Path) -> None:
    html = (place / "run" / "report.html").read_text("utf-8")

    assert "rules on the sex and the age of persons hold." in html


def test_a_run_is_not_judged_again_by_other_columns(place: Path) -> None:
    (place / "other.toml").write_text(POLICY.replace('female = "F"', 'female = "W"'))
    done = audit("report", place / "run", "--overwrite", "--policy", place / "other.toml")

    assert done.exit_code == 2
    assert "person differs from the run's" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_without_columns_it_says_what_to_name(place: Path, tmp_path: Path) -> None:
    assert run(tmp_path, place / "release", policy="title = 'Stays'\n").exit_code == 0

    told = check(tmp_path)
    assert told["status"] == "not_applicable"
    assert "[person]" in told["reason"]


@pytest.mark.parametrize(
    ("policy", "sexes", "told"),
    [
        (POLICY.replace("gender", "sexus"), None, "a column named 'sexus' is required"),
        (POLICY, ["W"] * len(STAYS), "'W' in 'gender'"),
        (POLICY.replace('"age"', '"gender"'), None, "every age in 'gender' must be a number"),
    ],
)
def test_a_column_that_cannot_be_judged_ends_in_one_message(
    place: Path, tmp_path: Path, policy: str, sexes: list[str] | None, told: str
) -> None:
    release = write_release(tmp_path / "other", sexes) if sexes else place / "release"
    done = run(tmp_path, release, policy)

    assert done.exit_code == 2
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.output

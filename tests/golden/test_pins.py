"""What an audit of the sample data says, pinned: result, report and every table by a digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest
from typer.testing import CliRunner

from audit.cli.app import app

SAMPLE = Path(__file__).parents[2] / "sample_data"
DIGITS = 9
"""Significant digits of a float that every version of a library agrees on."""
LONG = ("--format", "long", "--id", "HADM_ID", "--label", "ICD9_CODE")
RELEASE_1, RELEASE_2 = SAMPLE / "release_1", SAMPLE / "release_2"
DIAGNOSES = "DIAGNOSES_ICD.csv"
PREDICTIONS = SAMPLE / "predictions.psv"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs in memory, with a model and a reference, in batches, added to, and a comparison."""
    out = tmp_path_factory.mktemp("runs")
    audit = [
        (RELEASE_1, "first"),
        (RELEASE_2, "second", "--predictions", PREDICTIONS, "--reference", out / "first"),
        (RELEASE_1 / DIAGNOSES, "batches", *LONG, "--memory", "4GB"),
        (RELEASE_2 / DIAGNOSES, "added", *LONG, "--add-to", out / "batches"),
    ]
    for dataset, name, *options in audit:
        _invoke("run", dataset, "--hierarchy", "icd9cm", "--out", out / name, "--no-pdf", *options)
    _invoke("compare", out / "first", out / "second", "--out", out / "comparison")
    return out


@pytest.mark.parametrize("name", ["first", "second", "batches", "added", "comparison"])
def test_what_is_written_stays_the_same(
    name: str, runs: Path, golden: Callable[[str, str], None]
) -> None:
    golden(f"pins/{name}.txt", "\n".join(_digests(runs / name)) + "\n")


def _invoke(*arguments: object) -> None:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output


def _digests(run: Path) -> list[str]:
    files = sorted(path for path in run.rglob("*") if path.is_file())
    return [
        f"{_digest(path)}  {path.relative_to(run).as_posix()}"
        for path in files
        if path.name != "manifest.json"
    ]


def _digest(path: Path) -> str:
    if path.suffix == ".parquet":
        rounded = pl.read_parquet(path).with_columns(cs.float().round_sig_figs(DIGITS))
        text = str(rounded.schema) + rounded.write_json()
    elif path.suffix == ".json":
        text = json.dumps(json.loads(path.read_bytes(), parse_float=_rounded))
    else:
        text = path.read_text("utf-8")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(digits: str) -> str:
    return f"{float(digits):.{DIGITS}g}"

"""Runs of the sample data and of a real release, with their instances, for a window to open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fixtures.once import filled_once
from fixtures.sample_runs import run_command

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("AUDIT_DATA", ROOT / "no-such-folder"))
SAMPLE = ROOT / "sample_data"
RUNS: dict[str, tuple[object, ...]] = {
    "sample": (
        SAMPLE / "release_2", "--hierarchy", "icd9cm",
        "--predictions", SAMPLE / "predictions.psv",
    ),
    "mimic": (DATA / "mimic-iii-demo", "--hierarchy", "icd9cm"),
}  # fmt: skip


def explored(name: str, factory: pytest.TempPathFactory) -> Path:
    """The folder of a run, made once; the test is skipped where its data are missing."""
    data, *options = RUNS[name]
    if not Path(str(data)).exists():
        pytest.skip("needs the data: set AUDIT_DATA")

    def write(folder: Path) -> None:
        out = ("--out", folder / name, "--no-pdf", "--keep-instances")
        run_command("run", data, *options, *out)

    return filled_once(f"explored_{name}", write, factory) / name

"""What is installed from ``slim.txt`` does all but the PDF."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
SLIM = {line for line in (ROOT / "slim.txt").read_text("utf-8").splitlines() if line[0] != "#"}
LEFT_OUT = {"weasyprint"}


def needed(lines: list[str]) -> set[str]:
    """Names of required packages, without those of extras and of other systems."""
    found = [Requirement(line) for line in lines]
    return {
        re.sub(r"[-_.]+", "-", one.name).lower()
        for one in found
        if not one.marker or one.marker.evaluate({"extra": ""})
    }


def test_the_list_has_all_that_is_needed_but_what_writes_pdfs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = needed(project["dependencies"])

    assert asked >= LEFT_OUT
    listed = asked - LEFT_OUT
    while more := {n for one in listed for n in needed(distribution(one).requires or [])} - listed:
        listed |= more
    assert listed == SLIM


def lay(part: Distribution, site: Path) -> None:
    """Link the files of an installed package into a folder."""
    for file in part.files or ():
        if file.parts[0] != ".." and file.suffix != ".pyc":
            link = site / file
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(Path(str(part.locate_file(file))).resolve())


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the packages of the list, less what an image can do without, and the code."""
    folder = tmp_path / "site"
    folder.mkdir()
    for name in (*SLIM, "hierarchy-audit"):
        lay(distribution(name), folder)
    for name in ("audit", "reports", "hierarchy_audit.py"):
        (folder / name).symlink_to(ROOT / name)
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    (lines,) = re.findall(r"^```\n(rm .*?)^```", page, re.M | re.S)
    subprocess.run(["sh", "-euc", lines], cwd=folder, check=True)
    return folder


def audit(site: Path, cwd: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A command, by an interpreter that sees no other packages than those of a folder."""
    return subprocess.run(
        [sys.executable, "-S", "-m", "hierarchy_audit", *map(str, arguments)],
        cwd=cwd, env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_all_but_the_pdf_is_written_and_the_last_line_says_how_to_get_it(
    site: Path, tmp_path: Path
) -> None:
    data = ROOT / "sample_data"
    model = ("--predictions", data / "predictions.psv")
    job = ("run", data / "release_2", "--hierarchy", "icd9cm", *model, "--out", "run")
    done = audit(site, tmp_path, *job)

    assert done.returncode == 0, done.stderr
    assert "pip install weasyprint" in done.stdout.splitlines()[-1]
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "manifest.json", "report.html", "restricted", "result.json",
    }  # fmt: skip
    tuples = ("entailment", data / "entailment" / "tuples.csv", "--out", "graph")
    for command in (("verify", "run"), ("report", "run"), ("cases", "run"), tuples):
        assert audit(site, tmp_path, *command).returncode == 0, command
    asked = audit(site, tmp_path, *job[:-1], "other", "--pdf")
    assert asked.returncode == 2
    assert "Hint: pip install weasyprint" in asked.stderr
    assert not (tmp_path / "other").exists()


PLATFORMS = ("win_amd64", "macosx_14_0_arm64")


@pytest.mark.slow
@pytest.mark.parametrize("system", PLATFORMS)
def test_every_package_has_a_wheel_for_other_systems(system: str, tmp_path: Path) -> None:
    """pip resolves all that is needed to wheels, and downloads none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    where = (
        "--dry-run",
        "--only-binary",
        ":all:",
        "--python-version",
        "3.12",
        "--platform",
        system,
    )
    names = [*project["dependencies"], "--constraint", str(ROOT / "constraints.txt")]
    done = subprocess.run(
        [*pip, "--dry-run", *where, "--target", tmp_path, *names],
        capture_output=True,
        text=True,
        check=False,
    )
    if re.search(r"Could not fetch URL|NewConnectionError|Max retries", done.stderr):
        pytest.skip("the index cannot be reached")

    assert done.returncode == 0, done.stderr

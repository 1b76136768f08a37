"""Try the versions that pyproject.toml promises: the oldest of each package, and the newest of all.

Each choice is installed by uv in an environment of its own, where the sample data are audited. The
results must be those that this environment gives, and the PDFs have as many pages. What was
installed is written to `TRIED`; ``tests/contract/test_bounds.py`` compares it with pyproject.toml.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pypdfium2
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

sys.path.insert(0, str(Path(__file__).parents[1]))

from fixtures.digests import digests
from fixtures.sample_runs import DATED, sample_commands

ROOT = Path(__file__).parents[1]
TRIED = ROOT / "scripts" / "tried_bounds.txt"
CHOICES = {"oldest": "--resolution=lowest-direct", "newest": "--prerelease=allow"}
"""Option of uv by what it chooses."""
LEFT_OUT = ("model", "explain", "spark", "docs")
"""Extras that are not tried: torch and Spark are gigabytes, and docs is no part of the product."""


def main() -> int:
    """Try every choice; returns 1 where one says something else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    with TemporaryDirectory(prefix="audit-bounds-") as folder:
        place, lines = Path(folder), list[str]()
        here = _audited(Path(sys.executable).parent, place / "here")
        subprocess.run([sys.executable, "-m", "pip", "--quiet", "install", "uv"], check=True)
        for choice, option in CHOICES.items():
            installed = _installed(place / choice, option, project)
            told = _audited(place / choice / "bin", place / f"{choice}-runs")
            different = sorted(line.split()[-1] for line in here - told)
            print(f"{choice}: {', '.join(different) or 'says the same'}", flush=True)
            if different:
                return 1
            lines += [f"{choice} {name}=={version}" for name, version in installed.items()]
    TRIED.write_text("\n".join(lines) + "\n", "utf-8")
    return 0


def _installed(place: Path, option: str, project: Mapping[str, Any]) -> dict[str, str]:
    """Install the package with its extras; the version of each package that is asked for."""
    extras = project["optional-dependencies"].items()
    named = [one for name, own in extras if name not in LEFT_OUT for one in own]
    named += project["dependencies"]
    uv, python = Path(sys.executable).with_name("uv"), place / "bin" / "python"
    install = [uv, "pip", "install", "--quiet", "--python", python]
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, place], check=True)
    subprocess.run([*install, option, *named], check=True)
    subprocess.run([*install, "--no-deps", "--no-cache", ROOT], check=True)
    listed = [uv, "pip", "list", "--quiet", "--format", "json", "--python", python]
    found = json.loads(subprocess.run(listed, check=True, capture_output=True).stdout)
    versions = {canonicalize_name(one["name"]): one["version"] for one in found}
    wanted = {canonicalize_name(Requirement(one).name) for one in named}
    return {name: versions[name] for name in sorted(wanted & versions.keys())}


def _audited(programs: Path, folder: Path) -> set[str]:
    """What audits of the sample data say by the program of an environment: digests, and pages."""
    for command in sample_commands(folder):
        words = [str(programs / "audit"), *map(str, command)]
        subprocess.run(words, env=os.environ | DATED, check=True, capture_output=True)
    told = {f"{run.name} {line}" for run in folder.iterdir() for line in digests(run)}
    pages = {f"{len(pypdfium2.PdfDocument(pdf))} {pdf.name}" for pdf in folder.rglob("*.pdf")}
    return {line for line in told if not line.endswith(".html")} | pages


if __name__ == "__main__":
    sys.exit(main())

"""Try the versions that pyproject.toml promises: the oldest of each package, and the newest of all.

Each choice is installed by uv in an environment of its own, where what the code imports is
imported and the sample data are audited. Results and tables must be those that this environment
gives; charts must have its texts, and PDFs its words, for other versions of a library break pages
elsewhere. What was installed is written to `TRIED`, which `tests/unit/test_bounds.py` compares
with pyproject.toml.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pypdfium2

sys.path.insert(0, str(Path(__file__).parents[1]))

from fixtures.digests import digests
from fixtures.sample_runs import DATED, sample_commands

ROOT = Path(__file__).parents[1]
TRIED = ROOT / "scripts" / "tried_bounds.txt"
CHOICES = {
    "oldest": ("--resolution", "lowest-direct"),
    "newest": ("--prerelease", "allow"),
}
"""Options of uv by what they choose."""
LEFT_OUT = ("model", "explain", "spark", "docs")
"""Extras that are not tried: torch and Spark are gigabytes, and docs is no part of the product."""
RUNS = ("first", "second", "comparison")
IMPORTING = ROOT / "scripts" / "import_modules.py"


def main() -> int:
    """Try every choice; returns 1 where one says or shows something else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    told: list[str] = []
    with TemporaryDirectory(prefix="audit-bounds-") as folder:
        place = Path(folder)
        here = _audited(Path(sys.executable).parent, place / "here")
        subprocess.run([sys.executable, "-m", "venv", place / "uv"], check=True)
        pip = (place / "uv" / "bin" / "python", "-m", "pip", "--quiet", "install", "uv")
        subprocess.run(pip, check=True)
        lines = []
        for choice in CHOICES:
            installed = _installed(place, choice, project)
            runs = _audited(place / choice / "bin", place / f"{choice}-runs")
            differences = [*_other_tables(runs, here), *_other_texts(runs, here)]
            print(f"{choice}: {'; '.join(differences) or 'says the same'}", flush=True)
            told += differences
            lines += [f"{choice} {name}=={installed[name]}" for name in sorted(installed)]
    if not told:
        TRIED.write_text("\n".join(lines) + "\n", "utf-8")
    return bool(told)


def bounds(project: Mapping[str, Any]) -> dict[str, str]:
    """The lower bound of each package that the project, or an extra that is tried, requires."""
    extras = project["optional-dependencies"]
    own = [one for name in extras if name not in LEFT_OUT for one in extras[name]]
    found = (re.match(r"([\w.-]+)>=([\w.]+)", one) for one in [*project["dependencies"], *own])
    return {_normal(one[1]): one[2] for one in found if one}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _installed(place: Path, choice: str, project: Mapping[str, Any]) -> dict[str, str]:
    """Install the package and what it names, import all of it; its versions by name."""
    uv, python = place / "uv" / "bin" / "uv", place / choice / "bin" / "python"
    extras = [name for name in project["optional-dependencies"] if name not in LEFT_OUT]
    options = [part for name in extras for part in ("--extra", name)]
    file = ROOT / "pyproject.toml"
    install = (uv, "pip", "install", "--quiet", "--python", python)
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, place / choice], check=True)
    subprocess.run([*install, *CHOICES[choice], "-r", file, *options], check=True)
    subprocess.run([*install, "--no-deps", "--no-cache", ROOT], check=True)
    listed = subprocess.run(
        (uv, "pip", "list", "--quiet", "--format", "json", "--python", python),
        check=True,
        capture_output=True,
    )
    versions = {_normal(one["name"]): one["version"] for one in json.loads(listed.stdout)}
    wanted = sorted(bounds(project))
    names = (",".join(wanted), ",".join(_imported()))
    subprocess.run([python, "-W", "ignore", IMPORTING, *names], check=True)
    return {name: versions[name] for name in wanted}


def _imported() -> set[str]:
    """Every module that a file of this project imports."""
    names = set[str]()
    for folder in ("audit", "reports", "fixtures", "benchmarks", "validation", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Import):
                    names |= {one.name for one in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    names.add(node.module)
    return names


def _audited(programs: Path, folder: Path) -> Path:
    """The audits of the sample data by the program of an environment."""
    for command in sample_commands(folder):
        words = [str(programs / "audit"), *map(str, command)]
        done = subprocess.run(words, env=os.environ | DATED, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(words)}\nended with status {done.returncode}:\n{done.stderr}")
    return folder


def _other_tables(runs: Path, here: Path) -> list[str]:
    """The files of data that say other than those made here."""
    different = []
    for run in RUNS:
        other = sorted(set(digests(here / run)) - set(digests(runs / run)))
        different += [f"{run}: {line.split()[1]}" for line in other if not line.endswith(".html")]
    return different


def _other_texts(runs: Path, here: Path) -> list[str]:
    """The pages and PDFs that have other texts than those made here."""
    return [
        f"{run}: texts of {path.name}"
        for run in RUNS
        for pattern, texts in (("*.html", _chart_texts), ("*.pdf", _words))
        for path in sorted((here / run).glob(pattern))
        if texts(path) != texts(runs / run / path.name)
    ]


def _chart_texts(page: Path) -> list[str]:
    return re.findall(r"<text[^>]*>(.*?)</text>", page.read_text("utf-8"), re.DOTALL)


def _words(pdf: Path) -> set[str]:
    """The words of a PDF but the digest of the result, in which all digits count."""
    pages = pypdfium2.PdfDocument(pdf)
    words = {word for page in pages for word in page.get_textpage().get_text_range().split()}
    return words - {hashlib.sha256((pdf.parent / "result.json").read_bytes()).hexdigest()}


if __name__ == "__main__":
    sys.exit(main())

"""What maintainers have `make` do: the site without a warning, laws on other examples."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    for package in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(package, reason="needs the extra docs")
    options = ["--fail-on-warning", "--keep-going", "--quiet", "-b", "html", "-d", tmp_path / "d"]
    made = [sys.executable, "-m", "sphinx", *options, ROOT / "docs", tmp_path / "site"]
    subprocess.run(made, cwd=ROOT, check=True)
    assert (tmp_path / "site" / "methods.html").is_file()


def test_laws_of_hierarchies_hold_on_other_examples() -> None:
    options = ["-q", "-m", "hypothesis", "--hypothesis-profile=explore", "-p", "no:cacheprovider"]
    own = {name: one for name, one in os.environ.items() if not name.startswith("PYTEST_")}
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--hypothesis-seed=20250917", "--",
         ROOT / "tests" / "laws" / "test_hierarchy.py"],
        cwd=ROOT, env=own, check=True,
    )  # fmt: skip

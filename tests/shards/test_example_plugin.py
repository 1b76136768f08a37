"""The example of docs/plugins.md, built and installed as a reader would, and used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def test_it_is_installed_and_used(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    pytest.importorskip("pip")
    shutil.copytree(ROOT / "docs" / "example_plugin", tmp_path / "example")
    install = ("-m", "pip", "install", "--no-build-isolation", "--no-deps", "--quiet", "--no-index")
    site = tmp_path / "site"
    beside = [*map(str, (ROOT, site)), os.environ.get("PYTHONPATH", "")]
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, beside)), "PIP_CONSTRAINT": ""}
    own = os.environ | paths

    def python(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    python(*install, "--target", str(site), str(tmp_path / "example"))
    (tmp_path / "pets.csv").write_text("picture,animals\na,cat//dog\nb,dog\nc,cat\nd,cat\n")
    audit = ("-c", "from audit.cli.app import app; app()")
    named = ("--hierarchy", "animals", "--plugin", "audit-example")
    python(*audit, "run", "pets.csv", *named, "--no-pdf", "--out", "run")
    result = json.loads((tmp_path / "run" / "result.json").read_bytes())

    for door in ("layouts: pictures", "hierarchies: animals", "checks: common_node"):
        assert door in python(*audit, "list", "plugins")
    (check,) = (one for one in result["checks"] if one["name"] == "common_node")
    assert [one["nodes"][0]["id"] for one in check["findings"]] == ["mammal", "cat"]
    assert "the inputs give the bytes" in python(*audit, "verify", "run", "--recompute")

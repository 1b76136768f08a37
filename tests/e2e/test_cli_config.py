"""``audit run --config`` and ``--like``: options from a file, settings from an earlier run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from audit.cli.app import app

TREE = "child,parent\na,top\nb,top\n"
LABELS = "instance,label\n1,a\n2,b\n3,a\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("tree.csv").write_text(TREE, "utf-8")
    for name in ("old.csv", "new.csv"):
        Path(name).write_text(LABELS, "utf-8")
    return tmp_path


def run(*options: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["run", *options])
    return done.exit_code, " ".join(done.output.split())


def settings(out: str) -> dict[str, Any]:
    stated: dict[str, Any] = json.loads((Path(out) / "manifest.json").read_text("utf-8"))
    return stated["settings"]  # type: ignore[no-any-return]


CONFIG = """
hierarchy = "tree.csv"
min_cell = 2
seed = 3
pdf = false
missing = "NA"
out = "first"
"""


def test_the_command_line_overrides_the_file_and_both_the_earlier_run(folder: Path) -> None:
    Path("mine.toml").write_text(CONFIG, "utf-8")
    Path("pyproject.toml").write_text(
        "[tool.hierarchy-audit]\ndataset = 'new.csv'\npdf = false\nseed = 5\nout = 'second'\n",
        "utf-8",
    )

    assert run("old.csv", "--config", "mine.toml", "--title", "Old", "--min-cell", "4")[0] == 0
    first = settings("first")
    assert [first[name] for name in ("min_cell", "seed", "missing")] == [4, 3, ["NA"]]
    assert not Path("first", "report.pdf").exists()
    assert run("--like", "first", "--config", "pyproject.toml", "--missing", "?")[0] == 0
    second = settings("second")
    assert [second[name] for name in ("min_cell", "seed", "missing")] == [4, 5, ["?"]]
    assert (second["hierarchy"], second["title"]) == (str(folder / "tree.csv"), None)
    assert second["dataset"] == str(folder / "new.csv")


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ("seed = 1\nmin_sell = 3", "mine.toml:2: each key must be an option"),
        ("min_sell = 3", "did you mean min-cell?"),
        ("config = 'other.toml'", "Found: 'config'"),
        ("seed = 'x'", "mine.toml:1: seed: Input should be a valid integer"),
        ("min-cell = 0", "greater than or equal to 1 Found: 0"),
        ("min-cell = true", "min-cell: Input should be a valid integer"),
        ("engine = 'fast'", "Found: 'fast'"),
        ("softmax = true\nsigmoid = true", "may be given Found: both"),
        ("seed = [", "a TOML file is required"),
    ],
)
def test_what_is_no_option_is_refused_with_its_line(stated: str, told: str) -> None:
    Path("mine.toml").write_text(stated, "utf-8")
    status, printed = run("old.csv", "--hierarchy", "tree.csv", "--config", "mine.toml")

    assert (status, Path("audit-run").exists()) == (2, False)
    assert told in printed


def test_files_that_state_no_options_are_refused() -> None:
    Path("pyproject.toml").write_text("[project]\n", "utf-8")

    assert "[tool.hierarchy-audit] is required" in run("old.csv", "--config", "pyproject.toml")[1]
    assert "none.toml: a file is required" in run("old.csv", "--config", "none.toml")[1]
    assert "the folder of a run is required" in run("old.csv", "--like", ".")[1]
    assert run("--hierarchy", "tree.csv")[1].startswith("Error: DATASET is required")
    assert run("old.csv", "--hierarchy", "tree.csv", "--no-pdf")[0] == 0
    manifest = Path("audit-run/manifest.json")
    manifest.write_text(manifest.read_text("utf-8").replace('"seed": 0', '"seed": 1'), "utf-8")
    status, printed = run("new.csv", "--like", "audit-run", "--out", "second")
    assert (status, "has changed since it was sealed" in printed) == (2, True)

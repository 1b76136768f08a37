"""Verdicts in continuous integration: JUnit files, GitHub's environment, and the docs' recipes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fixtures.doors import command as audit
from fixtures.junit_rules import broken_rules

ROOT = Path(__file__).parents[2]
TREE = "child,parent\ndog,animal\ncow,animal\nanimal,thing\nhammer,thing\n"
POLICY = '[severities]\nunknown_code = "error"\n'


def write_data(folder: Path, *labels: str) -> None:
    every = ["dog", "cow"] * 40 + list(labels)
    lines = [f"{'::error::i' * (n > 79)}{n},{label}" for n, label in enumerate(every)]
    (folder / "tree.csv").write_text(TREE)
    (folder / "labels.csv").write_text("instance,label\n" + "\n".join(lines) + "\n")
    (folder / "policy.toml").write_text(POLICY)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_data(tmp_path, "dgo", "::error::x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


RUN = ("run", "labels.csv", "--hierarchy", "tree.csv", "--no-pdf")


def suite(path: str) -> ElementTree.Element:
    content = Path(path).read_bytes()
    assert broken_rules(content) == []
    return ElementTree.fromstring(content)[0]


@pytest.mark.parametrize(("fail_on", "status"), [("never", 0), ("error", 1)])
def test_every_command_with_a_verdict_writes_a_file(data: Path, fail_on: str, status: int) -> None:
    done = audit(*RUN, "--out", "a", "--fail-on", fail_on, "--junit", "run.xml")
    assert done.exit_code == status, done.output
    assert audit(*RUN, "--out", "b").exit_code == 0
    others = {
        "report": ("report", "b", "--overwrite", "--policy", "policy.toml", "--no-pdf"),
        "compare": ("compare", "b", "a", "--out", "c"),
        "lint": ("lint", "tree.csv"),
    }
    for name, arguments in others.items():
        done = audit(*arguments, "--junit", f"{name}.xml")
        assert done.exit_code == 0, done.output
        assert suite(f"{name}.xml").get("name") == f"audit {name}"

    checks = json.loads(Path("a/result.json").read_text())["checks"]
    (unknown,) = (check for check in checks if check["name"] == "unknown_code")
    for name in ("run", "report"):
        found = suite(f"{name}.xml")
        (failure,) = found.iterfind("testcase[@name='unknown_code']/failure")
        assert failure.get("message") == unknown["findings"][0]["statement"]
        assert len(found.findall("testcase")) == len(checks)
    assert audit("verify", "a").exit_code == 0


def test_a_file_within_the_run_is_refused_before_anything_is_read(data: Path) -> None:
    done = audit(*RUN, "--out", "a", "--junit", "a/audit.xml")

    assert done.exit_code == 2
    assert "must be outside of" in done.stderr
    assert not Path("a").exists()


def test_github_gets_annotations(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = audit(*RUN, "--out", "a", "--json")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    told = audit(*RUN, "--out", "a", "--overwrite", "--json")

    assert told.stdout == plain.stdout
    commands = [line for line in told.stderr.splitlines() if line.startswith("::")]
    assert commands[0].startswith("::error title=unknown_code%3A ")


def test_data_cannot_give_orders_to_the_runner(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert audit(*RUN, "--out", "a").exit_code == 0
    listed = audit("cases", "a", "unknown_code:refused")
    named = audit("verify", "::error::x")

    assert ": :error::i80" in listed.stdout
    for done in (listed, named):
        orders = [line for line in done.output.splitlines() if re.match(r"\s*::", line)]
        assert all(line.startswith("::error title=audit::") for line in orders)


def test_a_refused_input_is_an_annotation(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    done = audit("run", "missing.csv", "--hierarchy", "tree.csv", "--out", "a")
    assert done.exit_code == 2
    assert "::error title=audit::missing.csv" in done.stderr


PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")


@pytest.fixture
def shell(data: Path) -> dict[str, str]:
    """An environment in which `audit` is this program."""
    bin_folder = data / "bin"
    bin_folder.mkdir()
    program = bin_folder / "audit"
    call = "from audit.cli.app import app; app()"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{call}" "$@"\n')
    program.chmod(0o755)
    path = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return {**os.environ, **path, **git}


def run_shell(command: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", command], env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_the_workflow_of_the_docs_runs(data: Path, shell: dict[str, str]) -> None:
    commands = re.findall(r"^      - run: (.*)$", PAGE, re.M)
    audits = [command for command in commands if command.startswith("audit ")]
    assert [command.split()[0] for command in commands] == ["pip", "audit"]
    job = PAGE[PAGE.index("  audit:\n") :].split("```")[0].splitlines()[1:]
    assert len(job) == 5

    github = {**shell, "GITHUB_ACTIONS": "true"}
    bad = run_shell(audits[0], github)
    assert bad.returncode == 1, bad.stderr
    assert "::error title=unknown_code" in bad.stderr
    assert suite("audit.xml").get("failures") == "1"
    write_data(data)
    good = run_shell(f"{audits[0]} --overwrite", github)
    assert (good.returncode, good.stderr) == (0, "")
    assert suite("audit.xml").get("failures") == "0"

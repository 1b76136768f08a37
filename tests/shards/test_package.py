"""What is installed from the wheel, built anew: what it holds, and that it works by itself."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from fixtures.once import filled_once
from fixtures.registered import NEXT
from tests.contract.test_public_api import TWICE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PACKED = "audit/cli/sample_data.zip"


def build(out: Path) -> None:
    """Build wheel and source distribution."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    return filled_once("built", build, tmp_path_factory)


@pytest.fixture(scope="session")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="session")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the wheel unpacks to, away from the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    wheel.extractall(folder)
    return folder


def audit(place: Path, cwd: Path, *arguments: str, **variables: str) -> tuple[int, str, str]:
    """Exit status and output of a command of the package that lies in a folder."""
    path = os.pathsep.join(filter(None, [variables.pop("before", ""), str(place)]))
    done = subprocess.run(
        [sys.executable, "-c", "import hierarchy_audit; hierarchy_audit.main()", *arguments],
        cwd=cwd, env={**os.environ, "PYTHONPATH": path, **variables}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_it_is_built_to_the_same_bytes_again(built: Path, tmp_path: Path) -> None:
    build(tmp_path)

    for path in built.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_the_demo_needs_the_wheel_alone_and_each_next_command_runs(
    installed: Path, tmp_path: Path
) -> None:
    status, told, _ = audit(installed, tmp_path, "demo", "--no-pdf")

    assert status == 0
    assert all(command in told for command, _ in NEXT)
    for path in (path for path in (ROOT / "sample_data").rglob("*") if path.is_file()):
        copy = tmp_path / "audit-demo" / path.relative_to(ROOT)
        assert copy.read_bytes() == path.read_bytes()
    for command, _ in NEXT:
        if command.startswith("audit explore"):
            continue  # it serves until it is ended: tests/commands/test_explore.py
        done = audit(installed, tmp_path / "audit-demo", *shlex.split(command)[1:])
        assert done[0] == 0, (command, done)
    status, told, error = audit(installed, tmp_path, "demo")
    assert (status, told) == (2, "")
    assert "a new folder is required" in error


def test_the_sample_data_take_little_of_the_wheel(wheel: zipfile.ZipFile) -> None:
    assert wheel.getinfo(PACKED).file_size <= 400_000


def test_what_describes_the_package_leads_to_one_address(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
    text = wheel.read(name).decode()
    address = PROJECT["urls"]["Repository"]
    targets = re.findall(r"\]\(([^)\s]+)", text)
    cited = (ROOT / "CITATION.cff").read_text("utf-8")

    assert len(targets) > 30
    assert all(target.startswith((f"{address}/", "#")) for target in targets)
    assert f"repository-code: {address}\n" in cited
    assert f"version: {PROJECT['version']}\n" in cited


def test_the_source_distribution_holds_its_tests_and_their_data(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    for wanted in ("tests/conftest.py", "fixtures/once.py", "sample_data/truth.json", "Makefile"):
        assert wanted in names
    assert {"CITATION.cff", "SECURITY.md", "scripts/build_hooks.py"} <= names


def test_the_source_distribution_leaves_evidence_out(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        packed = {Path(name).stem for name in archive.getnames() if "/docs/" in name}
    contents = (ROOT / "docs" / "index.md").read_text("utf-8")
    evidence = re.findall(r"^(\w+)$", contents.partition(":caption: Evidence")[2], re.MULTILINE)

    assert {"truth", "fidelity", "trust"} < {*evidence}
    assert "index" in packed
    assert packed.isdisjoint({*evidence, "security"})


def test_a_script_of_the_same_name_is_named(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "audit.py").write_text("", "utf-8")
    status, _, error = audit(installed, tmp_path, "list", "checks", before=str(tmp_path))

    assert status == 2
    assert f"{tmp_path / 'audit.py'} took the name" in error
    assert "Traceback" not in error


def test_what_took_the_name_of_reports_is_named(installed: Path, tmp_path: Path) -> None:
    taken = tmp_path / "own" / "reports" / "__init__.py"
    taken.parent.mkdir(parents=True)
    taken.write_text("raise SystemExit(9)", "utf-8")
    status, _, error = audit(installed, tmp_path, "list", "limits", before=str(tmp_path / "own"))

    assert status == 2
    assert f"{taken} took the name of the package reports" in error
    assert "--force-reinstall" in error


def test_another_package_that_overwrote_reports_is_told(installed: Path, tmp_path: Path) -> None:
    place = tmp_path / "site"
    shutil.copytree(installed, place)
    (place / "reports" / "__init__.py").write_text("", "utf-8")

    status, _, error = audit(place, tmp_path, "list", "limits")

    assert status == 2
    assert f"{place / 'reports' / '__init__.py'} took the name of the package reports" in error


def test_the_wheel_has_one_copy_of_reports(installed: Path) -> None:
    command = [sys.executable, "-c", f"import sys\n{TWICE}"]
    subprocess.run(command, cwd=installed, env={**os.environ, "PYTHONPATH": ""}, check=True)


def entry(hook: str) -> list[str]:
    """What a hook of ``.pre-commit-hooks.yaml`` runs."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    (found,) = re.findall(rf"^- id: {hook}\n(?:  .*\n)*?  entry: audit (.*)$", text, re.M)
    return shlex.split(found)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with labels, one of which is no node, and a hierarchy that is a tree."""
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "tree.csv").write_text("child,parent\ncat,pet\ndog,pet\n", "utf-8")
    (tmp_path / "labels.csv").write_text("id,label\n1,cat\n2,unicorn\n", "utf-8")
    return tmp_path


def commits(repository: Path) -> bool:
    """Whether a commit of all files is let through."""
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", *who, "commit", "--quiet", "--message", "a"]
    return subprocess.run(command, cwd=repository, check=False, capture_output=True).returncode == 0


CYCLE = "child,parent\ncat,dog\ndog,cat\n"
MENDED = {"labels.csv": "id,label\n1,cat\n2,dog\n", "tree.csv": "child,parent\ncat,pet\n"}
HOOKS = pytest.mark.parametrize(
    ("hook", "arguments", "mended"),
    [
        ("audit-run", ["labels.csv", "--hierarchy", "tree.csv"], "labels.csv"),
        ("audit-lint", ["tree.csv"], "tree.csv"),
    ],
)


@HOOKS
def test_pre_commit_reads_the_hooks_and_refuses_an_error(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, hook: str, arguments: list[str],
    mended: str,
) -> None:  # fmt: skip
    pytest.importorskip("pre_commit")
    hooks, programs = tmp_path_factory.mktemp("hooks"), tmp_path_factory.mktemp("programs")
    subprocess.run(["git", "init", "--quiet", hooks], check=True)
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    assert commits(hooks)
    command = [sys.executable, "-m", "hierarchy_audit"]
    (programs / "audit").write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', "utf-8")
    (programs / "audit").chmod(0o755)
    used = {"id": hook, "args": arguments, "language": "system", "always_run": True}
    config = {"repos": [{"repo": str(hooks), "rev": "HEAD", "hooks": [used]}]}
    (repository / ".pre-commit-config.yaml").write_text(json.dumps(config), "utf-8")
    if hook == "audit-lint":
        (repository / "tree.csv").write_text(CYCLE, "utf-8")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    where = {"PATH": path, "PYTHONPATH": str(ROOT), "PRE_COMMIT_HOME": str(programs / "home")}

    def run() -> subprocess.CompletedProcess[str]:
        subprocess.run(["git", "add", "tree.csv", "labels.csv", ".pre-commit-config.yaml"],
                       cwd=repository, check=True)  # fmt: skip
        asked = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
        return subprocess.run(
            asked, cwd=repository, env=os.environ | where, capture_output=True, text=True
        )

    refused = run()
    assert (refused.returncode, "Failed" in refused.stdout) == (1, True), refused
    (repository / mended).write_text(MENDED[mended], "utf-8")
    passed = run()
    assert (passed.returncode, "Passed" in passed.stdout) == (0, True), passed


@HOOKS
def test_a_hook_refuses_a_commit_with_an_error(
    repository: Path, hook: str, arguments: list[str], mended: str
) -> None:
    if hook == "audit-lint":
        (repository / "tree.csv").write_text(CYCLE, "utf-8")
    command = [sys.executable, "-m", "hierarchy_audit", *entry(hook), *arguments]
    script = repository / ".git" / "hooks" / "pre-commit"
    script.write_text(f"#!/bin/sh\nexport PYTHONPATH={ROOT}\n{shlex.join(command)}\n", "utf-8")
    script.chmod(0o755)

    assert not commits(repository)
    (repository / mended).write_text(MENDED[mended], "utf-8")
    assert commits(repository)


def test_the_action_fails_by_an_error_and_annotates_it(repository: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    (script,) = re.findall(r"run: \|\n((?: {8}.*\n)+)", (ROOT / "action.yml").read_text("utf-8"))
    command = f'audit() {{ "{sys.executable}" -m hierarchy_audit "$@"; }}\n{script}'
    inputs = {
        "DATASET": "labels.csv", "HIERARCHY": "tree.csv", "FAIL_ON": "error", "OUT": "out",
        "ARGUMENTS": "--no-pdf --min-cell 1", "GITHUB_ACTIONS": "true", "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    done = subprocess.run(
        [bash, "-e", "-c", command], cwd=repository, env={**os.environ, **inputs},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1, done.stderr
    assert "::error" in done.stderr
    assert (repository / "out" / "report.html").is_file()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_the_commands(shell: str) -> None:
    asked = {
        "bash": {"COMP_WORDS": "audit expo", "COMP_CWORD": "1"},
        "zsh": {"_TYPER_COMPLETE_ARGS": "audit expo"},
        "fish": {"_TYPER_COMPLETE_ARGS": "audit expo", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    command = [sys.executable, "-c", "from audit.cli.app import app; app(prog_name='audit')"]
    where = {"PYTHONPATH": str(ROOT), "_AUDIT_COMPLETE": f"complete_{shell}", **asked}
    done = subprocess.run(
        command, env={**os.environ, **where}, capture_output=True, text=True, check=False
    )

    assert {"explore", "explanations", "export"} & {*re.findall(r"\w+", done.stdout)} == {"export"}

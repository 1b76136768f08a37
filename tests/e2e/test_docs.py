"""What README and docs say can be typed, is typed here."""

from __future__ import annotations

import csv
import importlib
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import typer

from audit.cli.app import app
from fixtures.sample_runs import run_command

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    return tmp_path


def shell_lines(page: str = "README.md") -> list[str]:
    lines = "\n".join(blocks(ROOT / page, "sh")).splitlines()
    return [line for line in lines if line.strip()]


def audits(page: str) -> list[str]:
    """On files of the sample data; what has no mark of its language needs files of one's own."""
    return [line for line in shell_lines(page) if line.startswith("audit ")]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README", "docs/entailment", "docs/fixes"])
def test_commands_run_in_order(page: str, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone)
    for command in audits(f"{page}.md"):
        run_command(*shlex.split(command)[1:])


@pytest.mark.parametrize("page", ["explanations", "concepts"])
def test_commands_of_other_pages_are_those_of_the_readme(page: str) -> None:
    commands = audits(f"docs/{page}.md")
    assert commands
    assert {*commands} <= {*audits("README.md")}


@pytest.mark.slow
@pytest.mark.parametrize("page", ["start", *(f"guides/{one.stem}" for one in GUIDES)])
def test_guides_run_as_they_are_written(page: str, clone: Path) -> None:
    """Their shells and their Python, one after the other."""
    programs = str(Path(sys.executable).parent)
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    found = re.findall(r"^```(sh|python)\n(.*?)^```", text, re.M | re.S)
    assert found
    for language, block in found:
        command = ["bash", "-euc", block] if language == "sh" else [sys.executable, "-c", block]
        done = subprocess.run(
            command,
            cwd=clone,
            env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (block, done.stdout[-2000:], done.stderr)


@pytest.mark.slow
def test_the_notebook_runs(clone: Path) -> None:
    cells = json.loads((ROOT / "docs" / "start.ipynb").read_text("utf-8"))["cells"]
    code = "\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "code")
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=clone, check=True)


def test_readme_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = [line.split()[1] for line in shell_lines() if line.startswith("make ")]
    assert {"demo", "test"} <= set(targets)
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)


@pytest.mark.slow
def test_readme_python_runs(clone: Path) -> None:
    for block in blocks(ROOT / "README.md", "python"):
        subprocess.run([sys.executable, "-W", "error", "-c", block], cwd=clone, check=True)
    assert (clone / "report.html").is_file()


def test_policy_example_is_valid(tmp_path: Path) -> None:
    from audit import load_policy

    (example,) = blocks(ROOT / "docs" / "policy.md", "toml")
    (tmp_path / "policy.toml").write_text(example, "utf-8")
    assert load_policy(tmp_path / "policy.toml").residual_share.value == 0.6


def test_every_command_and_option_is_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        assert f"## audit {name}" in page
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or option == "--help" or f"`{option}`" in page


def test_every_format_is_documented() -> None:
    from audit.data import formats as loaders
    from audit.hierarchies import reading as hierarchies

    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    readers = (*loaders.FORMATS, *loaders.PREDICTION_FORMATS, *hierarchies.FORMATS)
    for known in (*readers, *hierarchies.FOLDERS, *hierarchies.BUILT_IN):
        assert f"`{known.name}`" in page


@pytest.mark.slow
@pytest.mark.parametrize("script", ["draw_pair_cases.py", "draw_rooms.py"])
def test_pictures_are_what_their_script_draws(script: str) -> None:
    drawn = runpy.run_path(str(ROOT / "scripts" / script))
    assert drawn["PICTURE"].read_text("utf-8") == drawn["picture"]()


VERDICTS = ("yes", "partly", "no")


def test_judgements_are_those_of_their_files() -> None:
    """The tables of the pages are counts of the lines that ``validation/`` keeps."""
    told: dict[str, list[str]] = {"finding": [], "pair": []}
    counts = Counter((r["check"], r["reported"], r["judged"]) for r in judged_lines("finding"))
    for check in {check for check, *_ in counts}:
        cells = [str(counts[check, kind, said]) for kind in ("yes", "no") for said in VERDICTS]
        told["finding"].append(f"| `{check}` | {' | '.join(cells)} |")
    for name in ("pair", "confusion"):
        counts = Counter((r["data"], lines_of(r), r["judged"]) for r in judged_lines(name))
        for data, lines in {(data, lines) for data, lines, _ in counts}:
            cells = [str(counts[data, lines, said]) for said in VERDICTS]
            told["pair"].append(f"| {data} | {lines} | {' | '.join(cells)} |")

    for name, rows in told.items():
        page = (ROOT / "docs" / f"{name}_judgements.md").read_text("utf-8")
        assert [row for row in rows if row not in page] == []


def lines_of(row: dict[str, str]) -> str:
    """How the page on pairs names lines of this kind."""
    told = "reported" if row["reported"] == "yes" else "not reported"
    if "what" not in row:
        return told
    return f"{'an answer' if row['what'].startswith('the answer') else 'two labels'}, {told}"


def judged_lines(name: str) -> list[dict[str, str]]:
    with (ROOT / "validation" / f"{name}_judgements.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_relative_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
            found = "://" in target or (page.parent / target).exists()
            assert found, f"{page.name}: {target}"


def test_paths_and_modules_that_pages_name_are_there() -> None:
    """Files in backquotes, and what stands after the dots of ``audit.``, on every page."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    folders = "audit|reports|tests|fixtures|scripts|docs|benchmarks|validation"
    paths = set(re.findall(rf"`((?:{folders})/[\w./]+)`", text))
    ours = re.findall(r"`(\w+/[\w./]+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    paths |= {f"audit/{path}" for path in ours if path.split("/")[0] not in folders.split("|")}
    names = set(re.findall(r"\baudit(?:\.\w+)+", text)) - {"audit.py", "audit.xml"}

    assert len(paths) > 100
    assert len(names) > 20
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
    assert [name for name in sorted(names) if not resolves(name)] == []


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one, or of what that holds."""
    parts = name.split(".")
    for known in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:known]))
        except ModuleNotFoundError:
            continue
        missing = object()
        for part in parts[known:]:
            found = getattr(found, part, missing)
        return found is not missing
    return False

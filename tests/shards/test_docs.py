"""What README and docs say can be typed, is typed here."""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer

from fixtures.cases import Case
from fixtures.doors import app
from fixtures.doors import command as typed
from fixtures.registered import HIERARCHY_FORMATS
from fixtures.sample_runs import DATED, run_command
from fixtures.tuple_files import SAMPLE, VOTES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONTENTS = (ROOT / "docs" / "index.md").read_text("utf-8").partition(":caption: Guides")[2]
GUIDES = re.findall(r"^([\w/]+)$", CONTENTS.partition("```")[0], re.MULTILINE)
IN_ORDER = (
    "README.md",
    *(f"docs/{page}.md" for page in ("concepts", "entailment", "explanations")),
)
"""Pages whose commands run in this process; those of start and guides run as they stand."""
COMMAND = r"(?:`|^ *(?:\$ |- run: )?)audit ([a-z]+(?:-[a-z]+)*)\b(.*?)(?:`|$)"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    (tmp_path / "tree.csv").write_text("child,parent\ncat,pet\ndog,pet\n", "utf-8")
    (tmp_path / "labels.csv").write_text("id,label\n1,cat\n2,dog\n", "utf-8")
    for command in (["init", "--quiet"], ["add", "tree.csv", "labels.csv"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def shell_lines(page: str | Path = "README.md") -> list[str]:
    lines = "\n".join(blocks(ROOT / page, "sh")).splitlines()
    return [line for line in lines if line.strip()]


def audits(page: str | Path) -> list[str]:
    """On files of the sample data; what has no mark of its language needs files of one's own."""
    return [line for line in shell_lines(page) if line.startswith("audit ")]


@pytest.mark.slow
@pytest.mark.parametrize("page", IN_ORDER)
def test_commands_run_in_order(page: str, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone)
    for command in audits(page):
        run_command(*shlex.split(command)[1:])


COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def options(command: Any) -> set[str]:
    """Long options of a command, and of those below it."""
    below = getattr(command, "commands", {}).values()
    known = [name for one in command.params for name in (*one.opts, *one.secondary_opts)]
    return {one for one in known if one.startswith("--")}.union(*map(options, below))


def test_commands_are_run_above_or_below_or_need_files_of_ones_own() -> None:
    """The latter have no mark of their language, and options that their command has."""
    run = [*IN_ORDER, *(f"docs/{page}.md" for page in ("start", *GUIDES))]
    ran = {line for page in run for line in audits(page)}
    for page in PAGES:
        assert {*audits(page)} <= ran, page
        for name, said in re.findall(COMMAND, page.read_text("utf-8"), re.MULTILINE):
            if name in COMMANDS:
                assert {*re.findall(r"(?<!\S)--[\w-]+", said)} <= options(COMMANDS[name]), said


def test_options_that_pages_name_are_there() -> None:
    known = options(typer.main.get_command(app))
    for page in PAGES:
        named = set(re.findall(r"`(--[a-z][a-z-]*[a-z])\b", page.read_text("utf-8")))
        assert named <= known, page


def test_rows_of_a_table_have_as_many_cells_as_its_head() -> None:
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
        for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
            bars = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
            assert len(bars) == 1, (page.name, table[:200])


def test_pages_are_short() -> None:
    beside = [ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY")]
    sizes = {page: page.stat().st_size for page in [*PAGES, *beside]}
    assert [page for page, size in sizes.items() if size > 12_000] == []
    assert sum(sizes.values()) <= 200_000


def test_guides_are_short() -> None:
    assert len(GUIDES) == 13
    for guide in GUIDES:
        assert (ROOT / "docs" / f"{guide}.md").stat().st_size <= 6000, guide


def test_methods_are_twelve_pages_and_each_is_short() -> None:
    pages = sorted((ROOT / "docs" / "methods").glob("*.md"))
    assert len(pages) == 12
    links = [f"(methods/{page.name})" for page in pages]
    contents = (ROOT / "docs" / "methods.md").read_text("utf-8")
    assert [link for link in links if link not in contents] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in ("start", *GUIDES) if blocks(ROOT / "docs" / f"{page}.md", "sh")]
)
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


def write_stays(folder: Path) -> None:
    codes: dict[str, list[str]] = {}
    with (ROOT / "sample_data" / "release_1" / "DIAGNOSES_ICD.csv").open() as file:
        for row in csv.DictReader(file):
            codes.setdefault(row["HADM_ID"], []).append(row["ICD9_CODE"])
    joined = "".join(f'{stay},"{",".join(each)}"\n' for stay, each in codes.items())
    (folder / "visits.csv").write_text(f"visit_no,dx_all\n{joined}", "utf-8")
    with sqlite3.connect(folder / "records.db") as base:
        base.execute("CREATE TABLE diagnoses_icd (hadm_id TEXT, icd9_code TEXT)")
        rows = [(stay, one) for stay, each in codes.items() for one in each]
        base.executemany("INSERT INTO diagnoses_icd VALUES (?, ?)", rows)


def write_models(folder: Path) -> None:
    (folder / "stays.csv").write_text("id,label\n1,4019\n2,25000\n3,4280\n", "utf-8")
    for month, answers in (("january", np.eye(3)), ("february", np.eye(3)[::-1])):
        classes = np.array(["401.9", "250.00", "428.0"])
        np.savez(folder / month, scores=answers, instances=np.array([*"123"]), classes=classes)


def write_published(folder: Path) -> None:
    for name, of, to in (("omop", "cdm", "omop"), ("fhir", "x", "fhir"), ("meds", "m", "meds")):
        Case.read(ROOT / f"tests/cases/labels/layout_{name}.toml").write_files(folder)
        (folder / of).rename(folder / to)


def write_hierarchies(folder: Path) -> None:
    part = "relationship: part_of X:1\n\n"
    terms = "".join(f"[Term]\nid: X:{n}\nis_a: X:1\n{part}" for n in (2, 3))
    (folder / "ontology.obo").write_text(f"[Term]\nid: X:1\n\n{terms}", "utf-8")
    edges = "child,parent\n4019,401\n4011,401\ncat,pet\ndog,pet\n"
    (folder / "edges.csv").write_text(edges, "utf-8")
    (folder / "titles.csv").write_text("code,title\n4019,Unspecified\n4011,Benign\n", "utf-8")


def write_explained(folder: Path) -> None:
    (folder / "FOLDER").symlink_to(ROOT / "sample_data" / "explanations")


def write_run(folder: Path) -> None:
    run_command("run", "labels.csv", "--hierarchy", "tree.csv", "--min-cell", 1)


OWN_FILES: dict[str, Callable[[Path], None]] = {
    "compare": write_models,
    "explanations": write_explained,
    "formats": write_stays,
    "guides/sources": write_published,
    "lint": write_hierarchies,
    "recipes": write_hierarchies,
    "verify": write_run,
}
"""What writes the files of one's own that a page names."""
ELSEWHERE = {
    "audit demo": "tests/commands/test_demo.py",
    "audit explanations run": "tests/shards/test_fidelity_commands.py",
    "audit explore release-2": "tests/commands/test_explore.py",
    "audit list plugins": "tests/shards/test_example_plugin.py",
    "audit preference SCORES": "tests/commands/test_analyses.py",
    "audit run labels.csv --hierarchy tree.csv --no-pdf --fail-on": "tests/commands/test_ci.py",
    "audit run pets.csv": "tests/shards/test_example_plugin.py",
    "audit run test_full.csv": "tests/shards/test_fidelity_commands.py",
    "audit run postgresql://": "tests/shards/test_databases.py",
}
"""How commands begin that wait, need a server or an installed package, and where they are run."""


def own_commands(page: Path) -> list[str]:
    """Whole lines that are commands, but those in blocks of a shell."""
    text = re.sub(r"^```sh\n.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    lines = re.findall(r"^(?: {4}|\$ | *- run: )?(audit [a-z].*)$", text, re.M)
    return [line for line in lines if not line.startswith(tuple(ELSEWHERE))]


def test_commands_on_files_of_ones_own_are_run_below_or_elsewhere() -> None:
    own = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in PAGES[1:]}
    assert {name for name in own if own_commands(ROOT / f"docs/{name}.md")} == {*OWN_FILES}
    texts = "\n".join(page.read_text("utf-8") for page in PAGES)
    assert [
        one for one in ELSEWHERE if f"{one}" not in texts or not (ROOT / ELSEWHERE[one]).exists()
    ] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN_FILES)
def test_commands_run_on_files_of_ones_own(
    name: str, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page's commands in order; where one ends with a question, it is the page's."""
    monkeypatch.chdir(clone)
    OWN_FILES[name](clone)
    page = ROOT / "docs" / f"{name}.md"
    for command in own_commands(page):
        if command.startswith("audit run ") and "--out" not in command:
            shutil.rmtree("audit-run", ignore_errors=True)
        done = typed(*shlex.split(command, comments=True)[1:], **DATED)
        asked = done.exit_code == 2 and done.stderr.removesuffix("\n")
        said = "\n".join(line.rstrip() for line in str(asked).splitlines())
        assert done.exit_code == 0 or said in page.read_text("utf-8"), (command, done.output)


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


@pytest.mark.slow
@pytest.mark.parametrize("page", ["formats", "lint"])
def test_python_of_reference_pages_runs(page: str, clone: Path) -> None:
    code = "\n".join(blocks(ROOT / "docs" / f"{page}.md", "python"))
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=clone, check=True)


def test_policy_example_is_valid(tmp_path: Path) -> None:
    from audit import load_policy

    (example,) = blocks(ROOT / "docs" / "policy.md", "toml")
    (tmp_path / "policy.toml").write_text(example, "utf-8")
    assert load_policy(tmp_path / "policy.toml").residual_share.value == 0.6


def test_every_format_is_documented() -> None:
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    for known in HIERARCHY_FORMATS:
        assert f"`{known.name}`" in page


def test_paths_and_modules_that_pages_name_are_there() -> None:
    """Files in backquotes, and what stands after the dots of ``audit.``, on every page."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    folders = "audit|reports|tests|fixtures|scripts|docs|benchmarks|validation"
    paths = set(re.findall(rf"`((?:{folders})/[\w./]+)`", text))
    ours = re.findall(r"`(\w+/[\w./]+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    paths |= {f"audit/{path}" for path in ours if path.split("/")[0] not in folders.split("|")}
    names = set(re.findall(r"\baudit(?:\.\w+)+", text)) - {"audit.py", "audit.xml"}

    assert len(paths) > 80
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


def test_the_readme_shows_the_pictures_that_the_command_takes() -> None:
    told = (ROOT / "README.md").read_text("utf-8")
    pictures = {ROOT / path for path in re.findall(r"docs/gallery/[\w-]+\.png", told)}

    assert pictures == set((ROOT / "docs" / "gallery").glob("*.png"))
    assert all(picture.stat().st_size < 300_000 for picture in pictures)


ENTAILMENT = ROOT / "docs" / "entailment.md"
PRINTED = "a933681f8705d74b8c4e54b35ac6d060610bbcc4c84d4c3d7e82fd020468a10b"
"""Digest of the eight prompts of tables 11 and 12, a line each, as the paper prints them."""


@pytest.mark.slow
def test_the_page_says_how_good_the_model_and_the_concept_alone_are(tmp_path: Path) -> None:
    page, out = ENTAILMENT.read_text("utf-8"), tmp_path / "run"
    given = (SAMPLE / "tuples.csv", *VOTES, "--predictions", SAMPLE / "scores.csv")
    run_command("entailment", *given, "--no-pdf", "--out", out)
    shared = json.loads((out / "result.json").read_bytes())
    rows = {
        (row["model"], row["measure"]): row
        for row in shared["entailment"]["detection_measured"]
        if row["relation"] == "All"
    }
    small, alone = rows["small", "accuracy"], rows["concept_alone", "accuracy"]
    for number in (*(small[end] for end in ("value", "low", "high")), alone["value"]):
        assert f"{number:.2f}".lstrip("0") in page
    for count in (shared["entailment"]["facts"]["tuples"], small["n"]):
        assert f"{count:,}" in page


def test_the_recipe_of_the_page_keeps_heads_with_an_instance_in_one_split() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", ENTAILMENT.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    keys = pl.read_csv(SAMPLE / "tuples.csv").select("head", "instance").unique().rows()
    given = [names["split"](*key) for key in keys]
    assert given == [names["split"](head.upper(), f" {one} ") for head, one in keys]
    shares = {name: given.count(name) / len(keys) for name in ("train", "valid", "test")}
    assert shares == pytest.approx({"train": 0.8, "valid": 0.1, "test": 0.1}, abs=0.05)


def test_the_prompts_of_the_page_are_those_of_the_paper() -> None:
    blocks = re.findall(
        r"```text\n(.*?)\n```", (ROOT / "docs" / "prompts.md").read_text("utf-8"), re.DOTALL
    )
    (noun,), (event,), (of_words, of_sentence), (nli, _, reasoned) = (b.split("\n") for b in blocks)
    made = {"nli": nli, "nli reasoning": reasoned}
    for name, text, end in (
        ("Noun-Entail", noun, of_words),
        ("Verb-Entail", noun.replace("noun", "verb"), of_words),
        ("Event-Entail", event, of_sentence),
    ):
        bare = re.sub(",? and provide a “Yes” or “No” response", "", text)
        made |= {name: text, f"{name} reasoning": bare + end}
    marked = (
        re.sub(r"\{(\w+)\}", lambda m: f"[{m[1].upper()}]", made[name]) for name in sorted(made)
    )
    assert hashlib.sha256("\n".join(marked).encode()).hexdigest() == PRINTED

"""An input that changes while it is read refuses the run; a digest is of what was read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.base.errors import InputError
from audit.base.tables import open_table
from fixtures.doors import command as done
from fixtures.toy import EDGES, toy

ROWS = "".join(f"i{n},{label}\n" for n, label in enumerate(["dog"] * 30 + ["cow"] * 20))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    edges = "".join(f"{child},{parent}\n" for child, parent in EDGES)
    (folder / "toy.csv").write_text(f"child,parent\n{edges}")
    (folder / "parts").mkdir()
    for name in ("labels.csv", "parts/1.csv", "parts/2.csv"):
        (folder / name).write_text(f"instance,label\n{ROWS.replace('i', name[-5])}")
    lines = "".join(f"s{n}|dog\n" for n in range(50))
    (folder / "predicted.psv").write_text(f"instance|prediction\n{lines}")
    (folder / "policy.toml").write_text("max_findings = 2\n")
    given = ("run", folder / "labels.csv", "--hierarchy", folder / "toy.csv", "--no-pdf")
    assert done(*given, "--out", folder / "before").exit_code == 0
    return folder


@pytest.fixture
def place(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "place"))


def replaced(path: Path) -> None:
    """Another file of other content takes its place."""
    path.with_name("other").write_bytes(path.read_bytes().replace(b"1", b"2"))
    path.with_name("other").replace(path)


def rewritten(path: Path) -> None:
    """Other content of the same size, with the time that it had."""
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"1", b"2"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


IN_MEMORY = ("--predictions", "predicted.psv", "--policy", "policy.toml", "--reference", "before")
CASES: dict[str, tuple[str, ...]] = {
    "labels.csv": ("labels.csv", *IN_MEMORY),
    "predicted.psv": ("labels.csv", *IN_MEMORY),
    "policy.toml": ("labels.csv", *IN_MEMORY),
    "toy.csv": ("labels.csv", *IN_MEMORY),
    "before/result.json": ("labels.csv", *IN_MEMORY),
    "before/restricted/nodes.parquet": ("labels.csv", *IN_MEMORY),
    "parts/2.csv": ("parts",),
    "parts/1.csv": ("parts",),
}


def meanwhile(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[], None]) -> None:
    """Let something happen when a function is called, after most was read."""
    module, _, function = name.rpartition(".")
    whole = getattr(__import__(module, fromlist=[function]), function)

    def called(*given: Any, **named: Any) -> Any:
        change()
        return whole(*given, **named)

    monkeypatch.setattr(name, called)


@pytest.mark.parametrize("way", [replaced, rewritten])
@pytest.mark.parametrize("name", CASES)
def test_an_input_that_changes_meanwhile_refuses_the_run(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str, way: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(place)
    meanwhile(monkeypatch, "audit.runs.make.run_audit", lambda: way(place / name))
    refused = done("run", *CASES[name], "--hierarchy", "toy.csv", "--no-pdf", "--out", "run")

    assert refused.exit_code == 2, refused.output
    assert "files that stay as they are while they are read are required" in refused.stderr
    assert str(place / name) in refused.stderr
    assert not [path for path in place.iterdir() if "run" in path.name]


@pytest.mark.parametrize("way", [replaced, lambda path: os.utime(path)])
def test_a_run_that_changes_while_it_is_compared_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, way: Callable[[Path], None]
) -> None:
    table = place / "before" / "restricted" / "pairs.parquet"
    meanwhile(monkeypatch, "audit.runs.compare.comparison.compare_runs", lambda: way(table))
    refused = done("compare", place / "before", place / "before", "--out", place / "changes")

    assert refused.exit_code == 2
    assert str(table) in refused.stderr
    assert not (place / "changes").exists()


def test_from_python_too(place: Path) -> None:
    labels = audit.load_labels(place / "labels.csv", toy())
    rewritten(place / "labels.csv")
    with pytest.raises(InputError, match="stay as they are"):
        audit.run_audit(labels)

    audit.run_audit(audit.load_labels(place / "labels.csv", toy()))


def test_files_that_are_not_read_are_none_of_the_data(tmp_path: Path) -> None:
    for name in ("1.csv", "_log/2.csv", ".ipynb_checkpoints/1.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"instance,label\n{ROWS}")

    assert open_table(tmp_path).files == (tmp_path / "1.csv",)
    assert audit.load_labels(tmp_path, toy()).sources == (tmp_path / "1.csv",)

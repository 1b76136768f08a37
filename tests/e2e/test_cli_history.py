"""`audit history`: exit statuses, messages, and what is left behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fixtures.commands import audit, refused
from fixtures.sealed_files import reseal

EDGES = "child,parent\ndog,animal\ncow,animal\nhammer,tool\nanimal,thing\ntool,thing\n"


def audited(
    folder: Path,
    name: str,
    labels: list[str],
    hierarchy: str = "things.csv",
    title: str = "",
    edges: str = EDGES,
) -> Path:
    (folder / hierarchy).write_text(edges)
    lines = [f"i{place},{label}" for place, label in enumerate(labels)]
    (folder / f"{name}.csv").write_text("instance,label\n" + "\n".join(lines) + "\n")
    run = folder / name
    titled = ("--title", title) if title else ()
    options = ("--hierarchy", folder / hierarchy, "--out", run, "--no-pdf", *titled)
    assert audit("run", folder / f"{name}.csv", *options).exit_code == 0
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder = tmp_path_factory.mktemp("runs")
    clean = ["dog"] * 60 + ["cow"] * 60
    return (
        audited(folder, "first", clean),
        audited(folder, "second", [*clean, "dgo", "dgo"]),
        audited(folder, "third", [*clean, "dgo", "=2+2"]),
    )


def test_it_prints_a_table_and_leaves_a_file_only_if_asked(
    runs: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = audit("history", *runs)

    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "3 runs in the order of their times" in result.stdout
    assert [*tmp_path.iterdir()] == []
    for name in ("a", "b"):
        assert audit("history", *runs, "--out", tmp_path / name).stdout == result.stdout
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_json_prints_the_steps_alone(runs: tuple[Path, ...]) -> None:
    told = json.loads(audit("history", *runs[::-1], "--as-named", "--json").stdout)

    assert [run["name"] for run in told["runs"]] == ["third", "second", "first"]
    steps = [(step["appeared"], step["disappeared"]) for step in told["steps"]]
    assert steps == [(0, 0), (0, 2)]


def test_an_earlier_file_is_replaced_only_when_asked(
    runs: tuple[Path, ...], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert audit("history", *runs, "--out", out).exit_code == 0

    assert "an earlier file" in refused(audit("history", *runs, "--out", out))
    assert audit("history", *runs, "--out", out, "--overwrite").exit_code == 0
    refused(audit("history", *runs[1:], "--out", runs[0], "--overwrite"))
    assert (runs[0] / "result.json").is_file()


def test_broken_input_is_refused_and_nothing_is_left(
    runs: tuple[Path, ...], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    other = audited(tmp_path, "other", ["oak"], edges="child,parent\noak,plant\nelm,plant\n")
    copy = Path(shutil.copytree(runs[0], tmp_path / "copy"))
    tampered = Path(shutil.copytree(runs[1], tmp_path / "tampered"))
    (tampered / "result.json").write_bytes((runs[0] / "result.json").read_bytes())
    cases = {
        "two runs or more": (runs[0],),
        "each run may be named only once": (runs[0], copy),
        "runs of one hierarchy": (*runs, other),
        "the folder of a run is required": (runs[0], tmp_path),
        "a run as it was sealed is required": (runs[0], tampered),
    }
    for message, named in cases.items():
        told = refused(audit("history", *named, "--out", out))
        assert message in told
        assert "Hint: " in told
        assert not out.exists()


def test_a_run_without_time_keeps_the_order_of_the_command(
    runs: tuple[Path, ...], tmp_path: Path
) -> None:
    undated = Path(shutil.copytree(runs[0], tmp_path / "undated"))
    manifest = json.loads((undated / "manifest.json").read_bytes())
    del manifest["started"]
    (undated / "manifest.json").write_text(json.dumps(manifest))
    reseal(undated)
    result = audit("history", runs[2], undated, runs[1], "--out", tmp_path / "out")

    assert result.exit_code == 0, result.stderr
    assert "in the order in which they are named" in result.stdout
    assert json.loads((tmp_path / "out").read_bytes())["undated"] == 1


def test_titles_that_runs_were_given_name_them(tmp_path: Path) -> None:
    named = [
        audited(tmp_path, name, ["dog"] * length, title=title)
        for name, length, title in (("a", 60, "Spring"), ("b", 61, "Summer"), ("c", 62, ""))
    ]
    out = tmp_path / "out"
    assert audit("history", *named, "--out", out).exit_code == 0
    told = json.loads(out.read_bytes())

    assert [run["title"] for run in told["runs"]] == ["Spring", "Summer", ""]
    assert told["title"] == "Summer"


def test_shared_copies_are_enough_and_a_comparison_asks_for_whole_runs(
    runs: tuple[Path, ...], tmp_path: Path
) -> None:
    ignored = shutil.ignore_patterns("restricted")
    copies = [shutil.copytree(run, tmp_path / run.name, ignore=ignored) for run in runs]
    told = [audit("history", *given, "--json").stdout for given in (runs, copies)]

    assert told[0] == told[1]
    out = tmp_path / "changes"
    assert "`audit history`" in refused(audit("compare", *copies[:2], "--out", out))
    assert not out.exists()

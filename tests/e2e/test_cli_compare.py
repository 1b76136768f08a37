"""`audit compare` from two runs to a folder: exit statuses, messages, and what is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import reports
from audit.base.errors import RenderError
from audit.base.files import sha256_of
from audit.runs.schema import comparison_schema
from fixtures.commands import audit, refused

ROOT = Path(__file__).parents[2]
EDGES = ("dog,animal", "cow,animal", "hammer,tool", "saw,tool", "animal,thing", "tool,thing")


def audited(
    folder: Path, name: str, counts: dict[str, int], edges: tuple[str, ...] = EDGES
) -> Path:
    hierarchy, labels = folder / "things.csv", folder / f"{name}.csv"
    hierarchy.write_text("child,parent\n" + "\n".join(edges) + "\n")
    rows = [label for label, times in counts.items() for _ in range(times)]
    lines = [f"i{place},{label}" for place, label in enumerate(rows)]
    labels.write_text("instance,label\n" + "\n".join(lines) + "\n")
    run = folder / name
    done = audit("run", labels, "--hierarchy", hierarchy, "--out", run, "--no-pdf")
    assert done.exit_code == 0, done.output
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    old = audited(folder, "old", {"dog": 200, "cow": 200, "hammer": 100})
    new = audited(folder, "new", {"dog": 300, "cow": 100, "hammer": 100, "saw": 60})
    return old, new


def test_it_leaves_a_sealed_folder_and_a_table(runs: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = audit("compare", *runs, "--out", out)

    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "OLD has" in result.stdout
    assert "dog" in result.stdout
    assert {path.name for path in out.iterdir()} == {
        "comparison.html", "comparison.json", "manifest.json", "restricted",
    }  # fmt: skip
    manifest = json.loads((out / "manifest.json").read_text())
    assert [source["role"] for source in manifest["inputs"]] == ["old", "new"]
    for source in manifest["inputs"]:
        assert source["sha256"] == sha256_of(Path(source["path"]))
    assert "comparison.html" in manifest["outputs"]


def test_json_prints_the_summary_alone(runs: tuple[Path, Path], tmp_path: Path) -> None:
    summary = json.loads(audit("compare", *runs, "--out", tmp_path / "out", "--json").stdout)

    assert summary["changed"]
    assert summary["causes"] == {
        "data": True, "hierarchy": False, "normaliser": False, "tool": False, "policy": False,
    }  # fmt: skip
    assert summary["totals"]["nodes"] >= 3
    assert summary["not_written"] == []


def test_a_run_beside_itself_is_the_same(runs: tuple[Path, Path], tmp_path: Path) -> None:
    result = audit("compare", runs[0], runs[0], "--out", tmp_path / "out", "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["changed"] is False


def test_twice_gives_the_same_bytes(runs: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("one", "two"):
        audit("compare", *runs, "--out", tmp_path / name)

    for path in (tmp_path / "one").rglob("*.*"):
        if path.name != "manifest.json":
            twin = tmp_path / "two" / path.relative_to(tmp_path / "one")
            assert path.read_bytes() == twin.read_bytes()


def test_another_hierarchy_is_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    hierarchy, labels = tmp_path / "things.csv", tmp_path / "labels.csv"
    hierarchy.write_text("child,parent\noak,plant\nelm,plant\n")
    labels.write_text("instance,label\na,oak\n")
    new = ("run", labels, "--hierarchy", hierarchy, "--out", tmp_path / "run", "--no-pdf")
    assert audit(*new).exit_code == 0
    compared = ("compare", runs[0], tmp_path / "run", "--out", tmp_path / "out")

    assert "one hierarchy" in refused(audit(*compared))
    assert not (tmp_path / "out").exists()
    again = (*new, "--overwrite", "--reference", runs[0])
    assert "0 of the 3 nodes" in refused(audit(*again))


def test_an_edited_hierarchy_of_the_same_name_is_told(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    moved = tuple("dog,tool" if edge == "dog,animal" else edge for edge in EDGES)
    later = audited(tmp_path, "later", {"dog": 200, "cow": 200, "hammer": 100}, moved)
    result = audit("compare", runs[0], later, "--out", tmp_path / "out", "--json")
    summary = json.loads(result.stdout)
    edits = pl.read_parquet(tmp_path / "out" / "restricted" / "hierarchy_edits.parquet")

    assert summary["causes"]["hierarchy"]
    assert not summary["causes"]["data"]
    assert summary["totals"] == {**summary["totals"], "edits": 1, "nodes": 0, "pairs": 0}
    assert edits.select("edit", "node").rows() == [("moved", "dog")]


def test_a_comparison_is_replaced_only_when_asked(runs: tuple[Path, Path], tmp_path: Path) -> None:
    audit("compare", *runs, "--out", tmp_path / "out")

    assert "--overwrite" in refused(audit("compare", *runs, "--out", tmp_path / "out"))
    assert audit("compare", *runs, "--out", tmp_path / "out", "--overwrite").exit_code == 0


def test_a_run_is_never_replaced_by_a_comparison(runs: tuple[Path, Path], tmp_path: Path) -> None:
    run = audited(tmp_path, "run", {"dog": 20})

    assert "not a comparison" in refused(audit("compare", *runs, "--out", run, "--overwrite"))
    assert (run / "result.json").is_file()


def test_a_report_that_fails_loses_nothing_else(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RenderError("no picture today")

    monkeypatch.setattr(reports, "write_comparison", fails)
    result = audit("compare", *runs, "--out", tmp_path / "out")

    assert result.exit_code == 3
    assert "no picture today" in result.stderr
    assert (tmp_path / "out" / "comparison.json").is_file()
    assert not (tmp_path / "out" / "comparison.html").exists()


# --- models -------------------------------------------------------------------------------------


def modelled(folder: Path, name: str, right: int, *options: str) -> Path:
    """A run of 60 instances and a model that is right on the first of them."""
    hierarchy, labels = folder / "things.csv", folder / "labels.csv"
    hierarchy.write_text("child,parent\n" + "\n".join(EDGES) + "\n")
    named = [("dog", "cow", "hammer", "saw")[i % 4] for i in range(60)]
    wrong = {"dog": "cow", "cow": "dog", "hammer": "dog", "saw": "hammer"}
    labels.write_text("instance,label\n" + "".join(f"i{i},{n}\n" for i, n in enumerate(named)))
    rows = [
        f"i{i},{answer if i < right else wrong[answer]},0.7\ni{i},"
        f"{wrong[answer] if i < right else answer},0.3"
        for i, answer in enumerate(named)
    ]
    scores = folder / f"{name}-scores.csv"
    scores.write_text("instance,node,score\n" + "\n".join(rows) + "\n")
    run = folder / name
    done = audit(
        "run", labels, "--hierarchy", hierarchy, "--predictions", scores, "--out", run,
        "--no-pdf", "--min-cell", "1", *options,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return run


@pytest.mark.slow
def test_two_models_of_the_same_data_are_never_unchanged(tmp_path: Path) -> None:
    runs = [modelled(tmp_path, f"m{right}", right, "--keep-instances") for right in (20, 50)]
    result = audit("compare", *runs, "--out", tmp_path / "out")
    out = tmp_path / "out"
    shared = json.loads((out / "comparison.json").read_text())
    page = (out / "comparison.html").read_text()

    assert result.exit_code == 0, result.output
    assert "The predictions of the two runs differ." in result.stdout
    assert "Nothing changed" not in page
    assert "30 have other scores and 30 other predicted labels" in page
    accuracy = next(
        row
        for row in shared["model"]["metrics"]["rows"]
        if row["name"] == "accuracy" and row["parameters"]["depth_to"] == 2
    )
    assert (accuracy["old"], accuracy["new"]) == pytest.approx((20 / 60, 50 / 60))
    assert 0 < accuracy["low"] < 0.5 < accuracy["high"] < 1
    assert "+50.0" in page
    pairs = pl.read_parquet(out / "restricted" / "confusion_changes.parquet")
    assert len(pairs) == shared["model"]["confusions"]["family"]
    assert (out / "restricted" / "metric_changes.parquet").is_file()


def test_a_model_beside_itself_is_unchanged_with_intervals_of_nothing(tmp_path: Path) -> None:
    run = modelled(tmp_path, "m", 40, "--keep-instances")
    audit("compare", run, run, "--out", tmp_path / "out")
    shared = json.loads((tmp_path / "out" / "comparison.json").read_text())
    page = (tmp_path / "out" / "comparison.html").read_text()

    assert "Nothing changed" in page
    assert "The predictions are the same in both runs." in page
    defined = [row for row in shared["model"]["metrics"]["rows"] if row["old"] is not None]
    assert len(defined) > 5
    assert {(row["difference"], row["low"], row["high"]) for row in defined} == {(0, 0, 0)}


@pytest.mark.slow
def test_what_intervals_take_the_runs_as_is_said(tmp_path: Path) -> None:
    runs = [modelled(tmp_path, f"m{right}", right) for right in (20, 50)]
    result = audit("compare", *runs, "--out", tmp_path / "out")

    said = "Intervals take the runs as independent"
    assert said in " ".join(result.stdout.split())
    assert said in (tmp_path / "out" / "comparison.html").read_text()


@pytest.mark.slow
def test_the_comparison_of_models_validates_against_its_schema(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = comparison_schema()
    kept, bare = modelled(tmp_path, "a", 20, "--keep-instances"), modelled(tmp_path, "b", 50)
    for number, runs in enumerate(((kept, kept), (kept, bare))):
        audit("compare", *runs, "--out", tmp_path / f"out{number}")
        shared = json.loads((tmp_path / f"out{number}" / "comparison.json").read_text())
        jsonschema.validate(shared, schema)

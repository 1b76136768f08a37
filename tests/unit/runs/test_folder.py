"""The run folder: whole or not at all, sealed, read back the same."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import InputError, OutputError
from audit.base.files import sha256_of
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.results.parts import DriftPart
from audit.results.result import AuditResult, to_json_bytes
from audit.runs import folder as run_folder
from audit.runs.audit import run_audit
from audit.runs.folder import (
    is_run,
    rewriting_run,
    seal_reports,
    write_run,
    write_tables,
    writing_run,
)
from audit.runs.read import read_run
from audit.runs.sealed_run import SealedRun
from fixtures.labelled import labelled, repeated, tree

BODY = tree(
    "lung heart < body",
    "asthma other_lung < lung",
    "attack < heart",
    titles={"other_lung": "Other {of} 100 % é"},
    labelled_ancestors="fault",
)
COUNTS = [
    (40, ["other_lung"]),
    (20, ["asthma", "attack", "lung"]),
    (3, ["attack"]),
    (10, []),
    (2, ["elf"]),
]


@pytest.fixture
def result() -> AuditResult:
    return run_audit(labelled(BODY, repeated(COUNTS), persons=True))


@pytest.fixture
def drifting() -> AuditResult:
    labels = repeated([(40, ["asthma"]), (40, ["attack"])])
    sites = {instance: "ab"[number % 3 > 1] for number, instance in enumerate(labels)}
    dataset = labelled(BODY, labels, strata={"site": sites}, persons=True)
    return run_audit(dataset, Policy(drift=("site",)))


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_run_read_back_is_the_same(result: AuditResult, tmp_path: Path) -> None:
    run = write_run(result, tmp_path / "run")
    back = read_run(run)

    assert back.shared() == result.shared()
    assert to_json_bytes(back.shared()) == (run / "result.json").read_bytes()
    assert back.checks == result.checks
    assert back.findings.equals(result.findings)
    assert back.nodes.equals(result.nodes)
    assert back.cases is not None
    assert result.cases is not None
    assert len(result.cases.collect()) > 0
    assert back.cases.collect().equals(result.cases.collect())
    assert back.pairs.collect().equals(result.pairs.collect())


def test_drift_is_read_back_and_absent_without_it(
    drifting: AuditResult, result: AuditResult, tmp_path: Path
) -> None:
    back, without = (read_run(write_run(one, tmp_path / name)) for name, one in
                     (("drift", drifting), ("none", result)))  # fmt: skip

    assert back.shared() == drifting.shared()
    assert [row["value"] for row in back.shared()["overview"]["coverage"]["drift"]] == ["a", "b"]
    kept, before = back.part(DriftPart), drifting.part(DriftPart)
    assert kept is not None
    assert before is not None
    assert kept.nodes.equals(before.nodes)
    assert without.part(DriftPart) is None


def test_a_run_written_again_has_the_same_bytes(result: AuditResult, tmp_path: Path) -> None:
    run = write_run(result, tmp_path / "run")
    before = {
        path.name: path.read_bytes() for path in run.rglob("*.*") if path.name != "manifest.json"
    }
    write_run(read_run(run), run, overwrite=True)

    for name in ("result.json", "nodes.parquet", "findings.parquet", "pairs.parquet"):
        (path,) = run.rglob(name)
        assert path.read_bytes() == before[name], name


def test_an_earlier_run_is_replaced_only_when_asked(result: AuditResult, tmp_path: Path) -> None:
    run = write_run(result, tmp_path / "run")
    (run / "old").touch()
    with pytest.raises(OutputError, match="--overwrite"):
        write_run(result, run)
    assert (run / "old").exists()

    write_run(result, run, overwrite=True)
    assert not (run / "old").exists()
    assert left_in(tmp_path) == {"run"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_is_no_run_is_never_replaced(
    result: AuditResult, tmp_path: Path, overwrite: bool
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years")
    with pytest.raises(OutputError, match="not a run"):
        write_run(result, precious, overwrite=overwrite)

    assert (precious / "thesis.tex").read_text() == "years"
    assert left_in(tmp_path) == {"precious"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_is_never_replaced(result: AuditResult, tmp_path: Path, overwrite: bool) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(OutputError, match="not a run"):
        write_run(result, path, overwrite=overwrite)
    assert path.read_text() == "x"


def test_an_empty_folder_is_taken(result: AuditResult, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()

    assert is_run(write_run(result, tmp_path / "run"))


def test_folders_above_are_made(result: AuditResult, tmp_path: Path) -> None:
    assert is_run(write_run(result, tmp_path / "a" / "b" / "run"))


def test_a_place_below_a_file_cannot_be_written(result: AuditResult, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="writable folder"):
        write_run(result, tmp_path / "file" / "run")


def test_a_link_to_a_run_stays_a_link(result: AuditResult, tmp_path: Path) -> None:
    run = write_run(result, tmp_path / "run")
    link = tmp_path / "latest"
    link.symlink_to(run)
    write_run(result, link, overwrite=True)

    assert link.is_symlink()
    assert is_run(run)


def test_an_earlier_run_survives_a_failed_renaming(
    result: AuditResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(result, tmp_path / "run")

    def fails(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(run_folder, "exchange", fails)
    with pytest.raises(OutputError, match="disk"):
        write_run(result, run, overwrite=True)

    assert is_run(run)
    assert left_in(tmp_path) == {"run"}


def test_the_folder_can_be_read_by_others(result: AuditResult, tmp_path: Path) -> None:
    assert write_run(result, tmp_path / "run").stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_what_is_not_to_be_shared_can_be_opened_by_its_owner_alone(
    result: AuditResult, tmp_path: Path
) -> None:
    run = write_run(result, tmp_path / "run")
    assert (run / "restricted").stat().st_mode & 0o777 == 0o700


def test_reports_are_replaced_and_sealed_again(result: AuditResult, tmp_path: Path) -> None:
    run = write_run(result, tmp_path / "run")
    for text in ("old", "new"):
        (run / ".report-killed").mkdir(exist_ok=True)
        (run / ".report-killed" / "nodes.csv").touch()
        with rewriting_run(run) as folder:
            (folder / "report.html").write_text(text)
            seal_reports(run, folder)
    manifest = json.loads((run / "manifest.json").read_text())

    assert (run / "report.html").read_text() == "new"
    assert manifest["outputs"]["report.html"] == sha256_of(run / "report.html")
    assert left_in(run) == {"report.html", "result.json", "manifest.json", "restricted"}
    assert not any("killed" in name for name in manifest["outputs"])


def test_a_report_that_is_not_made_anew_stays(result: AuditResult, tmp_path: Path) -> None:
    run = write_run(result, tmp_path / "run")
    (run / "report.pdf").write_text("earlier")
    with rewriting_run(run) as folder:
        (folder / "report.html").write_text("new")
        seal_reports(run, folder)

    assert (run / "report.pdf").read_text() == "earlier"
    assert SealedRun(run).intact("report.pdf")


def test_reports_that_fail_leave_the_run_as_it_was(result: AuditResult, tmp_path: Path) -> None:
    run = write_run(result, tmp_path / "run")
    before = (run / "manifest.json").read_bytes()

    def half(folder: Path) -> None:
        (folder / "report.html").write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError), rewriting_run(run) as temporary:
        half(temporary)

    assert (run / "manifest.json").read_bytes() == before
    assert left_in(run) == {"result.json", "manifest.json", "restricted"}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_appears_meanwhile_stays(
    result: AuditResult, tmp_path: Path, overwrite: bool, earlier: bool, kind: str
) -> None:
    out, thesis = tmp_path / "run", tmp_path / "elsewhere" / "thesis.txt"
    thesis.parent.mkdir()
    thesis.write_text("years")
    if earlier and overwrite:
        write_run(result, out)

    def written() -> None:
        with writing_run(out, overwrite=overwrite) as folder:
            write_tables(result, folder)
            shutil.rmtree(out, ignore_errors=True)
            if kind == "folder":
                shutil.copytree(thesis.parent, out)
            elif kind == "file":
                shutil.copy(thesis, out)
            else:
                out.symlink_to(thesis.parent)

    with pytest.raises(OutputError, match="not a run"):
        written()
    assert (out if kind == "file" else out / "thesis.txt").read_text() == "years"
    assert left_in(tmp_path) == {"run", "elsewhere"}


def test_a_run_that_appears_meanwhile_stays_unless_it_may_be_replaced(
    result: AuditResult, tmp_path: Path
) -> None:
    run = write_run(result, tmp_path / "made")

    def made_beside(out: Path, overwrite: bool) -> None:
        with writing_run(out, overwrite=overwrite) as folder:
            shutil.copytree(run, folder, dirs_exist_ok=True)
            (folder / "later").touch()
            shutil.copytree(run, out)

    with pytest.raises(OutputError, match="--overwrite"):
        made_beside(tmp_path / "run", overwrite=False)
    assert not (tmp_path / "run" / "later").exists()

    made_beside(tmp_path / "other", overwrite=True)
    assert (tmp_path / "other" / "later").exists()


def test_a_run_that_has_changed_is_read_only_when_asked(
    result: AuditResult, tmp_path: Path
) -> None:
    run = write_run(result, tmp_path / "run")
    (run / "beside.txt").touch()

    with pytest.raises(InputError, match="a run as it was sealed is required"):
        read_run(run)
    assert to_json_bytes(read_run(run, unsealed=True).shared()) == to_json_bytes(result.shared())


def test_tables_have_the_columns_that_formats_promises(
    toy_hierarchy: Hierarchy, tmp_path: Path
) -> None:
    run = write_run(run_audit(labelled(toy_hierarchy, {"a": ["dog", "tool"]})), tmp_path / "run")
    pairs = read_run(run).pairs.collect_schema()

    whole = dict.fromkeys(("support_a", "support_b", "joint", "joint_entailed"), pl.Int64())
    against_chance = ("rate", "confusion", "expected", "lift")
    judged = ("observed", "expected_length", "ratio", "p_value", "q_value")
    explained = ("explained", "effective", "shrunk_ratio", "ratio_low", "ratio_high")
    real = dict.fromkeys((*against_chance, *judged, *explained), pl.Float64())
    real |= dict.fromkeys(("groups", "found_rank"), pl.Int64())
    real |= dict.fromkeys(("group_sum", "group_squares"), pl.Float64())
    text = dict.fromkeys(("relation", "lca"), pl.String())
    assert list(pairs.items()) == [
        ("a", pl.String()),
        ("b", pl.String()),
        *{**whole, **real, **text}.items(),
    ]

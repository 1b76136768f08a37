"""The folder of a comparison: whole or not at all, sealed, and never in another's place."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from audit.base.files import sha256_of
from audit.results.result import to_json_bytes
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import Comparison, compare_runs, write_comparison
from audit.runs.folder import COMPARISON, is_run, is_sealed
from fixtures.labelled import labelled, repeated, tree
from fixtures.sealed_files import listed

BODY = tree("lung heart < body", "asthma cough < lung", "attack < heart")
TABLES = ("finding_changes", "hierarchy_edits", "node_changes", "pair_changes")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    runs = [
        run_audit(labelled(BODY, repeated([(n, ["asthma"]), (90, ["cough", "attack"])])))
        for n in (40, 90)
    ]
    return compare_runs(*runs)


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_it_holds_the_view_and_the_tables(comparison: Comparison, tmp_path: Path) -> None:
    out = write_comparison(comparison, tmp_path / "out")

    assert (out / "comparison.json").read_bytes() == to_json_bytes(comparison.shared())
    assert left_in(out) == {"comparison.json", "manifest.json", "restricted"}
    assert left_in(out / "restricted") == {"manifest.json", *(f"{name}.parquet" for name in TABLES)}
    assert pl.read_parquet(out / "restricted" / "node_changes.parquet").equals(comparison.nodes)
    assert not is_run(out)


def test_the_manifest_seals_every_other_file(comparison: Comparison, tmp_path: Path) -> None:
    out = write_comparison(comparison, tmp_path / "out")
    files = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}

    assert set(listed(out)) == files - {"manifest.json", "restricted/manifest.json"}
    for name, digest in listed(out).items():
        assert sha256_of(out / name) == digest


def test_nothing_half_written_stays_behind(
    comparison: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("audit.runs.compare.comparison.seal_comparison", fails)
    with pytest.raises(RuntimeError):
        write_comparison(comparison, tmp_path / "out")

    assert left_in(tmp_path) == set()
    assert not is_sealed(tmp_path / "out", COMPARISON)

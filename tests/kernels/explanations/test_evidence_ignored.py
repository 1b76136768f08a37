"""evidence_ignored: the branch that was planted, the deepest or the widest that explains it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fixtures.doors import made
from fixtures.explained_releases import explained_release, thirty_nodes, write_release

BODY = thirty_nodes()


def found(folder: Path, seed: int, ignored: str = "", instances: int = 240) -> Any:
    """The check's entry in a result, and the cases of its first finding."""
    rows = explained_release(seed, hierarchy=BODY, ignored=ignored, instances=instances)
    path, tree, _ = write_release(folder, rows, BODY)
    run = folder / f"{ignored}{seed}"
    made("explanations", path, "--hierarchy", tree, "--no-pdf", "--out", run)
    check = json.loads((run / "result.json").read_bytes())["checks"][0]
    first = check["findings"][:1]
    cases = made("cases", run, first[0]["id"]).split() if first else []
    return check, cases, rows


@pytest.mark.parametrize("ignored", ["b", "upper"])
def test_the_planted_branch_is_found_and_nothing_else(ignored: str, tmp_path: Path) -> None:
    check, cases, rows = found(tmp_path, 1, ignored)
    (finding,) = check["findings"]
    assert finding["id"] == f"evidence_ignored:m:{ignored}"
    evidence = finding["evidence"]
    assert evidence["concordance"] < 0.6
    assert {part["nodes"][0]["id"] for part in finding["parts"]} == {"first", "second"}
    below = BODY.descendants(ignored, with_self=True)
    labelled = {id for id, target in rows.select("id", "target").iter_rows() if target in below}
    assert {*cases} == labelled


def test_a_node_that_its_labels_explain_folds_them(tmp_path: Path) -> None:
    check, _, _ = found(tmp_path, 1, "b", 480)
    assert len(check["findings"]) == 1
    assert check["folded"] > 0


@pytest.mark.slow
def test_a_model_that_looks_at_all_evidence_has_no_finding(tmp_path: Path) -> None:
    told = [bool(found(tmp_path, seed)[0]["findings"]) for seed in range(8)]
    assert sum(told) <= 1

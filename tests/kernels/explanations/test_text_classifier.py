"""The worked example: a sound model points to the evidence, one with a shortcut does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fixtures.clinical_notes import SHORTCUT_BRANCH
from fixtures.sample_runs import run_command

pytest.importorskip("torch")
pytest.importorskip("captum")
pytest.importorskip("shap")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

METHODS = ("integrated_gradients", "gradient_x_input")


@pytest.fixture(scope="module")
def examples(one_thread: None) -> Any:
    from fixtures.text_classifier import audited_notes, example

    notes = audited_notes(50)
    return [example(0, notes, shortcut=shortcut, methods=METHODS) for shortcut in (False, True)]


def test_an_audit_finds_the_shortcut_by_its_branch(examples: Any, tmp_path: Path) -> None:
    from fixtures.text_classifier import write_examples

    write_examples(examples, tmp_path)
    run_command(
        "explanations", tmp_path / "attributions.jsonl",
        "--evidence", tmp_path / "evidence.jsonl",
        "--hierarchy", "icd9cm", "--no-pdf", "--out", tmp_path / "run",
    )  # fmt: skip
    shared = json.loads((tmp_path / "run" / "result.json").read_bytes())
    found = {check["name"]: check["findings"] for check in shared["checks"]}
    assert [finding["id"] for finding in found["evidence_ignored"]] == [
        f"evidence_ignored:shortcut:{SHORTCUT_BRANCH}"
    ]

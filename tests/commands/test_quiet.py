"""What a command says where nobody wants to hear of it, and where steps are logged."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import audit
from fixtures.doors import command


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree.csv"
    path.write_text("child,parent\ncat,animal\ncat,pet\npet,animal\n", "utf-8")
    return path


def test_a_quiet_command_says_all_by_its_status(tree: Path) -> None:
    loud = command(*["lint", str(tree), "--fail-on", "warning"])
    quiet = command(*["lint", str(tree), "--fail-on", "warning", "--quiet"])

    assert (loud.exit_code, quiet.exit_code) == (1, 1)
    assert loud.output
    assert not quiet.output


def test_errors_are_told_to_quiet_commands_too(tmp_path: Path) -> None:
    done = command(*["lint", str(tmp_path / "none.csv"), "--quiet"])

    assert done.exit_code == 2
    assert "none.csv" in done.stderr


def test_silence_and_json_are_not_asked_for_together(tree: Path) -> None:
    done = command(*["lint", str(tree), "--quiet", "--json"])

    assert done.exit_code == 2
    assert "only one of --quiet and --json may be given" in done.stderr


def test_steps_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    labels = {"id": ["1", "2"], "label": ["cat", "dog"]}
    dataset = audit.load_labels(labels, {"cat": "pet", "dog": "pet"})
    with caplog.at_level(logging.INFO, logger="audit"):
        audit.run_audit(dataset)

    assert caplog.messages
    assert {record.name for record in caplog.records} == {"audit"}


def test_a_level_that_logging_lacks_is_refused(tree: Path) -> None:
    done = command(*["lint", str(tree)], AUDIT_LOG="much")

    assert done.exit_code == 2
    assert "AUDIT_LOG is one of" in done.stderr

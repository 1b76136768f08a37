"""The numbers of the first findings on public data come out again, and a wrong one does not."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import audit
from benchmarks.finding_recount import Recount, recounted
from benchmarks.finding_sheet import top
from benchmarks.plain_releases import read

DATA = Path(os.environ.get("AUDIT_DATA", ""))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("AUDIT_DATA"), reason="AUDIT_DATA names no folder with the releases"
    ),
]


def test_every_number_of_the_sentences_on_go_slim_is_counted_again() -> None:
    folder = DATA / "go-slim"
    hierarchy = audit.load_hierarchy(folder / "goslim_generic.obo")
    result = audit.run_audit(audit.load_labels(folder / "slim_association", hierarchy))
    recount = Recount(read("GO slim", DATA), DATA)
    findings = top(result.shared())

    assert len(findings) == 20
    for finding in findings:
        statement = finding["statement"]
        assert recounted(recount, finding, result.policy) == "right", statement
        for place in re.finditer(r"(?<![:\d])\d(?!\d*[:])", re.sub(r"GO:\d+", "x" * 10, statement)):
            at = place.start()
            wrong = statement[:at] + str((int(statement[at]) + 1) % 10) + statement[at + 1 :]
            assert recounted(recount, {**finding, "statement": wrong}, {}) != "right", wrong

"""The numbers of the first findings on public data come out again, and a wrong one does not."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import audit
from validation.finding_recount import Recount, recounted
from validation.finding_sheet import top
from validation.plain_releases import read

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


def test_the_loss_of_depth_of_terms_cut_to_their_parents_is_counted_again() -> None:
    """GO slim with each term cut to its first parent, held against GO slim itself."""
    folder, release = DATA / "go-slim", read("GO slim", DATA)
    labels = {
        gene: sorted({min(release.parents.get(term, {term})) for term in own})
        for gene, own in release.labels.items()
    }
    hierarchy = audit.load_hierarchy(folder / "goslim_generic.obo")
    rows = pl.DataFrame({"instance": list(labels), "label": list(labels.values())})
    reference = audit.run_audit(audit.load_labels(folder / "slim_association", hierarchy))
    dataset = audit.LabelDataset.from_rows(rows.explode("label").drop_nulls(), hierarchy)
    result = audit.run_audit(dataset, reference=reference)
    (finding,) = (
        finding
        for check in result.shared()["checks"]
        for finding in check["findings"]
        if finding["id"] == "not_specific:shallower"
    )
    recount = Recount(replace(release, labels=labels), DATA, before=release)

    assert recounted(recount, finding, {}) == "right", finding["statement"]
    for place in re.finditer(r"\d(?!\d*%)", finding["statement"]):
        at, statement = place.start(), finding["statement"]
        wrong = statement[:at] + str((int(statement[at]) + 1) % 10) + statement[at + 1 :]
        assert recounted(recount, {**finding, "statement": wrong}, {}) != "right", wrong

"""What a model takes for what on the test set of CIFAR-10, told by the page of checks."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import audit
from fixtures.checked import CHECK_OF

CHECK = CHECK_OF["model_confuses"]

DATA = Path(os.environ.get("AUDIT_DATA", "")) / "softmax"
pytestmark = pytest.mark.skipif(
    not os.environ.get("AUDIT_DATA"), reason="AUDIT_DATA names no folder with the predictions"
)


def test_the_first_findings_are_those_that_the_page_names() -> None:
    hierarchy = audit.load_hierarchy(DATA / "cifar10_edges.csv")
    classes = DATA / "cifar10_classes.txt"
    dataset = audit.load_labels(DATA / "cifar10_test_labels.npy", hierarchy, classes=classes)
    model = audit.load_predictions(
        DATA / "cifar10_test_probabilities.npy", dataset, classes=classes
    )
    result = audit.run_audit(dataset, predictions=model)
    (confused,) = (check for check in result.checks if check.name == CHECK.name)
    first = confused.findings[:2]
    page = " ".join((CHECK.rule.__doc__ or "").split())
    told = pl.DataFrame(
        [
            (*finding.nodes, finding.touched, finding.evidence["expected_exchanges"])
            for finding in first
        ],
        schema=["a", "b", "observed", "expected"],
        orient="row",
    )

    assert told["observed"].to_list() == [154, 48]
    for a, b, observed, expected in told.iter_rows():
        assert f"{a} and {b} ({observed}" in page
        assert f"{expected:.1f}" in page
    assert result.cases is not None
    cases = result.cases.collect()
    for finding in first:
        assert len(cases.filter(pl.col("finding") == finding.id)) == finding.touched

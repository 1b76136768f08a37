"""Of persons so few that no count is told, all that leaves a run is made all the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

import audit
import reports
from fixtures.leaving import croissant, exported_tables, junit_of

EDGES = pl.DataFrame({"child": ["cat", "dog", "puppy", "other"], "parent": ["pet"] * 4})
LABELS = (["cat"], ["dog", "puppy"], ["elf"], ["cat", "cat"], ["dog", "N/A", "other"])


def run_of(persons: int) -> tuple[audit.AuditResult, audit.AuditResult]:
    """A run with groups, columns and a model, and its reference."""
    hierarchy = audit.load_hierarchy(EDGES)
    policy = audit.Policy(min_cell=11, drift=("site",), strata=("site",), residual_nodes=("other",))
    ids = [n % persons for n in range(persons + 2)]
    rows = {
        "id": [f"i{n}" for n in ids],
        "labels": [LABELS[n % 5] for n in range(persons + 2)],
        "group": [f"g{n % 3}" for n in ids],
        "site": ["xy"[n % 2] for n in ids],
    }
    data = audit.load_labels(
        rows, hierarchy, id="id", label="labels", group="group", strata=["site"]
    )
    scores = pl.DataFrame(
        {"id": sorted({f"i{n}" for n in ids}), "cat": 0.5, "dog": 0.2, "puppy": 0.3}
    )
    model = audit.load_predictions(scores, data)
    reference = audit.run_audit(data, policy)
    return reference, audit.run_audit(data, policy, predictions=model, reference=reference)


@pytest.mark.parametrize("persons", [3, 40, 60])
def test_of_few_persons_every_page_and_file_is_made(persons: int, tmp_path: Path) -> None:
    reference, run = run_of(persons)
    shared = run.shared()
    reports.write_html(run, tmp_path / "report.html")
    reports.write_comparison(audit.compare_runs(reference, run), tmp_path / "comparison.html")
    pages = [path.read_text("utf-8") for path in sorted(tmp_path.glob("*.html"))]
    texts = [junit_of(shared).decode(), json.dumps(croissant(shared, "x"))]

    assert exported_tables(shared)["findings"].height > 2
    assert len(pages) == 2
    for text in (*pages, *texts):
        words = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
        assert not re.search(r"\b(None|nan|NaN)\b", words)

"""principal_position: external causes and manifestations in first place, with the rule shown."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

from audit.hierarchies.icd.built_in import ICD9CM_NODES
from audit.hierarchies.icd.icd9 import why_never_first


@pytest.mark.parametrize(
    ("code", "title", "found"),
    [
        ("E000.0", "Civilian activity done for income or pay", True),
        ("331.7", "Cerebral degeneration in diseases classified elsewhere", True),
        ("320.7", "Meningitis in other bacterial diseases classified elsewhere", True),
        ("327.26", "Hypoventilation in conditions classifiable elsewhere", True),
        ("041.9", "Infection in conditions classified elsewhere and of unspecified site", False),
        ("294.8", "Other disorders due to conditions classified elsewhere", False),
        ("648.90", "Other current conditions classifiable elsewhere of mother", False),
        ("799.89", "Other ill-defined conditions, not elsewhere classified", False),
        ("V30.00", "Single liveborn", False),
        ("401.9", "", False),
    ],
)
def test_titles_and_letters_decide(code: str, title: str, found: bool) -> None:
    assert (why_never_first(code, title) is not None) is found


def test_the_list_has_1291_external_causes_and_74_manifestations_by_title() -> None:
    listed = pl.read_csv(gzip.decompress(ICD9CM_NODES.read_bytes()), infer_schema=False).filter(
        pl.col("assignable") == "true"
    )
    causes = listed["node"].str.starts_with("E").sum()
    rules = [why_never_first(code, title) for code, title in listed.select("node", "title").rows()]

    assert rules.count("an external cause") == causes == 1291
    assert len(rules) - rules.count(None) - causes == 74

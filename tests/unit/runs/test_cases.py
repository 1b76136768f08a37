"""The instances behind findings: named by hand for each check, and as a table."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.checks import CHECKS
from audit.hierarchies.coding import Exclusion, Exclusions
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.policy.rules import Exclusive
from audit.policy.statements import BranchRule, Threshold
from audit.runs.case_lists import case_table
from fixtures.coded import SPELLS, icd9cm, on_days
from fixtures.coded import measured as coded
from fixtures.labelled import labelled, repeated, rows_mapped, tree


def found(measured: Measurements, check: str) -> dict[str, list[str]]:
    """The ids of the instances behind each finding of a check, by the finding's id."""
    (asked,) = (one for one in CHECKS if one.name == check)
    assert asked.cases
    ids = measured.loaded.dataset.instances["instance"]
    return {
        finding.id: ids.gather(asked.cases(measured, finding)).to_list()
        for finding in asked.run(measured).findings
    }


TABLES = {
    "diagnoses": {
        "a": ["42", "E812.0"],
        "b": ["4019", "no such"],
        "c": ["x", "J18.9"],
        "d": ["401", "0389"],
        "e": ["E8120", "4019"],
        "f": ["4019", "250.99", "718.60"],
        "g": ["42"],
    },
    "procedures": {"a": ["3606"], "h": ["4010", "3893", "3893", "3606"]},
    "diagnoses-10": {"b": ["I10"]},
}


def test_labels_that_were_refused_damaged_or_not_specific_have_the_instances_that_carry_them() -> (
    None
):
    measured = coded(TABLES, icd9cm())

    assert found(measured, "malformed_code") == {
        "malformed_code:refused": ["a", "b", "c", "f", "g", "h"]
    }
    assert found(measured, "not_specific") == {"not_specific:diagnoses": ["d"]}
    assert found(measured, "mixed_versions")["mixed_versions:shaped"] == ["c"]
    assert found(measured, "wrong_table") == {"wrong_table:procedures": ["h"]}
    assert found(measured, "duplicates") == {"duplicates:labels": ["h"]}
    assert found(measured, "lost_zero") == {"lost_zero:diagnoses": ["a", "g"]}
    assert found(measured, "retired_code") == {"retired_code:unlisted": ["f"]}
    assert found(measured, "principal_position") == {"principal_position:first": ["e"]}


def test_rows_marked_as_another_version_are_told_apart_from_equal_labels_that_were_kept() -> None:
    """One label of one table is refused in a's row, kept in b's, and in a row of nobody."""
    rows = [
        ("a", "4019", None, "diagnoses", "other_version"),
        ("b", "4019", None, "diagnoses", None),
        (None, "4019", None, "diagnoses", "other_version"),
        ("c", "4019", None, "procedures", "other_version"),
    ]
    names = ["instance", "label", "position", "table", "refused"]
    made = pl.DataFrame(rows, dict.fromkeys(names, pl.String), orient="row")
    instances = pl.DataFrame({"instance": [*"abc"]})
    measured = measure(rows_mapped(made, instances, icd9cm(), persons=True), Policy())

    assert found(measured, "mixed_versions") == {"mixed_versions:marked": ["a", "c"]}
    assert found(measured, "empty_instance") == {"empty_instance:refused": ["a", "c"]}


def test_rows_on_a_day_that_was_not_theirs_have_their_instances() -> None:
    measured = on_days(
        ("a", "585.6", "2001-01-01"),
        ("b", "585.6", "2010-01-01"),
        ("c", "585", "2010-01-01"),
        ("d", "585", "2001-01-01"),
        ("e", "4019", None),
        ("f", "585", None),
        spells=SPELLS,
    )

    assert found(measured, "retired_code") == {"retired_code:on%20their%20day": ["a"]}
    assert found(measured, "not_specific") == {
        "not_specific:on%20their%20day": ["c"],
        "not_specific:diagnoses": ["f"],
    }


def test_a_label_that_explains_both_nodes_is_no_case_of_the_two() -> None:
    """``both`` lies below left and right: it explains what b has beside it, and c alone."""
    hierarchy = tree("left right < top", "both < left", "both < right", "l < left", "r < right")
    dataset = labelled(
        hierarchy, {"a": ["l", "r"], "b": ["both", "l", "r"], "c": ["both"], "d": ["l"]}
    )
    watched = BranchRule(branches=("left", "right"), rule="watch", reason="")
    measured = measure(dataset, Policy(branch_rules=(watched,)))

    assert found(measured, "cross_branch") == {"cross_branch:left:right": ["a"]}


def test_labels_of_one_instance_that_do_not_go_together() -> None:
    hierarchy = tree("lung heart < body", "asthma < lung", "attack < heart", "tool < top",
                     "body < top", labelled_ancestors="fault")  # fmt: skip
    notes = (Exclusion("lung", ("heart", "tool"), "not so", wide=False),)
    hierarchy = replace(hierarchy, exclusions=Exclusions("May", notes))
    labels = {
        "a": ["asthma", "lung"], "b": ["asthma", "attack"], "c": ["tool", "tool", "asthma"],
        "d": [], "e": ["elf"], "f": ["attack"], "g": ["tool", "attack", "attack"],
    }  # fmt: skip
    policy = Policy(
        branch_rules=(BranchRule(branches=("body", "tool"), rule="disjoint", reason="So."),),
        exclusive=(Exclusive(nodes=("heart", "lung"), reason="So."),),
    )
    measured = measure(labelled(hierarchy, labels), policy)

    assert found(measured, "parent_and_child") == {"parent_and_child:labels": ["a"]}
    assert found(measured, "duplicates") == {"duplicates:labels": ["c", "g"]}
    assert found(measured, "empty_instance") == {
        "empty_instance:refused": ["e"],
        "empty_instance:unlabelled": ["d"],
    }
    assert found(measured, "cross_branch") == {"cross_branch:body:tool": ["c", "g"]}
    assert found(measured, "sibling_exclusive") == {"sibling_exclusive:heart:lung": ["b"]}
    assert found(measured, "excludes1") == {"excludes1:lung:heart:tool": ["b", "c"]}


def test_splits_groups_and_lengths_have_the_instances_that_show_them() -> None:
    five = [f"n{n}" for n in range(5)]
    hierarchy = tree("n0 n1 n2 n3 n4 rare < top")
    sets = [(40, five), (5, five[:4]), (5, five[:3]), (2, ["rare"])]
    labels = repeated(sets)
    groups = {i: "g" if i in ("i0000", "i0001") else i for i in labels}
    splits = {i: "test" if i in ("i0001", "i0050", "i0051") else "train" for i in labels}
    measured = measure(labelled(hierarchy, labels, groups=groups, splits=splits), Policy())

    assert found(measured, "record_cap") == {"record_cap:5": [f"i{n:04}" for n in range(40)]}
    assert found(measured, "duplicates") == {
        "duplicates:group": ["i0000", "i0001"],
        "duplicates:sets": [f"i{n:04}" for n in range(40)],
    }
    assert found(measured, "split_leak") == {
        "split_leak:group": ["i0000", "i0001"],
        "split_leak:unseen": ["i0050", "i0051"],
    }


def test_what_is_residual_here_and_there() -> None:
    hierarchy = tree("lung < top", "asthma other < lung", "tool < top",
                     titles={"other": "Other", "asthma": "Asthma"})  # fmt: skip
    sets = [(60, ["other"]), (5, ["asthma"]), (60, ["asthma", "other"]), (1, ["tool"])]
    labels = repeated(sets)
    sites = {i: "a" if i < "i0065" else "b" for i in labels}
    dataset = labelled(hierarchy, labels, strata={"site": sites})
    policy = Policy(strata=("site",), residual_share=Threshold(value=0.3, reason="."))
    measured = measure(dataset, policy)
    only = [f"i{n:04}" for n in range(60)]

    residual = found(measured, "residual_overuse")
    assert residual["residual_overuse:lung"] == only
    assert residual["residual_overuse:lung:site:b"] == []


@given(
    st.dictionaries(st.text(min_size=1), st.sets(st.integers(0, 8)), max_size=6),
    st.randoms(use_true_random=False),
)
def test_the_table_says_each_case_once_in_order(
    sets: dict[str, set[int]], order: random.Random
) -> None:
    ids = pl.Series([f"i{n}" for n in range(9)])
    findings = sorted(sets)
    order.shuffle(findings)
    numbers = {name: np.array(sorted(chosen), np.uint32) for name, chosen in sets.items()}

    table = case_table([*findings, " none "], numbers, ids)

    assert table.collect_schema()["instance"] == pl.String
    expected = [(finding, f"i{n}") for finding in findings for n in sorted(sets[finding])]
    assert table.collect().rows() == expected


def test_without_findings_the_table_is_empty() -> None:
    assert case_table([], {}, pl.Series(["a"])).collect().rows() == []


def test_the_table_is_written_as_it_is(tmp_path: Path) -> None:
    table = case_table(["b", "a"], {"a": np.array([0, 2], np.uint32)}, pl.Series(["x", "y", "z"]))
    path = tmp_path / "cases.parquet"
    table.sink_parquet(path)

    assert pl.read_parquet(path).rows() == [("a", "x"), ("a", "z")]

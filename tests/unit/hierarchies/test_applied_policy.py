"""A built-in policy judges files of its classification, whatever edition they are of."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.base.errors import PolicyError
from audit.hierarchies.applied_policy import policy_for, policy_readings
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy, load_policy
from audit.runs.audit import run_audit
from fixtures.coded import icd9cm, in_tables

BASED = Policy(base="icd9cm")
RANGES = [node for node in icd9cm().nodes if "-" in node]


def of_file(without: str = "", renamed: str = "{}.99") -> Hierarchy:
    """A file of the classification that calls ranges otherwise and lacks what is below a node."""
    gone = {without, *icd9cm().descendants(without)} if without else set()
    edges = icd9cm().edge_frame().filter(~pl.col("child").is_in(gone))
    names = {node: renamed.format(node) for node in RANGES}
    return Hierarchy.build(edges.with_columns(pl.all().replace(names)), name="file")


def told(hierarchy: Hierarchy, policy: Policy) -> list[str]:
    return [reading.option for reading in policy_readings(hierarchy, policy)]


@settings(max_examples=5, deadline=None)
@given(st.sampled_from(["250", "249", "V27", "140-239", "428", "995.92", "401.0"]))
def test_rules_hold_where_a_file_has_their_nodes(without: str) -> None:
    hierarchy, whole = of_file(without), built_in_policy("icd9cm")
    policy = policy_for(hierarchy, BASED)
    gone = {without, *icd9cm().descendants(without)}
    lost = [pair for pair in whole.expected if gone.intersection(pair.nodes)]

    assert {node for _, node in policy.nodes_named()} <= set(hierarchy.nodes)
    assert len(policy.expected) == len(whole.expected) - len(lost)
    assert len(policy.branch_rules) == len(whole.branch_rules)
    needed = {node for rule in whole.companions for node in rule.needed} - gone - set(RANGES)
    assert needed >= {node for rule in policy.companions for node in rule.needed} - {
        f"{node}.99" for node in RANGES
    }
    assert told(hierarchy, policy) == ["--policy FILE"]


def test_a_file_that_lacks_nothing_is_judged_as_the_classification_itself() -> None:
    records = {"a": ["V10.3", "410.01"], "b": ["401.0", "401.1"], "c": ["250.00"]}
    hierarchy = of_file()
    policy = policy_for(hierarchy, BASED)
    own = run_audit(in_tables(icd9cm(), {None: records}), Policy(min_cell=1))
    of_it = run_audit(in_tables(hierarchy, {None: records}), Policy(base="icd9cm", min_cell=1))

    assert told(hierarchy, policy) == []
    for name in ("cross_branch", "sibling_exclusive"):
        first, second = (
            [f.touched for f in next(c for c in run.checks if c.name == name).findings]
            for run in (own, of_it)
        )
        assert first == second != []


def test_codes_without_their_dots_are_judged_by_the_rules_on_them() -> None:
    """Below groups of the file's own, which hold the codes of a rule, some of them, or others."""
    codes = {
        node: node.replace(".", "")
        for node, leaf in zip(icd9cm().nodes, icd9cm().leaf, strict=True)
        if leaf and not re.match(r"\d\d(\.|$)", node)
    }
    edges = {text: f"group {text[:2]}" for text in codes.values()}
    pairs = [*edges.items(), *((group, "all") for group in {*edges.values()})]
    file = Hierarchy.build(pl.DataFrame(pairs, ["child", "parent"], orient="row"), name="groups")
    records = {"a": ["401.0", "401.1"], "b": ["250.40"], "c": ["357.2"], "d": ["401.9", "585.9"]}
    plain = {name: [codes[label] for label in labels] for name, labels in records.items()}
    own = run_audit(in_tables(icd9cm(), {None: records}), Policy(min_cell=1))
    of_it = run_audit(in_tables(file, {None: plain}), Policy(base="icd9cm", min_cell=1))

    assert told(file, BASED) == ["--policy FILE"] * 2
    for name in ("missing_companion", "sibling_exclusive"):
        first, second = (
            sorted(f.touched for f in next(c for c in run.checks if c.name == name).findings)
            for run in (own, of_it)
        )
        assert first == second != []


def test_a_policy_of_another_hierarchy_is_refused(toy_hierarchy: Hierarchy) -> None:
    with pytest.raises(PolicyError, match="must have nodes that rules"):
        policy_for(toy_hierarchy, BASED)


def test_a_file_goes_before_the_name_of_a_built_in_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_policy("icd9cm").base == "icd9cm"
    Path("icd9cm").write_text("max_findings = 3\n", "utf-8")
    assert load_policy("icd9cm").base is None

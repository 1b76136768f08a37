"""Policy: reading, refusing, overruling, and which rule decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.errors import PolicyError
from audit.policy import BUILT_IN, ICD9CM_POLICY, BranchRule, Policy, load_policy, policy_for


def rule(*branches: str, kind: str = "expected") -> BranchRule:
    return BranchRule.model_validate({"branches": branches, "rule": kind, "reason": "because"})


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "strict.toml"
    path.write_text(text)
    return path


def test_a_rule_fits_in_either_order() -> None:
    assert rule("a", "b").fits("b", "a")
    assert not rule("a", "b").fits("a", "c")


def test_a_star_fits_any_other_branch() -> None:
    assert rule("a", "*").fits("z", "a")
    assert rule("*", "a").fits("a", "z")
    assert not rule("a", "*").fits("y", "z")


def test_a_rule_knows_its_order() -> None:
    assert rule("*", "a").fits_in_order("z", "a")
    assert not rule("*", "a").fits_in_order("a", "z")


def test_the_first_rule_that_fits_decides() -> None:
    policy = Policy(branch_rules=(rule("a", "b", kind="disjoint"), rule("a", "*")))

    assert policy.rule_for("b", "a").rule == "disjoint"
    assert policy.rule_for("a", "c").rule == "expected"


def test_without_a_rule_branches_are_watched() -> None:
    assert Policy().rule_for("a", "b").rule == "watch"
    assert Policy().rule_for("a", "b").branches == ("a", "b")


def test_small_cells_are_eleven_for_persons_and_one_otherwise() -> None:
    assert (Policy().min_cell_for(True), Policy().min_cell_for(False)) == (11, 1)
    assert Policy(min_cell=5).min_cell_for(True) == 5


def test_every_threshold_has_a_unit_and_a_reason() -> None:
    for threshold in Policy().thresholds():
        assert threshold["unit"]
        assert threshold["reason"]


def test_a_file_overrules_only_what_it_says(tmp_path: Path) -> None:
    stated = load_policy(written(tmp_path, 'max_findings = 3\nresidual_nodes = ["x"]\n'))
    applied = policy_for("icd9cm", stated)

    assert (applied.max_findings, applied.residual_nodes, applied.name) == (3, ("x",), "strict")
    assert applied.branch_rules == ICD9CM_POLICY.branch_rules


def test_a_file_may_hold_everything(tmp_path: Path) -> None:
    policy = load_policy(
        written(
            tmp_path,
            'min_cell = 5\nlabelled_ancestors = "fault"\n'
            'residual_share = { value = 0.25, reason = "ours" }\n'
            '[[branch_rules]]\nbranches = ["a", "*"]\nrule = "disjoint"\nreason = "by rule"\n'
            'alone_or_first = ["a1"]\nbreak_down_depth = 2\n',
        )
    )

    assert policy.residual_share.value == 0.25
    assert policy.branch_rules[0].alone_or_first == ("a1",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("min_cell = 0", "min_cell"),
        ("max_findings = 0", "max_findings"),
        ("no_such_key = 1", "no_such_key"),
        ('min_cell = "11"', "min_cell"),
        ('labelled_ancestors = "sometimes"', "labelled_ancestors"),
        ("residual_share = { value = 0.5 }", "residual_share.reason"),
        (
            '[[branch_rules]]\nbranches = ["a"]\nrule = "watch"\nreason = ""',
            "branch_rules.0.branches",
        ),
        (
            '[[branch_rules]]\nbranches = ["a", "b"]\nrule = "no"\nreason = ""',
            "branch_rules.0.rule",
        ),
        ("min_cell = = 3", "TOML"),
    ],
)
def test_what_cannot_be_applied_is_refused_by_its_key(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_digest_tells_policies_apart() -> None:
    assert Policy().sha256 == Policy().sha256
    assert Policy().sha256 != Policy(max_findings=19).sha256


def test_a_hierarchy_without_a_policy_of_its_own_gets_the_default() -> None:
    assert policy_for("toy") == Policy()
    assert policy_for("icd9cm") is BUILT_IN["icd9cm"]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("00-99", "001-999", "expected"),
        ("00-99", "V01-V91", "expected"),
        ("E000-E999", "00-99", "expected"),
        ("E000-E999", "001-999", "expected"),
        ("V01-V91", "E000-E999", "expected"),
        ("V01-V91", "001-999", "watch"),
    ],
)
def test_icd9cm_says_which_branches_may_meet(a: str, b: str, expected: str) -> None:
    assert ICD9CM_POLICY.rule_for(a, b).rule == expected


def test_icd9cm_rules_speak_of_branches_and_nodes_that_exist() -> None:
    from audit import load_hierarchy

    hierarchy = load_hierarchy("icd9cm")
    branches = {hierarchy.nodes[i] for i in hierarchy.branches}
    for each in ICD9CM_POLICY.branch_rules:
        assert set(each.branches) <= branches | {"*"}
        assert set(each.alone_or_first) <= set(hierarchy.nodes)


@pytest.mark.parametrize(
    "stated",
    [
        "residual_share = {value = 50.0, reason = 'x'}",
        "decision_threshold = {value = -0.1, reason = 'x'}",
    ],
)
def test_a_threshold_outside_its_range_is_refused(tmp_path: Path, stated: str) -> None:
    (tmp_path / "policy.toml").write_text(stated, "utf-8")

    with pytest.raises(PolicyError, match="must lie between"):
        load_policy(tmp_path / "policy.toml")

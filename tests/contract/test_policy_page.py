"""The example of the page of the policy is a policy, by its reader and by its JSON schema."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, ValidationError

from audit import Hierarchy, Policy, load_policy
from fixtures.coded import icd9cm, icd10cm
from fixtures.registered import built_in_policy, policy_schema

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "policy.md").read_text("utf-8")


def examples() -> list[str]:
    return re.findall(r"^```toml\n(.*?)^```", PAGE, re.M | re.S)


def test_the_example_of_the_page_is_a_policy(tmp_path: Path) -> None:
    (text,) = examples()
    (tmp_path / "strict.toml").write_text(text, "utf-8")
    policy = load_policy(tmp_path / "strict.toml")
    stated = json.loads(json.dumps(tomllib.loads(text), default=str))

    assert policy.waivers[0].subtree == "460-519"
    assert policy.exclusive[0].severity == "error"
    Draft202012Validator(policy_schema()).validate(stated)
    with pytest.raises(ValidationError):
        Draft202012Validator(policy_schema()).validate({**stated, "surprise": 1})
    share = {"residual_share": {"value": 2, "reason": ""}}
    with pytest.raises(ValidationError):
        Draft202012Validator(policy_schema()).validate({**stated, **share})


def test_every_threshold_has_a_unit_and_a_reason() -> None:
    assert all(one["unit"] and one["reason"] for one in Policy().thresholds())


@pytest.mark.parametrize("hierarchy", [icd9cm(), icd10cm()], ids=["icd9cm", "icd10cm"])
def test_built_in_rules_speak_of_nodes_that_exist_and_are_read_back(hierarchy: Hierarchy) -> None:
    policy = built_in_policy(hierarchy.name)
    branches = {hierarchy.nodes[i] for i in hierarchy.branches}
    assert {node for _, node in policy.nodes_by_key()} <= set(hierarchy.nodes)
    for rule in policy.branch_rules:
        assert set(rule.branches) <= branches | {"*"}
        assert set(rule.alone_or_first) <= set(hierarchy.nodes)
    assert Policy.model_validate_json(policy.model_dump_json()) == policy

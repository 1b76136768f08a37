"""The page of the policy, its example and its JSON schema say what a policy is."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, ValidationError

from audit.policy.policy import Policy
from audit.policy.reading import load_policy, policy_schema
from audit.policy.statements import Threshold

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "policy.md").read_text("utf-8")


def test_the_published_schema_is_that_of_the_model() -> None:
    published = json.loads((DOCS / "policy.schema.json").read_text("utf-8"))

    assert published == policy_schema(), "write it again with scripts/make_policy_docs.py"
    Draft202012Validator.check_schema(published)


def test_the_page_lists_every_key_with_its_default_unit_and_range() -> None:
    schema = policy_schema()["properties"]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.M))

    assert list(rows) == list(Policy.model_fields), "write it with scripts/make_policy_docs.py"
    for name, row in rows.items():
        meaning, default, unit, within = row.split(" | ")
        assert meaning.endswith(".")
        assert within
        value = getattr(Policy(), name)
        if isinstance(value, Threshold):
            assert float(default) == value.value
            assert unit == schema[name]["description"]
            assert within.startswith(f"{schema[name]['properties']['value']['minimum']:g} ")


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

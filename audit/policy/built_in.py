"""The built-in policies of the built-in classifications: files such as anybody may write."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from audit.policy.policy import Policy
from audit.policy.reading import policy_of

BUILT_IN = ("icd9cm", "icd10cm")
"""Hierarchies with a policy of their own."""


@cache
def built_in_policy(hierarchy_name: str) -> Policy:
    """The policy of a hierarchy; the default one where it has none of its own."""
    if hierarchy_name not in BUILT_IN:
        return Policy()
    name = f"{hierarchy_name}.toml"
    return policy_of(files("audit.policy").joinpath("data", name).read_text("utf-8"), Path(name))


def policy_for(hierarchy_name: str, stated: Policy | None = None) -> Policy:
    """The built-in policy of a hierarchy; what the user's policy states takes precedence."""
    base = built_in_policy(hierarchy_name)
    return base if stated is None else stated.over(base)

"""What is shared is a function of told counts: moved within their classes they tell the same."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import pytest

from audit.policy.policy import Policy
from audit.results.result import AuditResult, to_json_bytes
from audit.runs.audit import run_audit
from fixtures import results
from fixtures.labelled import labelled, tree
from fixtures.moved_counts import moved
from fixtures.predicted import predicted

BODY = tree(
    "asthma cough other_lung < lung", "attack angina other_heart < heart", "lung heart < body",
    "saw hammer < tool", "body tool < top",
    titles={"other_lung": "Other lung disease", "other_heart": "Other heart disease"},
)  # fmt: skip
LABELS = ("asthma", "cough", "other_lung", "attack", "angina", "other_heart", "saw", "hammer")
EVERY_RUN = ("groups", "plain", "answers", "rich", "hostile")


@cache
def run_of(kind: str) -> AuditResult:
    """A run of persons, with drift, a reference, and a model; of five kinds."""
    if kind == "rich":
        return results.rich_result()
    if kind == "hostile":
        return results.hostile_result()
    first = _made(Random(1), kind)
    return run_audit(*first[:2], reference=run_audit(*_made(Random(2), kind)[:2]), **first[2])


def _made(chance: Random, kind: str):  # type: ignore[no-untyped-def]
    ids = [f"i{n}" for n in range(600)]
    weights = [9, 7, 8, 6, 2, 7, 1, 1]
    single = kind == "answers"
    sets = {
        one: sorted({*chance.choices(LABELS, weights, k=1 if single else chance.randint(1, 4))})
        for one in ids
    }
    site = {one: chance.choice("xxxyyz") for one in ids}
    groups = {one: f"p{chance.randint(0, 400)}" for one in ids} if kind == "groups" else None
    data = labelled(BODY, sets, strata={"site": site}, groups=groups, persons=True)
    policy = Policy(drift=("site",), min_cell=11)
    scores = {
        one: {chance.choice([*own, *chance.choices(LABELS, weights)]): 0.9, own[0]: 0.6}
        for one, own in sets.items()
    }
    return data, policy, {"predictions": predicted(data, scores)}


@pytest.mark.parametrize("kind", EVERY_RUN)
def test_runs_of_equal_classes_share_equal_bytes(kind: str) -> None:
    run = run_of(kind)
    told = to_json_bytes(run.shared())
    for seed in range(8):
        other = moved(run, seed)
        assert to_json_bytes(other.exact()) != to_json_bytes(run.exact())
        differing = first_difference(run.shared(), other.shared())
        assert not differing, (seed, differing)
        assert to_json_bytes(other.shared()) == told, seed


def first_difference(one: Any, other: Any, place: str = "") -> str:
    """Where two views differ first; empty if nowhere."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs = [(f"{place}.{key}", one[key], other[key]) for key in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(f"{place}[{n}]", *both) for n, both in enumerate(zip(one, other, strict=True))]
    else:
        return "" if one == other else f"{place}: {one} {other}"
    return next(filter(None, (first_difference(a, b, name) for name, a, b in pairs)), "")


ASKING = Policy.model_validate(
    {
        "drift": ["site"],
        "coding_columns": ["site"],
        "day": "day",
        "exclusive": [{"nodes": ["lung", "tool"], "reason": "So."}],
        "companions": [{"if": "asthma", "needs": "cough", "source": "So."}],
        "person": {"sex": "sex", "female": "F", "male": "M"},
        "person_rules": [{"nodes": "heart", "sex": "female", "source": "So."}],
        "lifelong": [{"condition": "asthma", "nodes": "asthma"}],
        "branch_rules": [{"branches": ["body", "tool"], "rule": "watch", "reason": "So."}],
    }
)


VAGUE = tree(
    "asthma cough vague < lung", "attack angina < heart", "lung heart < body",
    "saw hammer < tool", "body tool < top", titles={"vague": "Lung disease, unspecified"},
)  # fmt: skip
OF_CODES = {
    "malformed_code", "lost_zero", "wrong_table", "retired_code", "mixed_versions",
    "principal_position", "excludes1", "waiver_expired", "waiver_unused",
}  # fmt: skip
"""Checks that ask for rules of a code set, or for waivers."""


@pytest.mark.parametrize("rest", ["saw", "asthma"])
@pytest.mark.parametrize("few", ["", "saw", "asthma vague attack saw hammer"])
def test_no_check_is_not_applicable_for_a_count(rest: str, few: str) -> None:
    """Not for zero either: none of some persons, or three of them, have what a check looks for.

    The three come as one, of another site, split, sex and day.
    """
    ids = [f"i{n}" for n in range(60)]
    others = set(ids[:3] if few else ())

    def column(usual: str, other: str) -> dict[str, str]:
        return {one: other if one in others else usual for one in ids}

    columns = {"site": "xy", "sex": "FM", "day": ("2020-01-01", "2021-01-01")}
    data = labelled(
        VAGUE,
        {one: few.split() if one in others else [rest] for one in ids},
        groups={one: "p" if one in others else one for one in ids},
        splits=column("train", "test"),
        strata={name: column(*values) for name, values in columns.items()},
        persons=True,
    )
    answers = predicted(data, {one: {"saw": 0.9, "cough": 0.1} for one in ids})
    run = run_audit(data, ASKING, predictions=answers)

    assert {check.name for check in run.checks if check.not_applicable} == OF_CODES

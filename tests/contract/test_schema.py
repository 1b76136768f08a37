"""Every result validates against the schema that the documentation publishes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from jsonschema import Draft202012Validator

from audit import AuditResult
from fixtures import results
from fixtures.doors import result_schema

SCHEMA = result_schema()


@pytest.mark.parametrize(
    "make",
    [
        results.sample_result,
        results.model_result,
        results.set_valued_result,
        results.rich_result,
        results.judged_result,
        results.hostile_result,
        results.empty_result,
    ],
)
def test_result_validates(make: Callable[[], AuditResult]) -> None:
    shared = json.loads(json.dumps(make().shared()))
    errors = [error.message for error in Draft202012Validator(SCHEMA).iter_errors(shared)]
    assert errors == []


def test_schema_refuses_what_it_does_not_know() -> None:
    shared = json.loads(json.dumps(results.sample_result().shared()))
    shared["surprise"] = 1
    assert not Draft202012Validator(SCHEMA).is_valid(shared)

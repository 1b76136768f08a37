"""Numbers of the methods are those that are computed with."""

from __future__ import annotations

from importlib import import_module

import pytest

from fixtures import results
from reports.methods import FIXED, OF_MODELS, Fixed, fixed_table
from reports.model import build


@pytest.mark.parametrize("fixed", [*FIXED, *OF_MODELS], ids=lambda fixed: fixed.source)
def test_a_printed_number_is_the_one_computed_with(fixed: Fixed) -> None:
    module, name = fixed.source.rsplit(".", 1)
    assert getattr(import_module(module), name) == fixed.value


def test_numbers_of_models_stand_beside_a_model_alone() -> None:
    extra = len(fixed_table(model=True).rows) - len(fixed_table(model=False).rows)
    assert extra == len(OF_MODELS)


def test_every_threshold_of_the_policy_is_printed_with_its_reason() -> None:
    shared = results.rich_result().shared()
    printed = {row[-1] for row in build(shared).policy.thresholds.rows}
    assert printed == {threshold["reason"] for threshold in shared["policy"]["thresholds"]}

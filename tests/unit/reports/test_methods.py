"""Numbers of the methods are those that are computed with."""

from __future__ import annotations

from importlib import import_module

import pytest

from audit._reports.chapters.report import build
from audit._reports.html import html_text
from audit._reports.words.methods import (
    FIXED,
    OF_CONCEPTS,
    OF_ENTAILMENT,
    OF_EXPLANATIONS,
    OF_MODELS,
    Fixed,
    fixed_table,
)
from audit.results.record import COUNTED
from fixtures import results


@pytest.mark.parametrize(
    "fixed",
    [*FIXED, *OF_MODELS, *OF_EXPLANATIONS, *OF_CONCEPTS, *OF_ENTAILMENT],
    ids=lambda fixed: fixed.source,
)
def test_a_printed_number_is_the_one_computed_with(fixed: Fixed) -> None:
    module, name = fixed.source.rsplit(".", 1)
    assert getattr(import_module(module), name) == fixed.value


def test_numbers_of_models_stand_beside_a_model_alone() -> None:
    with_model, without = (fixed_table(model=told) for told in (True, False))
    assert len(with_model.rows) - len(without.rows) == len(OF_MODELS)


def test_a_report_of_counts_alone_tells_its_own_methods() -> None:
    shared = results.rich_result().shared()
    identity = shared["identity"]
    data = identity["data"] | {"format": COUNTED}
    of_counts = shared | {"identity": identity | {"data": data}}
    in_memory, counted = (html_text(view) for view in (shared, of_counts))

    for told in ("were counted, not kept", "as if none of these had a label elsewhere"):
        assert told in counted
        assert told not in in_memory


def test_every_threshold_of_the_policy_is_printed_with_its_reason() -> None:
    shared = results.rich_result().shared()
    printed = {row[-1] for row in build(shared).policy.thresholds.rows}
    assert printed == {threshold["reason"] for threshold in shared["policy"]["thresholds"]}

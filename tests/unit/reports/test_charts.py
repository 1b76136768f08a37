"""What specifications of charts may not ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from audit._reports.chapters import model, model_metrics
from audit._reports.chapters.report import build
from audit._reports.charts import figures, pair_figures
from audit._reports.words.parts import Drawing
from fixtures import results

DRAWING = (model, figures, pair_figures, model_metrics)


@pytest.fixture(scope="module")
def specifications() -> list[dict[str, Any]]:
    """The specifications of every picture of a report."""
    drawn: list[dict[str, Any]] = []

    def keep(specification: dict[str, Any]) -> Drawing:
        drawn.append(specification)
        return Drawing(1, 1, "")

    with pytest.MonkeyPatch.context() as patch:
        for module in DRAWING:
            patch.setattr(module, "draw", keep)
        build(results.rich_result().shared())
    return drawn


def test_no_specification_asks_for_data_from_elsewhere(
    specifications: list[dict[str, Any]],
) -> None:
    assert len(specifications) >= 6
    assert not any("url" in source for spec in specifications for source in _sources(spec))


def _sources(specification: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "data" in specification:
        yield specification["data"]
    for layer in specification.get("layer", ()):
        yield from _sources(layer)

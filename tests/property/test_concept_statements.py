"""What is said of the paper's statements, for encoders of which the truth is known."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from audit.concepts.measure import measure_concepts
from audit.concepts.representations import Representations
from benchmarks.concept_encoders import SMALL, Coloured, Encoder
from benchmarks.concept_statements import (
    PRETRAINED,
    STATEMENTS,
)
from benchmarks.concepts import page
from fixtures.concept_world.classes import world_facets
from fixtures.made_up_encoders import (
    constant_answer,
    pure_noise,
    symbolic_with_copy,
)

PER_CLASS = 100


def measured(last: Representations) -> Any:
    """Measurements of an encoder behind a first layer that says nothing."""
    first = pure_noise(per_class=PER_CLASS, seed=9).layers["last"]
    layers = {"first": first, **last.layers}
    return measure_concepts(Representations(layers, last.instances), world_facets(), seeds=1)


@pytest.fixture(scope="module")
def symbols() -> Any:
    return measured(constant_answer(per_class=PER_CLASS))


@pytest.fixture(scope="module")
def copied() -> Any:
    return measured(symbolic_with_copy(per_class=PER_CLASS))


@pytest.mark.slow
def test_the_page_names_every_statement_and_network(symbols: Any, copied: Any) -> None:
    networks = [Encoder("CNN", 0, symbols), Encoder("ResNet", 0, copied)]
    colours = [Coloured("CNN", seed, 0.9, right) for seed, right in enumerate((0.25, 0.75))]

    text = page(SMALL, networks, colours)

    for statement in STATEMENTS:
        assert text.count(f"| {statement.section} | {statement.says} |") == 2
    for _, says in PRETRAINED:
        assert says in text
    assert "| CNN | 90.0% | 0.50 (0.25 to 0.75) |" in text

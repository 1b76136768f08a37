"""What is said of the paper's statements, for encoders of which the truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from audit.concepts.measure import measure_concepts
from audit.concepts.representations import Representations
from benchmarks.concept_encoders import SMALL, Coloured, Encoder
from benchmarks.concept_statements import (
    IDENTITIES,
    PRETRAINED,
    STATEMENTS,
    Figures,
    by_correlation,
)
from benchmarks.concepts import large, page
from fixtures.concept_world.classes import world_facets
from fixtures.made_up_encoders import (
    constant_answer,
    pure_noise,
    symbolic,
    symbolic_with_copy,
)

PER_CLASS = 100


def figures(measured: Any) -> dict[str, Figures]:
    """Figures of all statements by what they begin with."""
    return {one.says.split(":")[0]: one.figures(measured) for one in STATEMENTS}


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


def test_identities_hold() -> None:
    assert all(holds for _, holds in IDENTITIES)


@pytest.mark.slow
def test_symbols_are_modular_and_not_unused(symbols: Any) -> None:
    own = figures(symbols)
    grounded, modular = (
        own["Minimal pairs of the default images"],
        own["`is_modular` passes for the most part."],
    )

    assert grounded == Figures({"right": pytest.approx(1 / 18)}, False)
    assert modular.shown["parts that pass"] == 1
    assert modular.shown["others"] > 0.97
    assert modular.holds
    assert own["Probes of concepts on seen classes"].holds
    assert own["Composite concepts are read only where their constituents are."].holds
    assert not own["On unseen classes about 75 % with 1 slice, more with N-1 slices."].holds


@pytest.mark.slow
def test_a_copy_of_the_composite_is_modular_and_not_causal(copied: Any, symbols: Any) -> None:
    causal = figures(copied)["`is_causal` fails"]

    assert causal.shown["N-1 slices"] > 0.97
    assert causal.holds
    assert figures(copied)["`is_modular` passes for the most part."].holds
    assert not figures(symbols)["`is_causal` fails"].holds


@pytest.mark.slow
def test_layers_without_concepts_come_before_those_with_them(symbols: Any) -> None:
    mutual = figures(symbols)["NMI of direct and composed answers is low until the last layer."]
    assert mutual.shown["last"] > 0.95
    assert mutual.shown["first layer"] == mutual.shown["last but one"] < 0.6


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


def test_means_and_ranges_of_colours() -> None:
    rows = [
        Coloured("CNN", 0, 1.0, 0.1),
        Coloured("CNN", 0, 0.9, 0.4),
        Coloured("CNN", 1, 0.9, 0.6),
    ]
    assert by_correlation(rows) == [
        ("CNN", "90.0%", "0.50 (0.40 to 0.60)"),
        ("CNN", "100.0%", "0.10"),
    ]


def test_large_representations_hold_the_concepts() -> None:
    many = large(500)
    assert many.layers["last"].shape == (500, 768)
    assert many.layers["last"].dtype == np.float32
    assert set(many.instances["labels"].list.first()) == set(
        symbolic(1).instances["labels"].list.first()
    )

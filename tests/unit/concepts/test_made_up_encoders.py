"""The tests of concepts on encoders whose answers follow from their formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from audit.analyses.concepts.ablation import balanced_weights, inlp, leace
from audit.analyses.concepts.classes import describe, draw_split, scaling_of, slices
from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.measure import ConceptMeasurements, measure_concepts
from audit.analyses.concepts.probes import fit_linear, fit_predictor, quiet_fits
from audit.analyses.concepts.representations import LinearHead, Representations
from audit.analyses.concepts.unseen_classes import Scene, unseen_rows
from fixtures import made_up_encoders as world
from fixtures.made_up_encoders import (
    composite,
    constant_answer,
    entangled,
    layout_with_shape,
    pure_noise,
    symbolic,
    symbolic_with_copy,
    world_facets,
)

pytestmark = pytest.mark.slow

ENCODERS = [symbolic, symbolic_with_copy, composite, layout_with_shape, entangled]
Rows = NDArray[np.int64]
NAMES = list(world.DIMENSIONS)
CHANCE = {"layout": 1 / 3, "shape": 1 / 3, "stroke": 1 / 2}


@pytest.fixture(autouse=True)
def on_one_thread() -> Iterator[None]:
    with quiet_fits():
        yield


@cache
def measured(
    encoder: Callable[[int], Representations], per_class: int = 24, seeds: int = 1
) -> ConceptMeasurements:
    return measure_concepts(encoder(per_class), world_facets(), seeds=seeds)


def accuracies(
    found: ConceptMeasurements, test: str, seen: str = "N-1 slices", **keys: str
) -> dict[tuple[str, str], float]:
    """Accuracies by dimension and the one that is read."""
    probe = "predict" if test == "is_causal" else "transfer"
    wanted = {"probe": probe} | keys
    if test != "is_token_of_type":
        wanted = {"ablation": "inlp"} | wanted
    rows = found.frames["parts"].filter(test=test, seen=seen, **wanted)
    return {(one["dimension"], one["read"]): one["accuracy"] for one in rows.iter_rows(named=True)}


def scene(encoded: Representations, *, scaled: bool = True) -> Scene:
    """One split of an encoder, its units as the tests of concepts take them or as they are."""
    described = describe(encoded, world_facets())
    split = draw_split(described, encoded.instances["id"].to_list(), 0)
    z = encoded.layers["last"][split.rows]
    z = scaling_of(z)(z) if scaled else z
    return Scene(z, split, described, fit_predictor(z, split, described))


def ablated_and_unseen(encoded: Scene, place: int) -> Iterator[tuple[Rows, Rows]]:
    """Of each slice that is held out, the rows that ablation is fitted on and those judged."""
    for unseen in slices(encoded.described, place):
        hidden, half = encoded.of(unseen), encoded.split.ablating
        yield np.flatnonzero(half & ~hidden), np.flatnonzero(half & hidden)


def answered_without(encoded: Scene, place: int) -> float:
    """Accuracy of what is predicted along a dimension that INLP removes."""
    codes, right = encoded.split.codes[:, place], []
    assert encoded.predict is not None
    for fitted, judged in ablated_and_unseen(encoded, place):
        ablate = next(inlp(encoded.z[fitted], codes[fitted]))
        answers = encoded.predict(ablate(encoded.z[judged]))
        right.append(answers[:, place] == codes[judged])
    return float(np.concatenate(right).mean())


def read_on_unseen_classes(encoded: Scene, place: int) -> float:
    """Accuracy of the probes of a dimension, all slices but one seen."""
    codes, right = encoded.split.codes[:, place], []
    for fitted, judged in unseen_rows(encoded, place):
        probe = fit_linear(encoded.z[fitted], codes[fitted])
        right.append(probe(encoded.z[judged]) == codes[judged])
    return float(np.concatenate(right).mean())


def own(values: dict[tuple[str, str], float]) -> list[float]:
    return [values[name, name] for name in NAMES]


def others(values: dict[tuple[str, str], float]) -> list[float]:
    return [value for (one, read), value in values.items() if one != read]


def verdicts(found: ConceptMeasurements, test: str, seen: str = "N-1 slices") -> list[str]:
    rows = found.frames["tests"].filter(
        (pl.col("test") == test)
        & (pl.col("seen") == seen)
        & (pl.col("ablation").is_null() | (pl.col("ablation") == "inlp"))
    )
    return rows["verdict"].to_list()


def test_a_symbolic_encoder_passes_all_tests() -> None:
    found = measured(symbolic, 100, 2)

    for test in ("is_token_of_type", "is_modular", "is_causal"):
        for seen in ("1 slice", "N-1 slices"):
            assert verdicts(found, test, seen) == ["pass"] * 3
    assert found.frames["tests"].filter(test="is_grounded")["verdict"].to_list() == ["pass"]
    assert own(accuracies(found, "is_token_of_type")) == pytest.approx([1, 1, 1], abs=0.03)
    assert own(accuracies(found, "is_causal")) == pytest.approx([0.33, 0.34, 0.52], abs=0.03)


def test_a_copy_of_the_composite_is_modular_and_not_causal() -> None:
    """The paper's own explanation of its models."""
    found = measured(symbolic_with_copy, 100, 2)

    assert own(accuracies(found, "is_token_of_type")) == pytest.approx([1, 1, 1], abs=0.03)
    assert others(accuracies(found, "is_modular")) == pytest.approx([1] * 6, abs=0.03)
    assert verdicts(found, "is_modular") == ["pass"] * 3
    assert own(accuracies(found, "is_causal")) == pytest.approx([1, 1, 1], abs=0.03)
    assert verdicts(found, "is_causal") == ["fail"] * 3


def test_a_composite_encoder_has_no_concept_for_unseen_classes() -> None:
    """Single draws of noise read up to .1 more or less."""
    found = measured(composite, 100, 2)
    read = [
        [read_on_unseen_classes(scene(composite(50, draw)), place) for place in range(3)]
        for draw in range(10)
    ]

    assert np.mean(read, axis=0) == pytest.approx(list(CHANCE.values()), abs=0.03)
    assert own(accuracies(found, "is_causal")) == pytest.approx([1, 1, 1], abs=0.03)
    assert verdicts(found, "is_token_of_type") == ["fail"] * 3


def test_layout_and_shape_in_one_symbol_take_more_than_one_slice() -> None:
    found = measured(layout_with_shape, 300)
    one = own(accuracies(found, "is_token_of_type", "1 slice"))

    assert own(accuracies(found, "is_token_of_type")) == pytest.approx([1, 1, 1], abs=0.03)
    assert one == pytest.approx([0.45, 0.47, 1], abs=0.03)
    assert own(accuracies(found, "is_causal")) == pytest.approx([1, 1, 0.52], abs=0.03)


def test_an_entangled_layout_is_not_modular() -> None:
    found = measured(entangled, 100, 2)
    modular, causal = accuracies(found, "is_modular"), accuracies(found, "is_causal")

    assert own(accuracies(found, "is_token_of_type")) == pytest.approx([0, 1, 1], abs=0.03)
    assert modular["shape", "layout"] == pytest.approx(0, abs=0.03)
    assert causal["shape", "shape"] == pytest.approx(1, abs=0.03)
    assert causal["stroke", "stroke"] == pytest.approx(0.5, abs=0.03)
    assert CHANCE["layout"] + 0.05 < causal["layout", "layout"] <= 1
    assert verdicts(found, "is_modular")[1:] == ["fail", "fail"]


def test_what_inlp_leaves_of_an_entangled_layout_depends_on_units_and_noise() -> None:
    """Of 20 instances a class in their own units, and with a mean of 0 as the tests have them.

    Of 200 draws in their own units the mean is .63 and the standard deviation .13.
    """

    def answered(draws: int, *, scaled: bool) -> list[float]:
        return [
            answered_without(scene(entangled(20, draw), scaled=scaled), 0) for draw in range(draws)
        ]

    own_units = answered(100, scaled=False)
    assert np.mean(own_units) == pytest.approx(0.61, abs=0.03)
    assert min(own_units) < 0.4 < 0.85 < max(own_units)
    assert np.mean(answered(20, scaled=True)) > 0.95


@pytest.mark.parametrize("encoder", ENCODERS)
def test_probes_of_what_leace_was_fitted_to_are_at_chance(
    encoder: Callable[[int], Representations],
) -> None:
    """Fitted anew on the same half of the seen classes, and judged on the unseen ones."""
    encoded = scene(encoder(20))
    for place, name in enumerate(NAMES):
        right = []
        for fitted, judged in ablated_and_unseen(encoded, place):
            codes = encoded.split.codes[:, place]
            ablate = leace(encoded.z[fitted], codes[fitted], balanced_weights(codes[fitted]))
            retrained = fit_linear(ablate(encoded.z[fitted]), codes[fitted])
            right.append(retrained(ablate(encoded.z[judged])) == codes[judged])
        assert np.concatenate(right).mean() == pytest.approx(CHANCE[name], abs=0.03)


def test_noise_passes_nothing_and_what_is_not_read_is_undecided() -> None:
    found = measured(pure_noise)

    assert "pass" not in found.frames["tests"]["verdict"].to_list()
    assert "pass" not in found.frames["tests"]["interval_verdict"].to_list()
    removed = found.frames["tests"].filter(pl.col("test").is_in(["is_modular", "is_causal"]))
    assert set(removed["verdict"]) == {"undecided"}
    assert all("nothing to remove" in reason for reason in removed["reason"])


def test_a_constant_answer_is_grounded_at_one_in_eighteen() -> None:
    part = measured(constant_answer).frames["parts"].filter(test="is_grounded").row(0, named=True)

    assert part["accuracy"] == 1 / 18
    assert part["chance"] == pytest.approx(1 / 18)
    assert part["verdict"] == "fail"


def test_without_pairs_nothing_is_grounded() -> None:
    encoded = symbolic(6)
    alone = encoded.instances.with_columns(pair=pl.lit(None, pl.String))
    found = measure_concepts(replace(encoded, instances=alone), world_facets(), seeds=1)
    grounded = found.frames["tests"].filter(test="is_grounded").row(0, named=True)

    assert grounded["verdict"] == "not_applicable"
    assert "minimal pairs" in grounded["reason"]


def test_a_prediction_that_ignores_the_representation_fails_causal() -> None:
    encoded = symbolic(24)
    features = encoded.layers["last"].shape[1]
    bias = np.arange(18.0)
    ignoring = LinearHead(world.CLASSES, np.zeros((18, features)), bias)
    found = measure_concepts(replace(encoded, head=ignoring), world_facets(), seeds=1)

    assert set(verdicts(found, "is_causal")) == {"fail"}
    assert found.frames["parts"].filter(test="is_grounded")["accuracy"].to_list() == [1 / 18]


def test_the_head_of_a_model_is_applied_to_its_own_units() -> None:
    """A head that reads the one-hot symbols; representations are scaled inside."""
    encoded = symbolic(24)
    shifted = {"last": encoded.layers["last"] * 7 + 3}
    weight = np.vstack(
        [
            np.concatenate([np.eye(len(concepts))[concepts.index(one)] for concepts, one in both])
            for both in (
                list(zip(world.DIMENSIONS.values(), combination, strict=True))
                for combination in world.COMBINATIONS
            )
        ]
    )
    head = LinearHead(world.CLASSES, weight, np.zeros(18))
    found = measure_concepts(replace(encoded, layers=shifted, head=head), world_facets(), seeds=1)

    assert found.frames["parts"].filter(test="is_grounded")["accuracy"].to_list() == [1.0]
    causal = accuracies(found, "is_causal")
    assert min(others(causal)) > 0.97
    assert own(causal) == pytest.approx(list(CHANCE.values()), abs=0.12)


def test_units_and_rotation_of_a_layer_change_nothing() -> None:
    encoded = symbolic(12)
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    other = replace(encoded, layers={"last": 40 * encoded.layers["last"] @ turned - 5})
    first = measure_concepts(encoded, world_facets(), seeds=1).frames["parts"]
    second = measure_concepts(other, world_facets(), seeds=1).frames["parts"]

    difference = (first["accuracy"] - second["accuracy"]).abs()
    assert difference.median() == 0
    assert difference.max() < 0.06


def test_equal_input_gives_equal_tables_in_any_order_of_instances() -> None:
    encoded = symbolic(8)
    order = np.random.default_rng(1).permutation(len(encoded.instances))
    shuffled = Representations({"last": encoded.layers["last"][order]}, encoded.instances[order])
    first, again, other = (
        measure_concepts(one, world_facets(), seeds=1) for one in (encoded, encoded, shuffled)
    )

    for name in ("tests", "parts", "values", "points", "controls", "layer_curves", "iterations"):
        assert first.frames[name].equals(again.frames[name]), name
        assert first.frames[name].equals(other.frames[name]), name


def test_tables_have_their_columns_and_agree() -> None:
    found = measured(pure_noise)
    for name in TABLES.keys() - {"nodes"}:
        assert dict(found.frames[name].schema) == TABLES[name].columns.types, name
    keys = ["test", "dimension", "seen", "ablation", "probe", "read"]
    pooled = (
        found.frames["points"]
        .group_by(keys)
        .agg(mean=(pl.col("accuracy") * pl.col("instances")).sum() / pl.col("instances").sum())
        .join(found.frames["parts"], on=keys, nulls_equal=True)
    )
    assert len(pooled) == len(found.frames["parts"])
    np.testing.assert_allclose(pooled["mean"], pooled["accuracy"], atol=1e-12)
    assert found.frames["dimensions"]["slices"].to_list() == [6, 6, 9]


def test_controls_tell_what_a_probe_learns_by_heart() -> None:
    """Eighteen symbols let a linear probe learn any concepts of classes; they say little."""
    by_heart = measured(composite).frames["controls"].filter(judged="seen")
    symbols = measured(symbolic).frames["controls"].filter(judged="seen")

    assert by_heart["selectivity"].abs().max() < 0.1
    assert symbols["selectivity"].min() > 0.1


def test_layers_and_the_random_network() -> None:
    """The first layer is noise and symbols, of which the last has only the symbols."""
    encoded = symbolic(24)
    drawn = np.random.default_rng(0)
    first = np.hstack([encoded.layers["last"], drawn.normal(size=(len(encoded.instances), 8))])
    both = replace(encoded, layers={"input": first, "last": encoded.layers["last"]})
    found = measure_concepts(both, world_facets(), seeds=1)

    assert found.layers == ("input", "last")
    assert "input" in found.baseline
    assert found.frames["controls"]["random_network"].null_count() == 0
    last = found.frames["layer_curves"].filter(layer="last")
    assert last.filter(pl.col("measure") != "nmi")["value"].min() > 0.95
    assert last.filter(measure="nmi")["value"].item() > 0.95
    untrained = measure_concepts(encoded, world_facets(), seeds=1, baseline=pure_noise(24))
    noise = untrained.frames["controls"].filter(judged="seen")
    assert "untrained" in untrained.baseline
    assert ((noise["random_network"] - noise["chance"]).abs() < 0.15).all()


def test_composed_needs_all_dimensions_right_on_one_instance() -> None:
    curves = measured(pure_noise).frames["layer_curves"]
    value = dict(zip(curves["measure"], curves["value"], strict=True))

    assert value["composed"] == pytest.approx(value["product"], abs=0.05)
    assert value["composed"] < 0.2

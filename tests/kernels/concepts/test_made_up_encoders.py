"""The tests of concepts on encoders whose answers follow from their formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from audit.analyses.concepts.analysis import measure_concepts
from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.facets import facets_from_depths
from audit.base.errors import InputError
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Found
from fixtures import made_up_encoders as world
from fixtures.doors import LinearHead, Representations
from fixtures.labelled import tree
from fixtures.made_up_encoders import (
    composite,
    pure_noise,
    symbolic,
    world_facets,
)

NAMES = list(world.DIMENSIONS)
TREE = tree(f"{' '.join(world.CLASSES)} < any")
Encoder = Callable[[int], Representations]


def measured(
    encoded: Representations,
    facets: pl.DataFrame | None = None,
    hierarchy: Hierarchy = TREE,
    seeds: int = 1,
    **options: Any,
) -> Found:
    facets = world_facets() if facets is None else facets
    return measure_concepts(encoded, facets, hierarchy, seeds=range(seeds), **options)


@cache
def of(encoder: Encoder, per_class: int = 24, seeds: int = 1) -> Mapping[str, pl.DataFrame]:
    return measured(encoder(per_class), seeds=seeds).frames


def accuracies(
    frames: Mapping[str, pl.DataFrame], test: str, seen: str = "N-1 slices"
) -> dict[tuple[str, str], float]:
    """Accuracies by dimension and the one that is read."""
    wanted = {"probe": "predict" if test == "is_causal" else "transfer"}
    wanted |= {"ablation": "inlp"} if test != "is_token_of_type" else {}
    rows = frames["parts"].filter(test=test, seen=seen, **wanted)
    return {(one["dimension"], one["read"]): one["accuracy"] for one in rows.iter_rows(named=True)}


def own(values: Mapping[tuple[str, str], float]) -> list[float]:
    return [values[name, name] for name in NAMES]


def others(values: Mapping[tuple[str, str], float]) -> list[float]:
    return [value for (one, read), value in values.items() if one != read]


def verdicts(frames: Mapping[str, pl.DataFrame], test: str, seen: str = "N-1 slices") -> list[str]:
    by_inlp = pl.col("ablation").is_null() | (pl.col("ablation") == "inlp")
    rows = frames["tests"].filter(by_inlp, test=test, seen=seen)
    return rows["verdict"].to_list()


def test_noise_passes_nothing_and_what_is_not_read_is_undecided() -> None:
    found = of(pure_noise)
    curves = dict(found["layer_curves"].select("measure", "value").iter_rows())
    removed = found["tests"].filter(pl.col("test").is_in(["is_modular", "is_causal"]))

    assert "pass" not in {*found["tests"]["verdict"], *found["tests"]["interval_verdict"]}
    assert {*removed["verdict"]} == {"undecided"}
    assert all("nothing to remove" in reason for reason in removed["reason"])
    assert curves["composed"] == pytest.approx(curves["product"], abs=0.05)
    assert curves["composed"] < 0.2


def test_tables_have_their_columns_and_agree() -> None:
    found = of(pure_noise)
    for name, table in TABLES.items():
        assert dict(found[name].schema) == table.columns.types, name
    keys = ["test", "dimension", "seen", "ablation", "probe", "read"]
    share = (pl.col("accuracy") * pl.col("instances")).sum() / pl.col("instances").sum()
    pooled = found["points"].group_by(keys).agg(mean=share)
    pooled = pooled.join(found["parts"], on=keys, nulls_equal=True)
    assert len(pooled) == len(found["parts"])
    np.testing.assert_allclose(pooled["mean"], pooled["accuracy"], atol=1e-12)
    assert found["dimensions"]["slices"].to_list() == [6, 6, 9]


def test_the_head_of_a_model_is_applied_to_its_own_units() -> None:
    """A head that reads the one-hot symbols; representations are scaled inside."""
    encoded = symbolic(24)
    shifted = {"last": encoded.layers["last"] * 7 + 3}
    both = [[*zip(world.DIMENSIONS.values(), of, strict=True)] for of in world.COMBINATIONS]
    hot = [[np.eye(len(concepts))[concepts.index(one)] for concepts, one in row] for row in both]
    head = LinearHead(world.CLASSES, np.vstack([np.concatenate(row) for row in hot]), np.zeros(18))
    frames = measured(replace(encoded, layers=shifted, head=head)).frames

    assert frames["parts"].filter(test="is_grounded")["accuracy"].to_list() == [1.0]
    assert min(others(accuracies(frames, "is_causal"))) > 0.97


def test_equal_input_gives_equal_tables_in_any_order_of_instances() -> None:
    encoded = symbolic(8)
    order = np.random.default_rng(1).permutation(len(encoded.instances))
    shuffled = Representations({"last": encoded.layers["last"][order]}, encoded.instances[order])
    first, other = (measured(one).frames for one in (encoded, shuffled))

    for name in ("tests", "parts", "values", "points", "controls", "layer_curves", "iterations"):
        assert first[name].equals(other[name]), name


@pytest.mark.slow
def test_controls_tell_what_a_probe_learns_by_heart() -> None:
    """Eighteen symbols let a linear probe learn any concepts of classes; they say little."""
    by_heart = of(composite)["controls"].filter(judged="seen")
    symbols = of(symbolic)["controls"].filter(judged="seen")

    assert by_heart["selectivity"].abs().max() < 0.1
    assert symbols["selectivity"].min() > 0.1
    untrained = measured(symbolic(24), baseline=pure_noise(24))
    noise = untrained.frames["controls"].filter(judged="seen")
    assert "untrained" in untrained.facts["baseline"]
    assert ((noise["random_network"] - noise["chance"]).abs() < 0.15).all()


def test_iterations_remove_more_and_keep_less() -> None:
    rows = of(symbolic)["iterations"].filter(ablation="inlp", read="layout", dimension="layout")
    own_probe = rows.filter(probe="transfer").sort("iteration")

    assert own_probe["iteration"].to_list() == list(range(len(own_probe)))
    assert own_probe["removed"].to_list()[:2] == [0, 2]
    assert own_probe["variance_kept"].is_sorted(descending=True)
    assert own_probe["accuracy"].to_list()[0] > 0.97
    assert own_probe["accuracy"].to_list()[1] < 0.6


ENCODED = symbolic(4)
Z = ENCODED.layers["last"]


def of_rows(kept: pl.Expr) -> Representations:
    rows = ENCODED.instances.with_row_index().filter(kept)["index"].to_numpy()
    return Representations({"last": Z[rows]}, ENCODED.instances[rows])


def other_labels() -> Found:
    return measured(ENCODED, hierarchy=tree("x y < any"))


BAD: dict[str, Callable[[], object]] = {
    "describe every label": lambda: measured(
        ENCODED, world_facets().filter(pl.col("node") != "dax")
    ),
    "at least two concepts": lambda: measured(ENCODED, world_facets().filter(concept="fuzzy")),
    "one concept in a dimension": lambda: measured(
        ENCODED, pl.concat([world_facets(), world_facets().with_columns(concept=pl.lit("x"))])
    ),
    "name of its own": lambda: measured(
        ENCODED,
        pl.concat([world_facets(), world_facets().with_columns(nested=pl.lit(True))]),
    ),
    "at least 2 instances": lambda: measured(
        of_rows((pl.col("pair") == "0") | (pl.col("labels").list[0] != "dax"))
    ),
    "no more features than there are instances": lambda: measured(
        replace(ENCODED, layers={"last": np.tile(Z, (1, 20))})
    ),
    "name of a layer": lambda: measured(ENCODED, layer="first"),
    "instances of the trained one": lambda: measured(
        ENCODED, baseline=of_rows(pl.col("pair") != "0")
    ),
    "nodes of the hierarchy": other_labels,
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_one_message(message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        BAD[message]()

    assert raised.value.exit_status == 2


def reasons(found: Found, dimension: str) -> set[str]:
    rows = found.frames["tests"].filter(dimension=dimension)
    assert {*rows["verdict"]} == {"not_applicable"}
    return {*rows["reason"]}


def test_what_cannot_be_judged_is_not_applicable_with_a_reason() -> None:
    """Three classes, a slice along the layout: no other slice is left."""
    found = measured(of_rows(pl.col("labels").list[0].is_in(["blick", "gix", "wug"])))
    assert reasons(found, "layout") == {"no slice leaves a class unseen that could be judged"}
    assert all("fewer than two" in one for one in reasons(found, "stroke"))

    alone = ENCODED.instances.with_columns(pair=pl.lit(None, pl.String))
    bare = replace(ENCODED, instances=alone)
    only = measured(bare, world_facets().filter(dimension="layout"))
    grounded = only.frames["tests"].filter(test="is_grounded").row(0, named=True)
    assert "minimal pairs" in grounded["reason"]
    reasons(only, "layout")


def test_nested_dimensions_are_read_on_unseen_labels_and_never_removed() -> None:
    senses = tree("bell horn < sound", "red sky < sight", "sound sight < all")
    leaves = [leaf for leaf in ("bell", "horn", "red", "sky") for _ in range(20)]
    z = np.eye(4)[np.repeat(range(4), 20)] + np.random.default_rng(0).normal(
        scale=0.1, size=(80, 4)
    )
    ids = {"id": [f"i{row}" for row in range(80)], "labels": [[leaf] for leaf in leaves]}
    table = pl.DataFrame(ids).with_columns(prediction=pl.lit(None, pl.String), pair=pl.lit(None))
    facets = facets_from_depths(senses, [1, 2])
    frames = measured(Representations({"last": z}, table), facets, senses).frames
    tests = frames["tests"].filter(pl.col("dimension").is_not_null())

    for test in ("is_modular", "is_causal"):
        rows = tests.filter(test=test)
        assert all("lie below those of the other" in reason for reason in rows["reason"])
    token = tests.filter(test="is_token_of_type")
    assert token.filter(dimension="depth 1")["verdict"].to_list() == ["fail", "fail"]
    assert {*token.filter(dimension="depth 2")["verdict"]} == {"not_applicable"}

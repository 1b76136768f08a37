"""Nodes in representations whose content is known; what is written is read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts.node_probes import area_of, node_frame, placements
from audit.base.errors import SchemaError
from fixtures.doors import Representations, read_representations
from fixtures.examples import examples
from fixtures.labelled import tree
from fixtures.representation_files import SUFFIXES, representations, same, write_representations

HIERARCHY = tree("bell horn < sound", "red blue < sight", "sky < blue", "sound sight < all")
LEAVES = ("bell", "horn", "red", "sky")
APART: dict[str, Sequence[float]] = dict(zip(LEAVES, np.eye(4).tolist(), strict=True))
TOGETHER = APART | {"horn": (1, 0, 0, 0)}


def of_leaves(
    each: int,
    answers: Mapping[str, str | None] | None = None,
    groups: int = 0,
    noise: float = 0.1,
    **looks: Mapping[str, Sequence[float]],
) -> dict[str, dict[str, Any]]:
    """The lines of nodes; each layer looks as it is said of leaves."""
    labels = [leaf for leaf in LEAVES for _ in range(each)]
    said = [None if answers is None else answers.get(leaf, leaf) for leaf in labels]
    table = pl.DataFrame({
        "id": [f"i{row}" for row in range(len(labels))],
        "labels": [[leaf] for leaf in labels],
        "answers": pl.Series([one and [one] for one in said], dtype=pl.List(pl.String)),
        "group": pl.Series([f"g{row // groups}" if groups else None for row in range(len(labels))],
                           dtype=pl.String),
    })  # fmt: skip
    drawn = np.random.default_rng(0)
    layers = {
        name: np.array([of[leaf] for leaf in labels])
        + drawn.normal(scale=noise, size=(4 * each, 4))
        for name, of in looks.items()
    }
    found = node_frame(HIERARCHY, layers, "last", table, range(3))
    return {row["node"]: row for row in found.iter_rows(named=True)}


def test_what_is_apart_is_read_and_separated() -> None:
    found = of_leaves(60, last=APART)

    assert {node: row["parent"] for node, row in found.items()} == {
        "sound": "all", "sight": "all", "bell": "sound", "horn": "sound", "red": "sight",
        "blue": "sight", "sky": "blue",
    }  # fmt: skip
    assert {node: row["siblings"] for node, row in found.items()} == dict.fromkeys(found, 1) | {
        "sky": 0
    }
    assert min(row["readable_low"] for row in found.values()) > 0.75
    assert min(row["separable_low"] or 1 for row in found.values()) > 0.75
    assert {row["predicted"] for row in found.values()} == {None}
    assert {row["instances"] for row in found.values()} == {60, 120}


def test_noise_holds_no_concept() -> None:
    found = of_leaves(200, last=dict.fromkeys(LEAVES, (0, 0, 0, 0)), noise=1)
    assert all(abs(row["readable"] - 0.5) < 0.08 for row in found.values())


def test_siblings_of_one_vector_are_not_separated_but_by_an_earlier_layer() -> None:
    found = of_leaves(80, first=APART, last=TOGETHER)

    assert (found["bell"]["sibling"], found["horn"]["sibling"]) == ("horn", "bell")
    assert found["bell"]["separable"] == pytest.approx(0.5, abs=0.12)
    assert (found["bell"]["best_layer"], found["red"]["best_layer"]) == ("first", "last")
    assert found["bell"]["best_separable"] > 0.95
    assert found["bell"]["sibling_instances"] == 80


def test_of_several_siblings_the_hardest_is_told() -> None:
    wide = tree("a b c d e f g h i j k l m < one", "n < two", "one two < all")
    looks = dict(zip("abcdefghijklmn", 6 * np.eye(14), strict=True))
    looks["m"] = looks["l"] + 0.2
    labels = [[leaf] for leaf in looks for _ in range(40)]
    z = np.array([looks[leaf] for leaf, *_ in labels])
    z += np.random.default_rng(0).normal(scale=0.3, size=z.shape)
    nothing = {"answers": pl.lit(None, pl.List(pl.String)), "group": pl.lit(None, pl.String)}
    table = pl.DataFrame({"id": [f"i{row}" for row in range(len(z))], "labels": labels})
    found = node_frame(wide, {"last": z}, "last", table.with_columns(**nothing), range(2))
    told = dict(found.select("node", "sibling").iter_rows())

    assert (told["l"], told["m"]) == ("m", "l")


def test_what_answers_confuse_is_unused_and_what_is_not_known_says_nothing() -> None:
    found = of_leaves(60, {"horn": "bell"}, last=APART)
    silent = of_leaves(60, {"horn": None, "bell": None}, last=APART)

    assert {node: row["predicted"] for node, row in found.items() if row["siblings"]} == {
        "bell": 0.5, "horn": 0.5, "red": 1, "blue": 1, "sound": 1, "sight": 1,
    }  # fmt: skip
    assert found["bell"]["unused_low"] > 0
    assert found["horn"]["unused"] == pytest.approx(0.5, abs=0.02)
    assert (silent["red"]["predicted"], silent["horn"]["predicted"]) == (1, None)


def test_a_node_needs_eleven_instances_and_groups_on_either_side() -> None:
    assert [len(of_leaves(each, last=APART)) for each in (5, 10, 11)] == [0, 2, 7]
    assert {*of_leaves(12, groups=2, last=APART)} == {"sound", "sight"}
    assert not of_leaves(12, groups=3, last=APART)


def test_units_of_a_layer_change_no_node() -> None:
    scale = {leaf: np.multiply(of, 100) - 7 for leaf, of in TOGETHER.items()}
    first, second = of_leaves(40, last=TOGETHER), of_leaves(40, last=scale, noise=10)

    assert [*first] == [*second]
    assert all(row["readable"] == pytest.approx(second[node]["readable"], abs=0.02)
               for node, row in first.items())  # fmt: skip


SCORED = st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0, 5.0]), st.booleans()), min_size=2)
BOTH = SCORED.filter(lambda rows: len({inside for _, inside in rows}) == 2)


@examples(60)
@given(BOTH)
def test_a_placement_is_the_share_of_the_other_side_that_is_on_its_right_side(
    rows: list[tuple[float, bool]],
) -> None:
    found = placements(np.array([s for s, _ in rows]), np.array([inside for _, inside in rows]))
    for placed, (score, inside) in zip(found, rows, strict=True):
        gaps = [
            score - other if inside else other - score for other, side in rows if side != inside
        ]
        assert placed == pytest.approx(sum((gap > 0) + (gap == 0) / 2 for gap in gaps) / len(gaps))


@pytest.mark.parametrize("groups", [60, 20, 7])
def test_residuals_are_summed_in_a_group_before_they_are_squared(groups: int) -> None:
    rng = np.random.default_rng(3)
    side = rng.choice([1, 0, np.nan], 60, p=[0.3, 0.6, 0.1])
    placed, unit = np.where(np.isnan(side), np.nan, rng.random(60)), rng.permutation(60) % groups
    placed[:2] = np.nan
    sides = [[r for r in range(60) if side[r] == one and placed[r] == placed[r]] for one in (1, 0)]
    means, error = [sum(placed[r] for r in rows) / len(rows) for rows in sides], 0.0
    for one in set(unit):
        pull = 0.0
        for rows, mean in zip(sides, means, strict=True):
            n = len({unit[r] for r in rows})
            own = [placed[r] - mean for r in rows if unit[r] == one]
            pull += sum(own) / len(rows) * (n / (n - 1)) ** 0.5
        error += pull**2
    value, low, high = area_of(placed, side, unit)
    assert value == pytest.approx(means[0])
    assert high - value == pytest.approx(min(1.96 * error**0.5, 1 - value))
    assert value - low == pytest.approx(min(1.96 * error**0.5, value))


def test_no_instances_misplaced_is_not_certainty_and_one_unit_is_nothing() -> None:
    side = np.repeat([1.0, 0.0], 10)
    value, low, _ = area_of(np.ones(20), side, np.arange(20))
    assert value == 1
    assert low == pytest.approx(1 - 1.96 * (2 / (12**2 * 10)) ** 0.5)
    assert np.isnan(area_of(np.ones(20), side, np.repeat([0, 1], 10))).all()


@given(one=representations())
def test_what_is_written_is_read_again_in_each_format(
    one: Representations, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for suffix in SUFFIXES:
        path = tmp_path_factory.mktemp("formats") / f"file{suffix}"
        write_representations(one, path)
        assert same(read_representations(path), one)


@given(data=st.data())
def test_numbers_that_are_not_finite_are_refused_with_their_place(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("wrong") / "file.npz"
    matrix = np.arange(6.0).reshape(3, 2)
    row, column = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))
    matrix[row, column] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    held: dict[str, Any] = {"layer:last": matrix, "labels": np.array(["a", "b", "b"])}
    np.savez(path, **held)
    with pytest.raises(SchemaError, match=f"in feature {column} of {row}"):
        read_representations(path)

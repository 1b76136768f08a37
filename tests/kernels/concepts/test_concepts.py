"""Ablation by other routes, facets and splits by plain searches, verdicts at their limits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import null_space, orth, sqrtm

from audit.analyses.concepts import facets as of_facets
from audit.analyses.concepts.beside_tests import layer_rows
from audit.analyses.concepts.facets import FACETS, Described, describe, facets_from_depths
from audit.analyses.concepts.probes import Ablation, fit, inlp, leace, quiet_fits
from audit.analyses.concepts.tests_of_concepts import KEYS, Scene, pair_answers, points_of
from audit.analyses.concepts.verdicts import parts_of
from audit.base.errors import InputError
from fixtures.examples import examples
from fixtures.labelled import tree

World = tuple[NDArray[np.float64], NDArray[np.int64]]


def world(seed: int, concepts: int, features: int, left_out: int) -> World:
    drawn = np.random.default_rng(seed)
    concept = drawn.permutation(np.arange(60) % concepts)[left_out:]
    means = drawn.normal(size=(concepts, features))
    return means[concept] + drawn.normal(size=(len(concept), features)), concept


WORLDS = st.builds(
    world, st.integers(0, 10**6), st.integers(2, 4), st.integers(4, 7), st.integers(0, 10)
)


def projection(ablation: Ablation) -> NDArray[np.float64]:
    """The matrix P of the map ``mean + P (z - mean)``."""
    mean = ablation.mean
    return np.asarray((ablation(mean + np.eye(len(mean))) - mean).T)


@examples(10)
@given(WORLDS)
def test_inlp_projects_onto_what_no_probe_has_read(drawn: World) -> None:
    z, concept = drawn
    with quiet_fits():
        every, weight = list(islice(inlp(z, concept), 20)), fit(z, concept, exact=True).weight
    first, second = map(projection, every[:2])
    kept = null_space(weight, rcond=1e-8)

    np.testing.assert_allclose(first, kept @ kept.T, atol=1e-8)
    np.testing.assert_allclose(every[0](z), z @ first, atol=1e-12)
    np.testing.assert_allclose(second @ first, second, atol=1e-12)
    assert len(every[0].write) == len(np.unique(concept)) - 1
    removed = [len(one.write) for one in every]
    assert removed == sorted({*removed})


@examples(20)
@given(WORLDS)
def test_leace_is_the_published_closed_form_of_concepts_that_weigh_alike(drawn: World) -> None:
    """Instances are repeated until each concept has as many; they are whitened by a symmetric root,
    projected, and turned back."""
    z, concept = drawn
    counts = np.bincount(concept)
    times = np.lcm.reduce(counts) // counts[concept]
    rows, of = np.repeat(z, times, axis=0), np.repeat(concept, times)
    marks = np.eye(len(counts))[of]
    centred = rows - rows.mean(axis=0)
    back = np.real(sqrtm(centred.T @ centred / len(rows)))
    whiten = np.linalg.inv(back)
    basis = orth(whiten @ (centred.T @ (marks - marks.mean(axis=0)) / len(rows)), rcond=1e-8)
    expected = z - (z - rows.mean(axis=0)) @ (back @ basis @ basis.T @ whiten).T

    after, ablate = leace(z, concept)(rows), leace(z, concept)
    np.testing.assert_allclose(ablate(z), expected, atol=1e-8)
    np.testing.assert_allclose(after.mean(axis=0), rows.mean(axis=0), atol=1e-12)
    shared = (after - after.mean(axis=0)).T @ (marks - marks.mean(axis=0)) / len(rows)
    np.testing.assert_allclose(shared, 0, atol=1e-9)
    assert len(ablate.write) == len(counts) - 1


@examples(10)
@given(st.builds(world, st.integers(0, 10**6), st.integers(2, 4), st.integers(4, 7), st.just(0)))
def test_leace_is_that_of_its_authors(drawn: World) -> None:
    """Without what their package adds to the closed form: shrinkage, a bound of the trace, and
    leaving out what covaries little."""
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("concept_erasure", reason="needs concept-erasure")
    z, concept = drawn
    marks = np.eye(concept.max() + 1)[concept]
    options = {"shrinkage": False, "constrain_cov_trace": False, "svd_tol": 1e-10}
    sizes = z.shape[1], marks.shape[1]
    fitter = theirs.LeaceFitter(*sizes, dtype=torch.float64, **options)
    eraser = fitter.update(torch.from_numpy(z), torch.from_numpy(marks)).eraser

    after = eraser(torch.from_numpy(z)).numpy()
    np.testing.assert_allclose(leace(z, concept)(z), after, rtol=0, atol=1.7e-13)


def test_a_space_without_spread_has_nothing_to_remove() -> None:
    z = np.ones((6, 3))
    np.testing.assert_allclose(leace(z, np.array([0, 0, 0, 1, 1, 1]))(z), z)


WORLD = [*product("hvr", "rop", "cf")]
ROWS = [("".join(one), str(place), one[place], False) for one in WORLD for place in range(3)]
CROSSED = pl.DataFrame(ROWS, FACETS, orient="row")
"""The classes of the paper: three layouts, three shapes, two strokes."""
SITES = [f"{site}-{end}-{kind}" for site in ("femur", "tibia") for end in "us" for kind in "co"]
TREE = tree(f"{' '.join(SITES[:4])} < femur", f"{' '.join(SITES[4:])} < tibia",
            "femur tibia < injuries")  # fmt: skip


def described(labels: list[list[str]], facets: pl.DataFrame = CROSSED) -> Described:
    return describe(pl.Series(labels, dtype=pl.List(pl.String)), facets)


def test_depths_give_nested_dimensions() -> None:
    facets = facets_from_depths(TREE, [0, 1, 2])
    diamond = facets_from_depths(tree("c d < a", "c < b", "a b < r"), [1])

    assert {*facets.select("dimension", "nested").rows()} == {("depth 1", True), ("depth 2", True)}
    assert facets.filter(node="tibia-s-o")["concept"].to_list() == ["tibia", "tibia-s-o"]
    assert "c" not in diamond["node"], "a node below two nodes of a depth has no concept there"


@given(st.sets(st.sampled_from(WORLD), min_size=3))
def test_classes_of_a_slice_differ_in_its_dimension_alone(present: set[tuple[str, ...]]) -> None:
    found = described([["".join(one)] for one in sorted(present) for _ in range(2)])
    codes = found.class_codes
    for place in range(3):
        together = {
            frozenset((a, b)) for part in found.parts(place, 0) for a in part for b in part if a < b
        }
        assert together == {
            frozenset((a, b))
            for a in range(len(codes))
            for b in range(a)
            if np.array_equal(np.flatnonzero(codes[a] != codes[b]), [place])
        }


def test_folds_of_a_nested_dimension_hold_some_of_each_concept_once() -> None:
    leaves = [[leaf] for leaf in SITES[:7] for _ in range(2)]
    found = described(leaves, facets_from_depths(TREE, [1]))
    dealt = found.parts(0, seed=3)

    assert len(dealt) == 3
    assert sorted(np.concatenate(dealt).tolist()) == list(range(7))
    assert all(set(found.class_codes[fold, 0]) == {0, 1} for fold in dealt)


def test_what_is_in_no_class_is_counted() -> None:
    labels = [["hrc"], ["hrc"], ["hrc", "hrf"], ["vrc"], ["vrc"], [], ["rpf"], ["elsewhere"]]
    found = described(labels)
    stroke = found.frame(0).row(by_predicate=pl.col("dimension") == "2", named=True)

    assert found.ledger == {"used": 4, "labels_without_concepts": 2,
                            "labels_of_several_concepts": 1, "class_too_small": 1}  # fmt: skip
    assert (stroke["several_concepts"], stroke["without_concept"]) == (1, 2)
    assert found.classes["labels"].to_list() == [["hrc"], ["vrc"]]
    with pytest.raises(InputError):
        described([["elsewhere"], ["elsewhere"]])


@examples(10)
@given(st.randoms(use_true_random=False), st.integers(0, 5))
def test_a_split_depends_on_ids_and_seed_alone(random: Any, seed: int) -> None:
    labels, order = [["".join(one)] for one in WORLD for _ in range(8)], np.arange(144)
    random.shuffle(order)
    whole, other = described(labels), described([labels[row] for row in order])
    rows, quarter = whole.draw([str(row) for row in range(144)], seed)
    again, same = other.draw([str(row) for row in order], seed)

    assert np.array_equal(rows, order[again])
    assert np.array_equal(quarter, same)
    for one in range(4):
        assert np.bincount(whole.class_of[rows[quarter == one]]).tolist() == [2] * 18


@given(st.lists(st.integers(2, 40), min_size=2, max_size=8))
def test_the_most_frequent_classes_are_cut_first(counts: list[int]) -> None:
    most, of_facets.MOST_ROWS = of_facets.MOST_ROWS, 60
    try:
        names = ["".join(one) for one in WORLD]
        found = described([[names[k]] for k, n in enumerate(counts) for _ in range(n)])
        rows, _ = found.draw([str(row) for row in range(sum(counts))], 0)
    finally:
        of_facets.MOST_ROWS = most
    left = np.bincount(found.class_of[rows]).tolist()
    cut = max(left)

    assert left == [min(n, cut) for n in np.bincount(found.class_of)]
    assert sum(left) <= max(60, 4 * len(counts))
    if sum(left) < sum(counts):
        assert sum(min(n, cut + 1) for n in counts) > 60


def scene(classes: Sequence[str], like: Sequence[str] = ()) -> tuple[Scene, pl.DataFrame]:
    """Classes of eight instances each, two in every quarter, told apart by their concepts; those
    that are judged of the first ones look like others."""
    labels = [[one] for one in classes for _ in range(8)]
    found = described(labels)
    rows, quarter = found.draw([str(row) for row in range(len(labels))], 0)
    looks = [dict(zip(classes, like, strict=False)).get(one, one) if q % 2 == 0 else one
             for (one,), q in zip((labels[row] for row in rows), quarter, strict=True)]  # fmt: skip
    z = np.array([[float(letter in one) for letter in "hvropcf"] for one in looks])
    pairs = [str(row % 8) for row in range(len(labels))]
    nothing = {"pair": pairs, "prediction": pl.Series([None] * len(labels), dtype=pl.String)}
    return Scene(found, 0, rows, quarter, z), pl.DataFrame({"labels": labels, **nothing})


def test_a_pair_is_answered_where_all_concepts_are() -> None:
    classes = ["".join(one) for one in WORLD]
    ((*_, right, judged),) = pair_answers(*scene(classes, ["hrf"]), first=True)

    assert judged == [4] * 18
    assert right == [0] + [4] * 17


def test_two_classes_are_read_together_too() -> None:
    rows = [*layer_rows(scene(["hrc", "hrf"])[0])]
    assert [(row["measure"], row["value"]) for row in rows] == [
        (name, 1) for name in ("probe", "direct", "composed", "product", "nmi")
    ]


LABELS = pl.Series([["".join(one)] for one in WORLD for _ in range(2)])
DESCRIBED = describe(LABELS, pl.DataFrame(ROWS, FACETS, orient="row"))
LAYOUT = DESCRIBED.class_codes[:, 0]
REMOVED = {
    "above_limit": ("is_token_of_type", "0", "N-1 slices", None, "transfer", "0"),
    "at_or_below_chance": ("is_modular", "0", "N-1 slices", "inlp", "transfer", "0"),
    "at_chance": ("is_causal", "0", "N-1 slices", "inlp", "predict", "0"),
}


def part(required: str, right: Sequence[int], judged: int = 50, repeats: int = 1) -> dict[str, Any]:
    """The line of an accuracy whose answers are right so often in each class."""
    answers = [(*REMOVED[required], seed, [*right], [judged] * 18) for seed in range(repeats)]
    points = points_of(answers, DESCRIBED.classes["class"])
    return parts_of(DESCRIBED, points, np.full(18, judged)).row(0, named=True)


def test_a_constant_answer_is_at_chance_however_much_classes_differ() -> None:
    constant = [50 * int(one == 0) for one in LAYOUT]
    assert part("at_chance", constant)["accuracy"] == pytest.approx(1 / 3)
    assert part("at_chance", constant)["chance"] == pytest.approx(1 / 3)
    assert part("at_chance", constant)["interval_verdict"] == "pass"
    assert part("above_limit", constant)["interval_verdict"] == "fail"


def test_slices_and_classes_that_disagree_leave_it_undecided() -> None:
    right = np.zeros(18, np.int64)
    for together in DESCRIBED.parts(0, 0)[:2]:
        right[together] = 50
    found = part("at_chance", right.tolist())
    assert (found["verdict"], found["interval_verdict"]) == ("pass", "undecided")
    few = part("above_limit", [50] * 15 + [0] * 3)
    assert (few["verdict"], few["interval_verdict"]) == ("pass", "undecided")


def test_limits_are_those_of_the_paper() -> None:
    for required, share, verdict in [
        *(("above_limit", 0.75, "fail"), ("above_limit", 0.76, "pass")),
        *(("at_chance", 0.38, "pass"), ("at_chance", 0.39, "fail")),
        *(("at_chance", 0.29, "pass"), ("at_chance", 0.28, "fail")),
        *(("at_or_below_chance", 0.1, "pass"), ("at_or_below_chance", 0.39, "fail")),
    ]:
        assert part(required, [round(100 * share)] * 18, 100)["verdict"] == verdict


@given(
    st.lists(st.integers(0, 50), min_size=18, max_size=18),
    st.sampled_from([*REMOVED]),
    st.integers(1, 13),
)
def test_intervals_hold_the_accuracy_and_repeated_answers_count_once(
    right: list[int], required: str, repeats: int
) -> None:
    found, once = part(required, right, repeats=repeats), part(required, right)

    assert (found["requirement"], found["seeds"]) == (required, repeats)
    assert found["low"] <= found["accuracy"] <= found["high"]
    assert found["low_90"] <= found["accuracy"] <= found["high_90"]
    assert found["interval_verdict"] in ("undecided", found["verdict"])
    for name in ("accuracy", "low", "high", "low_90", "high_90", "chance"):
        assert found[name] == pytest.approx(once[name]), name


def test_points_are_by_seed_and_class() -> None:
    key = REMOVED["above_limit"]
    answers = [(*key, 1, [2, 0, 1], [4, 0, 2]), (*key, 0, [1, 1, 0], [1, 1, 1]),
               (*key, 1, [1, 0, 0], [4, 0, 0])]  # fmt: skip
    found = points_of(answers, pl.Series([*"abc"]))
    assert found.select("seed", "class", "right", "judged").rows() == [
        (0, "a", 1, 1), (0, "b", 1, 1), (0, "c", 0, 1), (1, "a", 3, 8), (1, "c", 1, 2),
    ]  # fmt: skip
    assert found.select(KEYS).unique().rows() == [key]

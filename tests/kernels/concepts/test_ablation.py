"""Laws of ablation, against the same projections by other routes."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import null_space, orth, sqrtm

from audit.analyses.concepts.probes import Ablation, fit, inlp, leace, quiet_fits
from fixtures.examples import examples

Array = NDArray[np.float64]
Concepts = NDArray[np.int64]


def world(seed: int, concepts: int, features: int) -> tuple[Array, Concepts]:
    drawn = np.random.default_rng(seed)
    concept = drawn.permutation(np.arange(60) % concepts)
    means = drawn.normal(size=(concepts, features))
    return means[concept] + drawn.normal(size=(60, features)), concept


def projection(ablation: Ablation) -> Array:
    """The matrix P of the map ``mean + P (z - mean)``."""
    mean = ablation.mean
    return np.asarray((ablation(mean + np.eye(len(mean))) - mean).T)


WORLDS = st.builds(world, st.integers(0, 10**6), st.integers(2, 4), st.integers(4, 7))


@examples(10)
@given(WORLDS)
def test_inlp_projects_orthogonally_onto_what_no_probe_has_read(
    drawn: tuple[Array, Concepts],
) -> None:
    z, concept = drawn
    with quiet_fits():
        first, second = islice(inlp(z, concept), 2)
        weight = fit(z, concept, exact=True).weight
    p = projection(first)

    np.testing.assert_allclose(p, p.T, atol=1e-12)
    np.testing.assert_allclose(p @ p, p, atol=1e-12)
    np.testing.assert_allclose(weight @ p, 0, atol=1e-10)
    np.testing.assert_allclose(first(z), z @ p, atol=1e-12)
    np.testing.assert_allclose(projection(second) @ p, projection(second), atol=1e-12)


@examples(10)
@given(WORLDS)
def test_the_first_iteration_removes_one_direction_less_than_there_are_concepts(
    drawn: tuple[Array, Concepts],
) -> None:
    z, concept = drawn
    with quiet_fits():
        first = next(inlp(z, concept))
        weight = fit(z, concept, exact=True).weight
    kept = null_space(weight, rcond=1e-8)

    assert len(first.write) == len(np.unique(concept)) - 1
    np.testing.assert_allclose(projection(first), kept @ kept.T, atol=1e-8)


def test_inlp_ends_where_nothing_is_left() -> None:
    z, concept = world(0, 3, 5)
    with quiet_fits():
        every = list(islice(inlp(z, concept), 20))

    assert len(every[-1].write) == 5
    assert [len(one.write) for one in every] == sorted({len(one.write) for one in every})


@examples(20)
@given(WORLDS)
def test_leace_leaves_no_covariance_with_any_concept(drawn: tuple[Array, Concepts]) -> None:
    z, concept = drawn
    marks = np.eye(concept.max() + 1)[concept]
    after = leace(z, concept)(z)
    shared = (after - after.mean(axis=0)).T @ (marks - marks.mean(axis=0))

    np.testing.assert_allclose(shared, 0, atol=1e-9)
    np.testing.assert_allclose(after.mean(axis=0), z.mean(axis=0), atol=1e-12)


@examples(20)
@given(WORLDS)
def test_leace_is_the_published_closed_form(drawn: tuple[Array, Concepts]) -> None:
    """Whitened by a symmetric root, projected, and turned back."""
    z, concept = drawn
    marks = np.eye(concept.max() + 1)[concept]
    centred = z - z.mean(axis=0)
    spread = centred.T @ centred / len(z)
    shared = centred.T @ (marks - marks.mean(axis=0)) / len(z)
    back = np.real(sqrtm(spread))
    whiten = np.linalg.inv(back)
    basis = orth(whiten @ shared, rcond=1e-8)
    expected = z - centred @ (back @ basis @ basis.T @ whiten).T

    np.testing.assert_allclose(leace(z, concept)(z), expected, atol=1e-8)
    assert len(leace(z, concept).write) == len(np.unique(concept)) - 1


@examples(10)
@given(WORLDS, st.integers(0, 10))
def test_leace_weighs_all_concepts_alike(drawn: tuple[Array, Concepts], left_out: int) -> None:
    """As leace of instances that are repeated until each concept has as many."""
    z, concept = drawn
    z, concept = z[left_out:], concept[left_out:]
    counts = np.bincount(concept)
    times = np.lcm.reduce(counts) // counts[concept]
    repeated = leace(np.repeat(z, times, axis=0), np.repeat(concept, times))

    np.testing.assert_allclose(leace(z, concept)(z), repeated(z), atol=1e-8)


@examples(10)
@given(WORLDS)
def test_a_probe_fitted_after_leace_answers_without_looking(
    drawn: tuple[Array, Concepts],
) -> None:
    z, concept = drawn
    after = leace(z, concept)(z)
    with quiet_fits():
        probe = fit(after, concept)
    scores = probe.scores(after)

    assert np.ptp(scores, axis=0).max() < 1e-2


@examples(20)
@given(WORLDS)
def test_leace_is_that_of_its_authors(drawn: tuple[Array, Concepts]) -> None:
    """Without what their package adds to the closed form: shrinkage, a bound of the trace, and
    leaving out what covaries little."""
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("concept_erasure", reason="needs concept-erasure")
    z, concept = drawn
    marks = np.eye(concept.max() + 1)[concept]
    fitter = theirs.LeaceFitter(
        z.shape[1],
        marks.shape[1],
        shrinkage=False,
        constrain_cov_trace=False,
        svd_tol=1e-10,
        dtype=torch.float64,
    )
    eraser = fitter.update(torch.from_numpy(z), torch.from_numpy(marks)).eraser

    ours = leace(z, concept)
    np.testing.assert_allclose(ours(z), eraser(torch.from_numpy(z)).numpy(), rtol=0, atol=1.7e-13)
    np.testing.assert_allclose(projection(ours), eraser.P.numpy(), rtol=0, atol=1.7e-13)


def test_a_space_without_spread_has_nothing_to_remove() -> None:
    z = np.ones((6, 3))

    np.testing.assert_allclose(leace(z, np.array([0, 0, 0, 1, 1, 1]))(z), z)

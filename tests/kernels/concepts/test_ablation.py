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

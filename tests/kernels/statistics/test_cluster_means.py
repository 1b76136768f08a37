"""Means below nodes against the rest: a brute force, and the rate under no difference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import t

from audit.engine.statistics.means import node_means, smallest_difference


def below(marks: list[list[bool]]) -> csr_array:
    return csr_array(np.array(marks, dtype=np.int64))


def by_hand(
    values: list[float], cluster: list[int], inside: list[bool]
) -> tuple[float, float, float]:
    """Mean, difference and its error, cluster by cluster in plain Python."""
    own = [v for v, there in zip(values, inside, strict=True) if there]
    rest = [v for v, there in zip(values, inside, strict=True) if not there]
    mean, other = sum(own) / len(own), sum(rest) / len(rest)
    pulls: dict[int, float] = {}
    for value, name, there in zip(values, cluster, inside, strict=True):
        pull = (value - mean) / len(own) if there else -(value - other) / len(rest)
        pulls[name] = pulls.get(name, 0.0) + pull
    n = len(pulls)
    return mean, mean - other, (sum(p * p for p in pulls.values()) * n / (n - 1)) ** 0.5


@given(
    st.lists(
        st.tuples(
            st.integers(-8, 8), st.integers(0, 4), st.lists(st.booleans(), min_size=3, max_size=3)
        ),
        min_size=1,
        max_size=25,
    )
)
def test_it_equals_a_brute_force(examples: list[tuple[int, int, list[bool]]]) -> None:
    values, names, marks = (list(column) for column in zip(*examples, strict=True))
    number = {name: place for place, name in enumerate(sorted(set(names)))}
    cluster = [number[name] for name in names]
    found = node_means(np.array(values, float), np.array(cluster), below(marks))
    for node in range(3):
        inside = [mark[node] for mark in marks]
        own = {c for c, there in zip(cluster, inside, strict=True) if there}
        rest = {c for c, there in zip(cluster, inside, strict=True) if not there}
        assert found.examples[node] == sum(inside)
        assert found.clusters[node] == len(own)
        assert found.clusters_outside[node] == len(rest)
        if min(len(own), len(rest)) > 1:
            mean, difference, error = by_hand(values, cluster, inside)
            assert found.mean[node] == pytest.approx(mean, abs=1e-9)
            assert found.difference[node] == pytest.approx(difference, abs=1e-9)
            assert found.error[node] == pytest.approx(error, abs=1e-7)
        else:
            assert np.isnan(found.p_less[node])


def test_the_error_of_single_examples_is_that_of_two_means() -> None:
    rng = np.random.default_rng(1)
    values, inside = rng.normal(size=400), np.arange(400) < 150
    found = node_means(values, np.arange(400), below([[bool(one)] for one in inside]))
    own, rest = values[inside], values[~inside]
    assert found.error[0] == pytest.approx((own.var() / 150 + rest.var() / 250) ** 0.5, rel=0.01)


def test_clusters_widen_the_error() -> None:
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(60), 10)
    values = np.repeat(rng.normal(size=60), 10) + 0.1 * rng.normal(size=600)
    marks = below([[bool(one)] for one in cluster < 30])
    apart = node_means(values, np.arange(600), marks)
    together = node_means(values, cluster, marks)
    assert together.error[0] > 2.5 * apart.error[0]


def test_without_a_difference_it_rejects_at_its_rate() -> None:
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(1000):
        cluster = rng.integers(0, 40, 160)
        _, cluster = np.unique(cluster, return_inverse=True)
        values = rng.normal(size=40)[cluster] + rng.normal(size=160)
        inside = rng.random(160) < 0.4
        found = node_means(values, cluster, below([[bool(one)] for one in inside]))
        rejected += bool(found.p_less[0] < 0.05)
    assert rejected <= 70


def test_the_smallest_difference_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(4)
    marks = below([[place < 60] for place in range(200)])
    smallest = node_means(rng.normal(size=200), np.arange(200), marks).smallest[0]
    hits = 0
    for _ in range(400):
        values = rng.normal(size=200)
        values[:60] -= smallest
        _, high = node_means(values, np.arange(200), marks).interval
        hits += bool(high[0] < 0)
    assert 0.7 < hits / 400 < 0.9


def test_the_smallest_mean_of_an_interval_is_found_four_times_in_five() -> None:
    rng, n = np.random.default_rng(0), 40
    values = rng.normal(size=n)
    error = values.std(ddof=1) / n**0.5
    reach = t.ppf(0.975, n - 1) * error
    least = smallest_difference(-reach, reach, n)
    samples = rng.normal(least, values.std(ddof=1), (4000, n))
    found = np.abs(samples.mean(1)) > t.ppf(0.975, n - 1) * samples.std(1, ddof=1) / n**0.5
    assert 0.77 < found.mean() < 0.83

"""Bootstrap over groups: weighted sums are sums over copies, and order does not matter."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.engine.statistics import resampling as subject
from audit.engine.statistics.resampling import group_bootstrap, with_interval

GROUPS = st.lists(st.integers(0, 3), min_size=1, max_size=12).map(lambda g: np.array(g, np.int64))
NAMES = ["a", "b", "c", "d"]


@given(GROUPS)
def test_sums_are_those_over_copies_of_groups(group):
    values = np.arange(2.0 * len(group)).reshape(-1, 2)
    drawn = group_bootstrap(group, NAMES, replicates=5)
    for replicate, sums in enumerate(drawn.sums(values)):
        times = drawn.weights[group, replicate].astype(int)
        np.testing.assert_allclose(sums, np.repeat(values, times, axis=0).sum(axis=0))
    np.testing.assert_array_equal(drawn.sums(values)[0], values.sum(axis=0))


@given(GROUPS, st.data())
def test_levels_are_counted_in_blocks_as_at_once(group, data):
    n = len(group)
    level = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), np.int64)
    mark = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    drawn = group_bootstrap(group, NAMES, replicates=7)

    def estimate(marked, others):
        return np.stack([marked[0], others[-1]])

    found = drawn.by_level(level, 3, mark, estimate)
    weights = drawn.weights[group]
    np.testing.assert_allclose(found[:, 0], weights[mark & (level == 0)].sum(axis=0))
    np.testing.assert_allclose(found[:, 1], weights[~mark & (level == 2)].sum(axis=0))
    cells, subject._CELLS = subject._CELLS, 6
    try:
        np.testing.assert_array_equal(drawn.by_level(level, 3, mark, estimate), found)
    finally:
        subject._CELLS = cells


@given(GROUPS, st.permutations(range(4)))
def test_replicates_follow_the_names_of_groups_not_their_numbers(group, order):
    values = np.arange(1.0, len(group) + 1)[:, None]
    renamed = group_bootstrap(np.argsort(order)[group], [NAMES[k] for k in order], replicates=9)
    np.testing.assert_allclose(
        renamed.sums(values), group_bootstrap(group, NAMES, replicates=9).sums(values)
    )


def test_an_interval_covers_the_mean_about_as_often_as_it_says():
    random = np.random.default_rng(1)
    covered = 0
    for trial in range(200):
        means = random.normal(size=60)
        group = np.repeat(np.arange(60), 3)
        values = np.column_stack([np.repeat(means, 3), np.ones(180)])
        sums = group_bootstrap(group, [f"{trial}:{k}" for k in range(60)]).sums(values)
        _, low, high = with_interval(sums[:, 0] / sums[:, 1])
        covered += bool(low <= 0 <= high)
    assert 176 <= covered <= 200


def test_an_undefined_value_has_no_interval():
    value, low, high = with_interval(np.array([[np.nan], [1.0], [2.0]]))
    assert np.isnan([value, low, high]).all()

"""Means over instances: scipy's interval, and what is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from audit.engine.statistics.means import clusters, instance_means

NAN = float("nan")


def test_one_value_per_instance_gives_students_interval() -> None:
    values = np.random.default_rng(0).normal(size=(30, 2))
    part = np.repeat([0, 1], 15)
    found = instance_means(values, clusters(part, np.arange(30)))

    for one in (0, 1):
        own = values[part == one]
        spread = own.std(axis=0, ddof=1) / np.sqrt(15)
        low, high = t.interval(0.95, 14, own.mean(axis=0), spread)
        assert found.value[one] == pytest.approx(own.mean(axis=0))
        assert found.low[one] == pytest.approx(low)
        assert found.high[one] == pytest.approx(high)
        assert found.sd[one] == pytest.approx(own.std(axis=0, ddof=1))


def test_units_of_one_instance_count_once_in_each_part() -> None:
    values = np.array([[1.0], [3.0], [10.0], [20.0], [NAN]])
    found = instance_means(values, clusters(np.array([0, 0, 0, 1, 0]), np.array([5, 5, 2, 5, 2])))

    assert found.value.tolist() == [[6.0], [20.0]]
    assert found.n.tolist() == [[2], [1]]
    assert found.units.tolist() == [[3], [1]]
    assert found.undefined.tolist() == [[1], [0]]
    assert np.isnan(found.low[1])


def test_repeating_every_unit_changes_no_interval() -> None:
    values = np.random.default_rng(1).normal(size=(12, 1))
    once = instance_means(values, clusters(np.zeros(12, np.int64), np.arange(12)))
    many = instance_means(
        np.repeat(values, 5, axis=0), clusters(np.zeros(60, np.int64), np.repeat(np.arange(12), 5))
    )

    assert many.low == pytest.approx(once.low)
    assert many.n.tolist() == once.n.tolist()


def test_a_part_without_a_value_is_undefined() -> None:
    found = instance_means(np.full((3, 1), NAN), clusters(np.zeros(3, np.int64), np.arange(3)))

    assert np.isnan(found.value).all()
    assert (found.n.item(), found.undefined.item()) == (0, 3)


def test_no_units_have_no_parts() -> None:
    nothing = np.empty(0, np.int64)

    assert instance_means(np.empty((0, 2)), clusters(nothing, nothing)).value.shape == (0, 2)

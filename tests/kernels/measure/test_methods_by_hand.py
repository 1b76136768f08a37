"""The examples of docs/methods/ that are worked by hand, against the product."""

from __future__ import annotations

from math import exp
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from audit.checks.rules.split_leak import chance_of_unseen, unseen_by_chance
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from fixtures.labelled import tree


def test_the_split_of_four_units() -> None:
    units = csr_array(np.array([[1, 1], [0, 1], [0, 0], [0, 0]]))
    mean, variance = unseen_by_chance(units, 2)

    assert [mean, variance] == pytest.approx([2 / 3, 5 / 9])
    assert chance_of_unseen(2, mean, variance) == pytest.approx(1 - exp(-2 / 3) * (1 + 2 / 3))


def test_the_pair_that_vanishes() -> None:
    hierarchy = tree("a b c < top", "a1 < a", "b1 < b", "c1 < c")
    reported = ends(hierarchy, ("a1", "b1"), ("a", "c1"))
    measured = SimpleNamespace(hierarchy=hierarchy, excess=SimpleNamespace(found=reported))
    left = Measurements._without(cast(Measurements, measured), ends(hierarchy, ("a1", "b")))

    assert left.rows() == ends(hierarchy, ("a", "c1")).rows()


def ends(hierarchy: Hierarchy, *pairs: tuple[str, str]) -> pl.DataFrame:
    rows = [tuple(map(hierarchy.index, pair)) for pair in pairs]
    return pl.DataFrame(rows, ["a", "b"], orient="row")


def of(hierarchy: Hierarchy, labels: list[list[str]]) -> csr_array:
    matrix = np.zeros((len(labels), len(hierarchy)), np.int64)
    for line, own in enumerate(labels):
        matrix[line, [hierarchy.index(node) for node in own]] = 1
    return csr_array(matrix)

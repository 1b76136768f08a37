"""Means of groups and what is made of them: no bit depends on the order of rows or on threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.explanations.node_results import by_node
from audit.engine.statistics.means import group_means
from fixtures.children import printed_with_threads
from fixtures.examples import examples
from fixtures.labelled import tree

BODY = tree("a b < left", "c d < right", "left right < top")

CHILD = """
import hashlib, sys
from tests.unit.explanations.test_group_means import BODY, drawn, in_other_order
from audit.analyses.explanations.node_results import by_node
rows = in_other_order(drawn(), seed=int(sys.argv[1]), chunks=int(sys.argv[1]))
print(hashlib.sha256(by_node(rows, BODY).write_ndjson().encode()).hexdigest())
"""


def drawn(instances: int = 300) -> pl.DataFrame:
    """Values of five seeds and three methods, of which many have no short binary fraction."""
    rng = np.random.default_rng(0)
    each = pl.DataFrame({"id": [f"i{place}" for place in range(instances)]}).with_columns(
        target=pl.Series(rng.choice(list("abcd"), instances)), model=pl.lit("m")
    )
    methods = pl.DataFrame({"method": ["x", "y", "z"]})
    seeds = pl.DataFrame({"measure": ["alignment"] * 5})
    rows = each.join(methods, how="cross").join(seeds, how="cross")
    return rows.with_columns(value=pl.Series(rng.normal(size=len(rows)) ** 3))


def in_other_order(rows: pl.DataFrame, seed: int, chunks: int) -> pl.DataFrame:
    """The same rows in another order, in so many chunks."""
    shuffled = rows.sample(fraction=1.0, shuffle=True, seed=seed)
    cuts = np.linspace(0, len(rows), chunks + 1).astype(int).tolist()
    parts = [shuffled[start:end] for start, end in pairwise(cuts)]
    return pl.concat(parts, rechunk=False)


@examples(30)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.none() | st.floats(-1e9, 1e9)), max_size=40),
    st.integers(0, 2**32),
)
def test_means_of_groups_are_those_of_their_values(
    rows: list[tuple[str, float | None]], seed: int
) -> None:
    frame = pl.DataFrame(rows, schema={"group": pl.String, "value": pl.Float64}, orient="row")
    means = dict(group_means(frame, ["group"], "value").iter_rows())
    assert {*means} == {name for name, _ in rows}
    for name, mean in means.items():
        known = [value for of, value in rows if of == name and value is not None]
        assert mean == (pytest.approx(np.mean(known)) if known else None)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed)
    assert group_means(shuffled, ["group"], "value").equals(group_means(frame, ["group"], "value"))


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_means_below_nodes_do_not_depend_on_the_order_of_rows(seed: int) -> None:
    rows = drawn()
    other = in_other_order(rows, seed, chunks=seed)
    assert by_node(other, BODY).equals(by_node(rows, BODY))


@pytest.mark.slow
def test_means_below_nodes_do_not_depend_on_threads() -> None:
    assert len(set(printed_with_threads(CHILD, "POLARS_MAX_THREADS"))) == 1

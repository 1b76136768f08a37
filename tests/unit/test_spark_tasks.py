"""What tasks of a count on Spark make of rows, however the rows are shared among them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit import spark_tasks as tasks
from audit.dataset import LabelDataset
from audit.engine.pairs import count_pairs
from audit.engine.propagation import aggregate
from audit.engine.strata import length_cuts, strata_of
from audit.engine.sums import NOTHING, Sums
from audit.hierarchy import Hierarchy
from audit.label_nodes import summed_counts
from audit.plan import MEMORY, Asked, Plan, planned
from audit.sums_file import unpacked_sums

LABELS = ("dog", " cow ", "bird", "tool", "pet", "unicorn", None)
Row = tuple[int, int]


def plan_of(rows: pl.DataFrame, hierarchy: Hierarchy, folder: Path) -> Plan:
    labels = summed_counts(tasks.counted_labels([rows]))
    return planned(Asked(hierarchy, None, MEMORY, None), labels, folder, tasks.WHERE)


def frame_of(rows: list[Row]) -> pl.DataFrame:
    schema = {"instance": pl.String, "label": pl.String}
    return pl.DataFrame([(f"i{i}", LABELS[j]) for i, j in rows], schema=schema, orient="row")


def shared(frame: pl.DataFrame, tasks: int) -> list[pl.DataFrame]:
    ends = np.linspace(0, frame.height, tasks + 1).astype(int)
    return [frame[start:stop] for start, stop in pairwise(ends)]


def joined(frames: list[pl.DataFrame], kind: str) -> Sums:
    """The sums of a kind over all, its parts in order."""
    whole = pl.concat(frames).filter(stratum=tasks.ALL, kind=kind).sort("part")
    parts = [NOTHING, *map(unpacked_sums, whole["sums"])]
    columns = ([getattr(part, of) for part in parts] for of in ("keys", "joint", "confusion"))
    return Sums(*map(np.concatenate, columns))


def sizes_of(frames: list[pl.DataFrame]) -> dict[int, int]:
    """How many instances each stratum has."""
    sizes = pl.concat(frames).filter(kind="size").select("stratum", "sums")
    return {stratum: int(unpacked_sums(sums).joint.sum()) for stratum, sums in sizes.iter_rows()}


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), min_size=1, max_size=60),
    st.integers(1, 4),
    st.integers(1, 4),
)
@settings(max_examples=15, deadline=None)
def test_pairs_do_not_depend_on_how_many_tasks_count(
    tmp_path_factory: pytest.TempPathFactory,
    toy_hierarchy: Hierarchy,
    rows: list[Row],
    readers: int,
    counters: int,
) -> None:
    frame = frame_of(rows)
    plan = plan_of(frame, toy_hierarchy, tmp_path_factory.getbasetemp())
    numbered = pl.concat(
        [part for some in shared(frame, readers) for part in tasks.numbered(plan.labels, [some])]
    ).sort("instance")
    firsts = np.flatnonzero(numbered["instance"].rle_id().diff().fill_null(1).to_numpy())
    ends = [*firsts[:: max(len(firsts) // readers, 1)].tolist(), numbered.height]
    recorded = pl.concat(
        [
            part
            for start, stop in pairwise(ends)
            for part in tasks.recorded(plan, [numbered[start:stop]])
        ]
    )
    lengths = np.zeros(len(LABELS) + 1, np.int64)
    for packed in recorded.filter(kind="length")["packed"]:
        lengths[unpacked_sums(packed).keys] += unpacked_sums(packed).joint
    plan = replace(plan, cuts=length_cuts(lengths))
    layout = tasks.layout_of(plan.labels)
    direct = recorded.filter(kind=tasks.DIRECT).sort("length", "spread")

    tallies = [
        part for some in shared(direct, counters) for part in tasks.tallied(plan, layout, [some])
    ]
    whole = [*tasks.added([pl.concat(tallies).sort("stratum", "kind", "part")])]
    found = joined(whole, "pair")

    dataset = LabelDataset.from_rows(frame, toy_hierarchy)
    number = strata_of(np.diff(dataset.direct.indptr).astype(np.int64), plan.cuts)
    assert sizes_of(whole) == dict(Counter(number[number >= 0].tolist()))
    wanted = count_pairs(aggregate(dataset.direct, dataset.hierarchy.closure))
    np.testing.assert_array_equal(found.keys, wanted.a * len(plan.labels.hierarchy) + wanted.b)
    np.testing.assert_array_equal(found.joint, wanted.joint)
    np.testing.assert_allclose(found.confusion, wanted.confusion_sum, rtol=1e-12)


def test_parts_take_every_key_once(toy_hierarchy: Hierarchy, tmp_path: Path) -> None:
    plan = plan_of(frame_of([(i, i % 7) for i in range(40)]), toy_hierarchy, tmp_path)
    n_nodes = len(plan.labels.hierarchy)

    layout = tasks.layout_of(plan.labels)

    assert layout.bounds[0] == 0
    assert layout.bounds[-1] == n_nodes**2
    assert (np.diff(layout.bounds) > 0).all()


def test_tasks_without_rows_make_no_pair(toy_hierarchy: Hierarchy, tmp_path: Path) -> None:
    plan = replace(plan_of(frame_of([]), toy_hierarchy, tmp_path), cuts=np.array([2]))

    assert [*tasks.numbered(plan.labels, [])] == []
    recorded = pl.concat([*tasks.recorded(plan, [])])
    assert tasks.DIRECT not in recorded["kind"]
    tallies = pl.concat([*tasks.tallied(plan, tasks.layout_of(plan.labels), [])])
    assert "pair" not in tallies["kind"]

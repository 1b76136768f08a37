"""Pairs are judged alike whether instances are loaded or only counted, in whatever way."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from audit.counting.counts import PairCount
from audit.counting.file import count_pairs
from audit.counting.kept import read_counts, write_counts
from audit.engine.pairs.record_counts import KINDS
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.counts import measure_counts
from audit.measure.measure import Counted, measure
from audit.measure.pair_excess import Excess
from audit.policy.policy import Policy, Threshold
from fixtures.labelled import labelled
from fixtures.named_counts import LABEL, write_rows
from fixtures.strategies import hierarchies, label_sets, trees
from fixtures.task_counts import counted_by_tasks

Labels = Mapping[str, list[str]]


def policy(least: float, ratio: float, rate: float) -> Policy:
    return Policy(
        least_joint=Threshold(value=least, reason="small datasets"),
        excess_ratio=Threshold(value=ratio, reason="to flag much"),
        false_discovery_rate=Threshold(value=rate, reason="to flag much"),
    )


MUCH = policy(2, 1.0, 1.0)
"""One by which whatever has an excess is surprising."""


@dataclass(frozen=True)
class Ways:
    """A release, and how it is parted where it is not counted at once."""

    hierarchy: Hierarchy
    labels: Labels
    policy: Policy
    cut: int
    batch: int

    def counts(self, folder: Path) -> Iterator[tuple[str, PairCount]]:
        """The counts of the release in every way there is."""
        yield "batches", self._count(folder, 0, len(self.labels), self.batch)
        whole = self._count(folder, 0, len(self.labels))
        write_counts(whole, folder / "kept")
        yield "kept", read_counts(folder / "kept", self.hierarchy)
        yield "added", self._count(folder, self.cut, len(self.labels), to=self._count(folder))
        write_counts(self._count(folder), folder / "first")
        kept = read_counts(folder / "first", self.hierarchy)
        yield "added to what was kept", self._count(folder, self.cut, len(self.labels), to=kept)
        rows = [(instance, label) for instance, own in self.labels.items() for label in own or [""]]
        schema = {"instance": pl.String, "label": pl.String}
        frame = pl.DataFrame(rows, schema=schema, orient="row").sample(
            fraction=1, shuffle=True, seed=1
        )
        yield "tasks", counted_by_tasks(frame, self.hierarchy, self.policy)

    def _count(
        self,
        folder: Path,
        start: int = 0,
        stop: int | None = None,
        batch: int | None = None,
        to: PairCount | None = None,
    ) -> PairCount:
        some = [*self.labels.items()][start : self.cut if stop is None else stop]
        path = write_rows(
            {instance: own or [""] for instance, own in some},
            folder / f"{start}-{stop}.parquet",
            listed=False,
        )
        return count_pairs(
            path, self.hierarchy, label=LABEL, policy=self.policy, batch=batch, added_to=to
        )


def assert_judged_alike(ways: Ways) -> Excess:
    wanted = measure(labelled(ways.hierarchy, ways.labels), ways.policy)
    with tempfile.TemporaryDirectory() as folder:
        for way, count in ways.counts(Path(folder)):
            with (
                patch("audit.engine.pairs.tally.NODES_PER_BLOCK", 3),
                patch("audit.engine.statistics.expectation.WORTH_COMPILING", 0),
            ):
                found = measure_counts(count, ways.policy)
            assert_same_pairs(found, wanted, way)
            assert_same_excess(found.excess, wanted.excess, way)
            for kind in KINDS:
                one, other = found.records.of(kind), wanted.records.of(kind)
                if kind not in ("label", "refused", "all_refused"):  # instances of no rows have one
                    assert one.keys.tolist() == other.keys.tolist(), (way, kind)
                    assert one.joint.tolist() == other.joint.tolist(), (way, kind)
    return wanted.excess


def assert_same_pairs(found: Counted, wanted: Counted, way: str) -> None:
    """To the last bit, but for confusion, which is a sum of fractions."""
    table, whole = found.pairs.collect(), wanted.pairs.collect()
    bits = "confusion_sum"
    assert table.columns == whole.columns
    assert_frame_equal(table.drop(bits), whole.drop(bits), check_exact=True)
    np.testing.assert_allclose(table[bits], whole[bits], rtol=1e-12, err_msg=way)


def assert_same_excess(found: Excess, wanted: Excess, way: str) -> None:
    for field in fields(Excess):
        one, other = (getattr(excess, field.name) for excess in (found, wanted))
        if isinstance(other, pl.DataFrame):
            assert_frame_equal(one, other, check_exact=True)
        else:
            assert one == other, (way, field.name)


@st.composite
def releases(draw: st.DrawFn) -> Ways:
    drawn = st.one_of(trees(titled=False), hierarchies(max_nodes=8, titled=False))
    hierarchy = draw(drawn.filter(lambda found: all(node.strip() == node for node in found.nodes)))
    sets = draw(label_sets(hierarchy, max_instances=24, max_labels=5).filter(lambda s: len(s) > 1))
    labels = {f"i{n:02}": sorted(own) for n, own in enumerate(sets)}
    by = policy(
        draw(st.sampled_from([2, 3])),
        draw(st.sampled_from([1.0, 1.2])),
        draw(st.sampled_from([1.0, 0.3])),
    )
    cut = draw(st.integers(1, len(labels) - 1))
    return Ways(hierarchy, labels, by, cut, draw(st.integers(1, 9)))


@given(releases())
@settings(max_examples=30)
def test_small_releases(ways: Ways) -> None:
    assert_judged_alike(ways)


def large(seed: int, instances: int = 900) -> tuple[Hierarchy, Labels]:
    """Three levels, some leaves below two nodes, lengths that make many strata, planted pairs."""
    rng = np.random.default_rng(seed)
    middle = [f"{branch}{number}" for branch in "pqr" for number in range(2)]
    leaves = [f"{node}{number}" for node in middle for number in "wxyz"]
    edges = {(node, node[:-1]) for node in [*leaves, *middle]} | {
        (branch, "top") for branch in "pqr"
    }
    edges |= {(leaf, str(rng.choice(middle))) for leaf in rng.choice(leaves, 3).tolist()}
    frame = pl.DataFrame(sorted(edges), schema=["child", "parent"], orient="row")
    often = np.array([0.2 if leaf[-1] in "wx" else 1.0 for leaf in leaves])
    often /= often.sum()
    labels = {
        f"i{n:03}": set(rng.choice(leaves, rng.integers(0, 9), replace=False, p=often).tolist())
        for n in range(instances)
    }
    for _ in range(4):
        a, b = rng.choice(middle, size=2, replace=False).tolist()
        for own in list(labels.values())[:: int(rng.integers(14, 20))]:
            own |= {f"{a}w", f"{b}x", a}
    return Hierarchy.build(frame, name="drawn"), {i: sorted(own) for i, own in labels.items()}


@pytest.mark.parametrize("by", [MUCH, Policy()], ids=["much is told", "default"])
@pytest.mark.parametrize("seed", range(3))
def test_large_releases(seed: int, by: Policy) -> None:
    hierarchy, labels = large(seed)

    excess = assert_judged_alike(Ways(hierarchy, labels, by, cut=250, batch=700))

    assert len(excess.cuts) > 3
    assert excess.found.height > 0
    assert excess.left_out > 0 or by is Policy()

"""Counts of each stratum equal those of plain Python, held in memory or on the disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.engine.tally import count_batch
from audit.errors import OutputError
from audit.hierarchy import Hierarchy
from audit.pair_count import PairCount
from audit.strata_counts import NO_STRATUM, TallyByStratum
from audit.stream import count_pairs
from fixtures import brute_force as plain
from fixtures.brute_force_counts import strata
from fixtures.full_disk import full_disk
from fixtures.labelled import tree
from fixtures.named_counts import (
    LABEL,
    named_strata,
    pairs_of_count,
    supports_of_count,
    write_rows,
)
from fixtures.strategies import hierarchies, label_sets

Labels = dict[str, set[str]]
TINY = 400
"""Bytes: a triangle of three nodes, and nothing in memory of other pairs."""


@contextmanager
def hardly_any_memory() -> Iterator[None]:
    with patch("audit.stream.BYTES_PER_ROW", 1), patch("audit.stream.LEAST_ROWS", 10):
        yield


def counted(hierarchy: Hierarchy, labels: Labels, **options: object) -> PairCount:
    with tempfile.TemporaryDirectory() as folder:
        rows = {instance: sorted(own) for instance, own in labels.items()}
        path = write_rows(rows, Path(folder) / "rows.parquet", listed=True)
        return count_pairs(path, hierarchy, label=LABEL, **options)  # type: ignore[arg-type]


def parents_of(hierarchy: Hierarchy) -> dict[str, set[str]]:
    return plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())


def assert_counts(found: PairCount, labels: Labels) -> None:
    """Strata at the cuts that were found, and all instances together."""
    parents, nodes = parents_of(found.hierarchy), found.hierarchy.nodes
    cuts = found.strata.cuts.tolist()

    assert cuts[0] == 2
    assert named_strata(found.strata, nodes) == strata(parents, labels, cuts)
    for number in range(len(cuts)):
        keys = found.strata.pairs(number).keys
        assert (np.diff(keys) > 0).all()
    assert pairs_of_count(found) == {
        (a, b): (joint, joint - len(plain.with_two_labels(parents, labels, a, b)))
        for (a, b), joint in plain.joints(parents, labels).items()
    }
    direct = {node: sum(node in own for own in labels.values()) for node in nodes}
    supports = plain.supports(parents, labels)
    assert supports_of_count(found) == {n: (s, direct[n]) for n, s in supports.items() if s}
    assert len(found) == len(labels)


@st.composite
def releases(draw: st.DrawFn) -> tuple[Hierarchy, Labels]:
    hierarchy = draw(hierarchies(max_nodes=8, titled=False).filter(tidy))
    sets = draw(label_sets(hierarchy, max_instances=12, max_labels=6).filter(len))
    return hierarchy, {f"i{number:02}": set(own) for number, own in enumerate(sets)}


def tidy(hierarchy: Hierarchy) -> bool:
    """Whether labels stay as they are when they are read from a file."""
    return all(node == node.strip() for node in hierarchy.nodes)


def large(instances: int = 300) -> tuple[Hierarchy, Labels]:
    """Records of 0 to 29 labels, so that some lengths share a stratum."""
    rng = np.random.default_rng(2)
    leaves = [f"{branch}{number}" for branch in "pqr" for number in range(10)]
    hierarchy = tree(*(f"{leaf} < {leaf[0]}" for leaf in leaves), "p q r < top", "p0 < q")
    sizes = rng.integers(0, 30, size=instances)
    sets = [set(rng.choice(leaves, size=size, replace=False).tolist()) for size in sizes]
    return hierarchy, {f"i{number:03}": own for number, own in enumerate(sets)}


@given(releases())
@settings(max_examples=25)
def test_strata_equal_plain_python(release: tuple[Hierarchy, Labels]) -> None:
    hierarchy, labels = release
    found = counted(hierarchy, labels)

    lengths = sorted({len(own) for own in labels.values() if len(own) > 1})
    assert found.strata.cuts.tolist() == [2, *lengths[1:]]
    assert_counts(found, labels)


@given(releases())
@settings(max_examples=25)
def test_so_do_those_that_are_spilled(release: tuple[Hierarchy, Labels]) -> None:
    hierarchy, labels = release
    with hardly_any_memory(), patch("audit.counting.LABELS_AT_ONCE", 4):
        assert_counts(counted(hierarchy, labels, memory=TINY), labels)


@pytest.mark.parametrize("spilled", [False, True])
def test_lengths_that_share_a_stratum(spilled: bool) -> None:
    hierarchy, labels = large()
    if spilled:
        with hardly_any_memory(), patch("audit.counting.LABELS_AT_ONCE", 500):
            found = counted(hierarchy, labels, memory=TINY)
        assert list(found.strata.files[0].parent.glob("*-pairs-*.parquet"))
    else:
        found = counted(hierarchy, labels)

    assert len(found.strata.cuts) < 28
    assert_counts(found, labels)


def test_spilled_counts_have_the_same_bytes() -> None:
    hierarchy, labels = large(60)
    whole = counted(hierarchy, labels)
    with hardly_any_memory():
        spilled = counted(hierarchy, labels, memory=TINY)

    for one, other in zip(whole.strata.files, spilled.strata.files, strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({"i": set(), "j": set()}, id="no label"),
        pytest.param({"i": {"a"}, "j": {"b"}, "k": set()}, id="one label"),
        pytest.param({"i": {"a", "b"}}, id="two leaves"),
    ],
)
def test_releases_with_little_in_them(labels: Labels) -> None:
    found = counted(tree("a b < top"), labels)

    assert found.strata.cuts.tolist() == [2]
    assert_counts(found, labels)


# --- the tally alone -----------------------------------------------------------------------


def tally(folder: Path, hierarchy: Hierarchy, memory: int, stored: object = None) -> TallyByStratum:
    every = np.arange(len(hierarchy))
    return TallyByStratum(hierarchy.closure, every, memory, folder, stored or {})  # type: ignore[arg-type]


def batches(hierarchy: Hierarchy, labels: Mapping[str, set[str]], size: int = 2) -> list[csr_array]:
    rows = np.zeros((len(labels), len(hierarchy)), np.int64)
    for number, own in enumerate(labels.values()):
        rows[number, [hierarchy.index(label) for label in own]] = 1
    return [csr_array(rows[start : start + size]) for start in range(0, len(rows), size)]


def add(into: TallyByStratum, some: Sequence[csr_array], hierarchy: Hierarchy) -> None:
    for batch in some:
        into.add(*count_batch(batch, hierarchy.closure, into.total.compiled))


@pytest.mark.parametrize("memory", [0, 2**20])
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_a_tally_goes_on_from_its_state(tmp_path: Path, memory: int, cut: int) -> None:
    hierarchy, labels = large(8)
    two, three = batches(hierarchy, labels), batches(hierarchy, dict(list(labels.items())[:5]))
    whole, before = (
        tally(tmp_path / "a", hierarchy, memory),
        tally(tmp_path / "b", hierarchy, memory),
    )
    for one in (whole, before):
        add(one, three, hierarchy)
        one.end(NO_STRATUM)
        add(one, two[:cut], hierarchy)
    after = tally(tmp_path / "b", hierarchy, memory, before.state())
    for one in (whole, after):
        add(one, two[cut:], hierarchy)
        assert one.instances == 13
        one.end(0)
        add(one, three, hierarchy)
        one.end(1)

    cuts = np.array([2, 4], np.int64)
    wanted, found = whole.counts(cuts, None), after.counts(cuts, None)
    assert named_strata(found, hierarchy.nodes) == named_strata(wanted, hierarchy.nodes)
    assert found.size.tolist() == [8, 5]
    assert after.total.counts().joint.tolist() == whole.total.counts().joint.tolist()
    bits = [one.total.counts().confusion_sum.tobytes() for one in (after, whole)]
    assert bits[0] == bits[1]


def test_a_stratum_on_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    hierarchy, labels = large(8)
    counting = tally(tmp_path, hierarchy, 2**20)
    add(counting, batches(hierarchy, labels), hierarchy)

    with pytest.raises(OutputError, match="room on the disk"), full_disk(100):
        counting.end(0)
    assert list(tmp_path.iterdir()) == []

"""Margins of records by part, against plain Python; those of several parts add up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.dag import Sparse
from audit.engine.pairs import sums as counted_sums
from audit.engine.pairs.carried import Carried, added_by_labels
from audit.engine.pairs.margins import (
    MARGINS,
    Margin,
    count_margins,
    counted_branches,
    strata_from,
    with_parts,
)
from audit.engine.pairs.sums import Sums, summed, tallied
from audit.hierarchies.hierarchy import Hierarchy
from fixtures import brute_force as plain
from fixtures.brute_force_counts import first_branches
from fixtures.brute_force_counts import margins as plain_margins
from fixtures.brute_force_counts import most_specific as most_specific_of
from fixtures.strategies import hierarchies, label_sets, matrix_of

Labels = list[frozenset[str]]


@st.composite
def releases(draw: st.DrawFn) -> tuple[Hierarchy, Labels, list[int]]:
    """A hierarchy, labels of records, and the part of each; a negative one: none."""
    hierarchy = draw(hierarchies(titled=False))
    labels = draw(label_sets(hierarchy, max_instances=10, max_labels=5))
    parts = draw(st.lists(st.integers(-1, 3), min_size=len(labels), max_size=len(labels)))
    return hierarchy, labels, parts


def branches(hierarchy: Hierarchy) -> np.ndarray:
    return counted_branches(hierarchy.first_branch, hierarchy.leaf)


def carried(hierarchy: Hierarchy, direct: Sparse) -> Carried:
    kinds = np.zeros(len(hierarchy), np.int64)
    return Carried.of(direct, added_by_labels(hierarchy.closure, kinds))


def counted(hierarchy: Hierarchy, labels: Labels, parts: list[int]) -> Mapping[Margin, Sums]:
    direct = matrix_of(hierarchy, labels)
    own = carried(hierarchy, direct)
    return count_margins(own.specific, own.values, np.array(parts, np.int64), branches(hierarchy))


def parents_of(hierarchy: Hierarchy) -> Mapping[str, set[str]]:
    return plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())


def in_plain_python(hierarchy: Hierarchy, labels: Labels, parts: list[int]) -> object:
    own = {str(number): set(given) for number, given in enumerate(labels)}
    part_of = {str(number): part for number, part in enumerate(parts) if part >= 0}
    found = plain_margins(parents_of(hierarchy), own, part_of)
    return {kind: dict(found.get(kind, {})) for kind in MARGINS}


def named(hierarchy: Hierarchy, counts: Mapping[Margin, Sums]) -> object:
    n, nodes = len(hierarchy), hierarchy.nodes
    found: dict[str, dict[object, int]] = {}
    for kind, sums in counts.items():
        assert (np.diff(sums.keys) > 0).all()
        found[kind] = {
            (key // n // n, nodes[key // n % n], nodes[key % n])
            if kind == "between"
            else (key // n, nodes[key % n]): count
            for key, count in zip(sums.keys.tolist(), sums.joint.tolist(), strict=True)
        }
    return found


@given(st.data(), hierarchies(titled=False))
def test_a_label_above_another_of_its_record_is_left_out(
    data: st.DataObject, hierarchy: Hierarchy
) -> None:
    labels = data.draw(label_sets(hierarchy))
    parents = parents_of(hierarchy)

    direct = matrix_of(hierarchy, labels)

    specific = carried(hierarchy, direct).specific

    assert [
        {hierarchy.nodes[place] for place in specific.indices[slice(*ends)]}
        for ends in zip(specific.indptr, specific.indptr[1:], strict=False)
    ] == [most_specific_of(parents, own) for own in labels]
    assert specific.has_canonical_format
    assert specific.dtype == np.int64
    assert set(specific.data.tolist()) <= {1}


@given(releases())
def test_margins_equal_plain_python(release: tuple[Hierarchy, Labels, list[int]]) -> None:
    hierarchy, *_ = release

    assert named(hierarchy, counted(*release)) == in_plain_python(*release)


@given(releases(), st.data())
def test_margins_of_other_records_add_up(
    release: tuple[Hierarchy, Labels, list[int]], data: st.DataObject
) -> None:
    hierarchy, labels, parts = release
    cut = data.draw(st.integers(0, len(labels)))
    whole = counted(hierarchy, labels, parts)
    one, other = (
        counted(hierarchy, labels[some], parts[some]) for some in (slice(cut), slice(cut, None))
    )

    for kind in MARGINS:
        together = summed([one[kind], other[kind]])
        assert together.keys.tolist() == whole[kind].keys.tolist()
        assert together.joint.tolist() == whole[kind].joint.tolist()


@given(releases(), st.lists(st.integers(-1, 2), min_size=4, max_size=4))
def test_finer_parts_add_up(
    release: tuple[Hierarchy, Labels, list[int]], part_of: list[int]
) -> None:
    hierarchy, labels, parts = release
    n, finer = len(hierarchy), counted(*release)
    coarser = [part_of[part] if part >= 0 else -1 for part in parts]
    per_part = {"carried": n, "labelled": n, "between": n**2}

    found = {
        kind: with_parts(finer[kind], np.array(part_of, np.int64), per_part[kind])
        for kind in MARGINS
    }

    assert named(hierarchy, found) == in_plain_python(hierarchy, labels, coarser)


@given(releases())
def test_strata_have_a_row_each(release: tuple[Hierarchy, Labels, list[int]]) -> None:
    hierarchy, _, parts = release
    size = np.array([parts.count(part) for part in range(4)], np.int64)
    strata = strata_from(np.array([2, 3, 4]), size, counted(*release), len(hierarchy))
    own = {
        kind: {
            (part, hierarchy.nodes[node]): int(table[part, node])
            for part, node in np.argwhere(table).tolist()
        }
        for kind, table in (("carried", strata.carried), ("labelled", strata.labelled))
    }

    wanted = in_plain_python(*release)
    assert own == {kind: wanted[kind] for kind in own}  # type: ignore[index]
    assert strata.records == sum(part >= 0 for part in parts)
    assert strata.support.tolist() == strata.carried.sum(axis=0).tolist()


@given(hierarchies(titled=False))
def test_labels_are_counted_between_branches_that_have_children(hierarchy: Hierarchy) -> None:
    wanted = first_branches(parents_of(hierarchy))

    found = [hierarchy.nodes[place] if place >= 0 else None for place in branches(hierarchy)]

    assert found == [wanted[node] for node in hierarchy.nodes]


@pytest.mark.parametrize("places", [0, 10**9])
@given(st.lists(st.integers(0, 40)))
def test_keys_are_tallied_by_sorting_or_by_place(places: int, keys: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted_sums, "PLACES_PER_KEY", places)
        found = tallied(np.array(keys, np.int64))

    assert dict(zip(found.keys.tolist(), found.joint.tolist(), strict=True)) == {
        key: keys.count(key) for key in keys
    }
    assert found.keys.tolist() == sorted(set(keys))

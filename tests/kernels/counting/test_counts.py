"""The contract of counts: instances are measured alike here and by tasks of Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from audit import Hierarchy, Policy, load_labels
from audit.counting.counts import Counts
from audit.counting.pair_verdicts import CHANCES, TOLD
from audit.engine.pairs.record_counts import KINDS
from audit.measure.pair_excess import Excess
from audit.policy.statements import Threshold
from fixtures.examples import examples
from fixtures.labelled import tree
from fixtures.registered import Measurements, measure
from fixtures.strategies import hierarchies, label_sets, trees
from fixtures.synthetic import (
    BothLabels,
    DuplicateLabels,
    EmptyInstances,
    Fault,
    MissingCodes,
    ParentBesideChild,
    ResidualOveruse,
    UnknownCodes,
    make_release,
)
from fixtures.task_counts import counted_by_tasks


def policy(least: float, ratio: float, rate: float, **further: object) -> Policy:
    return Policy(
        least_joint=Threshold(value=least, reason="small datasets"),
        excess_ratio=Threshold(value=ratio, reason="to flag much"),
        false_discovery_rate=Threshold(value=rate, reason="to flag much"),
        **further,  # type: ignore[arg-type]
    )


MUCH = policy(2, 1.0, 1.0)
"""One by which whatever has an excess is surprising."""


@dataclass(frozen=True)
class Release:
    """Rows of ``instance, label``."""

    hierarchy: Hierarchy
    rows: pl.DataFrame
    policy: Policy

    @classmethod
    def of_labels(
        cls, hierarchy: Hierarchy, labels: Mapping[str, list[str]], by: Policy
    ) -> Release:
        """One without refused rows, but for the empty ones of instances without labels."""
        rows = [(instance, label) for instance, own in labels.items() for label in own or [None]]
        schema = {"instance": pl.String, "label": pl.String}
        return cls(hierarchy, pl.DataFrame(rows, schema, orient="row"), by)

    def in_memory(self, folder: Path) -> Measurements:
        """What the same rows are measured as once they are loaded."""
        path = self._written(self.rows, folder)
        named = {"id": "instance", "label": "label"}
        loaded = load_labels(path, self.hierarchy, **named, unlisted="refuse")
        return measure(loaded, self.policy)

    def counts(self, folder: Path) -> Iterator[tuple[str, Counts]]:
        """The counts of the release in every way there is."""
        yield "memory", self.in_memory(folder).counts
        shuffled = self.rows.sample(fraction=1, shuffle=True, seed=1)
        yield "tasks of Spark", counted_by_tasks(shuffled, self.hierarchy, self.policy)

    def _written(self, rows: pl.DataFrame, folder: Path) -> Path:
        rows.write_parquet(folder / "rows.parquet")
        return folder / "rows.parquet"


def measured_alike(release: Release) -> Measurements:
    """What is measured in memory, once every way of counting was found to give the same."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = release.in_memory(Path(folder))
        for way, counts in release.counts(Path(folder)):
            with patch("audit.counting.pair_table.PAIRS_AT_ONCE", 5):
                found = measure(counts, release.policy)
            assert_same(found, wanted, way)
    return wanted


def assert_same(found: Measurements, wanted: Measurements, way: str) -> None:
    assert found.instances is None, way
    assert found.hierarchy.sha256 == wanted.hierarchy.sha256, way
    assert found.ledger == wanted.ledger, way
    assert found.residual == wanted.residual, way
    np.testing.assert_array_equal(found.support, wanted.support, way)
    np.testing.assert_array_equal(found.direct_support, wanted.direct_support, way)
    for name in ("mappings", "refusals"):
        one, other = (getattr(measured.counts, name) for measured in (found, wanted))
        assert_frame_equal(one, other, check_exact=True)
    for name in ("nodes", "residuals"):
        assert_frame_equal(getattr(found, name), getattr(wanted, name), check_exact=True)
    assert found.validity.is_empty(), way  # days are not counted by
    for kind in KINDS:
        if kind != "label":  # in memory by node
            one, other = found.counts.records.of(kind), wanted.counts.records.of(kind)
            assert one.keys.tolist() == other.keys.tolist(), (way, kind)
            assert one.joint.tolist() == other.joint.tolist(), (way, kind)
    assert_same_pairs(found, wanted, way)
    assert_same_excess(found.excess, wanted.excess, way)


def assert_same_pairs(found: Measurements, wanted: Measurements, way: str) -> None:
    """To the last bit, but for confusion, which is a sum of fractions."""
    table, whole = found.pairs.frame.collect(), wanted.pairs.frame.collect()
    bits = "confusion"
    assert {*CHANCES, *TOLD} < set(table.columns)
    assert table.schema == whole.schema, way
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
def releases(draw: st.DrawFn) -> Release:
    drawn = st.one_of(trees(titled=False), hierarchies(max_nodes=8, titled=False))
    hierarchy = draw(drawn.filter(lambda found: all(node.strip() == node for node in found.nodes)))
    sets = draw(label_sets(hierarchy, max_instances=24, max_labels=5).filter(lambda s: len(s) > 1))
    labels = {f"i{n:02}": sorted(own) for n, own in enumerate(sets)}
    by = policy(
        draw(st.sampled_from([2, 3])),
        draw(st.sampled_from([1.0, 1.2])),
        draw(st.sampled_from([1.0, 0.3])),
    )
    return Release.of_labels(hierarchy, labels, by)


@pytest.mark.slow
@given(releases())
@examples(20)
def test_small_releases(release: Release) -> None:
    assume(release.rows["label"].is_not_null().any())
    measured_alike(release)


def large(seed: int, instances: int = 900) -> tuple[Hierarchy, Mapping[str, list[str]]]:
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


@pytest.mark.parametrize("by", [MUCH, pytest.param(Policy(), marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_large_releases(seed: int, by: Policy) -> None:
    measured = measured_alike(Release.of_labels(*large(seed), by))
    excess, verdicts = measured.excess, measured.pairs.verdicts

    assert verdicts is not None
    assert len(verdicts.expected.size) > 3
    assert excess.found.height > 0
    assert excess.left_out > 0 or by is Policy()


FAULTS: tuple[Fault, ...] = (
    BothLabels("a02", "c11", 150),
    BothLabels("a03", "c12", 150),
    BothLabels("b10", "d02", 120),
    ParentBesideChild(("a0", "c1"), p=0.1),
    ResidualOveruse(("b0",), p=0.6),
    DuplicateLabels(count=20),
    UnknownCodes(("x1", "x2"), count=15),
    MissingCodes(count=10),
    EmptyInstances(count=12),
)
POLICIES = {
    "default": Policy(),
    "much is told": policy(
        2,
        1.1,
        0.5,
        residual_nodes=("c13", "d01"),
        specific_nodes=("b03",),
        labelled_ancestors="fault",
    ),
}


def titled() -> Hierarchy:
    """Four branches, two parents each, four leaves each; some leaves below two parents."""
    middle = [f"{branch}{number}" for branch in "abcd" for number in range(2)]
    leaves = [f"{node}{number}" for node in middle for number in range(4)]
    titles = {f"{node}3": "Other kinds" for node in middle}
    titles |= {f"{node}2": "Unspecified kind" for node in middle[::2]}
    return tree(
        "a b c d < top",
        *(f"{node} < {node[0]}" for node in middle),
        *(f"{leaf} < {leaf[:2]}" for leaf in leaves),
        "a01 < b1",
        "c10 < d1",
        titles=titles,
    )


@pytest.mark.parametrize("name", ["default", pytest.param("much is told", marks=pytest.mark.slow)])
def test_a_release_with_faults(tmp_path: Path, name: str) -> None:
    hierarchy, by = titled(), POLICIES[name]
    made = make_release(hierarchy, instances=1_200, seed=3, labels_per_instance=3.0, faults=FAULTS)
    made.write_long(tmp_path / "rows.csv")
    rows = pl.read_csv(tmp_path / "rows.csv", infer_schema=False)
    wanted = measured_alike(Release(hierarchy, rows.select("instance", "label"), by))

    assert wanted.excess.found.height > 1
    assert wanted.residuals.height > 10
    assert wanted.counts.records.total("nested") > 0 < wanted.counts.records.total("repeated")
    assert wanted.counts.records.total("refused") > 0 < wanted.ledger.instances_without_labels


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({"a": [], "b": ["x9"]}, id="no label"),
        pytest.param({"a": ["a00"], "b": ["a01", "a01"], "c": []}, id="one label an instance"),
        pytest.param({"a": ["a00", "a"], "b": ["a"]}, id="a label and its ancestor"),
    ],
)
def test_releases_with_little_in_them(labels: dict[str, list[str]]) -> None:
    release = Release.of_labels(titled(), labels, Policy())

    assert measured_alike(release).excess.found.is_empty()

"""A file that was counted in batches is measured as the same file in memory."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from audit.counting.file import count_pairs
from audit.counting.kept import read_counts, write_counts
from audit.counting.pair_table import JUDGED
from audit.data.dataset import load_labels
from audit.engine.pairs.record_counts import KINDS
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.counts import measure_counts
from audit.measure.measure import Counted, Measurements, measure
from audit.measure.pair_excess import Excess
from audit.policy.policy import Policy, Threshold
from fixtures.labelled import tree
from fixtures.synthetic import (
    BothLabels,
    DuplicateLabels,
    EmptyInstances,
    Fault,
    MissingCodes,
    ParentBesideChild,
    Release,
    ResidualOveruse,
    UnknownCodes,
    make_release,
)

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
    "much is told": Policy(
        least_joint=Threshold(value=2, reason="to judge much"),
        excess_ratio=Threshold(value=1.1, reason="to flag much"),
        false_discovery_rate=Threshold(value=0.5, reason="to flag much"),
        residual_nodes=("c13", "d01"),
        specific_nodes=("b03",),
        labelled_ancestors="fault",
    ),
}


def hierarchy() -> Hierarchy:
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


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    release: Release = make_release(
        hierarchy(), instances=1_200, seed=3, labels_per_instance=3.0, faults=FAULTS
    )
    written = tmp_path_factory.mktemp("release") / "rows.csv"
    release.write_long(written)
    pl.read_csv(written, infer_schema=False).drop("group").write_csv(written)
    return written


def counted(path: Path, policy: Policy, kept: Path | None = None) -> Counted:
    count = count_pairs(path, hierarchy(), batch=500, policy=policy)
    if kept:
        write_counts(count, kept)
        count = read_counts(kept, hierarchy())
    with patch("audit.engine.pairs.tally.NODES_PER_BLOCK", 7):
        return measure_counts(count, policy)


def assert_same(found: Counted, wanted: Measurements) -> None:
    assert found.hierarchy.sha256 == wanted.hierarchy.sha256
    assert found.policy == wanted.policy
    assert found.ledger == wanted.ledger
    assert (found.instances, found.labelled) == (wanted.instances, wanted.labelled)
    assert found.labelled_ancestors == wanted.labelled_ancestors
    assert found.residual == wanted.residual
    np.testing.assert_array_equal(found.support, wanted.support)
    np.testing.assert_array_equal(found.direct_support, wanted.direct_support)
    for name in ("mappings", "refusals", "nodes", "residuals"):
        assert_frame_equal(getattr(found, name), getattr(wanted, name), check_exact=True)
    assert found.validity.is_empty()  # days are not counted by
    assert found.residual_use.prior == wanted.residual_use.prior
    for kind in KINDS:
        if kind != "label":  # in memory by node
            one, other = found.records.of(kind), wanted.records.of(kind)
            assert (one.keys.tolist(), one.joint.tolist()) == (
                other.keys.tolist(),
                other.joint.tolist(),
            )
    assert_same_pairs(found, wanted)
    assert_same_excess(found.excess, wanted.excess)


def assert_same_pairs(found: Counted, wanted: Measurements) -> None:
    bits = "confusion_sum"
    table, wanted_table = found.pairs.collect(), wanted.pairs.collect()

    assert table.schema == wanted_table.schema
    assert set(JUDGED) < set(table.columns)
    assert_frame_equal(table.drop(bits), wanted_table.drop(bits), check_exact=True)
    np.testing.assert_allclose(table[bits], wanted_table[bits], rtol=1e-12)


def assert_same_excess(found: Excess, wanted: Excess) -> None:
    for field in fields(Excess):
        one, other = getattr(found, field.name), getattr(wanted, field.name)
        if isinstance(other, pl.DataFrame):
            assert_frame_equal(one, other, check_exact=True)
        else:
            assert one == other


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_release_with_faults(path: Path, tmp_path: Path, policy: Policy, kept: bool) -> None:
    found = counted(path, policy, tmp_path if kept else None)
    wanted = measure(load_labels(path, hierarchy()), policy)

    assert_same(found, wanted)
    assert wanted.excess.found.height > 1
    assert wanted.residuals.height > 10
    assert wanted.records.total("nested") > 0 < wanted.records.total("repeated")
    assert wanted.ledger.instances_without_labels > 0


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param("a,\nb,x9\n", id="no label"),
        pytest.param("a,a00\nb,a01\nb,a01\nc,\n", id="one label an instance"),
        pytest.param("a,a00\na,a\n", id="a label and its ancestor"),
    ],
)
def test_releases_with_little_in_them(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("instance,label\n" + rows)
    found, wanted = counted(path, Policy()), measure(load_labels(path, hierarchy()), Policy())

    assert_same(found, wanted)
    assert found.excess.found.is_empty()


def test_progress_tells_that_pairs_are_judged(path: Path) -> None:
    told: list[str] = []
    count = count_pairs(path, hierarchy())
    measure_counts(count, Policy(), lambda step, *_: told.append(step))

    assert told == ["judging pairs", "judging pairs", "scanning pairs", "writing pairs"]

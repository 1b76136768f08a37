"""Measurements on the toy, worked by hand: nodes, pairs, residual use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.measure.residual_use import judged_parents, residual_share
from audit.policy.policy import Policy
from fixtures.given_pairs import no_pairs
from fixtures.labelled import labelled, repeated, tree

LABELS = {"a": ["dog", "cow"], "b": ["dog"], "c": ["tool", "bird"], "d": [], "e": ["cow", "cow"]}


@pytest.fixture
def measured(toy_hierarchy: Hierarchy) -> Measurements:
    return measure(labelled(toy_hierarchy, LABELS), Policy())


def pairs(measured: Measurements) -> pl.DataFrame:
    return measured.pairs.frame.collect()


def pair(measured: Measurements, a: str, b: str) -> dict[str, object]:
    return pairs(measured).row(by_predicate=(pl.col("a") == a) & (pl.col("b") == b), named=True)


OTHER = {"other_lung": "Other", "unspecified_lung": "Unspecified"}
LUNG = tree(
    "lung heart < body", "asthma other_lung unspecified_lung < lung", "attack < heart", titles=OTHER
)


def test_residual_use_is_counted_by_parent_and_kind() -> None:
    counts = [
        (3, ["other_lung"]),
        (2, ["unspecified_lung"]),
        (1, ["other_lung", "unspecified_lung"]),
    ]
    counts += [(4, ["asthma"]), (2, ["lung"]), (5, ["attack"]), (1, ["other_lung", "attack"])]
    found = measure(labelled(LUNG, repeated(counts)), Policy()).residuals

    assert found.select("parent", "residual", "k", "n", "at_parent").rows() == [
        ("body", "all", 6, 18, 0),
        ("body", "other", 3, 18, 0),
        ("body", "unspecified", 2, 18, 0),
        ("lung", "all", 7, 11, 2),
        ("lung", "other", 4, 11, 2),
        ("lung", "unspecified", 2, 11, 2),
    ]


def test_a_parent_is_judged_where_it_has_residual_and_specific_nodes_below() -> None:
    residual = {LUNG.index(node): None for node in OTHER}

    assert [LUNG.nodes[i] for i in judged_parents(LUNG, residual)] == ["body", "lung"]


def test_a_parent_with_residual_nodes_alone_is_not_judged() -> None:
    hierarchy = tree("a b < top", titles={"a": "Other", "b": "Unspecified"})

    assert measure(labelled(hierarchy, {"i": ["a"]}), Policy()).residuals.is_empty()


def test_groups_widen_the_interval_of_a_share() -> None:
    labels = repeated([(20, ["other_lung"]), (20, ["asthma"])])
    groups = {instance: f"p{int(instance[1:]) // 10}" for instance in labels}
    alone, grouped = (
        measure(labelled(LUNG, labels, groups=g), Policy()).residuals.filter(
            residual="all", parent="lung"
        )
        for g in (None, groups)
    )

    assert alone["share"].to_list() == grouped["share"].to_list() == [0.5]
    assert grouped["low"][0] < alone["low"][0] < alone["high"][0] < grouped["high"][0]


def test_instances_without_a_group_stand_alone() -> None:
    labels = repeated([(30, ["other_lung"]), (30, ["asthma"])])
    plain = measure(labelled(LUNG, labels), Policy())
    pair = dict.fromkeys(["i0000", "i0001"], "p")
    one_named = measure(labelled(LUNG, labels, groups=pair), Policy())

    assert plain.loaded.group_of is None
    assert one_named.loaded.group_of is not None
    assert len(set(one_named.loaded.group_of.tolist())) == 59


def test_groups_of_one_are_no_groups() -> None:
    labels = repeated([(30, ["other_lung"]), (30, ["asthma"])])

    assert (
        measure(labelled(LUNG, labels, groups={i: i for i in labels}), Policy()).loaded.group_of
        is None
    )


def test_a_group_is_never_mistaken_for_an_instance_without_one() -> None:
    labels = {key: ["asthma"] for key in "pqr"}
    found = measure(labelled(LUNG, labels, groups={"q": "p", "r": "p"}), Policy()).loaded.group_of

    assert found is not None
    assert found[0] != found[1]


def test_a_share_of_nothing_says_nothing() -> None:
    import numpy as np

    none = np.array([], np.int64)
    share = residual_share(none, none, None)
    assert (share.value, *share.interval()) == (0.0, 0.0, 1.0)


def test_the_policy_overrules_whether_labelled_ancestors_are_a_fault(
    toy_hierarchy: Hierarchy,
) -> None:
    dataset = labelled(toy_hierarchy, LABELS)

    assert measure(dataset, Policy()).labelled_ancestors == "allowed"
    assert measure(dataset, Policy(labelled_ancestors="fault")).labelled_ancestors == "fault"


def test_a_quotient_has_the_same_bits_however_many_rows_are_read() -> None:
    rng = np.random.default_rng(0)
    a, b, joint = rng.integers(1, 10**6, (3, 500))
    first = np.arange(500, dtype=np.uint32)
    counted = pl.LazyFrame({"a": first, "b": first + 500, "joint": joint})
    own = replace(no_pairs(0), counted=counted, support=np.concatenate([a, b]), instances=3471)
    lazy = own.frame.select("support_a", "joint", "rate", "expected", "lift")

    whole = lazy.collect()

    assert whole["expected"].to_list() == [x * y / 3471 for x, y in zip(a, b, strict=True)]
    assert whole["rate"].to_list() == [n / 3471 for n in joint.tolist()]
    for row in whole[:40].iter_slices(1):
        one = lazy.filter(pl.col("joint") == row["joint"].item()).collect()
        assert_frame_equal(one, row, check_exact=True)


def test_groups_of_instances_that_all_have_one_label_are_no_fault() -> None:
    dataset = labelled(LUNG, {"i": ["asthma"], "j": ["attack"]}, groups={"i": "p", "j": "p"})

    found = measure(dataset, Policy()).excess

    assert (found.records, found.family) == (0, 0)

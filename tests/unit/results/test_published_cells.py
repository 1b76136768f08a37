"""Which cells of the release the numbers of findings, lines, depths and scopes are."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from audit.disclosure import (
    Cell,
    Release,
    carried,
    differing,
    labelled,
    labelled_below,
    labels_at,
    only_residual_below,
    only_uninformative,
    together,
)
from audit.measure.residual_differences import REFERENCE
from audit.results.parts import ModelPart
from audit.results.published_cells import (
    depth_counts,
    depths_shown,
    evidence_cells,
    known_counts,
    part_cells,
    reference_cells,
    scope_counts,
)
from audit.results.record import Record
from fixtures.given_pairs import given_pairs

NODES = pl.DataFrame(
    {
        "node": ["a", "b", "left", "other", "right", "shared", "top", "unused"],
        "support": [30, 20, 35, 1, 60, 40, 100, 0],
        "direct": [30, 20, 0, 1, 5, 40, 0, 0],
        "depth": [2, 2, 1, 2, 1, 2, 0, 2],
        "residual": [None, None, None, "other", None, None, None, None],
    }
)
EDGES = pl.DataFrame(
    {
        "child": ["a", "other", "shared", "shared", "b", "unused", "left", "right"],
        "parent": ["left", "left", "right", "left", "right", "right", "top", "top"],
    }
)
LEDGER = {"instances": 110, "instances_without_labels": 10}
RUN = Record(
    identity={}, ledger=LEDGER, policy={}, checks=(), nodes=NODES, edges=EDGES,
    pair_table=given_pairs(pl.LazyFrame()), residuals=pl.DataFrame(),
)  # fmt: skip
RELEASE = RUN.release
PAIR = {
    "support_a": carried("a"),
    "support_b": carried("b"),
    "instances": together(carried("a"), carried("b")),
}
RESIDUAL = only_residual_below("left"), labelled_below("left")


def test_of_a_release_readers_know_totals_the_hierarchy_and_which_nodes_are_used() -> None:
    assert (RELEASE.labelled, RELEASE.assertions) == (100, 96)
    assert RELEASE.supports == {
        "a": 30, "b": 20, "left": 35, "other": 1, "right": 60, "shared": 40, "top": 100,
    }  # fmt: skip
    assert RELEASE.labels == {"a": 2, "b": 2, "other": 2, "right": 1, "shared": 2}
    assert RELEASE.residual == {"other"}
    assert RELEASE.parents["shared"] == ("left", "right")


@pytest.mark.parametrize(
    ("check", "nodes", "key", "cells"),
    [
        (
            "residual_overuse",
            ("left",),
            (),
            {
                "instances": RESIDUAL[0],
                "of": RESIDUAL[1],
                "labelled_at_parent": labelled("left"),
            },
        ),
        (
            "residual_overuse",
            ("left",),
            ("left", REFERENCE, ""),
            {"instances": RESIDUAL[0], "of": RESIDUAL[1]},
        ),
        ("residual_overuse", ("left",), ("left", "site", "x"), {}),
        ("not_specific", (), ("uninformative",), {"instances": only_uninformative("top")}),
        ("not_specific", (), ("diagnoses",), {}),
        ("cross_branch", ("a", "b"), (), PAIR),
        ("cross_branch", ("a", "b"), ("a", "b", "first"), {}),
        ("unexpected_pair", ("a", "b"), (), PAIR),
        ("unexpected_pair", ("left", "a", "b"), ("left", "children"), PAIR),
        ("redundant_nodes", ("a", "b"), ("a", "b", "redundant"), PAIR),
        ("parent_and_child", ("left", "a"), (), {}),
        ("duplicate_label", ("a",), (), {}),
    ],
)
def test_numbers_of_a_finding_are_cells(
    check: str, nodes: tuple[str, ...], key: tuple[str, ...], cells: dict[str, Cell]
) -> None:
    assert evidence_cells(RELEASE, check, nodes, key) == cells


def test_numbers_of_the_reference_are_the_same_cells_there() -> None:
    assert reference_cells("residual_overuse", ("left", REFERENCE, "")) == {
        "elsewhere": RESIDUAL[0],
        "of_elsewhere": RESIDUAL[1],
    }
    assert reference_cells("not_specific", ("left", REFERENCE, "")) == {}


def test_without_a_root_nothing_is_below_all() -> None:
    alone = Release(5, 5, {}, {"a": 5}, {"a": 0}, frozenset())

    assert evidence_cells(alone, "not_specific", (), ("uninformative",)) == {}


@pytest.mark.parametrize(
    ("check", "nodes", "key", "part", "cell"),
    [
        ("residual_overuse", ("left",), (), ("other",), labelled("other")),
        ("not_specific", (), ("uninformative",), ("right",), labelled("right")),
        ("not_specific", (), ("diagnoses",), ("right",), None),
        *(
            (check, ("left", "a"), (), ("a", "left"), together(labelled("a"), labelled("left")))
            for check in ("parent_and_child", "sibling_exclusive", "excludes1")
        ),
        ("unexpected_pair", ("left", "a", "b"), (), ("a", "b"), PAIR["instances"]),
        (
            "cross_branch",
            ("left", "right"),
            (),
            ("a", "b"),
            together(labelled("a"), labelled("b")),
        ),
        ("cross_branch", ("left", "right"), (), ("a",), together(carried("a"), carried("right"))),
        ("cross_branch", ("left", "right"), (), ("left",), differing("left", "right")),
        ("cross_branch", ("left", "right"), ("left", "right", "first"), ("a", "b"), None),
        ("duplicate_label", (), (), ("a",), None),
    ],
)
def test_a_line_of_a_finding_counts_a_cell(
    check: str,
    nodes: tuple[str, ...],
    key: tuple[str, ...],
    part: tuple[str, ...],
    cell: Cell | None,
) -> None:
    name = "labelled" if check in ("residual_overuse", "not_specific") else "instances"
    expected = {} if cell is None else {name: cell}
    told = part_cells(RELEASE, check, nodes, key, part)

    assert told.pop("of", labelled(part[0])) == labelled(part[0])
    assert told == expected


def test_all_counts_that_readers_might_infer() -> None:
    pairs = pl.LazyFrame({"a": ["a", "shared"], "b": ["b", "b"], "joint": [7, 3]})
    residuals = pl.DataFrame(
        {
            "parent": ["left", "left"],
            "residual": ["all", "other"],
            "k": [1, 2],
            "n": [35, 34],
        }
    )
    known = dict(known_counts(replace(RUN, pair_table=given_pairs(pairs), residuals=residuals)))
    alone = {cell: n for cell, n in known.items() if len(cell.meets) == 1}
    met = {cell: n for cell, n in known.items() if len(cell.meets) == 2 and n}

    assert alone == {
        **{carried(node): n for node, n in RELEASE.supports.items()},
        **{
            labelled(node): n
            for node, n, support in NODES.select("node", "direct", "support").iter_rows()
            if support
        },
        RESIDUAL[0]: 1,
        RESIDUAL[1]: 35,
    }
    assert met == {PAIR["instances"]: 7, together(carried("b"), carried("shared")): 3}
    assert len(known) == len(alone) + 7 * 6 // 2


def test_a_depth_is_withheld_where_its_count_is_a_bound_from_below() -> None:
    counts = dict(depth_counts(NODES))
    rows = [{"depth": depth, "labels": n, "share": 0.5} for depth, n in ((1, 5), (2, 91))]
    shown = {labels_at(1): "<11", labels_at(2): ">10"}

    assert counts == {labels_at(0): 0, labels_at(1): 5, labels_at(2): 91}
    assert depths_shown(rows, shown) == [rows[0], {"depth": 2, "labels": None, "share": None}]
    assert depths_shown(rows, counts) == rows


def test_a_model_is_measured_in_nodes_whose_supports_are_counts() -> None:
    scopes = ("all", "left", "other", "unused")
    model = ModelPart(pl.LazyFrame(), tuple({"scope": scope} for scope in scopes))

    assert dict(scope_counts(replace(RUN, parts=(model,)))) == {
        carried("left"): 35,
        carried("other"): 1,
    }
    assert dict(scope_counts(RUN)) == {}

"""The worlds of pairs say what is true of them, and the score says what a finding is worth."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import audit
from audit.measure import pair_excess
from audit.results.findings import Part
from benchmarks.pair_codes import descendants
from benchmarks.pair_records import Planted
from benchmarks.pair_scores import outcome, scores
from benchmarks.pair_truth import read
from benchmarks.pair_worlds import WORLDS, Release, World, quick_worlds, release, world
from benchmarks.shares import Share

FEW = 4
COUNTED = (
    "one pair", "500 records", "5,000 records", "fixed lengths", "two parents", "facets",
    "two code sets", "sites", "patients", "very frequent nodes", "templates",
    "labels that shut each other out", "groups used as labels",
)  # fmt: skip
"""Worlds that plant in different ways."""


def _records(made: Release) -> dict[str, set[str]]:
    """Records of every label in use, and of the planted nodes above labels."""
    labels = made.rows.drop_nulls("label").group_by("label").agg("instance")
    found = {label: set(records) for label, records in labels.iter_rows()}
    below = descendants(made.edges.iter_rows())
    for node in {end for one in made.planted for end in (one.a, one.b)}:
        found[node] = set().union(*(found.get(label, set()) for label in below[node]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTED)
def test_planted_pairs_meet_as_often_as_the_world_says(name: str) -> None:
    met = due = wide = 0.0
    for number in range(FEW):
        made = release(world(name), number)
        records = _records(made)
        for one in made.planted:
            met += len(records[one.a] & records[one.b])
            due += one.ratio * one.expected
            wide += 2 * one.ratio * one.expected

    assert abs(met - due) < 5 * math.sqrt(wide)


@pytest.mark.parametrize("name", ["unequal shares", "chains of single children", "patients"])
def test_what_independence_expects_follows_from_the_supports_where_all_records_are_alike(
    name: str,
) -> None:
    expected = by_supports = 0.0
    for number in range(FEW):
        made = release(world(name), number)
        records, n = _records(made), made.rows["instance"].n_unique()
        expected += sum(one.expected for one in made.planted)
        by_supports += sum(len(records[p.a]) * len(records[p.b]) / n for p in made.planted)

    assert by_supports / expected == pytest.approx(1, abs=0.04)


@pytest.mark.parametrize("name", ["null DAG", "patients, null", "facets, null"])
def test_labels_of_a_null_world_meet_as_often_as_independent_ones(name: str) -> None:
    met = due = 0.0
    for number in range(FEW):
        made = release(world(name), number)
        records = _records(made)
        n = made.rows["instance"].n_unique()
        edges = dict(made.edges.iter_rows())
        rng = np.random.default_rng(number)
        for a, b in rng.choice(sorted(records), (150, 2)):
            if edges[edges[a]] != edges[edges[b]]:
                met += len(records[a] & records[b])
                due += len(records[a]) * len(records[b]) / n

    assert due > 1_000
    assert met / due == pytest.approx(1, abs=0.1)


def test_the_same_number_gives_the_same_release() -> None:
    for one in quick_worlds():
        first, again, other = release(one, 0), release(one, 0), release(one, 1)
        assert first.rows.equals(again.rows)
        assert first.planted == again.planted
        assert not first.rows.equals(other.rows)


def test_names_are_told_apart_and_null_worlds_plant_nothing() -> None:
    assert len({one.name for one in WORLDS}) == len(WORLDS)
    for one in quick_worlds():
        assert bool(release(one, 0).planted) != one.null


@pytest.mark.slow
@pytest.mark.parametrize("one", quick_worlds(), ids=lambda one: one.name)
def test_no_finding_is_false_and_null_releases_have_none(one: World) -> None:
    for number in range(2):
        told = outcome(one.name, number)

        assert not [finding for finding in told.told if finding.false]
        if one.null:
            assert not told.told
        else:
            assert any(told.found)


def test_outcomes_come_back_from_json(tmp_path: Path) -> None:
    found = [outcome("500 records", 0), outcome("facets", 0)]
    file = tmp_path / "pairs.json"
    file.write_text(json.dumps([asdict(one) for one in found]), "utf-8")

    assert any(one.told for one in found)
    assert read(file) == found


PLANTED = Planted("a1", "b1", 3.0, 10.0, 10.0, 10.0, 0.9, 0.9, "scaled")
EDGES = [("a", "top"), ("b", "top"), ("c", "top"), ("a1", "a"), ("a2", "a"), ("b1", "b"),
         ("b2", "b"), ("c1", "c")]  # fmt: skip


def _made(siblings: int) -> Release:
    """a1 and b1 on ten records, a2 and b2 on so many others, c1 everywhere."""
    rows = [(str(i), label) for i in range(10) for label in ("a1", "b1")]
    rows += [(str(10 + i), label) for i in range(siblings) for label in ("a2", "b2")]
    rows += [(str(i), "c1") for i in range(10 + siblings)]
    return Release(
        name="small",
        about="",
        null=False,
        edges=pl.DataFrame(EDGES, schema=["child", "parent"], orient="row"),
        rows=pl.DataFrame(rows, schema=["instance", "label"], orient="row"),
        strata=(),
        planted=(PLANTED,),
    )


def _finding(*nodes: str, parts: tuple[tuple[str, str], ...] = ()) -> audit.Finding:
    return audit.Finding(
        check="unexpected_pair",
        severity="note",
        nodes=nodes,
        statement="",
        evidence={},
        curator="",
        data_user="",
        parts=tuple(Part(pair, {}) for pair in parts),
    )


@pytest.mark.parametrize(
    ("nodes", "siblings", "found", "false", "both"),
    [
        (("a1", "b1"), 1, True, False, 1),
        (("b1", "a1"), 1, True, False, 1),
        (("a", "b"), 1, True, False, 1),
        (("a", "b1"), 1, True, False, 1),
        (("a", "b"), 2, False, False, 1),
        (("a1", "b2"), 1, False, False, 0),
        (("a2", "b2"), 1, False, True, 0),
        (("a2", "c1"), 1, False, True, 0),
        (("a", "c"), 1, False, False, 0),
    ],
)
def test_a_pair_is_found_as_itself_or_as_what_it_is_almost_all_of(
    nodes: tuple[str, str], siblings: int, found: bool, false: bool, both: int
) -> None:
    told = scores(_made(siblings), [_finding(*nodes)])

    assert told.found == (found,)
    assert told.told[0].false is false
    assert told.told[0].both == both


def test_parts_count_where_the_finding_is_about_one_parent_only() -> None:
    parts = (("a1", "b1"), ("a2", "b2"))
    parent = scores(_made(5), [_finding("top", parts=parts)])
    pair = scores(_made(5), [_finding("a2", "c1", parts=parts)])

    assert parent.found == (True,)
    assert (parent.told[0].false, parent.told[0].both) == (False, 1)
    assert pair.found == (False,)
    assert pair.told[0].false


def test_wilson_bounds_solve_their_equation() -> None:
    for k, n in ((0, 10), (3, 10), (50, 100), (100, 100)):
        share = Share(k, n)
        for bound in (share.low, share.high):
            distance = (share.value - bound) ** 2 * n
            assert distance == pytest.approx(1.959964**2 * bound * (1 - bound), abs=1e-4)


def test_what_is_found_among_siblings_is_not_expected_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fifteen pairs of six siblings are a good part of the label pairs of their branch."""
    name = "siblings that attract each other"
    several = outcome(name, 0)
    monkeypatch.setattr(pair_excess, "MOST_ROUNDS", 1)
    once = outcome(name, 0)

    assert sum(once.found) < 8
    assert sum(several.found) > 11
    assert not any(told.false for told in several.told)
    assert len(several.told) < len(once.told)

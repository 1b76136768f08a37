"""A table that is read, at once or by what its question offers, is read as it was meant."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import audit
from fixtures.doors import AskedError
from fixtures.examples import examples

BRANCHES = {"pets": "cat dog hen", "wild": "elk fox owl yak", "plants": "ash elm fir oak"}
LEAVES = [leaf for leaves in BRANCHES.values() for leaf in leaves.split()]
TREE = audit.load_hierarchy({top: {x: {} for x in own.split()} for top, own in BRANCHES.items()})
SIGNS = (";", ",", "|", " / ")
WAYS = ("a row a label", "lists", "columns", "begun", *SIGNS)


@dataclass(frozen=True)
class Written:
    """A table, and the labels that each of its instances has."""

    table: pl.DataFrame
    meant: dict[str, set[str]]


@st.composite
def tables(draw: st.DrawFn) -> Written:
    """Labels of instances under names that say nothing, beside columns that are no labels."""
    way, rng = draw(st.sampled_from(WAYS)), random.Random(draw(st.integers(0, 2**16)))
    beside = draw(st.sets(st.sampled_from(["ward", "amount", "day", "person", "row number"])))
    meant = {
        f"{7_000 + 13 * n}": rng.sample(LEAVES, rng.choice([1, 1, 2, 3]))
        for n in range(draw(st.integers(20, 60)))
    }
    rows = [(one, [label]) for one, own in meant.items() for label in own]
    if way not in ("a row a label", "begun"):
        rows = [*meant.items()]
    cells: dict[str, Any] = {"what": [own[0] for _, own in rows]}
    if way == "begun":
        cells = {"what": [f"found:{own[0]}" for _, own in rows]}
    elif way == "lists":
        cells = {"what": [own for _, own in rows]}
    elif way == "columns":
        cells = {f"v{n}": [own[n] if n < len(own) else None for _, own in rows] for n in range(3)}
    elif way in SIGNS:
        cells = {"what": [way.join(own) for _, own in rows]}
    others: dict[str, list[Any]] = {
        "ward": [rng.choice(["A1", "B2", "C3"]) for _ in rows],
        "amount": [f"{rng.uniform(1, 900):.2f}" for _ in rows],
        "day": [f"2024-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}" for _ in rows],
        "person": [f"p{int(one) // 40}" for one, _ in rows],
        "row number": [*range(1, 1 + len(rows))],
    }
    columns = {"case": [one for one, _ in rows], **cells}
    columns |= {name: others[name] for name in sorted(beside)}
    names = draw(st.permutations([*columns]))
    table = pl.DataFrame({name: columns[name] for name in names})
    return Written(table, {one: set(own) for one, own in meant.items()})


def labels_of(data: audit.LabelDataset) -> dict[str, set[str]]:
    nodes = data.hierarchy.nodes
    direct = data.direct.tolil().rows
    return {
        one: {nodes[at] for at in own}
        for one, own in zip(data.instances["instance"], direct, strict=True)
    }


@given(tables())
@examples(40)
def test_what_is_read_or_offered_is_what_was_meant(written: Written) -> None:
    try:
        read = audit.load_labels(written.table, TREE)
    except AskedError as asked:
        read = audit.load_labels(written.table, TREE, **asked.options)
    assert labels_of(read) == written.meant

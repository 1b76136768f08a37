"""Keys in two splits and repeated tuples, counted by dictionaries."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.consistency import pairs_of_splits, repeats, shared_keys
from audit.analyses.entailment.dataset import NOUN, EntailmentDataset
from fixtures.entailed_release import stated

SPLITS = ("train", "valid", "test", "extra")
ROWS = st.lists(
    st.tuples(
        st.sampled_from("gh"), st.sampled_from("ij"), st.sampled_from("cd"), st.booleans(),
        st.sampled_from([*SPLITS, None]),
    ),
    max_size=16,
)  # fmt: skip
Rows = list[tuple[str, str, str, bool, str | None]]


def dataset_of(rows: Rows) -> EntailmentDataset:
    made = stated(
        (head, NOUN, instance, concept, valid) for head, instance, concept, valid, _ in rows
    )
    splits = pl.Series("split", [row[4] for row in rows], dtype=pl.String)
    return replace(made, tuples=made.tuples.with_columns(splits))


@given(ROWS)
def test_shared_keys_are_those_that_both_splits_hold(rows: Rows) -> None:
    dataset = dataset_of(rows)
    table, misplaced = shared_keys(dataset)

    keys = defaultdict(set)
    for head, instance, _, _, split in rows:
        keys[split].add((head, instance))
    there = [split for split in SPLITS if keys[split]]
    assert pairs_of_splits(dataset) == list(combinations(there, 2))
    assert table.select("split", "other", "keys", "shared").rows() == [
        (a, b, len(keys[b]), len(keys[a] & keys[b])) for a, b in combinations(there, 2)
    ]
    splits = defaultdict(Counter)
    for head, instance, _, _, split in rows:
        if split is not None:
            splits[head, instance][split] += 1
    expected = [
        (f"t{n}", max(found, key=lambda one: (found[one], -SPLITS.index(one))))
        for n, (head, instance, _, _, split) in enumerate(rows)
        if split is not None and len(found := splits[head, instance]) > 1
    ]
    assert misplaced.select("id", "home").rows() == expected


def test_case_and_blanks_make_no_other_key_and_no_other_tuple() -> None:
    dataset = dataset_of(
        [
            ("a Dog barks", "Dog", "pet", True, "train"),
            ("a dog  barks", "dog", "Pet", True, "test"),
            ("a dog barks", "bark", "sound", True, "test"),
        ]
    )
    table, misplaced = shared_keys(dataset)

    assert table["shared"].to_list() == [1]
    assert misplaced.select("id", "instance", "home").rows() == [
        ("t0", "Dog", "train"),
        ("t1", "dog", "train"),
    ]
    assert repeats(dataset)["id"].to_list() == ["t1"]


@given(ROWS)
def test_repeats_are_all_but_the_first_of_equal_tuples(rows: Rows) -> None:
    firsts: dict[tuple[str, str, str, bool], int] = {}
    expected = []
    for n, (*elements, split) in enumerate(rows):
        first = firsts.setdefault(tuple(elements), n)  # type: ignore[arg-type]
        if first != n:
            expected.append((f"t{n}", split, f"t{first}", rows[first][4]))

    found = repeats(dataset_of(rows))

    assert found.select("id", "split", "first", "first_split").rows() == expected

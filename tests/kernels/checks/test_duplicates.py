"""duplicates: repeated labels, records in two places, equal records of a group and of others."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.checks.rules.duplicates import copies_of, shared_by_two
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.results.findings import Finding
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["duplicates"]

LEAVES = [f"n{i:02}" for i in range(60)]
FLAT = tree(f"{' '.join(LEAVES)} < all", "all < top")


def found(key: str, measured: Measurements) -> list[Finding]:
    """Its findings of one kind."""
    return [one for one in CHECK.run(measured).findings if one.key == (key,)]


def told(
    key: str, labels: dict[str, list[str]], groups: dict[str, str] | None = None
) -> list[Finding]:
    return found(key, measure(labelled(FLAT, labels, groups=groups), Policy()))


Counted: TypeAlias = tuple[int, int, list[bool], list[bool]]


def by_hand(records: list[frozenset[int]], group: list[int]) -> Counted:
    """Copies, near pairs, copied records and equal ones, by comparing every two sets."""
    of = defaultdict(set)
    for own, who in zip(records, group, strict=True):
        of[own].add(who)

    def near(a: frozenset[int], b: frozenset[int]) -> bool:
        small, large = sorted((len(a), len(b)))
        if large < 5 or small < 4:
            return False
        return len(a & b) == large - 1 and (small < large or small >= 5)

    around = {a: [b for b in of if b != a and near(a, b)] for a in of}
    extra = {
        a: max(0, len(of[a]) - 1 - sum(len(of[b]) for b in around[a])) if len(a) >= 5 else 0
        for a in of
    }
    alone = {a for a in of if len(of[a]) == 1 and len(around[a]) == 1}
    pairs = sum(a in alone and b in alone for a, b in combinations(of, 2) if b in around[a])
    equal = [len(own) >= 5 and len(of[own]) > 1 for own in records]
    return sum(extra.values()), pairs, [extra[own] > 0 for own in records], equal


@given(
    st.lists(
        st.tuples(st.frozensets(st.integers(0, 6), max_size=7), st.integers(0, 4)),
        min_size=1,
        max_size=25,
    )
)
def test_copies_are_those_of_every_two_sets(drawn: list[tuple[frozenset[int], int]]) -> None:
    records, group = [own for own, _ in drawn], [who for _, who in drawn]
    dense = np.array([[label in own for label in range(7)] for own in records], np.int64)
    one = copies_of(csr_array(dense), np.array(group))

    counted = one.copies, one.near, one.copied.tolist(), one.equal.tolist()
    assert counted == by_hand(records, group)


def release(copies: int, near: int = 0, seed: int = 1) -> dict[str, list[str]]:
    """60 different records, some of them again, and some again with another label for the last."""
    rng = np.random.default_rng(seed)
    records = [sorted(rng.choice(LEAVES[:40], 6, replace=False)) for _ in range(60)]
    again = records[:copies]
    edited = [[*own[:-1], LEAVES[41]] for own in records[59 : 59 - near : -1]]
    return {f"i{n:03}": own for n, own in enumerate([*records, *again, *edited])}


def test_copies_are_one_note_with_both_counts() -> None:
    (finding,) = told("sets", release(12, near=3))
    values = finding.evidence

    assert (finding.severity, finding.key) == ("note", ("sets",))
    assert (values["instances"], values["of"]) == (24, 75)
    assert (values["copies"], values["near"], values["copied_share"]) == (12, 3, 0.8)
    assert finding.touched == 24


def test_one_edited_copy_does_not_hide_the_others() -> None:
    labels = {f"i{n:02}": LEAVES[:6] for n in range(30)} | {"j": [*LEAVES[:5], LEAVES[9]]}

    (finding,) = told("sets", labels)
    assert finding.evidence["copies"] == 28


def test_two_groups_that_share_two_records_may_be_one_person() -> None:
    one, other, third = LEAVES[:5], LEAVES[5:10], LEAVES[10:15]
    labels = {"1": one, "2": other, "3": third, "4": one, "5": other, "6": other}
    labels |= {"7": one, "8": one, "9": third[:4], "10": third}
    groups = dict(zip(labels, "pppqqqrrst", strict=True))
    (finding,) = told("persons", labels, groups)
    values = finding.evidence

    assert (finding.severity, finding.asks) == ("note", True)
    assert (values["groups"], values["of_groups"], values["pairs"]) == (2, 5, 1)
    assert (values["instances"], values["of"]) == (5, 10)
    assert told("persons", labels) == []


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=25))
def test_shared_records_are_those_of_every_two_groups(records: list[tuple[int, int]]) -> None:
    of = defaultdict(set)
    for own, group in records:
        of[group].add(own)
    pairs = [(a, b) for a, b in combinations(sorted(of), 2) if len(of[a] & of[b]) > 1]
    both = {(own, g) for a, b in pairs for g in (a, b) for own in of[a] & of[b]}
    sets, groups = (np.array([one[at] for one in records], np.int64) for at in (0, 1))
    shared, n = shared_by_two(sets, groups)

    assert (n, shared.tolist()) == (len(pairs), [one in both for one in records])


def copied_forward(seed: int) -> dict[str, list[set[str]]]:
    """Stays of 400 persons, who keep most labels from stay to stay; common labels are frequent."""
    rng = np.random.default_rng(seed)
    labels = [f"c{n:03}" for n in range(300)]
    weights = 1 / np.arange(3, 303)
    persons = dict[str, list[set[str]]]()
    for person in range(400):
        stays = list[set[str]]()
        for _ in range(rng.integers(1, 7)):
            kept = {one for one in (stays[-1] if stays else ()) if rng.random() < 0.85}
            new = rng.choice(labels, rng.integers(2, 9), p=weights / weights.sum())
            stays.append(kept.union(new.tolist()))
        persons[f"p{person}"] = stays
    return persons


def of_persons(persons: dict[str, list[set[str]]]) -> list[Finding]:
    stays = [(who, sorted(own)) for who, every in persons.items() for own in every]
    labels = {f"{n:05}": own for n, (_, own) in enumerate(stays)}
    groups = {f"{n:05}": who for n, (who, _) in enumerate(stays)}
    used = sorted({label for own in labels.values() for label in own})
    hierarchy = tree(f"{' '.join(used)} < top")
    return found("persons", measure(labelled(hierarchy, labels, groups=groups), Policy()))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_persons_under_a_second_id_are_told_and_no_others(seed: int) -> None:
    """Of each second stay of a copy a label is gone; the others are enough where two are long."""
    persons = copied_forward(seed)
    copies = {
        f"{who} again": [own if n % 2 else {*sorted(own)[1:]} for n, own in enumerate(every)]
        for who, every in list(persons.items())[:60]
    }
    pairs = 0
    for who, every in list(persons.items())[:60]:
        again = {frozenset(own) for own in copies[f"{who} again"] if len(own) >= 5}
        pairs += len(again & {frozenset(own) for own in every}) > 1
    (finding,) = of_persons(persons | copies)

    assert of_persons(persons) == []
    assert pairs > 5
    assert (finding.evidence["pairs"], finding.evidence["groups"]) == (pairs, 2 * pairs)

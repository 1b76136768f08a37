"""copied_records: against plain Python over every two sets, and on releases of known copies."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.checks.rules.repeats import copies_of
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["copied_records"]

LEAVES = [f"n{i:02}" for i in range(60)]
FLAT = tree(f"{' '.join(LEAVES)} < all", "all < top")


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
    found = copies_of(csr_array(dense), np.array(group))

    told = found.copies, found.near, found.copied.tolist(), found.equal.tolist()

    assert told == by_hand(records, group)


def release(copies: int, near: int = 0, seed: int = 1) -> dict[str, list[str]]:
    """60 different records, some of them again, and some again with another label for the last."""
    rng = np.random.default_rng(seed)
    records = [sorted(rng.choice(LEAVES[:40], 6, replace=False)) for _ in range(60)]
    again = records[:copies]
    edited = [[*own[:-1], LEAVES[41]] for own in records[59 : 59 - near : -1]]
    return {f"i{n:03}": own for n, own in enumerate([*records, *again, *edited])}


def checked(labels: dict[str, list[str]], groups: dict[str, str] | None = None) -> CheckResult:
    return CHECK.run(measure(labelled(FLAT, labels, groups=groups), Policy()))


def test_copies_are_one_note_with_both_counts() -> None:
    (finding,) = checked(release(12, near=3)).findings
    values = finding.evidence

    assert (finding.severity, finding.key) == ("note", ("sets",))
    assert (values["instances"], values["of"]) == (24, 75)
    assert (values["copies"], values["near"], values["copied_share"]) == (12, 3, 0.8)
    assert finding.touched == 24


@pytest.mark.parametrize(("copies", "near", "told"), [(4, 0, 0), (5, 0, 1), (5, 5, 0), (20, 12, 0)])
def test_few_copies_and_many_near_records_are_not_told(copies: int, near: int, told: int) -> None:
    assert len(checked(release(copies, near)).findings) == told


def test_copies_within_a_group_are_none_across_ids() -> None:
    labels = release(12)
    one = {name: "p" if name >= "i060" else name for name in labels}
    own = {f"i{n:03}": f"p{n % 60}" for n in range(len(labels))}

    assert checked(labels, own).findings == ()
    (finding,) = checked(labels, one).findings
    assert "of another group" in finding.statement
    assert "of another group" not in checked(labels).findings[0].statement


def test_one_edited_copy_does_not_hide_the_others() -> None:
    labels = {f"i{n:02}": LEAVES[:6] for n in range(30)} | {"j": [*LEAVES[:5], LEAVES[9]]}

    (finding,) = checked(labels).findings
    assert finding.evidence["copies"] == 28


def test_short_records_are_not_looked_at() -> None:
    result = checked({f"i{n}": LEAVES[:4] for n in range(40)})

    assert (result.status, result.denominator) == ("pass", 0)

"""duplicates: repeated labels, records in two places, equal records of a group and of others."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.checks.rules.duplicates import copies_of, shared_by_two
from audit.data.dataset import LabelDataset, load_labels
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.results.findings import Finding
from fixtures.checked import CHECK_OF
from fixtures.coded import icd9cm
from fixtures.labelled import labelled, tree
from fixtures.toy import toy

CHECK = CHECK_OF["duplicates"]

LEAVES = [f"n{i:02}" for i in range(60)]
FLAT = tree(f"{' '.join(LEAVES)} < all", "all < top")
FIVE = LEAVES[:5]


def found(key: str, measured: Measurements) -> list[Finding]:
    """Its findings of one kind."""
    return [one for one in CHECK.run(measured).findings if one.key == (key,)]


def told(
    key: str, labels: dict[str, list[str]], groups: dict[str, str] | None = None
) -> list[Finding]:
    return found(key, measure(labelled(FLAT, labels, groups=groups), Policy()))


def test_it_is_one_note_with_its_labels() -> None:
    labels = {"a": ["dog"] * 3 + ["cow"], "b": ["cow"], "c": ["cow", "cow"], "d": []}
    result = CHECK.run(measure(labelled(toy(), labels), Policy()))
    (finding,) = result.findings

    assert (result.status, result.denominator) == ("note", 3)
    assert finding.evidence["instances"] == 2
    assert finding.evidence["share"] == 2 / 3
    assert finding.evidence["extra"] == 3
    assert finding.evidence["labels"] == 2
    assert [p.nodes for p in finding.parts] == [("cow",), ("dog",)]


def test_a_code_written_in_two_ways_is_one_label() -> None:
    dataset = labelled(icd9cm(), {"a": ["4019", "401.9"]}, table="diagnoses")

    assert CHECK.run(measure(dataset, Policy())).status == "note"


def test_labels_of_an_instance_in_two_places_are_no_repeats(toy_hierarchy: Hierarchy) -> None:
    rows = [("a", "dog", "train"), ("a", "dog", "test"), ("b", "dog", "train"), ("b", "dog", None)]
    frame = pl.DataFrame(rows, ["instance", "label", "split"], orient="row")
    measured = measure(LabelDataset.from_rows(frame, toy_hierarchy), Policy())

    assert [f.evidence["instances"] for f in found("labels", measured)] == [1]


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from(FIVE)), min_size=1))
def test_extra_rows_are_rows_less_different_labels(labels: dict[str, list[str]]) -> None:
    counts = {i: Counter(own) for i, own in labels.items()}
    touched = [i for i, own in counts.items() if any(n > 1 for n in own.values())]
    extra = sum(len(own) - len(set(own)) for own in labels.values())
    findings = told("labels", labels)

    assert [f.evidence["instances"] for f in findings] == [len(touched)] * bool(touched)
    assert [f.evidence["extra"] for f in findings] == [extra] * bool(touched)


def test_equal_sets_count_within_a_group_alone() -> None:
    labels = {"1": FIVE, "2": FIVE[::-1], "3": FIVE, "4": FIVE[:4], "5": FIVE[:4], "6": FIVE}
    groups = {"1": "p", "2": "p", "3": "q", "4": "p", "5": "p"}
    (finding,) = told("group", labels, groups)

    assert (finding.severity, finding.id) == ("warning", "duplicates:group")
    assert finding.evidence["instances"] == 2
    assert finding.evidence["of"] == 6
    assert (finding.evidence["groups"], finding.evidence["of_groups"]) == (1, 2)
    assert finding.evidence["distinct"] == 1


def test_a_repeated_label_makes_no_set_longer() -> None:
    four = [*FIVE[:4], FIVE[3]]

    assert not told("group", {"1": four, "2": four}, {"1": "p", "2": "p"})


def test_instances_without_a_group_are_not_compared() -> None:
    assert not told("group", {"1": FIVE, "2": FIVE}, {"1": "p"})


@given(
    st.lists(
        st.tuples(st.sampled_from("pq"), st.sets(st.sampled_from(LEAVES[:6]), min_size=4)),
        min_size=1,
        max_size=8,
    )
)
def test_it_equals_counting_sets(drawn: list[tuple[str, set[str]]]) -> None:
    counts = Counter((group, frozenset(own)) for group, own in drawn if len(own) >= 5)
    expected = sum(n for n in counts.values() if n > 1)
    labels = {str(i): sorted(own) for i, (_, own) in enumerate(drawn)}
    findings = told("group", labels, {str(i): group for i, (group, _) in enumerate(drawn)})

    assert sum(int(f.evidence["instances"] or 0) for f in findings) == expected


def written(path: Path, *records: tuple[str, list[str], str]) -> Path:
    lines = [json.dumps({"id": i, "labels": own, "part": part}) for i, own, part in records]
    path.write_text("\n".join(lines))
    return path


def test_an_id_in_two_places_counts_where_its_labels_are_equal(
    tmp_path: Path, toy_hierarchy: Hierarchy
) -> None:
    path = written(
        tmp_path / "l.jsonl",
        ("a", ["dog", "cow"], "train"),
        ("a", ["cow", "dog"], "test"),
        ("b", ["dog"], "train"),
        ("b", ["cow"], "train"),
        ("c", [], "train"),
        ("c", [], "train"),
        ("d", ["elf"], "train"),
        ("d", ["elf"], "train"),
    )
    dataset = load_labels(path, toy_hierarchy, split="part")
    measured = measure(dataset, Policy())
    (finding,) = CHECK.run(measured).findings

    assert CHECK.cases is not None
    cases = CHECK.cases(measured, finding)
    assert dataset.instances["instance"].gather(cases).to_list() == ["a"]
    assert finding.id == "duplicates:places"
    assert (finding.evidence["instances"], finding.evidence["of"]) == (1, 2)


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


@pytest.mark.parametrize(
    ("copies", "near", "findings"), [(4, 0, 0), (5, 0, 1), (5, 5, 0), (20, 12, 0)]
)
def test_few_copies_and_many_near_records_are_not_told(
    copies: int, near: int, findings: int
) -> None:
    assert len(told("sets", release(copies, near))) == findings


def test_copies_within_a_group_are_none_across_ids() -> None:
    labels = release(12)
    one = {name: "p" if name >= "i060" else name for name in labels}
    own = {f"i{n:03}": f"p{n % 60}" for n in range(len(labels))}

    assert told("sets", labels, own) == []
    (finding,) = told("sets", labels, one)
    assert "of another group" in finding.statement
    assert "of another group" not in told("sets", labels)[0].statement


def test_one_edited_copy_does_not_hide_the_others() -> None:
    labels = {f"i{n:02}": LEAVES[:6] for n in range(30)} | {"j": [*LEAVES[:5], LEAVES[9]]}

    (finding,) = told("sets", labels)
    assert finding.evidence["copies"] == 28


def test_short_records_are_not_looked_at() -> None:
    assert not told("sets", {f"i{n}": LEAVES[:4] for n in range(40)})


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

"""Findings on nodes that damaged codes make say so, and rank below the others."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from audit.checks.check import Check, Outcome
from audit.checks.shared.written_labels import MOSTLY, damaged_nodes
from audit.measure.measure import Measurements
from audit.results.findings import CheckResult, Finding, Part
from fixtures.checked import CHECK_OF
from fixtures.coded import Tables, measured

PAIRS = (CHECK_OF["redundant_nodes"], CHECK_OF["unexpected_pair"])


def release(damaged: int, sound: int = 0) -> Measurements:
    """Procedures 40 (once 0040) always beside 36.06, and 38.93 always beside 88.56."""
    rows = {
        **{f"d{n:03}": ["40", "3606", "9604"] for n in range(damaged)},
        **{f"s{n:03}": ["4011", "3606", "9604"] for n in range(sound)},
        **{f"o{n:03}": ["3893", "8856", "9604"] for n in range(60)},
        **{f"n{n:03}": ["9604", "9671", "3324"] for n in range(200)},
    }
    return measured({"procedures": rows})


REMARK = "since zeros were lost: read the findings of lost_zero first."


def test_a_node_is_damaged_with_its_ancestors_as_long_as_most_rows_below_are() -> None:
    assert MOSTLY == 0.5
    assert damaged_nodes(release(40)) == {"40", "40-41"}
    assert damaged_nodes(release(40, sound=39)) == {"40", "40-41"}
    assert damaged_nodes(release(40, sound=40)) == frozenset()
    assert damaged_nodes(release(0)) == frozenset()


@pytest.mark.parametrize("check", PAIRS, ids=lambda check: check.name)
def test_findings_that_name_a_damaged_node_say_so_and_rank_below(check: Check) -> None:
    found = check.run(release(60)).findings
    names = {"40", "40-41"}
    named = [finding for finding in found if names & set(finding.nodes)]
    others = [finding for finding in found if not names & set(finding.nodes)]

    assert named
    assert others
    assert all(REMARK in finding.statement and finding.aside for finding in named)
    assert not any("lost_zero" in f.statement or f.aside for f in others)


@pytest.mark.parametrize("check", PAIRS, ids=lambda check: check.name)
def test_without_damage_findings_stay_as_they_are(check: Check) -> None:
    found = check.run(release(0, sound=60)).findings

    assert found
    assert not any("lost_zero" in finding.statement for finding in found)


SOUND = {f"s{n:03}": ["4280", "4019", "2724"] for n in range(60)}


@pytest.mark.parametrize(
    ("label", "node", "lost"),
    [("412", "412", "0412"), ("389", "389", "0389"), ("4111", "411.1", "04111")],
)
def test_where_zeros_are_lost_what_a_lost_one_would_be_is_damaged_codes_and_headings(
    label: str, node: str, lost: str
) -> None:
    may_be_lost = {f"m{n}": [label] for n in range(9)}
    sound = {"diagnoses": SOUND | may_be_lost}
    damaged = {"diagnoses": SOUND | may_be_lost | {f"d{n}": ["42"] for n in range(9)}}
    kept = {"diagnoses": damaged["diagnoses"] | {"k": ["0380"]}}

    assert node in damaged_nodes(measured(damaged)), lost
    assert not any(node in damaged_nodes(measured(one)) for one in (sound, kept))
    assert "401.9" not in damaged_nodes(measured(damaged))


def test_any_check_says_which_nodes_are_damaged_and_ranks_what_is_mostly_of_them_below() -> None:
    def finding(key: str, nodes: tuple[str, ...], *parts: tuple[str, int]) -> Finding:
        lines = tuple(Part((node,), {"instances": n}) for node, n in parts)
        return Finding("made_up", "note", nodes, key, {}, "", "", parts=lines, key=(key,))

    found = (
        finding("a", ("40",)),
        finding("b", ("00-99",), ("40", 6), ("36.06", 5)),
        finding("c", ("00-99",), ("40", 5), ("36.06", 6)),
        finding("d", ("40", "36.06"), ("40", 5), ("36.06", 6)),
        finding("e", ("40", "36.06"), ("40", 6), ("36.06", 5)),
        finding("f", ("36.06",)),
    )
    check = Check("made_up", "Is it?", lambda _: Outcome(9, "nodes", found))
    result: CheckResult = check.run(release(40))

    assert {f.key[0] for f in result.findings if REMARK in f.statement} == set("abde")
    assert [f.key[0] for f in result.findings] == ["c", "d", "f", "a", "b", "e"]
    assert all("'40' may" in f.statement for f in result.findings if REMARK in f.statement)


def planted(known: bool) -> tuple[Measurements, set[str]]:
    """Procedures that lost zeros, each always beside a diagnosis, and what they are read as."""
    rng, pairs = random.Random(3), {"12": "V653", "13": "2702", "23": "7459", "412": "4919"}
    rows: dict[str, dict[str, list[str]]] = {"diagnoses": {}, "procedures": {}}
    for n in range(900):
        rows["diagnoses"][f"i{n}"] = rng.sample(["4019", "4280", "0389", "27651", "5849"], 3)
        rows["procedures"][f"i{n}"] = rng.sample(["9904", "9671", "3893", "8856"], 2)
    for procedure, diagnosis in pairs.items():
        for n in rng.sample(range(900), 40):
            rows["procedures"][f"i{n}"].append(procedure)
            rows["diagnoses"][f"i{n}"].append(diagnosis)
    rows["procedures"]["i0"] += ["40", "66"] * 9
    together = {i: [*labels, *rows["procedures"][i]] for i, labels in rows["diagnoses"].items()}
    tables: Tables = rows if known else {None: together}
    return measured(tables), {*pairs, "012", "013", "023", "41.2"}


@pytest.mark.parametrize("known", [True, False], ids=["known table", "one column"])
def test_no_pair_of_procedures_that_lost_zeros_is_told_without_the_remark(known: bool) -> None:
    asked, read_as = planted(known)
    found = CHECK_OF["unexpected_pair"].run(asked).standing
    built = [f for f in found[:20] if read_as.intersection(f.nodes)]

    assert built
    assert [f.statement for f in built if REMARK not in f.statement] == []
    assert not any(later.aside < one.aside for one, later in pairwise(found))

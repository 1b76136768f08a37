"""Readings of damaged labels that the other codes of their records let expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

from audit.base.plurals import filled
from audit.results.findings import Finding, Part
from fixtures.checked import CHECK_OF
from fixtures.coded import Tables, icd9cm, measured
from fixtures.counted import counted_of

CHECK = CHECK_OF["lost_zero"]

READINGS = {
    "3.21": ("003.21", "03.21"), "5": ("005.0", "05.0"), "5.9": ("005.9", "05.9"),
    "3.8": ("003.8", "03.8"), "6.5": ("006.5", "06.50"), "3.9": ("003.9", "03.90"),
}  # fmt: skip
"""Numbers, each with a diagnosis and a procedure that a file of numbers made it of."""
COMMON = tuple(f"410.{site}{episode}" for site in range(10) for episode in "12") + tuple(
    f"813.{part}{place}" for part in "01" for place in range(1, 9)
)
"""Codes that stand on any record."""

World = dict[str, list[str]]


def world(seed: int, *, companions: bool, damaged: Mapping[str, str]) -> World:
    """Records of some common codes and of up to two others, half of these with lost zeros.

    Args:
        seed: Of all that is drawn.
        companions: Whether each of the others brings companions of its own, or those of any other.
        damaged: The codes that lost zeros, and the numbers that they became.
    """
    random = Random(seed)
    others = [code for codes in READINGS.values() for code in codes]
    usual = {code: random.sample(COMMON, 4) for code in others}
    rows: World = {}
    for number in range(900):
        codes = set(random.choices(COMMON, k=random.randint(1, 6)))
        for code in random.sample(others, random.choice((0, 1, 1, 2))):
            brought = usual[code if companions else random.choice(others)]
            codes |= {code, *(x for x in brought if random.random() < 0.7)}
        rows[f"i{number:04}"] = [
            damaged[code] if code in damaged and random.random() < 0.5 else code
            for code in sorted(codes)
        ]
    return rows


def lost(seed: int) -> dict[str, str]:
    """One code for each number, and the number."""
    random = Random(seed)
    return {random.choice(codes): number for number, codes in READINGS.items()}


def finding_of(tables: Tables, place: int = 0) -> Finding:
    return CHECK.run(measured(tables)).findings[place]


def chosen(tables: Tables) -> dict[str, object]:
    """The reading that fits each label with several; None where none does."""
    found = CHECK.run(measured(tables)).findings
    parts = [part for finding in found for part in finding.parts]
    return {part.nodes[0]: fit(part) for part in parts if " or " in told(part)}


def told(part: Part) -> str:
    return str(part.evidence["may_stand_for"])


def fit(part: Part) -> object:
    return part.evidence.get("fits_best")


@pytest.mark.slow
def test_the_reading_with_its_typical_companions_is_chosen_in_nearly_all_cases() -> None:
    right = wrong = none = 0
    for seed in range(4):
        damaged = lost(seed)
        found = chosen({None: world(seed, companions=True, damaged=damaged)})
        for code, number in damaged.items():
            right += found[number] == code
            none += found[number] is None
            wrong += found[number] not in (code, None)

    assert (right + none, wrong) == (24, 0)
    assert right >= 22


@pytest.mark.slow
def test_without_any_association_none_is_preferred() -> None:
    for seed in range(4):
        found = chosen({None: world(seed, companions=False, damaged=lost(seed))})

        assert found == dict.fromkeys(READINGS)


def test_a_label_that_stands_for_both_on_like_numbers_of_records_has_none() -> None:
    both = {code: number for number, codes in READINGS.items() for code in codes}
    found = chosen({None: world(5, companions=True, damaged=both)})

    assert list(found.values()).count(None) >= 5


def test_where_all_zeros_are_lost_nothing_is_known() -> None:
    rows = world(1, companions=True, damaged=lost(1))
    numbers = {code: number for number, codes in READINGS.items() for code in codes}
    without = {i: [numbers.get(label, label) for label in own] for i, own in rows.items()}

    assert set(chosen({None: without | {"z": ["09.99"]}}).values()) == {None}


def small(*records: tuple[int, Sequence[str]]) -> Tables:
    every = [list(labels) for times, labels in records for _ in range(times)]
    return {"diagnoses": {f"i{n:03}": labels for n, labels in enumerate(every)}}


HIV = (20, ["042", "1363", "4019"])
SHIGELLA = (20, ["0042", "27651", "4019"])
MEETING = [HIV, SHIGELLA, (200, ["4019", "25000"])]


@pytest.mark.parametrize(
    ("records", "best", "fitting"),
    [
        ([(3, ["42", "1363"])], "042", 3),
        ([(3, ["42", "27651"])], "004.2", 3),
        ([(3, ["42", "1363"]), (2, ["42", "27651"])], "042", 3),
        ([(3, ["42", "1363"]), (3, ["42", "27651"])], None, 0),
        ([(3, ["42", "1363"]), (3, ["42"])], None, 0),
        ([(3, ["42", "4019", "25000"])], None, 0),
        ([(3, ["42", "1363", "27651"])], None, 0),
    ],
    ids=["one", "the other", "most", "half each", "half alone", "what is everywhere", "both"],
)
def test_a_reading_is_told_where_more_than_half_of_the_records_fit_it(
    records: list[tuple[int, list[str]]], best: str | None, fitting: int
) -> None:
    (part,) = finding_of(small(*MEETING, *records)).parts

    assert fit(part) == best
    assert "fitting" not in part.evidence or part.evidence["fitting"] == fitting
    assert (
        told(part) == "Shigella boydii (004.2) or Human immunodeficiency virus [HIV] disease (042)"
    )


@pytest.mark.parametrize("tables", [icd9cm().complete_tables, frozenset[str]()])
def test_damaged_labels_are_no_evidence(tables: frozenset[str]) -> None:
    """389 may be 038.9: what it stands beside tells nothing of its neighbours, list or no list."""
    many = [(20, ["042", "389", "4019"]), (20, ["0042", "27651", "4019"])]
    asked = small(*many, (200, ["4019", "25000"]), (3, ["42", "389"]))
    hierarchy = replace(icd9cm(), complete_tables=tables)
    (finding,) = CHECK.run(measured(asked, hierarchy)).findings

    assert {part.nodes[0]: fit(part) for part in finding.parts} == {"42": None}


def test_a_label_that_may_be_either_code_as_it_stands_speaks_for_neither() -> None:
    """Where no table is known, 0040 is 004.0 or 00.40; 8856 and 25000 tell that both are used."""
    rows = [["0040", "5770"]] * 20 + [["8856", "25000"]] * 200 + [["40", "5770"]] * 3
    found = chosen({None: {f"i{n:03}": labels for n, labels in enumerate(rows)}})

    assert found == {"40": None}


def test_what_fits_is_said_unless_its_number_is_not_told() -> None:
    (finding,) = CHECK.run(measured(small(*MEETING, (14, ["42", "1363"]), (2, ["42"])))).findings
    fits = "ways; one reading fits the other codes of most records best for 1 label."

    assert (finding.evidence["several"], finding.evidence["fitted"]) == (1, 1)
    for fitted, said in ((1, fits), (None, "ways.")):
        shown = {**finding.evidence, "fitted": fitted}
        assert f"1 label can be read in several {said}" in filled(finding.statement, shown)


def test_on_counts_it_names_all_readings_and_says_that_none_is_preferred() -> None:
    asked = measured(small(*MEETING, (3, ["42", "1363"])))
    (finding,) = CHECK.run(counted_of(asked)).findings
    (part,) = finding.parts

    assert "none is preferred, since counts do not keep" in finding.statement
    assert set(part.evidence) == {"instances", "may_stand_for"}


def test_the_order_of_records_changes_nothing() -> None:
    rows = world(2, companions=True, damaged=lost(2))
    names = list(rows)
    shuffled = Random(3).sample(names, len(names))
    renamed = dict(zip(names, (rows[name] for name in shuffled), strict=True))

    assert CHECK.run(measured({None: renamed})) == CHECK.run(measured({None: rows}))

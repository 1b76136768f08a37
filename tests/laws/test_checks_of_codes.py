"""Each check of codes says what a plain search over rows of ICD-9-CM finds."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from fixtures.audited_worlds import coded, told
from fixtures.coded import icd9cm
from fixtures.examples import named
from fixtures.searches_of_codes import SEARCHES_OF_CODES, Coded, Codes, Row, proposals
from tests.laws.test_checks import alike, mends, said


@cache
def codes() -> Codes:
    known = icd9cm()
    nodes = list(zip(known.nodes, known.titles, known.assignable.tolist(), strict=True))
    complete = frozenset(node for node, _, may in nodes if may)
    assert known.integrity is not None
    years = known.integrity.years or {}
    return Codes({node: title for node, title, _ in nodes}, complete, years)


DIAGNOSES = [
    "4019", "42", "19", "0389", "389", "7054", "4111", "3893", "8856", "40199", "99998", "J189",
    "E119", "E8120", "V700", "XX", "2500", "250", "401", "28860", "3606", "8", "29410", "V3000",
    "0414", "585", "5185", "V236", "71970",
]  # fmt: skip
PROCEDURES = [
    "3893", "40", "4011", "8856", "25000", "3606", "0040", "V3000", "12", "36", "9604", "8899",
    "66", "I10", "3601",
]  # fmt: skip


def drawn(seed: int, n: int, diagnoses: list[str] | None = None, most: int = 6) -> list[Row]:
    """Rows of so many records with labels of both tables."""
    one, rows = random.Random(seed), list[Row]()
    for k in range(n):
        for table, among in (("diagnoses", diagnoses or DIAGNOSES), ("procedures", PROCEDURES)):
            labels = one.choices(among, k=one.randrange(most))
            rows += [(f"{1000 + k}", table, label) for label in labels]
    return rows


def rows(table: str, **times: int) -> list[Row]:
    """Records of one label each: so many of each label, a letter before it."""
    return [
        (f"{table[0]}{label}{k:04}", table, label[1:])
        for label, n in times.items()
        for k in range(n)
    ]


def dotted(table: str, labels: list[str]) -> list[Row]:
    """A record of each label."""
    return [(f"{table}{k}", table, label) for k, label in enumerate(labels)]


WORLDS = {
    "all kinds": drawn(1, 40),
    "others": drawn(2, 50, [*DIAGNOSES[:10], "V236", "E8120", "29410"]),
    "no zero is left of many; half is foreign": rows("diagnoses", _4019=1498, _389=2, _42=1)
    + rows("procedures", _4019=41, _3893=41),
    "of too few to tell; more than half is": rows("diagnoses", _4019=1497, _389=2, _42=1)
    + rows("procedures", _4019=51, _3893=25),
    "a part has lost its zeros": rows("diagnoses", _4019=468, _0389=30, _389=102),
    "no zero is left of few": rows("diagnoses", _4019=530, _389=70)
    + rows("procedures", _40=60, _3893=30),
    "exactly a tenth of few, as told": rows("diagnoses", _4019=180, _389=30)
    + rows("procedures", _3893=390),
    "headings of too few rows": rows("diagnoses", _4019=550, _389=50),
    "ten zeros are left": rows("diagnoses", _4019=1498, _389=2, _42=1, _0389=10),
    "eleven zeros are left; more slips": rows("diagnoses", _4019=1500, _389=2, _42=1, _0389=11)
    + rows("procedures", _25000=1, _9998=3, _3893=9),
    "two faults alike; more slips": rows("diagnoses", _7054=1, _4019=3, _42=1, _3893=1)
    + rows("procedures", _25000=11, _9998=21, _3893=49),
    "two faults alike; fewer slips": rows("diagnoses", _7054=1, _4019=3, _42=1, _3893=1)
    + rows("procedures", _25000=11, _9998=20, _3893=50),
    "with dots": dotted(
        "diagnoses", ["8.45", "401.9", "42", "250.0", "8.8", "V10.3", "41.5", "3.5", "038.9"]
    )
    + [(f"more{k}", "diagnoses", "401.9") for k in range(9)]
    + dotted("procedures", ["38.93", "0.4", "3.5", "40.1", "8.1", "25.1", ".4"]),
    "with decimals everywhere": dotted(
        "diagnoses", ["42.0", "401.9", "486.0", "8.45", "V30.00", *["401.9"] * 3]
    ),
    "the zero is surer": rows("diagnoses", _7054=1, _4019=5, _42=2, _3893=1),
    "the table is surer": rows("diagnoses", _7054=1, _4019=5, _42=1, _3893=2),
}


@pytest.mark.parametrize("given", named(WORLDS, "others"))
def test_checks_of_codes_say_what_a_search_finds(given: list[Row], tmp_path: Path) -> None:
    world, result = Coded(tuple(given), codes()), coded(given, tmp_path)
    for check, search in SEARCHES_OF_CODES.items():
        found, wanted = told(result, check), said(check, search(world), few=10)
        assert alike(found, wanted), (check, found, wanted)
    mends(result, proposals(world))

"""What a comparison shares."""

from __future__ import annotations

from typing import Any

import pytest

import audit
from fixtures.coded import icd9cm
from fixtures.labelled import labelled, repeated, tree

MIN_CELL = 11
BODY = tree("lung heart < body", "asthma cough < lung", "attack angina < heart")
SETS: tuple[list[str], ...] = (
    ["asthma"],
    ["cough"],
    ["attack"],
    ["asthma", "attack"],
    ["cough", "angina"],
    [],
)


def shared(old: list[int], new: list[int], *, persons: bool = True) -> dict[str, Any]:
    runs = [
        audit.run_audit(
            labelled(BODY, repeated(list(zip(counts, SETS, strict=True))), persons=persons),
        )
        for counts in (old, new)
    ]
    return audit.compare_runs(*runs).shared()


def test_the_smallest_count_shown_is_the_larger_of_the_two_runs() -> None:
    sets = repeated([(300, ["asthma"]), (5, ["attack"]), (200, ["cough"])])
    public = audit.run_audit(labelled(BODY, sets, persons=False))
    persons = audit.run_audit(labelled(BODY, sets, persons=True))

    assert audit.compare_runs(public, public).shared()["min_cell"] == 1
    assert audit.compare_runs(public, persons).shared()["min_cell"] == MIN_CELL
    assert audit.compare_runs(persons, public).shared()["min_cell"] == MIN_CELL


def test_counts_are_told_in_bins_and_what_a_test_found_is_computed_from_them() -> None:
    told = shared([600, 300, 80, 9, 0, 300], [300, 600, 80, 90, 4, 300])
    rows = {row["node"]: row for row in told["nodes"]["rows"]}
    (exchange,) = told["exchanges"]
    (asthma,) = exchange["fewer"]
    attack = rows["attack"]

    assert told["rounding"]["old"]["totals"]["instances"] == 1289
    assert (asthma["node"], asthma["support_old"], asthma["support_new"]) == ("asthma", 605, 385)
    assert exchange["parent"] == "lung"
    assert exchange["moved"] == pytest.approx(
        asthma["support_old"] / 1289 - asthma["support_new"] / 1374
    )
    assert not {"asthma", "cough"} & rows.keys()
    assert attack["low"] > 0
    assert all(row[name] is None for row in rows.values() for name in ("p_value", "odds_ratio"))
    assert told["nodes"]["family"] is told["pairs"]["family"] is None
    told_apart = [abs(row["difference"]) for row in rows.values() if row["difference"] is not None]
    assert told_apart == sorted(told_apart, reverse=True)


def test_a_node_of_few_has_no_share_and_stands_last() -> None:
    *_, last = shared([600, 300, 300, 0, 0, 0], [600, 300, 100, 0, 200, 0])["nodes"]["rows"]

    assert last["node"] == "angina"
    assert (last["support_old"], last["support_new"]) == (5, 195)
    assert last["rate_old"] is last["difference"] is None


def test_counts_without_a_share_differ_from_two_bins_on() -> None:
    for more, listed in ((14, False), (25, True)):
        rows = shared([600, 300, 300, 0, 0, 0], [600, 300, 300 - more, 0, more, 0])["nodes"]["rows"]
        assert ("angina" in {row["node"] for row in rows}) == listed


def test_counts_of_nearly_all_compare_as_equal() -> None:
    old, new = [1185, 0, 15, 0, 0, 0], [1100, 0, 100, 0, 0, 0]
    exact = {row["node"] for row in shared(old, new, persons=False)["nodes"]["rows"]}
    told = {row["node"] for row in shared(old, new)["nodes"]["rows"]}

    assert {"asthma", "attack"} <= exact
    assert "attack" in told
    assert "asthma" not in told


def test_few_rows_that_differ_are_told_of() -> None:
    sizes = [600, 300, 80, 90, 0, 300]
    one_more, more = [601, *sizes[1:]], [660, *sizes[1:]]

    assert shared(sizes, one_more)["few_rows_differ"]
    assert not shared(sizes, more)["few_rows_differ"]
    assert not shared(sizes, sizes)["few_rows_differ"]
    assert not shared(sizes, one_more, persons=False)["few_rows_differ"]


def changes(old: int, new: int, *, persons: bool) -> dict[str, int]:
    """What becomes of the finding that labels stand beside one above them."""
    faults = tree("asthma cough < lung", labelled_ancestors="fault")
    runs = [
        audit.run_audit(
            labelled(
                faults,
                repeated([(n, ["lung", "asthma"]), (1000 - n, ["cough"])]),
                persons=persons,
            )
        )
        for n in (old, new)
    ]
    checks = {check["name"]: check for check in audit.compare_runs(*runs).shared()["checks"]}
    found: dict[str, int] = checks["parent_and_child"]["changes"]
    return {change: n for change, n in found.items() if n}


def test_a_finding_changes_only_where_told_numbers_do() -> None:
    assert changes(100, 200, persons=True) == changes(100, 200, persons=False) == {"worse": 1}
    assert changes(200, 100, persons=True) == {"better": 1}
    assert changes(0, 100, persons=True) == {"new": 1}
    assert changes(100, 0, persons=True) == {"gone": 1}
    assert changes(0, 9, persons=False) == {"new": 1}
    assert changes(0, 9, persons=True) == {"limit": 1}
    assert changes(5, 20, persons=False) == {"worse": 1}
    assert changes(5, 20, persons=True) == {"same": 1}


@pytest.mark.slow
def test_codes_that_stand_in_no_list_are_left_out() -> None:
    """One that NEW alone has would tell that no instance of OLD has it."""
    icd = icd9cm()
    runs = [
        audit.run_audit(labelled(icd, repeated([(600, ["401.9"]), (n, ["718.60"])]), persons=True))
        for n in (0, 200)
    ]
    comparison = audit.compare_runs(*runs)
    told = comparison.shared()

    assert comparison.edits["node"].to_list() == ["718.60"]
    assert told["edits"]["rows"] == []
    assert set(told["edits"]["totals"].values()) == {0}
    assert told["causes"][1]["statement"].startswith(
        "Same hierarchy, but for unlisted codes in only one of the runs."
    )

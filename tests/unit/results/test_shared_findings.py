"""Numbers of checks and findings in the shared view, each worked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from audit.disclosure import (
    WHOLE,
    Cell,
    Known,
    Quantity,
    Shown,
    count,
    derived,
    labelled,
    only_residual_below,
    together,
)
from audit.policy.policy import MIN_CELL_OF_PERSONS
from audit.results.findings import CheckResult, Finding, Part
from audit.results.shared_findings import (
    numbers_of,
    of_residual,
    shared_denominator,
    shared_finding,
)

FOUND = Finding(
    check="duplicate_label",
    severity="note",
    nodes=("a",),
    statement="{instances} instances.",
    evidence={"instances": count(40, 150), "share": derived(0.5, "instances"), "of": Quantity(150)},
    curator="",
    data_user="",
    parts=(Part(("a",), {"instances": count(30)}), Part(("b",), {"instances": count(20)})),
    key=("all",),
)
AT = "duplicate_label:all"
TOTALS = 200, 150


def checked(
    value: int,
    *told: Mapping[str, Shown],
    unit: str = "instances with labels",
    min_cell: int = 11,
) -> Shown:
    """The denominator of a check, some of whose findings tell their evidence so."""
    check = CheckResult("a_check", "?", value, unit, ())
    shown = [(FOUND, {"evidence": {**one, "share": None, "of": 150}}) for one in told]
    return shared_denominator(check, shown, TOTALS, min_cell, Known())


@pytest.mark.parametrize(
    ("value", "min_cell", "shown"),
    [
        (40, 11, 40),
        (11, 11, 11),
        (10, 11, "<11"),
        (145, 11, ">139"),
        (150, 11, 150),
        (10, 1, 10),
        (1, 2, "<2"),
        (0, 11, 0),
    ],
)
def test_what_a_check_looked_at_is_a_count_of_instances(
    value: int, min_cell: int, shown: Shown
) -> None:
    assert checked(value, min_cell=min_cell) == shown


def test_what_a_check_looked_at_may_be_no_instances() -> None:
    assert checked(10, unit="labels") == 10
    assert checked(10, unit="groups in two splits") == "<11"


@pytest.mark.parametrize("unit", ["nodes judged", "pairs of frequent nodes", "comparisons of"])
def test_how_many_are_frequent_enough_is_withheld_where_less_frequent_ones_are(unit: str) -> None:
    assert checked(23, unit=unit, min_cell=MIN_CELL_OF_PERSONS) == 23
    assert checked(23, unit=unit, min_cell=MIN_CELL_OF_PERSONS + 1) == ">0"
    assert checked(0, unit=unit, min_cell=50) == 0


def test_a_denominator_tells_no_count_that_a_finding_withholds() -> None:
    assert checked(40, {"instances": ">10"}) == ">10"
    assert checked(40, {"instances": 40}, {"instances": ">10"}) == ">10"
    assert checked(40, {"instances": 40}) == 40
    assert checked(41, {"instances": ">10"}) == 41
    eleven = replace(FOUND, evidence={"instances": count(11)})
    check = CheckResult("a_check", "?", 11, "instances", ())
    told = [(eleven, {"evidence": {"instances": ">10"}})]
    assert shared_denominator(check, told, TOTALS, 11, Known()) == ">10"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([("c d", 40)], "always c and d"),
        ([("a b", 40), ("a d", 21)], "mostly d"),
        ([("a b", 40), ("c b", 9), ("a d", 8)], "most often c"),
        ([("a b", 40), ("a d", 9), ("c d", 9)], "most often d or c and d"),
        ([("a b", 40), ("a d", 9), ("c b", 9), ("c d", 9)], None),
        ([("a b", 40), ("c b", 7)], None),
        ([("c", 40)], "always c"),
        ([("c", 40), ("d", 3)], "mostly c"),
        ([("c", 15), ("d", 14)], None),
    ],
)
def test_what_makes_up_most_of_a_finding_is_named(
    lines: list[tuple[str, int]], said: str | None
) -> None:
    parts = tuple(Part(tuple(nodes.split()), {"instances": count(n)}) for nodes, n in lines)
    pair = replace(
        FOUND, nodes=("a", "b"), key=(), parts=parts, statement="{instances}[, {mostly}]."
    )
    told = shared_finding(pair, 1, {})["statement"]

    assert told == (f"40, {said}." if said else "40.")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([("c", 90)], "always c"),  # 150 have one of these labels, and 40 of them no other
        ([("c", 131), ("d", 3)], "mostly c"),
        ([("c", 130), ("d", 3)], None),  # 110 that have others may have 110 of them
    ],
)
def test_what_may_lie_elsewhere_makes_up_no_finding(
    lines: list[tuple[str, int]], said: str | None
) -> None:
    parts = tuple(Part((node,), {"labelled": count(n)}) for node, n in lines)
    told = shared_finding(replace(FOUND, parts=parts, statement="{instances}[, {mostly}]."), 1, {})

    assert told["statement"] == (f"40, {said}." if said else "40.")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([("c d", 7), ("c e", 6), ("d e", 6)], "such as c and d"),
        ([("c", 15), ("d", 9), ("e", 9)], "such as c and d"),
        ([("c", 3), ("d", 2)], "c and d"),
        ([("c d", 3)], "c and d"),
    ],
)
@pytest.mark.parametrize("min_cell", [1, 11])
def test_a_finding_that_counts_its_lines_names_some_whatever_is_withheld(
    lines: list[tuple[str, int]], said: str, min_cell: int
) -> None:
    parts = tuple(Part(tuple(nodes.split()), {"instances": count(n)}) for nodes, n in lines)
    counting = replace(
        FOUND,
        parts=parts,
        statement="{instances}[, {mostly}].",
        evidence={**FOUND.evidence, "pairs": Quantity(len(parts))},
    )

    assert shared_finding(counting, min_cell, {})["statement"].endswith(f", {said}.")


def lines_of(finding: Finding) -> dict[Any, Any]:
    """The numbers that a finding tells of itself and its lines."""
    return dict(numbers_of(finding, shared_finding(finding, 11, {}), ()))


def test_counts_of_a_finding_and_its_lines_are_told_to_other_views() -> None:
    assert lines_of(FOUND) == {
        (AT, (), "instances"): (40, 40),
        (AT, ("a",), "instances"): (30, 30),
        (AT, ("b",), "instances"): (20, 20),
    }
    none = replace(FOUND, evidence={"instances": count(0)}, parts=())
    assert lines_of(none) == {(AT, (), "instances"): (0, 0)}


@pytest.mark.parametrize(
    ("check", "lines"), [("residual_overuse", 0), ("cross_branch", 0), ("parent_and_child", 2)]
)
def test_lines_that_are_protected_as_cells_are_told_as_cells_alone(check: str, lines: int) -> None:
    assert len(lines_of(replace(FOUND, check=check))) == 1 + lines


def test_numbers_that_are_cells_are_told_as_cells_alone() -> None:
    told = dict(numbers_of(FOUND, shared_finding(FOUND, 11, {}), ("instances",)))

    assert {place[1] for place in told} == {("a",), ("b",)}


@pytest.mark.parametrize(("min_cell", "shown"), [(1, 40), (2, ">0")])
def test_where_everything_is_shown_other_views_withhold_nothing(
    min_cell: int, shown: Shown
) -> None:
    known = Known(numbers={(AT, (), "instances"): (40, ">0")})
    told = shared_finding(FOUND, min_cell, {}, known=known)

    assert told["evidence"]["instances"] == shown


def test_lines_that_their_sum_would_tell_are_withheld_unless_programs_protect_them() -> None:
    """Of 35 in all, 30 and a few: with the 30 told, they are five."""
    parts = tuple(Part((node,), {"instances": count(n)}) for node, n in (("a", 30), ("b", 5)))
    whole = {"instances": count(35, 150)}

    def lines(**given: Any) -> list[Shown]:
        told = shared_finding(replace(FOUND, evidence=whole, parts=parts, **given), 11, {})
        return [part["evidence"]["instances"] for part in told["parts"]]

    assert lines() == [">10", "<11"]
    assert lines(check="cross_branch") == [30, "<11"]


def beside(*told: Mapping[str, Shown], lines: int = 2, **whole: Quantity) -> tuple[Any, list[Any]]:
    """The rows of a finding with lines of 30 and 5, the last so many of them; and the lines."""
    every = (Part(("a",), {"instances": count(30)}), Part(("b",), {"instances": count(5)}))
    finding = replace(FOUND, statement="", evidence=whole, parts=every[-lines:])
    shown = shared_finding(finding, 11, {}, told)
    return shown["evidence"]["rows"], [part["evidence"]["instances"] for part in shown["parts"]]


def test_a_sum_is_withheld_rather_than_a_line_that_other_numbers_tell() -> None:
    few: Mapping[str, Shown] = {"instances": "<11"}

    assert beside(rows=count(35)) == (35, [">10", "<11"])
    assert beside({}, {"instances": 30}, few, rows=count(35)) == (">10", [30, "<11"])
    assert beside({}, {"instances": ">10"}, few, rows=count(35)) == (">10", [">10", "<11"])


def test_a_sum_that_is_always_shown_takes_a_line_along() -> None:
    assert beside(rows=Quantity(35)) == (35, [">10", "<11"])


def test_one_line_may_be_its_own_sum() -> None:
    assert beside(lines=1, rows=count(5), codes=Quantity(1)) == ("<11", ["<11"])


def test_lines_that_count_no_instances_stay_as_they_are() -> None:
    parts = (Part(("a",), {"codes": Quantity(3)}), Part(("b",), {"codes": Quantity(5)}))
    told = shared_finding(replace(FOUND, parts=parts), 11, {})

    assert [part["evidence"] for part in told["parts"]] == [{"codes": 3}, {"codes": 5}]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (only_residual_below("a"), True),
        (labelled("a"), False),
        (together(labelled("a"), labelled("b")), False),
    ],
)
def test_a_cell_that_misses_specific_labels_is_of_residual_use(cell: Cell, expected: bool) -> None:
    assert of_residual(cell) is expected


@pytest.mark.parametrize(
    ("nodes", "shown"),
    [(("a",), ("b",)), (("a", "b"), ("b", "a")), (("c", "d"), ("c", "d"))],
)
def test_nodes_that_lines_give_stand_in_the_order_of_what_is_shown(
    nodes: tuple[str, ...], shown: tuple[str, ...]
) -> None:
    """The line of ``a`` is withheld altogether, so that the one of ``b`` stands first."""
    told: list[Mapping[str, Shown]] = [{}, {"instances": ">0"}, {"instances": 20}]
    finding = replace(FOUND, check="cross_branch", nodes=nodes)

    def ids(found: Finding) -> tuple[str, ...]:
        return tuple(node["id"] for node in shared_finding(found, 11, {}, told)["nodes"])

    assert ids(finding) == shown
    assert ids(replace(finding, key=())) == nodes


def test_a_sum_of_lines_that_are_shown_elsewhere_as_they_are_is_shown() -> None:
    rows = replace(FOUND, evidence={**FOUND.evidence, "rows": count(50)})
    told: list[dict[str, Shown]] = [{}, {"instances": 30}, {"instances": 20}]

    shown = shared_finding(rows, 11, {}, told)

    assert shown["evidence"]["rows"] == 50
    assert shown["evidence"]["instances"] == 40


@pytest.mark.parametrize(("labelled", "share"), [(None, 0.25), (">10", None)])
def test_a_share_of_a_part_tells_no_withheld_count_that_it_is_of(
    labelled: str | None, share: float | None
) -> None:
    """Of 80 with a label 40 are suspect, 20 of them for one other node: 20 of 25 % are 80."""
    part = {"instances": count(20), "share": derived(0.25, "instances", WHOLE)}
    suspect = replace(
        FOUND,
        check="label_suspects",
        evidence={"instances": count(40, 80), "labelled": count(80, 150), "pairs": Quantity(2)},
        parts=(Part(("a", "b"), part), Part(("a", "c"), {"instances": count(20)})),
    )
    own = {"labelled": labelled} if labelled else {}
    told = shared_finding(suspect, 11, {}, [own, {}, {}])

    assert told["parts"][0]["evidence"] == {"instances": 20, "share": share}

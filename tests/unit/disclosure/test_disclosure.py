"""Small cells: what a published number may say, and that no shared view says more."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from audit.disclosure import (
    Quantity,
    Shown,
    coarse,
    count,
    derived,
    in_proportion,
    is_small,
    shown,
    shown_change,
    shown_count,
    shown_in_steps,
    suppress_breakdown,
    with_tight_bounds,
    withheld_last,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.policy.statements import BranchRule
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from fixtures.coded import icd9cm
from fixtures.labelled import labelled, repeated, tree

MIN_CELL = 11
counts = st.integers(0, 400)
min_cells = st.integers(1, 30)


@st.composite
def cells(draw: st.DrawFn) -> tuple[int, list[int], int]:
    value = draw(counts)
    totals = draw(st.lists(st.integers(0, 60).map(lambda rest: value + rest), max_size=3))
    return value, totals, draw(min_cells)


def possible(shown_as: int | str) -> range:
    """Counts that a published value leaves possible."""
    if isinstance(shown_as, int):
        return range(shown_as, shown_as + 1)
    bound = int(shown_as[1:])
    return range(1, bound) if shown_as[0] == "<" else range(bound + 1, 10_000)


@given(cells())
def test_a_published_value_is_true(cell: tuple[int, list[int], int]) -> None:
    value, totals, min_cell = cell

    assert value in possible(shown_count(value, totals, min_cell))


@given(cells())
def test_a_small_count_stays_possible_from_one_to_the_limit(
    cell: tuple[int, list[int], int],
) -> None:
    value, totals, min_cell = cell
    shown_as = shown_count(value, totals, min_cell)

    if is_small(value, min_cell):
        assert set(range(1, min_cell)) <= set(possible(shown_as))


@given(cells())
def test_a_small_remainder_stays_possible_from_one_to_the_limit(
    cell: tuple[int, list[int], int],
) -> None:
    value, totals, min_cell = cell
    shown_as = shown_count(value, totals, min_cell)

    for total in totals:
        if value >= min_cell and is_small(total - value, min_cell):
            remainders = {total - n for n in possible(shown_as) if n <= total}
            assert len(remainders & set(range(1, min_cell))) > 1 or min_cell == 2
            if total == min(t for t in totals if is_small(t - value, min_cell)):
                assert set(range(1, min(min_cell, total))) <= remainders


@given(cells())
def test_a_count_far_from_every_edge_is_shown(cell: tuple[int, list[int], int]) -> None:
    value, totals, min_cell = cell

    if not any(is_small(n, min_cell) for n in (value, *(total - value for total in totals))):
        assert shown_count(value, totals, min_cell) == value


@given(counts, counts)
def test_with_a_limit_of_one_everything_is_shown(value: int, rest: int) -> None:
    assert shown_count(value, [value + rest], 1) == value


@pytest.mark.parametrize(
    ("value", "total", "expected"),
    [
        (0, 100, 0),
        (1, 100, "<11"),
        (10, 100, "<11"),
        (11, 100, 11),
        (89, 100, 89),
        (90, 100, ">89"),
        (99, 100, ">89"),
        (100, 100, 100),
        (0, 5, 0),
        (5, 5, "<11"),
        (12, 20, ">9"),
    ],
)
def test_shown_counts_worked_by_hand(value: int, total: int, expected: int | str) -> None:
    assert shown_count(value, [total], MIN_CELL) == expected


@given(counts, counts, min_cells)
def test_what_is_derived_from_a_hidden_count_is_withheld(k: int, rest: int, min_cell: int) -> None:
    n = k + rest
    evidence = {
        "k": count(k, n),
        "n": count(n),
        "share": derived(k / max(n, 1), "k", "n"),
        "other": derived(0.5),
    }
    published = shown(evidence, min_cell)

    hidden = isinstance(published["k"], str) or isinstance(published["n"], str)
    assert (published["share"] is None) == hidden
    assert published["other"] == 0.5


@given(cells())
def test_publishing_twice_tells_the_same(cell: tuple[int, list[int], int]) -> None:
    value, totals, min_cell = cell

    assert shown({"n": count(value, *totals)}, min_cell) == {
        "n": shown_count(value, totals, min_cell)
    }


# --- the shared view of persons' records ---------------------------------------------------

TITLES = {"other_lung": "Other", "other_heart": "Other", "other_tool": "Other"}
BODY = tree(
    "lung heart tool < body",
    "asthma flu other_lung < lung",
    "attack other_heart < heart",
    "saw other_tool < tool",
    titles=TITLES,
    labelled_ancestors="fault",
)
RULES = (
    BranchRule(branches=("lung", "heart"), rule="disjoint", reason="", alone_or_first=("asthma",)),
    BranchRule(branches=("tool", "*"), rule="watch", reason="", break_down_depth=2),
)
LEAVES = (
    "asthma",
    "flu",
    "other_lung",
    "attack",
    "other_heart",
    "saw",
    "other_tool",
    "lung",
    "unicorn",
)
POLICY = Policy(branch_rules=RULES)


@st.composite
def releases(draw: st.DrawFn) -> list[tuple[int, list[str]]]:
    sets = st.lists(st.sampled_from(LEAVES), min_size=0, max_size=3, unique=True)
    times = st.one_of(st.integers(1, 15), st.integers(30, 120))
    drawn = draw(st.lists(st.tuples(times, sets), min_size=1, max_size=6))
    known, unknown = (
        sum(n for n, labels in drawn for one in labels if (one == "unicorn") == strange)
        for strange in (False, True)
    )
    assume(known >= max(1, unknown))
    return drawn


def audited(counted: list[tuple[int, list[str]]]) -> AuditResult:
    dataset = labelled(BODY, repeated(counted), positions=True, persons=True)
    return run_audit(dataset, POLICY)


EXEMPT = ("labels", "pairs", "limit", "of", "rows", "length", "family", "pairs_judged", "rank")
"""Evidence that counts no instances, or all of them."""


def published_counts(shared: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every count of instances in findings and in the overview, with where it stands."""
    for check in shared["checks"]:
        for finding in check["findings"]:
            for part in (finding, *finding["parts"]):
                for name, value in part["evidence"].items():
                    if name not in EXEMPT or check["name"] == "residual_overuse":
                        yield f"{finding['id']}.{name}", value
    for picture, rows in shared["overview"].items():
        for line in rows:
            for name in ("instances", "of"):
                if name in line:
                    yield f"{picture}.{name}", line[name]


@given(releases())
def test_no_small_count_of_persons_is_shared(counted: list[tuple[int, list[str]]]) -> None:
    for place, value in published_counts(audited(counted).shared()):
        assert not (isinstance(value, int) and is_small(value, MIN_CELL)), place


BEGINS = re.compile(
    r"(?:.*?: )??(?:some|(?P<few>fewer than )?(?P<many>at least )?(?P<n>\d[\d,]*)) ", re.IGNORECASE
)
"""The first count of a statement."""


@given(releases())
@example([(1, []), (1, ["asthma"])])
@example([(1, []), (2, ["asthma"])])
def test_no_statement_tells_a_small_count_of_persons(counted: list[tuple[int, list[str]]]) -> None:
    for check in audited(counted).shared()["checks"]:
        for finding in check["findings"]:
            first, told = BEGINS.match(finding["statement"]), finding["evidence"].get("instances")
            assert first
            if "rows" in finding["evidence"] or not first["n"]:
                continue
            number = int(first["n"].replace(",", ""))
            bound = f"<{number}" if first["few"] else f">{number - 1}" if first["many"] else number
            assert bound == told or (bound, told) == (1, "<2")
            assert "withheld" not in finding["statement"]
            assert bound != number or not is_small(number, MIN_CELL) or told == "<2"


@given(releases())
def test_no_share_gives_a_hidden_count_back(counted: list[tuple[int, list[str]]]) -> None:
    shared = audited(counted).shared()
    for check in shared["checks"]:
        for finding in check["findings"]:
            evidence = finding["evidence"]
            if any(isinstance(evidence.get(name), str) for name in ("instances", "of")):
                assert evidence.get("share") is None
                assert evidence.get("low") is None
                assert evidence.get("high") is None
    for line in shared["overview"]["residuals"]:
        hidden = isinstance(line["instances"], str) or isinstance(line["of"], str)
        assert (line["share"] is None) == hidden
        shares = [
            n["residual_share"] for n in shared["overview"]["tree"] if n["node"] == line["node"]
        ]
        assert not hidden or shares in ([], [None])
    for line in shared["overview"]["branches"]:
        assert (line["share"] is None) == isinstance(line["instances"], str)


@given(releases())
def test_no_part_of_a_finding_leaves_a_small_remainder(
    counted: list[tuple[int, list[str]]],
) -> None:
    for check in audited(counted).shared()["checks"]:
        for finding in check["findings"]:
            touched = finding["evidence"].get("instances")
            for part in finding["parts"]:
                n = part["evidence"].get("instances")
                if isinstance(touched, int) and isinstance(n, int):
                    assert not is_small(touched - n, MIN_CELL), finding["id"]


def parts_of(counted: list[tuple[int, list[str]]], check: str, node: str) -> list[Any]:
    checks = {each["name"]: each for each in audited(counted).shared()["checks"]}
    return [
        part["evidence"]["instances"]
        for finding in checks[check]["findings"]
        for part in finding["parts"]
        if part["nodes"][0]["id"] == node
    ]


def test_a_part_of_a_meeting_does_not_tell_how_few_the_others_are() -> None:
    counted = [(95, ["saw", "attack"]), (5, ["other_tool", "attack"]), (99, ["saw"])]
    counted += [(50, ["attack"]), (50, ["flu"])]

    assert parts_of(counted, "cross_branch", "saw") == [">89"]
    assert parts_of(counted, "cross_branch", "other_tool") == ["<11"]


def test_a_pair_of_labels_does_not_tell_how_few_the_others_are() -> None:
    counted = [(40, ["asthma", "lung"]), (5, ["flu", "lung"]), (50, ["asthma"]), (50, ["lung"])]

    assert parts_of(counted, "parent_and_child", "asthma") == [">34"]


def test_a_finding_is_not_dropped_for_being_small() -> None:
    shared = audited([(3, ["asthma", "attack"]), (60, ["saw"])]).shared()
    found = {check["name"]: check["findings"] for check in shared["checks"]}["cross_branch"]

    disjoint = next(finding for finding in found if finding["severity"] == "error")
    assert disjoint["evidence"]["instances"] == "<11"
    assert disjoint["evidence"]["share"] is None
    assert disjoint["statement"].startswith("Fewer than 11 of 63 instances (at most 15.9%)")


def test_a_share_is_withheld_where_its_whole_nearly_is_the_release() -> None:
    shared = audited([(60, ["other_lung"]), (40, ["asthma"]), (4, ["saw"])]).shared()
    row = next(line for line in shared["overview"]["residuals"] if line["node"] == "lung")
    shown_node = next(line for line in shared["overview"]["tree"] if line["node"] == "lung")

    assert (row["instances"], row["of"], row["share"], row["low"]) == (60, ">93", None, None)
    assert shown_node["residual_share"] is None


def test_unlisted_codes_of_few_persons_are_not_counted_out() -> None:
    hierarchy = icd9cm()
    labels = repeated([(4, ["71860"]), (80, ["4019"])])
    shared = run_audit(labelled(hierarchy, labels, table="diagnoses")).shared()
    finding = next(c for c in shared["checks"] if c["name"] == "retired_code")["findings"][0]

    assert finding["id"] == "retired_code:unlisted"
    assert (finding["evidence"]["rows"], finding["evidence"]["share"]) == ("<11", None)


def test_restricted_tables_are_not_suppressed(toy_hierarchy: Hierarchy) -> None:
    result = run_audit(labelled(toy_hierarchy, {"a": ["cow"], "b": ["dog", "tool"]}, persons=True))

    assert result.nodes.filter(pl.col("node") == "cow")["support"].to_list() == [1]
    assert result.pairs.collect()["joint"].min() == 1


@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 60), st.integers(2, 12))
def test_two_counts_in_steps_never_tell_a_small_difference(
    child: int, more: int, rest: int, min_cell: int
) -> None:
    """Where the two and the total allow a small remainder, they allow 0 or one that is not."""
    parent = child + more
    total = parent + rest
    assume(total >= min_cell)
    shown = tuple(shown_in_steps(value, total, min_cell) for value in (child, parent))
    fits = {
        (c, p)
        for p in range(total + 1)
        for c in range(p + 1)
        if tuple(shown_in_steps(value, total, min_cell) for value in (c, p)) == shown
    }
    assert (child, parent) in fits
    for differences in ({p - c for c, p in fits}, {total - p for _, p in fits}):
        assert not all(0 < value < min_cell for value in differences)


def test_a_count_in_steps_is_shown_as_high_as_it_and_the_total_allow() -> None:
    for min_cell, total in product(range(1, 6), range(30)):
        for value in range(total + 1):
            told = shown_in_steps(value, total, min_cell)
            steps = [n for n in range(min_cell, value + 1, min_cell) if total - n >= min_cell]
            if min_cell == 1 or value == total:
                assert told == value
            elif steps:
                assert told == f">{max(steps) - 1}"
            else:
                assert told == (f"<{min_cell}" if total >= 2 * min_cell else None)


@given(counts, counts, counts, counts, st.integers(2, 30))
def test_a_change_is_loosened_only_where_it_tells_a_small_count(
    old: int, others: int, came: int, others_came: int, min_cell: int
) -> None:
    """Of two counts each shown alone, a reader tries every old count that the new one allows."""
    sizes = old + others, old + others + came + others_came
    new, added = old + came, came + others_came
    alone = tuple(
        shown_count(n, [size], min_cell) for n, size in zip((old, new), sizes, strict=True)
    )
    tried = {n for n in range(sizes[0] + 1) if 0 <= new - n <= added}
    tells = (
        is_small(came, min_cell)
        or is_small(others_came, min_cell)
        or (is_small(old, min_cell) and 1 not in tried)
        or (is_small(others, min_cell) and sizes[0] - 1 not in tried)
    )
    floor = f">{min_cell - 1}"
    loosened = (
        (alone[0], floor if new >= min_cell else new)
        if isinstance(alone[1], int)
        else (floor if isinstance(alone[0], int) and old >= min_cell else alone[0], alone[1])
    )

    assert shown_change(old, new, *sizes, min_cell) == (loosened if tells else alone)


@pytest.mark.parametrize("module", ["breakdowns", "quantity"])
def test_examples_hold(module: str) -> None:
    named = import_module(f"audit.disclosure.{module}")

    assert doctest.testmod(named).failed == 0


def test_a_line_that_is_withheld_for_another_reads_as_no_small_cell() -> None:
    assert suppress_breakdown([20, 20, 5], [20, 20, "<11"], 11, made_up=45) == (
        [">10", 20, "<11"],
        False,
    )


def test_a_small_old_count_that_the_new_one_does_not_tell_leaves_it_as_it_is() -> None:
    """Of 50 that came, 45 may all be in it; of 32, eight of 40 were there before."""
    assert shown_change(8, 45, 100, 150, 11) == ("<11", 45)
    assert shown_change(8, 40, 100, 132, 11) == ("<11", ">10")


@pytest.mark.parametrize(
    ("old", "new", "sizes", "told"),
    [
        (1, 30, (100, 129), ("<11", 30)),
        (2, 31, (100, 129), ("<11", ">10")),
        (98, 98, (100, 150), (">89", ">10")),
        (0, 11, (100, 120), (0, ">10")),
        (0, 5, (100, 200), (0, "<11")),
        (95, 96, (100, 100), (">89", ">89")),
        (11, 5, (100, 100), (">10", "<11")),
    ],
)
def test_changes_worked_by_hand(
    old: int, new: int, sizes: tuple[int, int], told: tuple[int | str, int | str]
) -> None:
    assert shown_change(old, new, *sizes, MIN_CELL) == told


def test_a_line_that_is_withheld_may_be_none() -> None:
    lines: list[int | float | str | None] = [None, None, "<11"]

    assert suppress_breakdown([4, 4, 3], lines, 11, summed=[11], at_most=[8, 8, None]) == (
        lines,
        False,
    )


def test_lines_and_their_sum_worked_by_hand() -> None:
    """Of two lines in less than 11 each is less than 10; one of 3 in 4 tells the other."""
    two: list[int | float | str | None] = ["<11", "<11"]

    assert suppress_breakdown([4, 3], two, 11, summed=["<11"]) == (two, True)
    assert suppress_breakdown([3, 1], [3, "<3"], 3, exempt=[4]) == ([">0", "<3"], False)
    assert suppress_breakdown([3, 2], two, 11, exempt=[5]) == (two, False)
    assert suppress_breakdown([3, 2], two, 11, exempt=[5, 7]) == (two, False)
    assert suppress_breakdown([20, 20, 5], [20, 20, "<11"], 11, summed=[45]) == (
        [">10", 20, "<11"],
        False,
    )


def test_a_line_that_can_be_no_more_than_another_number_tells_of_the_others() -> None:
    """Of 17 in two lines the first is at most 15, so that the second is at least 2."""
    lines: list[int | float | str | None] = [">9", "<8"]

    assert suppress_breakdown([15, 2], lines, 8, made_up=17) == (lines, False)
    assert suppress_breakdown([15, 2], lines, 8, made_up=17, at_most=[16, None]) == (lines, False)
    assert suppress_breakdown([15, 2], lines, 8, made_up=17, at_most=[15, None]) == (
        [">0", "<8"],
        True,
    )


@pytest.mark.parametrize(("min_cell", "told"), [(1, 50), (2, ">47"), (11, ">32")])
def test_no_step_tells_that_all_of_a_total_are_counted(min_cell: int, told: Shown) -> None:
    all_ = {"instances": Quantity(50, "coarse", untold=(50,))}

    assert shown(all_, min_cell) == {"instances": told}


def test_a_total_is_at_least_what_is_shown_of_its_part() -> None:
    numbers = {"instances": count(30, 40), "of": count(40)}

    assert with_tight_bounds(numbers, {"instances": 30, "of": ">10"}, 11)["of"] == ">29"


def test_instances_of_groups_within_each_other_are_shown_in_steps() -> None:
    found = shown({"instances": coarse(47, 100), "few": coarse(5, 100)}, 11)

    assert found == {"instances": shown_in_steps(47, 100, 11), "few": shown_in_steps(5, 100, 11)}
    assert found["instances"] != 47


@pytest.mark.parametrize(
    ("parts", "beside", "told"),
    [
        ([3], {"summed": ["<11"]}, (["<11"], False)),
        ([3], {"summed": ["<11"], "unseen": 1}, (["<11"], True)),
        ([40, 5], {"made_up": 40, "beyond": 10}, ([40, "<11"], False)),
        ([40, 5], {"made_up": 40, "beyond": 9}, ([">10", "<11"], False)),
    ],
)
def test_lines_are_narrow_by_a_small_sum_and_by_how_far_they_can_exceed_their_union(
    parts: list[int], beside: dict[str, Any], told: tuple[list[Shown], bool]
) -> None:
    alone = [shown_count(part, [], 11) for part in parts]

    assert suppress_breakdown(parts, alone, 11, **beside) == told


@given(rate=st.floats(1e-3, 1e3), n=st.integers(1, 2_000), m=st.integers(2, 60))
def test_a_number_that_grows_with_a_count_leaves_as_many_counts_as_it_must(
    rate: float, n: int, m: int
) -> None:
    """Small counts tell none; of others one less than m are left where the step ends at one."""
    told = shown({"n": Quantity(rate * n, "proportional", (n,))}, m)["n"]
    nearby = range(max(n - 12 * m, m), n + 12 * m)
    left = [k for k in nearby if in_proportion(rate * k, k, m) == told]

    assert (told is None) == (n < m)
    assert told is None or n < 6 * m or len(left) >= m - 1


@given(st.dictionaries(st.integers(0, 20), st.one_of(st.none(), st.integers(0, 9))))
def test_rows_whose_number_is_withheld_come_last_by_their_ids(
    numbers: dict[int, int | None],
) -> None:
    rows = [{"id": place, "n": n} for place, n in numbers.items()]
    last = [{"id": place, "n": None} for place in sorted(numbers) if numbers[place] is None]

    assert withheld_last(rows, "n", "id") == [row for row in rows if row["n"] is not None] + last

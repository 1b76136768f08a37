"""What other views of the same data tell: kept, read back, put together, and not told finer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.disclosure import (
    DENOMINATOR,
    Cell,
    Known,
    Shown,
    carried,
    count,
    known_frame,
    protected,
    together,
)
from audit.policy.policy import Policy
from audit.results.findings import CheckResult, Finding, Part
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from fixtures.labelled import labelled, repeated, tree
from tests.unit.disclosure.test_earlier import release

BODY = tree("asthma flu < lung", "attack saw < heart", "lung heart < body")
DATA = labelled(
    BODY,
    repeated([(60, ["asthma"]), (50, ["flu"]), (40, ["attack"]), (30, ["asthma", "saw"])]),
    persons=True,
)
FOUND = Finding(
    check="duplicate_label",
    severity="note",
    nodes=(),
    statement="{instances} instances.",
    evidence={"instances": count(40, 150), "rows": count(90)},
    curator="",
    data_user="",
    parts=(Part(("asthma",), {"instances": count(30)}), Part(("flu",), {"instances": count(20)})),
    key=("all",),
)
AT = "duplicate_label:all"


def audited(*protected_with: AuditResult, **policy: Any) -> AuditResult:
    result = run_audit(DATA, Policy(**policy), protected_with=protected_with)
    check = CheckResult(FOUND.check, "?", 140, "instances", (FOUND,))
    return replace(result, checks=(check,))


def beside(result: AuditResult, **numbers: tuple[int, Shown]) -> dict[str, Any]:
    """The check of a result beside views that tell some of its numbers."""
    places = {
        "whole": (AT, (), "instances"),
        "line": (AT, ("flu",), "instances"),
        "checked": (FOUND.check, (), DENOMINATOR),
    }
    known = Known(numbers={places[name]: shown for name, shown in numbers.items()})
    (check,) = replace(result, known=known).shared()["checks"]
    shown: dict[str, Any] = check
    return shown


def test_a_count_of_a_finding_is_told_no_finer_than_in_another_view() -> None:
    result = audited(min_cell=11)
    alone = beside(result)
    told = beside(result, whole=(40, ">10"), line=(20, ">0"), checked=(140, ">10"))

    assert alone["findings"][0]["evidence"]["instances"] == 40
    assert [part["evidence"]["instances"] for part in alone["findings"][0]["parts"]] == [30, 20]
    assert alone["denominator"] == 140
    assert told["findings"][0]["evidence"]["instances"] == ">10"
    assert told["findings"][0]["statement"] == "At least 11 instances."
    assert [part["evidence"]["instances"] for part in told["findings"][0]["parts"]] == [30, ">0"]
    assert told["denominator"] == ">10"


def test_a_number_that_is_another_there_is_told_as_it_would_be_alone() -> None:
    result = audited(min_cell=11)

    assert beside(result, whole=(41, ">10"), line=(21, None)) == beside(result)


def test_a_view_tells_its_counts_and_those_that_it_is_protected_with() -> None:
    first = audited(min_cell=11)
    told = first.view.as_other_view()
    beyond = Known(150, 180, numbers={("other", (), "rows"): (7, "<11")})
    both = replace(first, known=beyond).view.as_other_view()

    assert told.numbers[AT, (), "instances"] == (40, 40)
    assert told.numbers[AT, ("flu",), "instances"] == (20, 20)
    assert told.numbers[FOUND.check, (), DENOMINATOR] == (140, 140)
    assert told.exact(carried("lung")) == 140
    assert both.numbers == {**told.numbers, **beyond.numbers}
    assert both.ranges == told.ranges


ids = st.tuples(
    st.sampled_from(["a:b", "ä"]), st.sampled_from([(), ("x",), ("x", "y z")]), st.just("n")
)
forms = st.one_of(st.none(), st.just(20), st.sampled_from([">10", ">0", "<30"]))
cells = st.sampled_from([carried("a"), carried("b"), Cell((("at", "a"),))])
views = st.builds(
    lambda ranges, numbers: Known(50, 60, dict.fromkeys(ranges, 6), ranges, numbers),
    st.dictionaries(cells, st.tuples(st.integers(0, 5), st.integers(6, 9))),
    st.dictionaries(ids, st.tuples(st.just(20), forms)),
)


@given(views)
def test_the_numbers_are_read_back(view: Known) -> None:
    assert Known.of(known_frame(view), view.numbers_as_json()) == view


@given(views, views)
def test_two_views_leave_what_both_leave(first: Known, second: Known) -> None:
    both = first.beside(second)

    assert both == replace(second.beside(first), numbers=both.numbers)
    for cell, (low, high) in both.ranges.items():
        told = [view.ranges[cell] for view in (first, second) if cell in view.ranges]
        assert (low, high) == (max(n for n, _ in told), min(n for _, n in told))
    for place in both.numbers:
        for view in (first, second):
            if place in view.numbers:
                left = view.no_finer(place, 20, both.numbers[place][1])
                assert left in (view.numbers[place][1], ">0")


def test_a_count_that_only_another_view_tells_is_reckoned_with() -> None:
    """The rest of the two that are told there and here is the third, which is small."""
    own = {carried("b"): 50, carried("c"): 4}
    of = replace(release({"a": 60, "b": 50, "c": 4}, 114), labels={"a": 1, "b": 2, "c": 3})
    known = Known(114, 114, {carried("a"): 60}, {carried("a"): (60, 60)})

    assert protected(own, of, 11) == {carried("b"): 50, carried("c"): "<11"}
    assert protected(own, of, 11, known) == {carried("b"): ">10", carried("c"): "<11"}


def test_what_another_view_tells_is_not_withheld_in_vain() -> None:
    """Every child is told there, so that to withhold one here protects nothing."""
    supports = {"a": 60, "b": 50, "c": 4}
    counts = {carried(node): n for node, n in supports.items()}
    of, told = release(supports, 114), {carried("a"): (60, 60), carried("b"): (50, 50)}
    known = Known(114, 114, counts, told)

    assert [*protected(counts, of, 11, known).values()] == [60, 50, "<11"]
    assert ">10" in protected(counts, of, 11).values()


def test_the_last_label_goes_with_the_smallest_that_no_other_view_tells() -> None:
    supports = {f"n{number:02}": 50 + number for number in range(30)} | {"small": 3}
    counts = {carried(node): n for node, n in supports.items()}
    known = Known(200, 1938, {carried("n00"): 50}, {carried("n00"): (50, 50)})
    told = protected(counts, release(supports, 200), 11, known)

    assert {cell.meets[0][1]: n for cell, n in told.items() if isinstance(n, str)} == {
        "n01": ">10", "small": "<11",
    }  # fmt: skip


def test_a_run_that_read_the_data_otherwise_is_refused() -> None:
    first = audited()
    half = replace(first, ledger={**first.ledger, "instances": 99})
    nodes = first.nodes.with_columns(direct=first.nodes["direct"] + 1)

    for other, told in ((half, "other instances"), (replace(first, nodes=nodes), "other counts")):
        with pytest.raises(InputError, match=told):
            audited(other)


def test_a_release_in_which_one_count_fell_does_not_hold_the_earlier_one() -> None:
    result = run_audit(
        labelled(tree("a b < top"), repeated([(9, ["a"]), (5, ["b"])]), persons=True)
    )
    release = result.release
    now = {carried(node): count for node, count in release.supports.items()}
    later = Known(release.labelled, release.assertions, now)

    def within(a: int, b: int, total: int = 10) -> bool:
        counts = {carried("a"): a, carried("b"): b}
        return Known(total, total, counts, {}).lies_within(later)

    assert within(9, 5)
    assert within(9, 5, 14)
    assert not within(9, 5, 15)
    assert not within(9, 6)
    assert not within(10, 5)


def test_a_count_that_is_not_known_is_none_unless_one_of_its_nodes_was_not_in_use() -> None:
    known = Known(10, 12, {carried("a"): 5, carried("b"): 4}, {carried("a"): (5, 5)})
    a, b, c = (carried(node) for node in "abc")

    assert (known.counted(None), known.counted(a)) == (10, 5)
    assert (known.counted(together(a, b)), known.counted(together(a, c))) == (None, 0)

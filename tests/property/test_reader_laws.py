"""Whoever reads all that may be shared can tell no withheld count, from any number or order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.base.plurals import filled
from audit.disclosure import Quantity, Shown, count, suppress_breakdown, with_tight_bounds
from audit.policy.policy import Policy
from audit.results import shared_findings as results
from audit.results.findings import Finding
from audit.results.result import AuditResult, to_json_bytes
from audit.runs.audit import run_audit
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated, tree
from fixtures.reader import drawn, mimic, out_of_order, read

FEW_BESIDE_A_LABEL = 405
"""Of 17 repeated labels at most 15 can be of one node, as many as have it."""
RELEASES = (*range(20), FEW_BESIDE_A_LABEL)


@pytest.mark.parametrize("seed", RELEASES)
def test_no_withheld_count_is_told_by_all_that_may_be_shared(seed: int) -> None:
    result = drawn(seed)

    assert list(read(result).narrowed(int(result.policy["min_cell"]))) == []
    assert list(out_of_order(result.shared())) == []


def told(seeds: Sequence[int]) -> Iterator[str]:
    for seed in seeds:
        result = drawn(seed)
        yield from read(result).narrowed(int(result.policy["min_cell"]))
        yield from out_of_order(result.shared())


@pytest.mark.slow
def test_the_reader_finds_lines_that_are_each_protected_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        results, "_beside_each_other", lambda _f, _m, known, parts, _n: [known, *parts]
    )

    assert any(told(RELEASES))


def test_the_reader_finds_an_order_by_exact_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = results._ranked_parts

    def exact(finding: Finding, *given: object) -> object:
        place = {part.nodes: n for n, part in enumerate(finding.parts)}
        return sorted(ranked(finding, *given), key=lambda one: place[one[0].nodes])  # type: ignore[arg-type]

    monkeypatch.setattr(results, "_ranked_parts", exact)

    assert any(line.startswith("parts of") for line in told(RELEASES))


@pytest.mark.skipif("AUDIT_DATA" not in os.environ, reason="needs real data: set AUDIT_DATA")
@pytest.mark.slow
def test_no_withheld_count_of_real_stays_is_told() -> None:
    result = mimic()
    reader = read(result)

    assert reader.withheld > 100
    assert list(reader.narrowed(int(result.policy["min_cell"]))) == []
    assert list(out_of_order(result.shared())) == []


# --- order ------------------------------------------------------------------------------------

FLAT = tree("a b c < left", "d e f < right", "left right < root", labelled_ancestors="fault")


def audited(small: Mapping[str, int]) -> AuditResult:
    """Each label on 40 instances: so many of them repeat it, and so many have its parent too."""
    counts = list[tuple[int, Sequence[str]]]()
    for label in "abcdef":
        parent = "left" if label in "abc" else "right"
        few = small[label]
        counts += [(few, [label, label]), (few, [label, parent]), (40 - 2 * few, [label])]
    unknown = [(small[label], [f"unknown_{label}", "a"]) for label in "def"]
    data = labelled(FLAT, repeated([*counts, *unknown]), persons=True)
    return run_audit(data, Policy(min_cell=11))


@pytest.mark.slow
@given(st.permutations([2, 3, 4, 5, 6, 7]))
@examples(15)
def test_small_counts_in_another_order_give_the_same_bytes(order: list[int]) -> None:
    """The unknown labels keep their sum, so that what is exempt does not change."""
    first = dict(zip("abcdef", order, strict=True))
    swapped = {**first, "a": first["b"], "b": first["a"], "d": first["e"], "e": first["d"]}

    assert to_json_bytes(_tables_alone(audited(first))) == to_json_bytes(
        _tables_alone(audited(swapped))
    )


def _tables_alone(result: AuditResult) -> dict[str, object]:
    shared = result.shared()
    return {"checks": shared["checks"], "overview": shared["overview"]}


# --- parts beside sums, and bounds ------------------------------------------------------------


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 3), st.integers(3, 11))
@example([30, 10, 10], 1, 11)
def test_lines_beside_their_sum_leave_each_small_one_possible(
    parts: list[int], unseen: int, m: int
) -> None:
    """Tried number by number: what each small line can be, where the lines sum to what is told.

    The smallest lines may be left out of the list; they are no larger than the last that is shown.
    """
    parts = sorted(parts, reverse=True)
    unseen = min(unseen, len(parts) - 1)
    listed = parts[: len(parts) - unseen]
    alone: list[Shown] = [f"<{m}" if part < m else part for part in listed]
    shown, narrow = suppress_breakdown(listed, alone, m, unseen=unseen, summed=[sum(parts)])
    known: list[int | None] = [None if narrow else sum(parts)]
    left_out = [(1.0, min(high for _, high in map(bounds, shown)))] * unseen
    for place, part in enumerate(listed):
        if part >= m:
            continue
        others = [bounds(one) for i, one in enumerate(shown) if i != place] + left_out
        possible = [
            n
            for n in range(1, m)
            if known[0] is None
            or sum(low for low, _ in others) <= known[0] - n <= sum(high for _, high in others)
        ]
        assert possible == list(range(1, m))


def bounds(shown: Shown) -> tuple[float, float]:
    if isinstance(shown, int):
        return shown, shown
    assert isinstance(shown, str)
    bound = int(shown[1:])
    return (1, bound - 1) if shown[0] == "<" else (bound + 1, float("inf"))


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
    st.integers(0, 2),
    st.integers(2, 11),
    st.sampled_from(["summed", "exempt", "made_up"]),
    st.integers(0, 12),
)
@examples(200)
def test_no_line_is_loosened_in_vain(
    parts: list[int], unseen: int, m: int, kind: str, repeated: int
) -> None:
    """Exact lines are withheld from the smallest, then bounds loosened, until all is possible."""
    parts = sorted(parts, reverse=True)
    unseen = min(unseen, len(parts) - 1)
    listed = parts[: len(parts) - unseen]
    total = sum(parts) - repeated * (kind == "made_up")
    whole: Any = total if kind == "made_up" else [total]
    told: list[Shown] = [f"<{m}" if part < m else part for part in listed]
    small = total < m and kind == "summed" and len(parts) > 1
    if small:
        whole = [f"<{m}"]
    steps = sorted((part, i) for i, part in enumerate(listed) if part >= m)
    expected = list(told)
    for bound, place in [
        ("", -1),
        *((f">{m - 1}", i) for _, i in steps),
        *((">0", i) for _, i in steps),
    ]:
        if place >= 0:
            expected[place] = bound
        if all_possible(expected, unseen, m, kind, total):
            break
    else:
        small = True

    shown, narrow = suppress_breakdown(listed, told, m, unseen=unseen, **{kind: whole})
    assert narrow == small
    assert narrow or shown == expected


def all_possible(shown: list[Shown], unseen: int, m: int, kind: str, total: int) -> bool:
    """Whether each line below ``m`` can be any number that a line of such a sum can be."""
    left_out = [(1.0, min(high for _, high in map(bounds, shown)))] * unseen
    most = total if kind != "made_up" else float("inf")
    freely = total - (len(shown) + unseen - 1) if kind == "exempt" else m
    for place, line in enumerate(shown):
        if line != f"<{m}":
            continue
        others = [bounds(one) for i, one in enumerate(shown) if i != place] + left_out
        low, high = (sum(ends) for ends in zip(*others, strict=True)) if others else (0.0, 0.0)
        if not all(low + n <= most and high + n >= total for n in range(1, min(m - 1, freely) + 1)):
            return False
    return True


@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 60), st.integers(2, 12))
def test_a_total_reads_as_no_less_than_what_is_shown_of_it(
    n: int, others: int, without: int, m: int
) -> None:
    """But as one less where it would read as all but few of those it is part of itself."""
    of, labelled_ = n + others, n + others + without
    evidence = {"instances": count(n, labelled_), "of": count(of, labelled_)}
    shown: dict[str, Shown] = {"instances": n, "of": f">{m - 1}"}
    raised = next(low for low in range(n, 0, -1) if low - 1 + m != labelled_) if n > m else m

    assert with_tight_bounds(evidence, shown, m, labelled_)["of"] == f">{max(raised, m) - 1}"
    assert with_tight_bounds(evidence, shown | {"of": of}, m, labelled_)["of"] == of


@given(st.integers(1, 60), st.integers(0, 60), st.integers(2, 12))
def test_a_bound_is_true_and_within_the_total_beside_it(n: int, more: int, m: int) -> None:
    of = n + more
    evidence = {"rows": count(n, of), "of": Quantity(of)}
    alone: dict[str, Shown] = {"rows": f"<{m}" if n < m else n, "of": of}
    told = with_tight_bounds(evidence, alone, m)["rows"]
    low, high = bounds(told)

    assert low <= n <= high <= of


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 40), st.integers(2, 12))
def test_no_total_reads_as_all_but_few_of_those_it_is_part_of(
    n: int, others: int, without: int, m: int
) -> None:
    """A reader takes ``>n-m`` for all but few of n: no bound that is raised may say so."""
    of, labelled_ = n + others, n + others + without
    evidence = {"instances": count(n, labelled_), "of": count(of, labelled_)}
    floor: Shown = f">{m - 1}"
    alone: dict[str, Shown] = {"instances": f">{labelled_ - m}", "of": floor}
    told = with_tight_bounds(evidence, alone, m, labelled_)["of"]

    assert told != f">{labelled_ - m}" or told == floor


def test_a_bound_is_within_a_total_printed_elsewhere_if_it_is_part_of_it() -> None:
    part, apart = ({"rows": count(3, *totals)} for totals in ((5,), ()))

    assert with_tight_bounds(part, {"rows": "<11"}, 11, 5) == {"rows": "<6"}
    assert with_tight_bounds(apart, {"rows": "<11"}, 11, 5) == {"rows": "<11"}


def test_a_headline_of_few_rows_never_passes_them() -> None:
    evidence = {"rows": count(3, 5), "of": Quantity(5)}

    told = with_tight_bounds(evidence, {"rows": "<11", "of": 5}, 11)
    assert filled("{rows} of {of} rows", told) == "Some of 5 rows"


def test_a_bound_reads_as_the_least_it_can_be() -> None:
    assert filled("{k} of {n} instances", {"k": 41, "n": ">40"}) == "41 instances"
    share: dict[str, Shown] = {"instances": ">96", "of": 100, "share": None}
    assert filled("{instances} of {of} ({share})", share) == "At least 97 of 100 (at least 97.0%)"


def test_where_one_rank_is_withheld_all_are() -> None:
    ranked, withheld, unranked = {"rank": 2, "joint": 9}, {"rank": None}, {"joint": 3}
    told = results.withhold_ranks([{"evidence": one} for one in (ranked, withheld, unranked)])

    assert told == [{"evidence": one} for one in ({"rank": None, "joint": 9}, withheld, unranked)]
    whole = [{"evidence": one} for one in (ranked, unranked)]
    assert results.withhold_ranks(whole) == whole

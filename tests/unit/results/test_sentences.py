"""What the sentence of a finding says makes up most of it, each worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit.base.declared import Columns
from audit.results.finding_lines import EXACTLY
from audit.results.findings import Finding, Part
from audit.results.view import finding_view

FOUND = Finding(
    check="duplicates",
    severity="note",
    nodes=("a",),
    statement="{instances} instances.",
    evidence={"instances": 40, "share": 0.5, "of": 150},
    curator="",
    data_user="",
    parts=(Part(("a",), {"instances": 30}), Part(("b",), {"instances": 20})),
    key=("all",),
)


def said_of(finding: Finding) -> str:
    return str(finding_view(finding, Columns(), {}, EXACTLY)["statement"])


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
    parts = tuple(Part(tuple(nodes.split()), {"instances": n}) for nodes, n in lines)
    pair = replace(
        FOUND, nodes=("a", "b"), key=(), parts=parts, statement="{instances}[, {mostly}]."
    )
    told = said_of(pair)

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
    parts = tuple(Part((node,), {"labelled": n}) for node, n in lines)
    told = said_of(replace(FOUND, parts=parts, statement="{instances}[, {mostly}]."))

    assert told == (f"40, {said}." if said else "40.")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([("c d", 7), ("c e", 6), ("d e", 6)], "such as c and d"),
        ([("c", 15), ("d", 9), ("e", 9)], "such as c and d"),
        ([("c", 3), ("d", 2)], "c and d"),
        ([("c d", 3)], "c and d"),
    ],
)
def test_a_finding_that_counts_its_lines_names_some(
    lines: list[tuple[str, int]], said: str
) -> None:
    parts = tuple(Part(tuple(nodes.split()), {"instances": n}) for nodes, n in lines)
    counting = replace(
        FOUND,
        parts=parts,
        statement="{instances}[, {mostly}].",
        evidence={**FOUND.evidence, "pairs": len(parts)},
    )

    assert said_of(counting).endswith(f", {said}.")

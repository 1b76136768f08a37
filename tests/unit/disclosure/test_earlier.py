"""A run beside its reference: what readers have of it, kept, read back, and not told anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.checks.judging import rejudged
from audit.disclosure import (
    Cell,
    Known,
    Release,
    carried,
    count,
    known_frame,
    labelled_below,
    protected,
    together,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.residual_differences import REFERENCE
from audit.policy.policy import Policy
from audit.results.findings import CheckResult, Finding
from audit.results.published_cells import reference_cells
from audit.results.result import AuditResult, to_json_bytes
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.read import read_run
from fixtures.labelled import labelled, repeated, tree

MIN_CELL = 11
BODY = tree(
    "lung heart < body",
    "asthma other_lung < lung",
    "attack other_heart < heart",
    titles={"other_lung": "Other", "other_heart": "Other"},
)
Counted = Sequence[tuple[int, Sequence[str]]]
BEFORE: Counted = [(60, ["asthma"]), (50, ["other_lung"]), (40, ["attack"]), (30, ["other_heart"])]
CAME: Counted = [(3, ["asthma"]), (50, ["other_lung"]), (40, ["attack"]), (30, ["other_heart"])]


def audited(
    counted: Counted,
    reference: AuditResult | None = None,
    hierarchy: Hierarchy = BODY,
    **policy: Any,
) -> AuditResult:
    dataset = labelled(hierarchy, repeated(counted), persons=True)
    return run_audit(dataset, Policy(**policy), reference=reference)


def tree_of(result: AuditResult) -> dict[str, Any]:
    return {row["node"]: row["instances"] for row in result.shared()["overview"]["tree"]}


OLD = audited(BEFORE)
NEW = audited([*BEFORE, *CAME], OLD)


def test_a_count_that_few_came_to_is_bounded_beside_its_reference_alone() -> None:
    alone = audited([*BEFORE, *CAME])

    assert tree_of(alone)["asthma"] == 63
    assert tree_of(OLD)["asthma"] == 60
    assert tree_of(NEW).get("asthma") in (None, ">10")


def test_a_run_judged_beside_a_reference_is_protected_like_one_made_beside_it(
    tmp_path: Path,
) -> None:
    alone = read_run(write_run(audited([*BEFORE, *CAME]), tmp_path / "run"))
    beside = rejudged(alone, Policy(), today=date(2030, 1, 1), reference=OLD)
    again = rejudged(beside, Policy(), today=date(2030, 1, 1))

    assert tree_of(beside) == tree_of(NEW)
    assert tree_of(again) == tree_of(alone)


def test_a_run_read_back_gives_the_same_bytes(tmp_path: Path) -> None:
    run = write_run(NEW, tmp_path / "run")
    back = read_run(run)

    assert to_json_bytes(back.shared()) == (run / "result.json").read_bytes()
    assert back.known == NEW.known
    assert back.known.earlier


def test_a_reference_of_another_hierarchy_is_none_to_protect_against(tmp_path: Path) -> None:
    other = tree("lung heart < body", "asthma flu < lung", "attack < heart")
    new = audited([(60, ["asthma"]), (50, ["attack"])], OLD, other)

    assert new.known.earlier == ()
    assert read_run(write_run(new, tmp_path / "run")).known.earlier == ()


def test_residual_counts_of_other_residual_nodes_are_left_out() -> None:
    new = audited([*BEFORE, *CAME], OLD, specific_nodes=["other_lung"])

    assert NEW.known.earlier
    assert new.known.earlier
    scopes, left = (
        {scope for cell in run.counts for scope, _ in cell.misses}
        for run in (NEW.known.earlier[0], new.known.earlier[0])
    )
    assert "specific" in scopes
    assert "specific" not in left


names = st.sampled_from(["a", "b:c", "d e", "ä"])
sets = st.tuples(
    st.sampled_from(["at", "below", "strictly_below", "specific", "informative"]), names
)
cells = st.builds(
    Cell,
    st.lists(sets, min_size=1, max_size=2).map(tuple),
    st.lists(sets, max_size=1).map(tuple),
    st.booleans(),
    st.booleans(),
)


@given(st.dictionaries(cells, st.integers(0, 99)), st.sets(st.integers(0, 9)))
def test_the_table_tells_all_of_it(counts: dict[Cell, int], published: set[int]) -> None:
    ranges = {c: (n, n + 7) for i, (c, n) in enumerate(counts.items()) if i in published}
    earlier = Known(500, 700, counts, ranges)

    assert Known.of(known_frame(earlier)) == earlier
    assert Known.of(known_frame(None)) is None


def release(supports: Mapping[str, int], labelled: int) -> Release:
    return Release(
        labelled=labelled,
        assertions=sum(supports.values()),
        parents=dict.fromkeys(supports, ()),
        supports=dict(supports),
        labels=dict.fromkeys(supports, 0),
        residual=frozenset(),
    )


def test_where_instances_were_taken_away_each_count_is_still_protected() -> None:
    then = {carried("a"): 60, carried("b"): 50, carried("c"): 90, carried("d"): 40}
    earlier = Known(240, 240, then, {cell: (n, n) for cell, n in then.items()})
    now = {"a": 55, "b": 50, "c": 120, "d": 60}
    counts = {carried(node): n for node, n in now.items()}
    alone = protected(counts, release(now, 285), MIN_CELL)
    told = protected(counts, release(now, 285), MIN_CELL, Known(earlier=(earlier,)))

    assert alone == counts
    assert (told[carried("a")], told[carried("c")]) == (">10", 120)


def test_what_the_earlier_release_knows_in_part_is_no_small_count_of_it() -> None:
    """All with ``a`` have ``b`` too; how many had both is not known, only that four had ``a``."""
    then = {carried("a"): 4, carried("b"): 100, carried("c"): 100}
    ranges = {cell: (1, 10) if n < MIN_CELL else (n, n) for cell, n in then.items()}
    counts = {carried("a"): 60, carried("b"): 200, carried("c"): 150}
    counts[together(carried("a"), carried("b"))] = 60
    supports = {cell.meets[0][1]: n for cell, n in counts.items() if len(cell.meets) == 1}
    told = protected(
        counts, release(supports, 350), MIN_CELL, Known(earlier=(Known(200, 204, then, ranges),))
    )

    assert told == counts


def test_an_earlier_release_that_cannot_be_is_no_reason_to_withhold() -> None:
    """The totals fit one within the other, the counts contradict each other."""
    then = {carried("a"): 60, carried("b"): 60}
    earlier = Known(70, 70, then, {carried("a"): (60, 60), carried("b"): (60, 60)})
    now = {"a": 100, "b": 100, "c": 8}
    counts = {carried(node): n for node, n in now.items()}
    alone = protected(counts, release(now, 208), MIN_CELL)

    assert protected(counts, release(now, 208), MIN_CELL, Known(earlier=(earlier,))) == alone


FROM_REFERENCE = Finding(
    check="residual_overuse",
    severity="note",
    nodes=("lung",),
    statement="{instances} of {of}; there {elsewhere} of {of_elsewhere}.",
    evidence={
        "instances": count(100, 200),
        "of": count(213, 500),
        "elsewhere": count(50, 110),
        "of_elsewhere": count(110),
    },
    curator="",
    data_user="",
    key=("lung", REFERENCE, ""),
)


def with_finding(result: AuditResult, finding: Finding) -> AuditResult:
    check = CheckResult(finding.check, "?", 1, "x", (finding,))
    return replace(result, checks=(check,))


def evidence_of(result: AuditResult) -> dict[str, Any]:
    evidence: dict[str, Any] = result.shared()["checks"][0]["findings"][0]["evidence"]
    return evidence


def test_counts_of_the_reference_are_told_where_it_told_them() -> None:
    told = evidence_of(with_finding(NEW, FROM_REFERENCE))
    assert (told["elsewhere"], told["of_elsewhere"]) == (50, 110)

    assert NEW.known.earlier
    hidden = {c: e for c, e in NEW.known.earlier[0].ranges.items() if c != labelled_below("lung")}
    without = replace(NEW, known=Known(earlier=(replace(NEW.known.earlier[0], ranges=hidden),)))
    told = evidence_of(with_finding(without, FROM_REFERENCE))
    assert (told["elsewhere"], told["of_elsewhere"]) == (50, None)
    told = evidence_of(with_finding(replace(NEW, known=Known()), FROM_REFERENCE))
    assert (told["elsewhere"], told["of_elsewhere"]) == (None, None)


def residual_difference(result: AuditResult) -> dict[str, Any]:
    """Evidence that the residual share below ``lung`` differs from the reference's."""
    findings = (one for check in result.shared()["checks"] for one in check["findings"])
    of_lung = (one for one in findings if [node["id"] for node in one["nodes"]] == ["lung"])
    (evidence,) = (one["evidence"] for one in of_lung if "of_elsewhere" in one["evidence"])
    return dict(evidence)


def test_a_run_judged_with_another_reference_tells_nothing_of_that_beside_a_difference() -> None:
    """The difference was found from the first one."""

    def of(specific: int, residual: int, reference: AuditResult | None = None) -> AuditResult:
        counted = [(specific, ["asthma"]), (residual, ["other_lung"]), (40, ["attack"])]
        return audited(counted, reference)

    first = of(200, 40)
    run = of(100, 300, first)
    beside = residual_difference(run)
    assert (beside["elsewhere"], beside["of_elsewhere"]) == (40, 240)
    assert beside["elsewhere_share"] == 40 / 240

    def judged_with(reference: AuditResult | None) -> dict[str, Any]:
        return residual_difference(
            rejudged(run, Policy(), today=date(2030, 1, 1), reference=reference)
        )

    assert judged_with(first) == beside
    of_reference = {name for name in beside if "elsewhere" in name or "difference" in name}
    assert len(of_reference) == 6
    for other in (of(150, 90), of(180, 60), None):
        told = judged_with(other)
        assert {told[name] for name in (*of_reference, "q_value")} == {None}
        assert (told["instances"], told["of"]) == (300, 400)


def test_only_a_difference_from_the_reference_tells_of_it() -> None:
    assert reference_cells("residual_overuse", FROM_REFERENCE.key)
    assert not reference_cells("residual_overuse", ("lung", REFERENCE, "a"))
    assert not reference_cells("residual_overuse", ())


@pytest.mark.parametrize(
    ("then", "now", "shown"),
    [
        ((60, 1000), (100, 1100), 100),
        ((60, 1000), (65, 1100), ">10"),
        ((60, 1000), (160, 1103), ">10"),
    ],
)
def test_counts_of_groups_are_held_against_those_told_before(
    then: tuple[int, int], now: tuple[int, int], shown: int | str
) -> None:
    def found(groups: int, of: int) -> Finding:
        return replace(
            FROM_REFERENCE,
            check="split_leak",
            statement="{groups}",
            key=("train", "test"),
            evidence={"groups": count(groups, of), "of": count(of)},
        )

    from audit.checks.earlier import remembered

    before = with_finding(OLD, found(*then))
    after = replace(with_finding(NEW, found(*now)), reference=remembered(before, MIN_CELL))
    assert evidence_of(after)["groups"] == shown

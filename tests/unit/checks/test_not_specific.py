"""not_specific: labels at headings of a complete list, never an assignable code."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl
import pytest

from audit.base.plurals import filled
from audit.checks.judging import rejudged
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.built_in import ICD9CM_NODES
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.statements import Spell, Threshold
from audit.results.findings import Finding
from audit.results.result import AuditResult
from audit.results.since import SHALLOWER
from audit.runs.audit import run_audit
from fixtures.checked import CHECK_OF
from fixtures.coded import SPELLS, icd9cm, measured, on_days
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["not_specific"]


def test_a_label_at_a_heading_is_a_note() -> None:
    labels = {"a": ["0414", "2765", "4019"], "b": ["0414", "585"], "c": ["486", "N/A"]}
    found = CHECK.run(measured({"diagnoses": labels}))
    (finding,) = found.findings

    assert (finding.id, finding.severity) == ("not_specific:diagnoses", "note")
    assert (found.denominator, found.denominator_unit) == (7, "rows")
    assert finding.evidence == {
        "rows": 4, "of": 7, "share": 4 / 7, "labels": 3, "once_valid": 3,
    }  # fmt: skip
    assert [part.nodes for part in finding.parts] == [("041.4",), ("276.5",), ("585",)]
    assert "that version 32 (FY2015) divides into more specific ones" in finding.statement


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["0414"], "1 of them was a complete code in an earlier edition."),
        (["0414", "2765"], "2 of them were complete codes in an earlier edition."),
        (["0414", "427"], "1 of them was a complete code in an earlier edition."),
        (["276", "427"], "0 of them were complete codes in an earlier edition."),
    ],
)
def test_it_says_whether_a_heading_was_a_code_of_an_earlier_edition(
    labels: list[str], said: str
) -> None:
    found = CHECK.run(measured({"diagnoses": {"a": labels}}))
    (finding,) = found.findings
    assert filled(finding.statement, {**finding.evidence, "mostly": "041.4"}).endswith(f"; {said}")


@pytest.fixture(scope="module")
def published() -> pl.DataFrame:
    return pl.read_csv(gzip.decompress(ICD9CM_NODES.read_bytes()), infer_schema=False)


def one_each(codes: pl.Series) -> dict[str, list[str]]:
    return {f"i{number:05}": [code] for number, code in enumerate(codes)}


@pytest.mark.slow
def test_no_assignable_code_of_the_list_is_ever_found(published: pl.DataFrame) -> None:
    codes = published.filter(pl.col("assignable") == "true")["node"]

    assert codes.str.len_chars().eq(3).sum() > 50
    assert CHECK.run(measured({"diagnoses": one_each(codes)})).status == "pass"


def test_every_heading_of_the_list_is_found(published: pl.DataFrame) -> None:
    shape = r"^(?:\d{3}|V\d{2}|E\d{3})(?:\.\d)?$"
    headings = published.filter(
        (pl.col("assignable") == "false") & pl.col("node").str.contains(shape)
    )["node"]
    (finding,) = CHECK.run(measured({"diagnoses": one_each(headings)})).findings

    assert finding.evidence["rows"] == len(headings) > 1000


def test_a_range_as_a_label_is_a_heading_too() -> None:
    (finding,) = CHECK.run(measured({None: {"a": ["390-459", "4019"]}})).findings

    assert finding.nodes == ("390-459",)


def test_an_unlisted_code_below_a_code_makes_it_no_heading() -> None:
    assert CHECK.run(measured({"diagnoses": {"a": ["4019", "40199"]}})).status == "pass"


def test_procedures_are_told_apart_and_only_with_a_list() -> None:
    tables = {"procedures": {"a": ["360", "3606"]}, "diagnoses": {"a": ["585"]}}
    diagnoses_alone = replace(icd9cm(), complete_tables=frozenset({"diagnoses"}))
    with_list = CHECK.run(measured(tables)).findings
    without = CHECK.run(measured(tables, diagnoses_alone)).findings

    assert [finding.id for finding in with_list] == [
        "not_specific:diagnoses",
        "not_specific:procedures",
    ]
    assert [finding.id for finding in without] == ["not_specific:diagnoses"]


def test_it_does_not_apply_to_one_node() -> None:
    edges = pl.DataFrame(schema={"child": pl.String, "parent": pl.String})
    single = Hierarchy.build(edges, pl.DataFrame({"node": ["only"]}), name="one")
    found = CHECK.run(measure(labelled(single, {"a": ["only"]}), Policy()))

    assert "one node" in found.not_applicable
    assert CHECK.run(measured({"diagnoses": {"a": []}})).status == "pass"


# --- roots, of any hierarchy --------------------------------------------------------------------

TERMS = tree("a b c d < part", "e f < process", "part process < top", "other < top")


def test_instances_with_no_label_but_a_root_are_told() -> None:
    labels = {"i": ["top"], "j": ["top", "part"], "k": ["top", "a"], "l": ["process"], "m": []}
    found = CHECK.run(measure(labelled(TERMS, labels), Policy()))
    (finding,) = found.findings

    assert (finding.id, finding.severity) == ("not_specific:uninformative", "note")
    assert finding.evidence == {
        "instances": 2, "labelled": 4, "instances_share": 0.5,
    }  # fmt: skip
    assert [(p.nodes, p.evidence["labelled"]) for p in finding.parts] == [
        (("top",), 3),
        (("part",), 1),
    ]


def test_of_several_roots_those_are_that_leave_more_open_than_they_say() -> None:
    """Of seven leaves three or more: a root above one or two, as a paper bag, says what it is."""
    roots = tree("a b < part", "c d e < process", "g h < function")
    labels = {"i": ["process"], "j": ["part", "process"], "k": ["function"], "l": ["process", "g"]}
    measured_roots = measure(labelled(roots, labels), Policy())
    (finding,) = CHECK.run(measured_roots).findings

    assert finding.evidence["instances"] == 1
    assert "have no label but process" in finding.statement.replace("{instances|has|have}", "have")
    assert CHECK.cases
    assert CHECK.cases(measured_roots, finding).tolist() == [0]


def test_specific_labels_alone_pass() -> None:
    found = CHECK.run(measure(labelled(TERMS, {"i": ["top", "a"], "j": ["process"]}), Policy()))

    assert (found.status, found.denominator) == ("pass", 3)


def test_with_a_complete_list_headings_are_told_once() -> None:
    (finding,) = CHECK.run(measured({"diagnoses": {"a": ["001-999"]}})).findings

    assert finding.id == "not_specific:diagnoses"


# --- with code dates ----------------------------------------------------------------------------


def test_a_heading_is_judged_on_its_day() -> None:
    """585 was valid to September 2005, 585.6 from then to September 2015.

    i1: in time. i2, i3: late, with 585.6 valid below it. i4: later than both, told by another
    check. i5: no day. i6: 250.9 is a heading of the list, and has no dates.
    """
    found = CHECK.run(
        on_days(
            ("i1", "585", "2005-09-30"), ("i2", "585", "2005-10-01"), ("i3", "585", "2015-09-30"),
            ("i4", "585", "2015-10-01"), ("i5", "585", None), ("i6", "2509", "2010-01-01"),
            spells=SPELLS,
        )
    )  # fmt: skip
    on_day, listed = found.findings

    assert (on_day.id, on_day.severity) == ("not_specific:on%20their%20day", "warning")
    assert on_day.evidence == {
        "rows": 2, "of": 4, "share": 0.5, "labels": 1, "column": "day", "not_dated": 2,
    }  # fmt: skip
    assert on_day.nodes == ("585",)
    assert on_day.parts[0].evidence["valid"] == "1979-01-01 to 2005-09-30"
    assert (listed.id, listed.severity, set(listed.nodes)) == (
        "not_specific:diagnoses",
        "note",
        {"585", "250.9"},
    )
    assert listed.evidence == {
        "rows": 2, "of": 6, "share": 2 / 6, "labels": 2, "not_dated": 2, "once_valid": 1,
    }  # fmt: skip
    assert (found.denominator, found.status) == (6, "warn")


def test_a_retired_code_below_makes_a_heading_of_its_day() -> None:
    """250.94 stands in no list, and was valid in 2004."""
    spells = (Spell("250.9", date(2006, 1, 1), None), Spell("250.94", None, date(2005, 9, 30)))
    (finding,) = CHECK.run(on_days(("i", "2509", "2004-01-01"), spells=spells)).findings

    assert finding.severity == "warning"


def test_every_row_valid_on_its_day_passes() -> None:
    spells = (Spell("585", None, None),)

    assert CHECK.run(on_days(("i", "585", "2010-01-01"), spells=spells)).status == "pass"


# --- against a reference ------------------------------------------------------------------------

SIDES = tree(
    "a b c d < body",
    *(f"{side}1 {side}2 {side}3 {side}4 < {side}" for side in "abcd"),
    labelled_ancestors="allowed",
)


def release(
    seed: int,
    *,
    cut: float = 0,
    instances: int = 300,
    visits: int = 1,
    hierarchy: Hierarchy = SIDES,
) -> LabelDataset:
    """Instances with one to four labels, a tenth of them at inner nodes.

    A share of those in one half of the hierarchy is cut to the parents. Persons with several visits
    have habits of their own.
    """
    rng, labels, groups, habit = np.random.default_rng(seed), {}, {}, 0.1
    for n in range(instances):
        own, name = set(), f"i{n:04}"
        habit = habit if n % visits else float(rng.beta(1, 9))
        for _ in range(rng.integers(1, 5)):
            side, leaf = "abcd"[rng.integers(4)], rng.integers(1, 5)
            open_ = rng.random() < (habit if visits > 1 else 0.1)
            own.add(side if open_ or (side in "ab" and rng.random() < cut) else f"{side}{leaf}")
        labels[name], groups[name] = sorted(own), f"p{n // visits}"
    return labelled(hierarchy, labels, groups=groups if visits > 1 else None)


def losses(result: AuditResult) -> list[Finding]:
    found = (finding for check in result.checks for finding in check.standing)
    return [finding for finding in found if (finding.check, finding.key) == SHALLOWER]


def test_labels_cut_to_their_parents_in_one_half_are_told() -> None:
    before, now = release(1), release(2, cut=0.9)
    reference = run_audit(before)
    (finding,) = losses(run_audit(now, reference=reference))
    told = finding.evidence
    depths = [np.asarray(of.direct.sum(axis=0)) for of in (now, before)]
    means = [float(n @ SIDES.depth / n.sum()) for n in depths]

    assert (finding.id, finding.severity) == ("not_specific:shallower", "note")
    assert finding.nodes == ("body",)
    assert [told["depth"], told["depth_before"]] == pytest.approx(means)
    assert told["lost"] == pytest.approx(means[1] - means[0])
    assert 0.25 < told["lost_low"] < told["lost"] < told["lost_high"] < 0.55
    assert (told["family"], told["limit"]) == (1, 0.25)
    assert "more general than in the reference" in finding.statement


@pytest.mark.slow
def test_a_release_of_the_same_law_is_seldom_told_and_itself_never() -> None:
    """Of 40 pairs two at most; the limit is set to nothing, so that chance alone decides."""
    any_loss = Policy(depth_loss=Threshold(value=0, reason="Any."))
    told = 0
    for seed in range(40):
        before, now = (release(n, instances=120, visits=4) for n in (seed, 1000 + seed))
        reference = run_audit(before)
        told += len(losses(run_audit(now, any_loss, reference=reference)))
        assert losses(run_audit(before, any_loss, reference=reference)) == []

    assert told <= 2


def test_a_loss_within_the_limit_or_a_gain_is_silent() -> None:
    reference = run_audit(release(1))
    wide = Policy(depth_loss=Threshold(value=0.6, reason="Ours."))

    assert losses(run_audit(release(2, cut=0.9), wide, reference=reference)) == []
    assert losses(run_audit(release(2), reference=run_audit(release(1, cut=0.9)))) == []


def test_visits_of_few_persons_are_not_more_evidence() -> None:
    """Twelve persons, half of whom have all labels cut: told as visits, and not as persons."""
    labels = {
        f"i{n:03}": ["a", "b"] if person % 2 else ["a1", "b2"]
        for n, person in enumerate(np.repeat(np.arange(12), 20).tolist())
    }
    groups = {instance: f"p{n // 20}" for n, instance in enumerate(labels)}
    before = {name: ["a1", "b2"] if n % 4 else ["a", "b"] for n, name in enumerate(labels)}
    reference = run_audit(labelled(SIDES, before))
    alone, grouped = labelled(SIDES, labels), labelled(SIDES, labels, groups=groups)
    few = Policy(depth_loss=Threshold(value=0.2, reason="Ours."))

    assert len(losses(run_audit(alone, few, reference=reference))) == 1
    assert losses(run_audit(grouped, few, reference=reference)) == []


def test_another_hierarchy_few_labels_and_one_depth_are_not_compared() -> None:
    others = tree(
        "a b c d e < body",
        *(f"{side}1 {side}2 {side}3 {side}4 < {side}" for side in "abcd"),
        labelled_ancestors="allowed",
    )
    reference = run_audit(release(1))
    flat = tree(" ".join(f"leaf{n}" for n in range(9)) + " < top")

    def of_flat(first: int) -> LabelDataset:
        return labelled(flat, {f"i{n:03}": [f"leaf{(n + first) % 9}"] for n in range(90)})

    assert losses(run_audit(release(2, cut=0.9, hierarchy=others), reference=reference)) == []
    few = labelled(SIDES, {"i": ["a"], "j": []})
    assert losses(run_audit(few, reference=reference)) == []
    assert losses(run_audit(release(2, cut=0.9), reference=run_audit(few))) == []
    assert losses(run_audit(of_flat(1), reference=run_audit(of_flat(0)))) == []


def test_its_cases_lie_less_deep_than_the_reference() -> None:
    now = labelled(
        SIDES,
        {f"i{n:03}": [["a"], ["a1"], ["a", "b1"], []][n % 4] for n in range(80)},
    )
    reference = run_audit(labelled(SIDES, {f"i{n:03}": ["a1", "b1"] for n in range(80)}))
    result = run_audit(now, reference=reference)
    (finding,) = losses(result)

    assert result.cases is not None
    cases = result.cases.filter(pl.col("finding") == finding.id).collect()["instance"].to_list()
    assert cases == [f"i{n:03}" for n in range(80) if n % 4 in (0, 2)]


def test_a_stricter_limit_drops_it_without_counting() -> None:
    result = run_audit(release(2, cut=0.9), reference=run_audit(release(1)))
    stricter = Policy(depth_loss=Threshold(value=0.6, reason="Ours."))

    assert losses(rejudged(result, stricter, today=date(2026, 1, 1))) == []
    assert len(losses(rejudged(result, Policy(), today=date(2026, 1, 1)))) == 1


def test_what_is_lost_once_more_is_not_known() -> None:
    first = run_audit(release(1))
    half = run_audit(release(2, cut=0.9), reference=first)
    labels = {f"i{n:03}": ["a", "b"] for n in range(300)}
    (finding,) = losses(run_audit(labelled(SIDES, labels), reference=half))

    assert len(losses(half)) == 1
    assert not finding.judgement.known

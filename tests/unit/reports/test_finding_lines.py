"""What is told of one finding: in its line, and below it."""

from __future__ import annotations

from typing import Any

import pytest

from audit._reports.chapters.finding_lines import PARTS, evidence_lines, finding_line
from audit._reports.chapters.findings_by_check import blocks
from audit._reports.chapters.tables import waivers_table
from audit._reports.words.parts import Bar, FindingLine, Node, PartLine
from audit._reports.words.words import UNDEFINED
from fixtures import results


def lines(checks: Any) -> list[FindingLine]:
    """The findings of all blocks."""
    return [one for block in blocks(checks) for one in block.findings]


def test_first_sentence_is_the_headline() -> None:
    found = lines(results.sample_result().shared()["checks"])
    watched = next(one for one in found if "V code" in one.headline)
    assert watched.headline == "About 425 of 4,000 instances carry a disease beside a V code."
    assert watched.explanation.startswith("The guidelines ask")


@pytest.mark.parametrize(
    ("n", "left_out", "more"), [(1, False, False), (1, True, True), (6, False, True)]
)
def test_a_few_parts_stand_with_their_numbers(n: int, left_out: bool, more: bool) -> None:
    check = own_check({"instances": 610, "of": 840}, [])
    part = {"nodes": [{"id": "285", "title": None}], "evidence": {"instances": 590, "of": 840}}
    check["findings"][0] |= {"parts": [part] * n, "more_parts": left_out}
    (found,) = lines([check])
    told = PartLine((Node("285"),), "instances: 590 of 840")
    assert found.parts == (told,) * min(n, PARTS)
    assert found.more_parts == more


def test_a_waived_finding_stands_last_and_names_its_owner() -> None:
    checks = results.judged_result().shared()["checks"]
    found = [one.findings for one in blocks(checks)]
    (block,) = [some for some in found if any("waived" in one.badge.word for one in some)]
    *others, last = block
    assert last.badge.word == "Note, waived"
    assert "Waived by Coding office until 2031-01-01: Agreed with" in last.explanation
    assert not any("waived" in one.badge.word for one in others)


def test_what_was_decided_on_a_finding_stands_on_it() -> None:
    (check,) = (
        one for one in results.judged_result().shared()["checks"] if one["name"] == "cross_branch"
    )
    (waived,) = (one for one in check["findings"] if one["waiver"])
    promise = {"owner": "Ward 7", "reason": "Ask the coders.", "expires": "2031-01-01"}
    accepted = {**waived, "waiver": {**promise, "decision": "accepted"}}
    to_fix = {**waived, "waiver": None, "to_fix": promise}
    (first, second) = lines([{**check, "findings": [to_fix, accepted]}])

    assert first.badge.word == "Note, to be fixed"
    assert "Ward 7 is to fix this by 2031-01-01: Ask the coders." in first.explanation
    assert second.badge.word == "Note, accepted"
    assert "Accepted by Ward 7 until 2031-01-01: Ask the coders." in second.explanation


def test_a_waiver_says_in_words_what_was_decided() -> None:
    stated = {"check": "a_check", "owner": "Office", "expired": False, "used": 2}
    told = waivers_table([{**stated, "decision": "to_fix"}])

    assert told is not None
    assert "to be fixed" in told.rows[0]


def test_a_known_finding_says_so() -> None:
    found = lines(results.judged_result().shared()["checks"])
    (known,) = [one for one in found if one.badge.word == "Warning, known"]
    assert known.id.startswith("unknown_code")
    assert known.explanation.endswith("The reference run has this finding too, and no worse.")


def test_bounds_stand_beside_their_number_and_totals_beside_their_count() -> None:
    evidence = {
        "ratio": 2.5, "ratio_low": 2.0, "ratio_high": 3.0,
        "elsewhere": 20, "of_elsewhere": 200, "elsewhere_share": 0.1,
    }  # fmt: skip

    assert tuple(evidence_lines(evidence)) == (
        ("times the expectation", "2.50 (2.00 to 3.00)"),
        ("elsewhere", "20 of 200"),
        ("share elsewhere", "10.0%"),
    )


def test_a_number_without_its_bounds_stands_alone() -> None:
    evidence = {"ratio": 2.5, "ratio_low": None, "ratio_high": None}

    assert tuple(evidence_lines(evidence)) == (("times the expectation", "2.50"),)


def test_what_the_line_has_is_not_repeated_below_it() -> None:
    checks = results.sample_result().shared()["checks"]
    found = [one for one in lines(checks) if one.id.startswith("residual_overuse")]

    assert found
    for one in found:
        told, cells = {name for name, _ in one.numbers}, dict(one.cells)
        assert told.isdisjoint({"95% interval", "instances"})
        share = next(cell for name, cell in one.cells if name.startswith("Share"))
        assert isinstance(share, Bar) or share == UNDEFINED
        assert " of " in str(cells["Instances"])


def test_no_interval_stands_beside_a_share_outside_it() -> None:
    given = {"shows": "share", "heading": "Share", "low": "low", "high": "high"}
    for low, high, told in ((0.2, 0.4, "20.0% to 40.0%"), (0.31, 0.4, "")):
        evidence = {"share": 0.3, "low": low, "high": high}
        (found,) = lines([own_check(evidence, [given])])
        bar = found.cells[0][1]
        assert isinstance(bar, Bar)
        assert (bar.text, bar.interval) == ("30.0%", told)


def test_a_check_without_columns_has_a_table_of_sentences_with_share_and_count() -> None:
    (found,) = lines([own_check({"instances": 3, "of": 10, "share": 0.3}, [])])
    assert [(name, getattr(cell, "text", cell)) for name, cell in found.cells] == [
        ("Finding", "3 of 10 are odd."),
        ("Share", "30.0%"),
        ("Instances", "3 of 10"),
    ]


def own_check(evidence: dict[str, Any], columns: list[dict[str, str]]) -> dict[str, Any]:
    """A check of one's own with one finding."""
    check = next(c for c in results.sample_result().shared()["checks"] if c["findings"])
    finding = check["findings"][0] | {"nodes": [], "parts": [], "evidence": evidence}
    told = finding | {"statement": "3 of 10 are odd."}
    made: dict[str, Any] = check | {"name": "odd", "columns": columns, "findings": [told]}
    return made


def test_a_node_without_title_stands_under_the_nearest_one_with_a_title() -> None:
    check = next(c for c in results.sample_result().shared()["checks"] if c["findings"])
    finding = check["findings"][0] | {"nodes": [{"id": "414.0", "title": None}], "parts": []}
    finding["statement"] = "10 of 20 instances carry 414.0."
    above = {"414.0": {"node": "414.0", "above": ["390-459", "414"], "below": "Heart disease"}}

    one = finding_line(finding, [{"heading": "Node", "shows": "node"}], "a", above=above)

    assert one.cells == (("Node", Node("414.0", "", "Heart disease")),)
    assert one.lineage == ("414.0", "390-459", "414")

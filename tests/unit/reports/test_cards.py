"""Which findings lead, and how a statement is set."""

from __future__ import annotations

from collections import Counter

from fixtures import results
from reports.chapters.cards import (
    LEADING,
    PER_CHECK,
    card,
    cards,
    evidence_lines,
    introduction,
    leading,
    more,
)
from reports.words.words import SEVERITIES


def test_the_worst_severity_leads_and_no_check_hides_the_others() -> None:
    first, rest = leading(cards(results.big_result(checks=4).shared()["checks"], {}))
    severities = [SEVERITIES.index(card.badge.word.lower()) for card in first]
    assert severities == sorted(severities)
    assert len(first) == LEADING
    assert max(Counter(card.check for card in first).values()) <= PER_CHECK
    assert len(first) + len(rest) == 4 * 20


def test_every_other_finding_stands_with_its_check() -> None:
    _, rest = leading(cards(results.big_result(checks=4).shared()["checks"], {}))
    groups = more(rest)
    assert sum(len(group.cards) for group in groups) == len(rest)
    assert all({card.check for card in group.cards} == {group.check} for group in groups)
    assert all(len(group.table.rows) == len(group.cards) for group in groups)


def test_introduction_counts_what_is_left_out() -> None:
    checks = results.big_result(checks=4).shared()["checks"]
    told = introduction(checks, 20, 60)
    assert "Here are 20 of 80, at most 8 of each check" in told
    assert "folded into them: 6 more" in told
    assert "only counted: 80" in told


def test_first_sentence_is_the_headline() -> None:
    found = cards(results.sample_result().shared()["checks"], {})
    watched = next(card for card in found if "V code" in card.headline)
    assert watched.headline == "430 of 4,000 instances carry a disease beside a V code."
    assert watched.explanation.startswith("The guidelines ask")


def test_pairs_stand_in_two_columns() -> None:
    found = cards(results.sample_result().shared()["checks"], {})
    parts = found[0].parts
    assert parts is not None
    assert [column.heading for column in parts.columns] == ["Node", "With", "Instances with both"]


def test_a_waived_finding_stands_last_and_names_its_owner() -> None:
    *others, last = cards(results.judged_result().shared()["checks"], {})
    assert last.badge.word == "Note, waived"
    assert "Waived by Coding office until 2031-01-01: Agreed with" in last.explanation
    assert not any("waived" in card.badge.word for card in others)


def test_a_known_finding_says_so() -> None:
    found = cards(results.judged_result().shared()["checks"], {})
    (known,) = [card for card in found if card.badge.word == "Warning, known"]
    assert known.check == "unknown_code"
    assert known.explanation.endswith("The reference run has this finding too, and no worse.")


def test_bounds_stand_beside_their_number_and_totals_beside_their_count() -> None:
    evidence = {
        "ratio": 2.5, "ratio_low": 2.0, "ratio_high": 3.0,
        "elsewhere": 20, "of_elsewhere": 200, "elsewhere_share": 0.1,
    }  # fmt: skip

    assert evidence_lines(evidence) == (
        ("times the expectation", "2.50 (2.00 to 3.00)"),
        ("elsewhere", "20 of 200"),
        ("share elsewhere", "10.0%"),
    )


def test_a_number_without_its_bounds_stands_alone() -> None:
    evidence = {"ratio": 2.5, "ratio_low": None, "ratio_high": None}

    assert evidence_lines(evidence) == (("times the expectation", "2.50"),)


def test_nodes_that_the_breakdown_lists_are_not_listed_twice() -> None:
    shared = results.sample_result().shared()
    findings = [f for check in shared["checks"] for f in check["findings"] if f["parts"]]
    finding = findings[0] | {"nodes": [findings[0]["parts"][0]["nodes"][0]]}

    assert card(finding, shared["checks"][0], "a", {}).nodes == ()
    assert card(
        findings[0] | {"nodes": [{"id": "x", "title": None}]}, shared["checks"][0], "a", {}
    ).nodes

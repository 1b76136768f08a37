"""JUnit files: held to the schemas' rules, whole, and true to the outcome."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest
from hypothesis import given

from audit.base.errors import InputError, OutputError, printable
from audit.cli.ci_output import junit_bytes, refuse_no_file, write_junit
from audit.cli.options import Severity
from audit.cli.outcomes import Case, Outcome, Statement, of_audit, of_comparison
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import compare_runs
from fixtures.labelled import labelled, repeated, tree
from fixtures.results import hostile_result, judged_result, rich_result
from tests.unit.cli.drawn import outcomes
from tests.unit.cli.junit_rules import broken_rules

TAG = {"failed": "failure", "crashed": "error", "skipped": "skipped"}


@given(outcomes)
def test_a_file_breaks_no_rule_of_the_schemas(outcome: Outcome) -> None:
    assert broken_rules(junit_bytes(outcome)) == []


@given(outcomes)
def test_every_case_says_its_state_and_its_sentences(outcome: Outcome) -> None:
    (suite,) = ElementTree.fromstring(junit_bytes(outcome))
    written = suite.findall("testcase")

    assert [case.get("name") for case in written] == [case.name for case in outcome.cases]
    for case, element in zip(outcome.cases, written, strict=True):
        states = [child.tag for child in element]
        assert states == ([] if case.state == "passed" else [TAG[case.state]])
        if case.state != "passed":
            assert element[0].get("message") == printable(case.statements[0].sentence)
        if case.state in ("failed", "crashed"):
            assert element[0].text is not None
            assert element[0].text.count("error: ") >= sum(
                one.severity == "error" for one in case.statements
            )


@pytest.mark.parametrize("fail_on", get_args(Severity))
def test_a_case_fails_as_the_exit_status_says(fail_on: Severity) -> None:
    shared = rich_result().shared()
    outcome = of_audit("run", shared, fail_on)
    failing = {"fail"} | ({"warn"} if fail_on == "warning" else set())

    assert broken_rules(junit_bytes(outcome)) == []
    for check, case in zip(shared["checks"], outcome.cases, strict=True):
        expected = {"error": "crashed", "not_applicable": "skipped"}.get(
            check["status"], "failed" if check["status"] in failing else "passed"
        )
        assert (check["name"], expected) == (case.name, case.state)
    assert {case.state for case in outcome.cases} >= {"crashed", "skipped", "passed", "failed"}


@pytest.mark.parametrize("result", [hostile_result, judged_result])
def test_sentences_are_those_of_the_shared_view_without_the_waived(
    result: Callable[[], AuditResult],
) -> None:
    shared = result().shared()
    outcome = of_audit("run", shared, "never")
    findings = [f for check in shared["checks"] for f in check["findings"] if f["waiver"] is None]

    told = [
        one.sentence
        for case in outcome.cases
        if case.state in ("passed", "failed")
        for one in case.statements
    ]
    assert sorted(told) == sorted(finding["statement"] for finding in findings)
    assert outcome.facts["hierarchy.sha256"] == shared["identity"]["hierarchy"]["sha256"]


def test_a_finding_to_be_fixed_says_who_fixes_it() -> None:
    shared = rich_result().shared()
    check = next(one for one in shared["checks"] if one["findings"])
    promise = {"owner": "Ward 7", "reason": "Ask.", "expires": "2031-01-01"}
    check["findings"][0]["to_fix"] = promise
    told = [
        one.sentence for case in of_audit("run", shared, "never").cases for one in case.statements
    ]

    statement = check["findings"][0]["statement"]
    assert f"{statement} Ward 7 is to fix this by 2031-01-01: Ask." in told


def test_a_report_that_failed_is_a_case() -> None:
    outcome = of_audit("run", rich_result().shared(), "never", [ValueError("no font")])

    assert outcome.cases[-1].state == "crashed"
    assert outcome.cases[-1].statements == (Statement("error", "no font"),)


def test_a_comparison_fails_by_what_is_new() -> None:
    hierarchy = tree("lung heart < body", "asthma cough < lung", "attack < heart")
    old = run_audit(labelled(hierarchy, repeated([(300, ["asthma"]), (300, ["attack"])])))
    twice = (200, ["attack", "attack"])
    new = run_audit(labelled(hierarchy, repeated([(300, ["asthma"]), (300, ["attack"]), twice])))
    worse = of_comparison(compare_runs(old, new).shared())
    same = of_comparison(compare_runs(new, new).shared())

    (case,) = (case for case in worse.cases if case.name == "duplicates")
    assert case.statements[0].sentence.startswith("New: 200 of 800")
    assert not any(case.statements for case in same.cases if case.state != "skipped")
    assert broken_rules(junit_bytes(worse)) == broken_rules(junit_bytes(same)) == []


def test_the_moment_is_that_of_source_date_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    outcome = Outcome("run", "", "Passes", "", (Case("a", "A?", "passed"),), {})

    assert b'timestamp="1970-01-02T00:00:00"' in junit_bytes(outcome)
    assert junit_bytes(outcome) == junit_bytes(outcome)


def test_a_file_replaces_an_earlier_one_and_leaves_nothing_beside(tmp_path: Path) -> None:
    outcome = Outcome("run", "", "Passes", "", (), {})
    for _ in range(2):
        write_junit(outcome, tmp_path / "new" / "audit.xml")

    assert [path.name for path in (tmp_path / "new").iterdir()] == ["audit.xml"]


def test_a_place_that_cannot_be_is_refused(tmp_path: Path) -> None:
    refuse_no_file(None)
    refuse_no_file(tmp_path / "a.xml")
    with pytest.raises(InputError, match="--junit names a file"):
        refuse_no_file(tmp_path)
    (tmp_path / "other.xml").write_text("<testsuites/>")
    with pytest.raises(OutputError, match="one that audit wrote"):
        refuse_no_file(tmp_path / "other.xml")

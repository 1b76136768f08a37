"""The verdict: it never reads "Passes" where nothing was judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit._reports.chapters.verdict import verdict
from audit.results.findings import CheckResult
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from fixtures import concept_results, results
from fixtures.labelled import labelled, repeated, tree
from fixtures.predicted import predicted

PASSED = CheckResult("malformed_code", "Does every code have the shape of a code?", 20, "rows")
EMPTY = replace(PASSED, denominator=0)
ABSENT = replace(EMPTY, name="cross_branch", not_applicable="there are no branches")
NO_POWER = CheckResult(
    "model_confuses",
    "Which labels?",
    0,
    "pairs",
    not_applicable="the check has no power here: no mistakes",
)
NO_SCORES = replace(NO_POWER, name="label_suspects", not_applicable="there are only sets")
JUDGED = CheckResult("model_confuses", "Which labels?", 45, "pairs")


def told(*checks: CheckResult, model: bool = False) -> tuple[str, str]:
    sample = results.model_result() if model else results.sample_result()
    result = replace(sample, checks=checks)
    found = verdict(result.shared())
    return found.badge.word, found.sentence


@pytest.mark.parametrize("checks", [(), (ABSENT,), (EMPTY,), (EMPTY, ABSENT)])
def test_an_audit_of_which_nothing_could_be_judged_is_not_judged(
    checks: tuple[CheckResult, ...],
) -> None:
    result = replace(results.sample_result(), checks=checks)
    word, sentence = told(*checks)

    assert result.status == "not_applicable"
    assert word == "Not judged"
    assert "Pass" not in sentence


def test_a_waiver_that_holds_judges_nothing() -> None:
    waivers = replace(PASSED, name="waiver_expired", denominator=3)

    assert told(EMPTY, waivers)[0] == "Not judged"


def test_what_is_empty_beside_what_is_judged_passes() -> None:
    assert told(PASSED, EMPTY, ABSENT)[0] == "Passes"


def test_a_finding_counts_whatever_its_check_looked_at() -> None:
    found = results.sample_result()
    warned = next(check for check in found.checks if check.status == "warn")

    assert replace(found, checks=(EMPTY, replace(warned, denominator=0))).status == "warn"


def test_a_model_that_no_check_could_judge_does_not_pass() -> None:
    word, sentence = told(PASSED, NO_POWER, NO_SCORES, model=True)

    assert word == "Data pass; model not judged"
    assert sentence.endswith(
        "Nothing of the model could be judged (model_confuses: the check has no power here: no "
        "mistakes; label_suspects: there are only sets)."
    )


def test_a_model_that_one_check_judged_passes() -> None:
    assert told(PASSED, JUDGED, NO_SCORES, model=True)[0] == "Passes"


def test_without_a_model_its_checks_say_nothing() -> None:
    assert told(PASSED, NO_POWER, NO_SCORES)[0] == "Passes"


def test_findings_of_the_data_are_told_beside_a_model_that_was_not_judged() -> None:
    noted = next(check for check in results.sample_result().checks if check.status == "warn")

    assert told(noted, NO_POWER, model=True)[0] == "No errors; 1 of 1 check warns; model not judged"


@pytest.mark.slow
def test_a_thousand_labels_in_thousands_of_mistakes_are_judged() -> None:
    names = [f"n{place:04}" for place in range(1000)]
    flat = tree(f"{' '.join(names)} < top")
    labels = repeated([(2, [name]) for name in names])
    dataset = labelled(flat, labels)
    answers = {
        instance: {names[(names.index(label) * 7 + n + 1) % 1000]: 1.0}
        for n, (instance, (label,)) in enumerate(labels.items())
    }
    found = run_audit(dataset, predictions=predicted(dataset, answers))
    check = next(check for check in found.checks if check.name == "model_confuses")

    assert check.denominator > 400_000
    assert "model not judged" not in verdict(found.shared()).badge.word


def test_the_reader_is_told_the_same_in_every_form() -> None:
    result: AuditResult = replace(results.model_result(), checks=(PASSED, NO_POWER, NO_SCORES))

    assert verdict(result.shared()).sentence.count("could be judged") == 1


def test_it_tells_what_became_of_tests_of_concepts() -> None:
    shared = concept_results.measured()
    rows = shared["concepts"]["tests"]
    template = next(row for row in rows if row["test"] == "is_causal" and row["ablation"] == "inlp")
    about = {"seen": "N-1 slices", "reason": None}
    verdicts = ("pass", "fail", "fail", "undecided", "not_applicable")
    shared["concepts"]["tests"] = [
        *(template | about | {"dimension": str(n), "verdict": v} for n, v in enumerate(verdicts)),
        template | about | {"ablation": "leace", "verdict": "pass"},
        template | about | {"seen": "1 slice", "verdict": "pass"},
    ]
    said = "Of 4 tests of concepts on unseen classes, 1 passes, 2 fail and 1 is undecided."
    assert said in verdict(shared).sentence
    shared["concepts"]["tests"] = [template | about | {"verdict": "not_applicable"}]
    assert "unseen classes" not in verdict(shared).sentence

"""Tables of labels exchanged, as findings tell them and as counted by hand."""

from __future__ import annotations

from audit.policy.policy import Policy
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted

WORLD = tree("animal plant tool < top", "cat dog < animal", "oak elm < plant", "saw < tool")
SAID = (
    (200, "cat", "cat"), (200, "oak", "oak"), (200, "saw", "saw"), (200, "dog", "dog"),
    (60, "cat", "oak"), (20, "elm", "dog"), (4, "saw", "dog"), (30, "saw", "elm"),
    (15, "cat", "dog"), (3, "elm", "oak"), (9, "saw", "oak"), (25, "oak", "saw"),
)  # fmt: skip


def audited(
    min_cell: int, said: tuple[tuple[int, str, str], ...] = SAID, *, one_answer: bool = False
) -> AuditResult:
    each = [(label, answer) for times, label, answer in said for _ in range(times)]
    dataset = labelled(WORLD, {f"i{n:04}": [label] for n, (label, _) in enumerate(each)})
    scores = {f"i{n:04}": {answer: 1.0} for n, (_, answer) in enumerate(each)}
    model = predicted(dataset, scores, single_label=one_answer)
    return run_audit(dataset, Policy(min_cell=min_cell), predictions=model)


def test_exchanges_are_listed_as_findings_tell_them() -> None:
    """The largest excess first."""
    shared = audited(1).shared()
    exact = shared["overview"]["exchanged_pairs"]
    findings = [
        finding
        for check in shared["checks"]
        if check["name"] == "model_confuses"
        for finding in check["findings"]
    ]
    by_pair = {(row["a"], row["b"]): row for row in exact}

    assert [row["excess"] for row in exact] == sorted((r["excess"] for r in exact), reverse=True)
    assert {row["counted"] for row in exact} == {60, 20, 4, 30, 15, 3, 34}
    assert {pair for pair, row in by_pair.items() if row["passes"]} == {
        tuple(node["id"] for node in finding["nodes"]) for finding in findings
    }
    for finding in findings:
        a, b = (node["id"] for node in finding["nodes"])
        assert by_pair[a, b]["counted"] == finding["evidence"]["instances"]
        assert by_pair[a, b]["expected"] == finding["evidence"]["expected_exchanges"]


def test_answers_given_falsely_are_listed() -> None:
    said = (*SAID, (40, "saw", "oak"), (40, "dog", "oak"))
    (exact,) = audited(1, said).shared()["overview"]["answers"]

    assert (exact["node"], exact["falsely"], exact["missed"]) == ("oak", 60 + 3 + 9 + 80, 25)
    assert (exact["hits"], exact["answers"], exact["labelled"]) == (200, 352, 225)
    assert exact["share"] == 152 / 352

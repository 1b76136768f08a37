"""empty_instance: instances whose labels were refused, apart from those that never had one."""

from __future__ import annotations

from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled
from fixtures.toy import toy

CHECK = CHECK_OF["empty_instance"]


def checked(labels: dict[str, list[str | None]]) -> CheckResult:
    return CHECK.run(measure(labelled(toy(), labels), Policy()))


def test_refused_and_unlabelled_are_told_apart() -> None:
    found = checked(
        {"a": ["dog", "elf"], "b": ["elf", "orc"], "c": [], "d": ["elf", None], "e": []}
    )
    refused, unlabelled = found.findings

    assert (found.status, found.denominator) == ("warn", 5)
    assert (refused.severity, refused.id) == ("warning", "empty_instance:refused")
    assert refused.evidence["instances"] == 2
    assert [(p.nodes, p.evidence["instances"]) for p in refused.parts] == [
        (("unknown_code",), 2),
        (("missing_code",), 1),
    ]
    assert (unlabelled.severity, unlabelled.evidence["instances"]) == ("note", 2)
    assert unlabelled.evidence["share"] == 2 / 5

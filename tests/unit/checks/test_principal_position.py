"""principal_position: external causes and manifestations in first place, with the rule shown."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.built_in import ICD9CM_NODES
from audit.hierarchies.icd.icd9 import why_never_first
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.coded import icd9cm, measured
from fixtures.labelled import labelled

CHECK = CHECK_OF["principal_position"]


def checked(labels: dict[str, list[str]]) -> CheckResult:
    return CHECK.run(measured({"diagnoses": labels}))


def test_an_external_cause_and_a_manifestation_in_first_place_are_found() -> None:
    labels = {
        "a": ["E8120", "82009"],
        "b": ["E8120", "E8859"],
        "c": ["29410", "3310"],
        "d": ["4019", "E8120", "29410"],
    }
    found = checked(labels)
    (finding,) = found.findings

    assert (finding.id, finding.severity) == ("principal_position:first", "warning")
    assert (found.denominator, found.denominator_unit) == (
        4,
        "instances with a label in first place",
    )
    assert finding.evidence == {
        "instances": 3, "of": 4, "share": 0.75, "codes": 2,
    }  # fmt: skip
    assert [(p.nodes, p.evidence["instances"], p.evidence["rule"]) for p in finding.parts] == [
        (("E812.0",), 2, "an external cause"),
        (("294.10",), 1, "a manifestation by its title: in conditions classified elsewhere"),
    ]


def test_a_code_that_a_rule_puts_behind_another_is_never_first() -> None:
    """Polyneuropathy in diabetes: the title says it in other words than the tabular list."""
    labels = {"a": ["3572", "25060"], "b": ["25060", "3572"], "c": ["36201"]}
    found = CHECK.run(measured({"diagnoses": labels}, policy=built_in_policy("icd9cm")))
    (finding,) = found.findings

    assert finding.evidence["instances"] == 2
    assert [part.nodes[0] for part in finding.parts] == ["357.2", "362.01"]
    assert all("I.A.6" in str(part.evidence["rule"]) for part in finding.parts)


def test_a_clean_order_passes() -> None:
    assert checked({"a": ["82009", "E8120"], "b": ["3310", "29410"]}).status == "pass"


@pytest.mark.parametrize(
    ("code", "title", "found"),
    [
        ("E000.0", "Civilian activity done for income or pay", True),
        ("331.7", "Cerebral degeneration in diseases classified elsewhere", True),
        ("320.7", "Meningitis in other bacterial diseases classified elsewhere", True),
        ("327.26", "Hypoventilation in conditions classifiable elsewhere", True),
        ("041.9", "Infection in conditions classified elsewhere and of unspecified site", False),
        ("294.8", "Other disorders due to conditions classified elsewhere", False),
        ("648.90", "Other current conditions classifiable elsewhere of mother", False),
        ("799.89", "Other ill-defined conditions, not elsewhere classified", False),
        ("V30.00", "Single liveborn", False),
        ("401.9", "", False),
    ],
)
def test_titles_and_letters_decide(code: str, title: str, found: bool) -> None:
    assert (why_never_first(code, title) is not None) is found


def test_the_list_has_1291_external_causes_and_74_manifestations_by_title() -> None:
    listed = pl.read_csv(gzip.decompress(ICD9CM_NODES.read_bytes()), infer_schema=False).filter(
        pl.col("assignable") == "true"
    )
    causes = listed["node"].str.starts_with("E").sum()
    rules = [why_never_first(code, title) for code, title in listed.select("node", "title").rows()]

    assert rules.count("an external cause") == causes == 1291
    assert len(rules) - rules.count(None) - causes == 74


def test_a_code_in_first_place_of_procedures_is_no_diagnosis() -> None:
    asked = measured({"diagnoses": {"a": ["4019"]}, "procedures": {"a": ["3606"]}})

    assert CHECK.run(asked).status == "pass"


def test_an_instance_whose_first_row_was_refused_is_not_judged() -> None:
    found = checked({"a": ["N/A", "E8120"], "b": ["4019"]})

    assert (found.status, found.denominator) == ("pass", 1)


def test_it_does_not_apply_without_an_order(toy_hierarchy: Hierarchy) -> None:
    unordered = CHECK.run(measure(labelled(icd9cm(), {"a": ["E8120"]}), Policy()))
    toy = CHECK.run(measure(labelled(toy_hierarchy, {"a": ["cow"]}, positions=True), Policy()))

    assert "no order" in unordered.not_applicable
    assert "excluded from first place" in toy.not_applicable

"""run_audit: identity, ledger, policy as applied, and a check that crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

import audit
from audit.base.errors import PolicyError
from audit.checks import CHECKS, ON_WAIVERS
from audit.checks.check import Check
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.policy.policy import Policy
from audit.policy.rules import Expected
from audit.results.findings import CheckResult
from audit.results.order import BY_RESULT
from audit.results.parts import DriftPart
from audit.runs import audit as module
from audit.runs.audit import run_audit
from fixtures.coded import icd9cm
from fixtures.labelled import labelled

LABELS = {"b": ["dog", "dog", "elf"], "a": ["tool", "cow"], "c": [], "d": ["cow"]}

OF_DATA = (*CHECKS, *ON_WAIVERS)


def boom(measured: Measurements) -> CheckResult:
    raise ZeroDivisionError("no instances to divide by")


def test_a_check_that_crashes_loses_nothing_else(
    monkeypatch: pytest.MonkeyPatch, toy_hierarchy: Hierarchy
) -> None:
    monkeypatch.setattr(module, "CHECKS", (Check("broken", "Is it?", boom), *CHECKS))
    result = run_audit(labelled(toy_hierarchy, LABELS))

    assert result.status == "error"
    assert result.checks[0].crashed == "ZeroDivisionError: no instances to divide by"
    assert {check.name for check in result.checks[1:]} == {check.name for check in OF_DATA}
    assert "error" not in {check.status for check in result.checks[1:]}


def test_every_check_is_applied_and_those_without_findings_keep_their_order(
    toy_hierarchy: Hierarchy,
) -> None:
    told = [(c.status, c.name, c.title) for c in run_audit(labelled(toy_hierarchy, LABELS)).checks]
    expected = [(c.name, c.title) for c in OF_DATA]
    results = [status for status, *_ in told]

    assert sorted((one[1:] for one in told), key=expected.index) == expected
    assert results == sorted(results, key=BY_RESULT.index)
    for result in ("pass", "not_applicable"):
        quiet = [expected.index(one[1:]) for one in told if one[0] == result]
        assert quiet == sorted(quiet)
        assert len(quiet) > 1


def test_the_ledger_is_told(toy_hierarchy: Hierarchy) -> None:
    ledger = run_audit(labelled(toy_hierarchy, LABELS, groups={"a": "p"})).ledger

    assert ledger == {
        "rows_read": 6,
        "rows_mapped": 5,
        "refused": {"unknown_code": 1},
        "instances": 4,
        "instances_without_labels": 1,
        "groups": 1,
        "repeated_edges": 0,
        "labels": 4,
        "labels_per_instance": {"mean": 1.0},
        "predictions": None,
    }


def test_repeated_edges_are_told() -> None:
    import polars as pl

    edges = pl.DataFrame({"child": ["a", "a", "a"], "parent": ["top", "top", "top"]})
    hierarchy = Hierarchy.build(edges, name="repeating")

    assert run_audit(labelled(hierarchy, {"i": ["a"]})).ledger["repeated_edges"] == 2


def test_identity_follows_content(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, LABELS)
    whole = run_audit(dataset)
    first = whole.identity
    same = run_audit(labelled(toy_hierarchy, dict(reversed(LABELS.items()))))
    other = run_audit(labelled(toy_hierarchy, {**LABELS, "d": ["dog"]}))
    stricter = run_audit(dataset, Policy(max_findings=3)).identity

    assert (first, whole.data_sha256) == (same.identity, same.data_sha256)
    assert whole.data_sha256 != other.data_sha256
    assert first["policy"]["sha256"] != stricter["policy"]["sha256"]
    assert first["hierarchy"] == {
        "name": "toy", "sha256": toy_hierarchy.sha256, "nodes": 8, "depth": 3,
    }  # fmt: skip


def test_the_digest_of_files_is_that_of_their_bytes(
    tmp_path: Path, toy_hierarchy: Hierarchy
) -> None:
    digests = []
    for name, content in (("x", "a,cow"), ("y", "a,cow"), ("z", "a,dog")):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"instance,label\n{content}\n")
        result = run_audit(audit.load_labels(path, toy_hierarchy))
        digests.append(result.data_sha256)
        assert [source["path"] for source in result.inputs] == [str(path)]

    assert digests[0] == digests[1] != digests[2]


def test_the_policy_is_told_as_applied(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, LABELS, persons=True)
    policy = run_audit(dataset, Policy(labelled_ancestors="fault")).policy

    assert (policy["min_cell"], policy["max_findings"], policy["labelled_ancestors"]) == (
        11,
        20,
        "fault",
    )
    assert all(threshold["reason"] and threshold["unit"] for threshold in policy["thresholds"])
    told = {threshold["name"]: threshold["value"] for threshold in policy["thresholds"]}
    assert told["residual_share"] == 0.5
    assert told["residual_instances"] == 30


def test_a_built_in_hierarchy_brings_its_policy() -> None:
    result = run_audit(labelled(icd9cm(), {"a": ["401.9"]}))

    assert result.policy["name"] == "icd9cm"
    assert len(result.policy["branch_rules"]) == 4
    assert result.identity["normaliser"] == "icd9cm/1"


def test_a_policy_that_names_an_unknown_node_is_refused(toy_hierarchy: Hierarchy) -> None:
    with pytest.raises(PolicyError, match="residual_nodes: nowhere"):
        run_audit(labelled(toy_hierarchy, LABELS), Policy(residual_nodes=("nowhere",)))


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        (("dog", "nowhere"), "expected: nowhere"),
        (("dog", "mammal"), "expected: dog and mammal"),
        (("animal", "cow"), "expected: animal and cow"),
        (("dog", "dog"), "expected: dog and dog"),
    ],
)
def test_an_association_that_cannot_be_expected_is_refused(
    toy_hierarchy: Hierarchy, nodes: tuple[str, str], told: str
) -> None:
    known = Policy(expected=(Expected(nodes=nodes, source="A book."),))
    with pytest.raises(PolicyError, match=f"'{told}'"):
        run_audit(labelled(toy_hierarchy, {"a": ["dog"]}), known)


def test_a_column_of_strata_that_tells_every_instance_apart_is_refused(
    toy_hierarchy: Hierarchy,
) -> None:
    rows = {"a": ["dog"], "b": ["cow"], "c": ["dog"]}
    apart, shared = {"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "2", "c": "1"}
    policy = Policy(strata=("ward",))

    with pytest.raises(PolicyError, match="'ward' has 3 values on 3 instances"):
        run_audit(labelled(toy_hierarchy, rows, strata={"ward": apart}), policy)
    run_audit(labelled(toy_hierarchy, rows, strata={"ward": shared}), policy)


def test_a_policy_whose_columns_were_not_read_is_refused(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, LABELS, strata={"site": {"a": "x"}})

    with pytest.raises(PolicyError, match="not read: 'year'"):
        run_audit(dataset, Policy(strata=("site",), drift=("site", "year")))


def test_drift_is_measured_where_the_policy_names_a_column(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, LABELS, strata={"site": {"a": "x", "b": "y", "c": "y"}})
    result = run_audit(dataset, Policy(drift=("site",)))

    drift = result.part(DriftPart)
    assert drift is not None
    assert drift.values["instances"].to_list() == [1, 2]
    assert run_audit(dataset).part(DriftPart) is None

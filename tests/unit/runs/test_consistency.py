"""Tables that cannot be true together are told, whatever was edited of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given

from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.findings import CheckResult, Finding
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from audit.runs.consistency import disagreements, not_following
from fixtures.attack import BODIES
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated, tree
from tests.property.test_disclosure_laws import releases

SETS = [
    (20, ["asthma", "flu"]),
    (154, ["attack", "flu"]),
    (300, ["attack", "flu", "other_lung"]),
    (600, ["other_lung"]),
]
TELLING = Policy(
    least_joint=Threshold(value=2, reason="More pairs are reported."),
    excess_ratio=Threshold(value=1, reason="The same."),
    false_discovery_rate=Threshold(value=0.9, reason="The same."),
)


@pytest.fixture(scope="module")
def result() -> AuditResult:
    return run_audit(
        labelled(BODIES["three siblings"], repeated(SETS), persons=True), TELLING, anyway=True
    )


@given(releases())
@examples(40)
def test_every_audit_agrees_with_itself(
    release: tuple[str, list[tuple[int, list[str]]], int],
) -> None:
    name, counted, min_cell = release
    data = labelled(BODIES[name], repeated(counted), persons=True)

    assert list(disagreements(run_audit(data, Policy(min_cell=min_cell), anyway=True))) == []


def edited(frame: pl.DataFrame, column: str, row: int, by: int) -> pl.DataFrame:
    values = frame[column].to_list()
    values[row] += by
    return frame.with_columns(pl.Series(column, values, frame[column].dtype))


def row_of(frame: pl.DataFrame, **named: str) -> int:
    rows = frame.with_row_index().filter(**named)
    return int(rows["index"][0])


def nodes(result: AuditResult, column: str, node: str, by: int) -> AuditResult:
    row = row_of(result.nodes, node=node)
    return replace(result, nodes=edited(result.nodes, column, row, by))


def pairs(result: AuditResult, column: str, by: int) -> AuditResult:
    row = row_of(result.pairs.collect(), a="asthma", b="flu")
    table = result.pair_table
    counted = edited(table.counted.collect(), column, row, by).lazy()
    return replace(result, pair_table=replace(table, counted=counted))


def residuals(result: AuditResult, column: str, by: int) -> AuditResult:
    row = row_of(result.residuals, parent="lung", residual="all")
    return replace(result, residuals=edited(result.residuals, column, row, by))


def findings(result: AuditResult, check: str, name: str) -> AuditResult:
    def of(finding: Finding) -> Finding:
        quantity = finding.evidence[name]
        more = replace(quantity, value=int(quantity.value or 0) + 1)
        return replace(finding, evidence={**finding.evidence, name: more})

    def each(found: CheckResult) -> CheckResult:
        if found.name != check:
            return found
        assert found.findings, check
        return replace(found, findings=tuple(map(of, found.findings)))

    return replace(result, checks=tuple(map(each, result.checks)))


def _nowhere() -> pl.Expr:
    return pl.col("parent").replace("lung", "nowhere")


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda r: nodes(r, "direct", "asthma", 1), "more labels than instances: 'asthma'"),
        (lambda r: nodes(r, "support", "body", 999), "more labels than instances: 'body'"),
        (lambda r: nodes(r, "support", "attack", 2), "more instances than a parent: 'attack'"),
        (lambda r: pairs(r, "joint", 900), "more instances than a node of theirs: ('asthma'"),
        (lambda r: residuals(r, "n", 900), "other counts below them than they can have: 'lung'"),
        (lambda r: residuals(r, "k", 900), "other counts below them than they can have: 'lung'"),
        (lambda r: residuals(r, "k", 1), "findings with other counts than the tables"),
        (
            lambda r: findings(r, "residual_overuse", "instances"),
            "other counts than the tables: 'residual_overuse:lung', 'residual_overuse:body'",
        ),
        (
            lambda r: findings(r, "unexpected_pair", "instances"),
            "findings with other counts than the tables: 'unexpected_pair:",
        ),
        (
            lambda r: findings(r, "unexpected_pair", "support_a"),
            "findings with other counts than the tables: 'unexpected_pair:",
        ),
        (
            lambda r: replace(r, residuals=r.residuals.with_columns(_nowhere())),
            "other counts below them than they can have: 'nowhere'",
        ),
    ],
)
def test_an_edited_table_is_told(
    result: AuditResult, edit: Callable[[AuditResult], AuditResult], told: str
) -> None:
    apart = list(disagreements(edit(result)))

    assert any(told in fault for fault in apart), apart


def test_pairs_that_share_labels_agree_without_those_who_carry_both_by_one() -> None:
    """Instances labelled ``both`` carry two nodes by one label, and are not of their excess."""
    below_a, below_b = [f"x{n}" for n in range(8)], [f"y{n}" for n in range(8)]
    body = tree(
        "a b c < top", f"{' '.join(below_a)} both < a", f"{' '.join(below_b)} both < b", "z < c"
    )
    sets = [(8, [x, y]) for x, y in zip(below_a, below_b, strict=True)]
    sets += [(12, [one]) for one in (*below_a, *below_b)] + [(60, ["both"]), (2000, ["z"])]
    policy = TELLING.model_copy(update={"least_joint": Threshold(value=30, reason="Few pairs.")})
    result = run_audit(labelled(body, repeated(sets), persons=True), policy, anyway=True)

    told = [f for check in result.checks if check.name == "unexpected_pair" for f in check.findings]
    assert [(f.nodes[-2:], f.evidence["instances"].value) for f in told] == [(("a", "b"), 64)]
    assert list(disagreements(result)) == []


def test_an_edited_finding_that_is_told_for_a_parent_is_told() -> None:
    others = [f"o{n}" for n in range(8)]
    body = tree("p q < top", "a b c < p", f"{' '.join(others)} < q")
    sets = [(360, list(pair)) for pair in combinations("abc", 2)] + [(100, ["a", "b", "c"])]
    sets += [(20, [one, other]) for one in "abc" for other in others]
    sets += [(80, list(pair)) for pair in combinations(others, 2)]
    result = run_audit(labelled(body, repeated(sets), persons=True), TELLING, anyway=True)

    told = [f for check in result.checks if check.name == "unexpected_pair" for f in check.findings]
    assert [f.nodes for f in told] == [("p", "a", "b")]
    assert list(disagreements(result)) == []
    (fault,) = disagreements(findings(result, "unexpected_pair", "instances"))
    assert told[0].id in fault


@pytest.mark.parametrize("name", ["sha256", "nodes", "depth"])
def test_each_number_of_an_identity_must_follow_from_the_tables(
    name: str, result: AuditResult
) -> None:
    assert list(not_following(result, (), judged=True)) == []

    said = {**result.identity["hierarchy"], name: 0}
    other = replace(result, identity={**result.identity, "hierarchy": said})

    told = "the identity of the hierarchy is not that of its tables"
    assert list(not_following(other, (), judged=True)) == [told]

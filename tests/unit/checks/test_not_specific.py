"""not_specific: labels at headings of a complete list, never an assignable code."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest

from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.built_in import ICD9CM_NODES
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.findings import Finding
from audit.results.result import AuditResult
from audit.results.since import SHALLOWER
from audit.runs.audit import run_audit
from fixtures.checked import CHECK_OF
from fixtures.coded import measured
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["not_specific"]


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


# --- roots, of any hierarchy --------------------------------------------------------------------


# --- with code dates ----------------------------------------------------------------------------


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

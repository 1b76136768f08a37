"""Scenes: small releases, each made for one check, with what it must tell and nothing else.

A scene draws records by a law that it states, and the facts that are planted in them. The facts are
counted while the records are made, not by an audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.random import Generator

import audit
from audit import Finding, Hierarchy, LabelDataset, Policy, Predictions
from audit.data.dataset import map_labels
from audit.data.label_format import INSTANCES, ROWS, RawLabels
from validation.truth_planted import as_predictions

Records = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Fact:
    """What a finding must say.

    Args:
        names: Nodes, codes or columns that it must give, in its nodes, parts or key.
        evidence: Numbers that it must give.
        beside: Further names that it may give; None: any.
        severity: That it must have, where the scene is about it.
    """

    names: frozenset[str]
    evidence: Mapping[str, float] = field(default_factory=dict)
    beside: frozenset[str] | None = None
    severity: str | None = None

    def is_told_by(self, finding: Finding) -> bool:
        """Whether a finding says this, and no more than it may."""
        parts = (node for part in finding.parts for node in part.nodes)
        given = frozenset((*finding.nodes, *parts, *finding.key))
        return (
            self.names <= given
            and (self.beside is None or given <= self.names | self.beside)
            and self.severity in (None, finding.judged_severity)
            and all(finding.evidence[name].value == n for name, n in self.evidence.items())
        )


@dataclass(frozen=True)
class Drawn:
    """A release, and what is true of it.

    Args:
        dataset: The release.
        facts: What is planted; none in a release without faults.
        policy: What it is judged by.
        predictions: Of a model, if there is one.
        reference: An earlier release that it is held against, if there is one.
    """

    dataset: LabelDataset
    facts: Sequence[Fact] = ()
    policy: Policy = field(default_factory=Policy)
    predictions: Predictions | None = None
    reference: LabelDataset | None = None


@dataclass(frozen=True)
class Scene:
    """A law by which releases are made for one check.

    Args:
        name: What it is called.
        check: The check that it is made for; its other findings do not count here.
        what: What it is.
        draw: Draws a release.
        by_chance: Whether chance may decide what is told, so that a rate is allowed to be false.
        scored: Whether a goal holds for it; not where nothing in the rows could tell what is false.
    """

    name: str
    check: str
    what: str
    draw: Callable[[Generator], Drawn]
    by_chance: bool = False
    scored: bool = True


@dataclass(frozen=True)
class Seen:
    """What an audit made of one release of a scene.

    Args:
        scene: Its name.
        number: Of the release.
        facts: For each fact whether a finding tells it.
        standing: Findings of the check that stand.
        false: Statements of those that tell no fact.
    """

    scene: str
    number: int
    facts: tuple[bool, ...]
    standing: int
    false: tuple[str, ...]

    @classmethod
    def of(cls, scene: Scene, number: int, drawn: Drawn) -> Seen:
        """Audit a release, and hold what the check tells against the facts.

        Raises:
            RuntimeError: If the check does not run through.
        """
        before = drawn.reference
        result = audit.run_audit(
            drawn.dataset,
            drawn.policy,
            predictions=drawn.predictions,
            reference=None if before is None else audit.run_audit(before, drawn.policy),
            anyway=True,
        )
        (check,) = (one for one in result.checks if one.name == scene.check)
        if check.crashed:
            raise RuntimeError(f"{scene.name}, release {number}: {check.crashed}")
        told = check.standing
        return cls(
            scene=scene.name,
            number=number,
            facts=tuple(any(fact.is_told_by(finding) for finding in told) for fact in drawn.facts),
            standing=len(told),
            false=tuple(
                f"{finding.id}: {finding.statement}"
                for finding in told
                if not any(fact.is_told_by(finding) for fact in drawn.facts)
            ),
        )


def tree(branches: int, parents: int, leaves: int, *, name: str = "a tree") -> Hierarchy:
    """A tree of so many branches, parents below each, and leaves below each parent.

    Nodes are called ``b0``, ``b0.p1``, ``b0.p1.l2``.
    """
    edges = []
    for branch in (f"b{i}" for i in range(branches)):
        edges.append((branch, "top"))
        for parent in (f"{branch}.p{i}" for i in range(parents)):
            edges.append((parent, branch))
            edges += [(f"{parent}.l{i}", parent) for i in range(leaves)]
    frame = pl.DataFrame(edges, schema=["child", "parent"], orient="row")
    return Hierarchy.build(frame, name=name)


def rows_of(records: Records, **columns: Sequence[str]) -> pl.DataFrame:
    """A row a label: ``instance, label`` and the columns of the instances."""
    known = pl.DataFrame({"labels": [list(record) for record in records], **columns})
    names = pl.Series("instance", [f"r{i:06}" for i in range(len(records))])
    rows = known.with_columns(names, label="labels").drop("labels")
    return rows.explode("label")


def dataset(
    hierarchy: Hierarchy, records: Records, strata: Sequence[str] = (), **columns: Sequence[str]
) -> LabelDataset:
    """A dataset as Python reads it from rows."""
    return LabelDataset.from_rows(rows_of(records, **columns), hierarchy, strata=strata)


def in_order(hierarchy: Hierarchy, records: Records) -> LabelDataset:
    """A dataset whose labels have positions."""
    order = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("instance")
    return as_written(rows_of(records).with_columns(position=order), hierarchy)


def zipf(rng: Generator, labels: Sequence[str], records: int, mean: float) -> list[list[str]]:
    """Independent records of different labels, of which that of rank r weighs 1 / (r + 5)."""
    order = rng.permutation(len(labels))
    chance = 1 / (np.arange(len(labels)) + 5.0)
    cumulated = np.cumsum(chance / chance.sum())
    drawn = []
    for n in 1 + rng.poisson(mean - 1, records):
        picked = np.searchsorted(cumulated, rng.random(n)).tolist()
        drawn.append([labels[order[i]] for i in dict.fromkeys(picked)])
    return drawn


def as_written(rows: pl.DataFrame, hierarchy: Hierarchy) -> LabelDataset:
    """A dataset of ``instance, label`` and, where they are known, ``position`` and ``table``."""
    known = [pl.lit(None, kind).alias(name) for name, kind in ROWS.items() if name not in rows]
    missing = [pl.lit(None, kind).alias(n) for n, kind in INSTANCES.items() if n != "instance"]
    instances = rows.select("instance").unique().sort("instance").with_columns(missing)
    return map_labels(
        RawLabels(rows.with_columns(known).select(list(ROWS)), instances, ()), hierarchy
    )


def predicted(answers: Records, of: LabelDataset) -> Predictions:
    """Predicted sets, one for each record in order."""
    rows = rows_of(answers).unique(maintain_order=True).drop_nulls()
    return as_predictions(rows, of)

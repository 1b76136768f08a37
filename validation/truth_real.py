"""The top findings on public data, each counted again from the source rows."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

import audit
from audit.checks.check import TOP_PARTS
from audit.results.findings import SEVERITIES, Finding
from audit.results.result import AuditResult
from validation.plain_releases import Labels, clips, genes, mimic_labels, of_one_kind

TOP = 20
"""Findings of a release that are examined."""

_Labels = dict[str, set[str]]


@dataclass(frozen=True)
class Source:
    """A public release: where it lies, and its rows read without the product's readers.

    Args:
        name: What it is called.
        labels: Its labels.
        hierarchy: Its hierarchy, the name of a built-in one or a file.
        predictions: Its predictions, if any.
        rows: Labels by instance, as written and in their order.
    """

    name: str
    labels: str
    hierarchy: str
    rows: Callable[[Path], Labels]
    predictions: str | None = None


@dataclass(frozen=True)
class Examined:
    """A finding, and how many instances the source rows give.

    Args:
        finding: As the audit has it.
        statement: As it may be published, small cells withheld.
        min_cell: Smallest count that may be published.
        again: Instances counted again; None where the finding is not about instances with nodes.
    """

    finding: Finding
    statement: str
    min_cell: int
    again: int | None


def _sets(labels: Mapping[str, Sequence[str]]) -> _Labels:
    return {name: set(own) for name, own in labels.items()}


SOURCES = (
    Source("MIMIC-III demo", "mimic-iii-demo", "icd9cm", lambda path: mimic_labels(path)[0]),
    Source(
        "AudioSet",
        "audioset/labels.jsonl",
        "audioset/ontology.json",
        clips,
        predictions="audioset/predictions.jsonl",
    ),
    Source(
        "GO slim",
        "go-slim/slim_association",
        "go-slim/goslim_generic.obo",
        genes,
    ),
)


def examined(source: Source, folder: Path) -> list[Examined]:
    """The top findings by severity, then instances touched, each counted again."""
    built_in = source.hierarchy == "icd9cm"
    hierarchy = audit.load_hierarchy(source.hierarchy if built_in else folder / source.hierarchy)
    dataset = audit.load_labels(folder / source.labels, hierarchy)
    predicted = folder / source.predictions if source.predictions else None
    predictions = None if predicted is None else audit.load_predictions(predicted, dataset)
    result = audit.run_audit(dataset, predictions=predictions)
    rows = source.rows(folder / source.labels)
    answers = None if predicted is None else _sets(source.rows(predicted))
    recount = _Recount(result, rows, answers)
    told = {
        finding["id"]: finding["statement"]
        for check in result.shared()["checks"]
        for finding in check["findings"]
    }
    least = int(result.policy["min_cell"])
    shown = top(result, told)
    return [Examined(one, told[one.id], least, recount.of(one)) for one in shown]


def top(result: AuditResult, told: Container[str]) -> list[Finding]:
    """The findings that stand, the most severe first, then those that touch most.

    Args:
        result: What an audit found.
        told: Ids of the findings that its report shows.
    """
    standing = [f for check in result.checks for f in check.standing if f.id in told]

    def rank(finding: Finding) -> tuple[int, int, str]:
        return SEVERITIES.index(finding.judged_severity), -finding.touched, finding.id

    return sorted(standing, key=rank)[:TOP]


class _Recount:
    """Instances counted in plain Python over sets, from edges and rows alone."""

    def __init__(
        self, result: AuditResult, rows: Labels, answers: Mapping[str, set[str]] | None
    ) -> None:
        self._listed, self._rows, self._answers = rows, _sets(rows), answers
        self._parents: dict[str, list[str]] = {}
        for child, parent in result.edges.select("child", "parent").iter_rows():
            self._parents.setdefault(child, []).append(parent)
        self._titles = dict(result.nodes.select("node", "title").iter_rows())
        self._residual = set(result.nodes.drop_nulls("residual")["node"])
        self._open = set(
            result.nodes.filter(
                (pl.col("residual") == "unspecified")
                | pl.col("residual_rule").str.contains("title: .*unspecified")
            )["node"]
        )
        self._above = cache(self._ancestors)
        self._rules = {rule["if"][0]: rule for rule in result.policy["companions"]}
        self._known = [
            *(
                ([one], [other])
                for one, other in (pair["nodes"] for pair in result.policy["expected"])
            ),
            *((rule["if"], rule["needs"]) for rule in result.policy["companions"]),
        ]

    def of(self, finding: Finding) -> int | None:
        nodes = finding.nodes
        match finding.check:
            case "cross_branch" if finding.key[-1:] != ("first",):
                return sum(self._both(labels, *nodes) for labels in self._rows.values())
            case "unexpected_pair":
                rows = self._rows.values()
                return sum(self._through_two(labels, *nodes[-2:]) for labels in rows)
            case "redundant_nodes":
                rows = self._rows.values()
                return sum(all(self._below(labels, node) for node in nodes) for labels in rows)
            case "residual_overuse":
                return sum(self._only_residual(labels, nodes[0]) for labels in self._rows.values())
            case "unknown_code":
                return sum(any(node in labels for node in nodes) for labels in self._rows.values())
            case "sibling_exclusive":
                sides = [side.split(",") for side in finding.key]
                return sum(self._on_two_sides(labels, sides) for labels in self._rows.values())
            case "not_specific" if finding.key == ("uninformative",):
                rows = self._rows.values()
                return sum(bool(labels) and labels <= set(nodes) for labels in rows)
            case "unspecific_beside_specific":
                rows = self._rows.values()
                return sum(any(self._beside(labels, one) for one in labels) for labels in rows)
            case "retired_code" | "not_specific" if len(nodes) < TOP_PARTS:
                return sum(len(labels.intersection(nodes)) for labels in self._rows.values())
            case "missing_companion" if "missing" in finding.key:
                rule = self._rules[finding.key[0]]
                return sum(self._lacks(labels, rule) for labels in self._rows.values())
            case "missing_companion":
                rule = self._rules[finding.key[0]]
                return sum(self._stands_after(labels, rule) for labels in self._listed.values())
            case "duplicate_label":
                return sum(len(set(labels)) < len(labels) for labels in self._listed.values())
            case "model_confuses" if finding.key:
                return sum(self._given(nodes[0], *both) for both in self._pairs())
            case "model_confuses":
                return sum(self._exchanged(nodes, *both) for both in self._pairs())
            case "model_habit" if len(nodes) == 2:
                return sum(
                    all(self._below(answer, node) for node in nodes) for _, answer in self._pairs()
                )
        return None

    def _pairs(self) -> Iterator[tuple[set[str], set[str]]]:
        answers = self._answers or {}
        return ((self._rows[name], answer) for name, answer in answers.items())

    def _ancestors(self, node: str) -> frozenset[str]:
        above = (self._above(parent) for parent in self._parents.get(node, ()))
        return frozenset({node}.union(*above))

    def _below(self, labels: set[str], node: str) -> set[str]:
        return {label for label in labels if node in self._above(label)}

    def _both(self, labels: set[str], a: str, b: str) -> bool:
        left, right = self._below(labels, a), self._below(labels, b)
        return bool(left and right) and len(left | right) > 1

    def _through_two(self, labels: set[str], a: str, b: str) -> bool:
        left, right = self._below(labels, a), self._below(labels, b)
        return bool(left and right) and not left & right

    def _any(self, labels: set[str], nodes: Sequence[str]) -> bool:
        return any(self._below(labels, node) for node in nodes)

    def _on_two_sides(self, labels: set[str], sides: Sequence[Sequence[str]]) -> bool:
        return sum(self._any(labels, side) for side in sides) > 1

    def _lacks(self, labels: set[str], rule: Mapping[str, Sequence[str]]) -> bool:
        excused = self._any(labels, (*rule["needs"], *rule["unless"]))
        return self._any(labels, rule["if"]) and not excused

    def _stands_after(self, labels: Sequence[str], rule: Mapping[str, Sequence[str]]) -> bool:
        """Whether what a rule needs is there, and only after what asks for it."""
        asks, needs = (
            [i for i, label in enumerate(labels) if self._any({label}, rule[side])]
            for side in ("if", "needs")
        )
        return bool(asks and needs) and needs[0] > asks[0]

    def _beside(self, labels: set[str], vague: str) -> bool:
        """Whether a label leaves open what another one, a specific sibling of it or below, says."""
        return vague in self._open and any(
            one not in self._residual
            and self._siblings(vague, one)
            and not self._expected(vague, one)
            for label in labels - {vague}
            for one in self._above(label) - self._above(vague)
        )

    def _siblings(self, a: str, b: str) -> bool:
        """Whether two nodes have one parent; categories of a range must also be of one kind."""
        parents = set(self._parents.get(a, ())) & set(self._parents.get(b, ()))
        if all("-" in parent for parent in parents):
            return bool(parents) and of_one_kind(self._titles[a] or "", self._titles[b] or "")
        return bool(parents)

    def _expected(self, a: str, b: str) -> bool:
        """Whether the policy says that two nodes come together."""
        return any(
            self._any({one}, left) and self._any({other}, right)
            for left, right in self._known
            for one, other in ((a, b), (b, a))
        )

    def _only_residual(self, labels: set[str], parent: str) -> bool:
        below = self._below(labels, parent) - {parent}
        return bool(below) and below <= self._residual

    def _given(self, node: str, labels: set[str], answer: set[str]) -> bool:
        """Whether it is an answer that no label implies, and a label not above it is missed."""
        beside = labels - answer - self._above(node)
        return node in answer and not self._below(labels, node) and bool(beside)

    def _exchanged(self, nodes: tuple[str, ...], labels: set[str], answer: set[str]) -> bool:
        a, b = nodes
        return any(
            one in labels and one not in answer and other in answer and other not in labels
            for one, other in ((a, b), (b, a))
        )

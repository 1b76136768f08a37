"""unexpected_pair: nodes that occur together more often than record length explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base import dag
from audit.base.dag import IntArray, Sparse
from audit.base.declared import NONE, Columns, Mark, chance, count, factor, ratio, share
from audit.checks.check import TOP_PARTS, Check, Outcome
from audit.checks.shared.carriers import carrying_apart, labels_apart
from audit.checks.shared.evidence import ALL
from audit.measure.measure import Measurements
from audit.results.findings import Evidence, Finding, Part, times_limit

_NAME = "unexpected_pair"
CHILDREN = "children"
"""Last part of the key of a finding on most pairs of children of a parent."""
MOST_NAMED = 3
"""Largest number of earlier finds named in a sentence as explaining part of a pair."""


def run(measured: Measurements) -> Outcome:
    """Report the pairs found by the pair scan, the strongest first."""
    return Outcome(
        denominator=measured.excess.family,
        denominator_unit="pairs of labels frequent enough to be judged",
        findings=_findings(measured),
    )


def _findings(measured: Measurements) -> tuple[Finding, ...]:
    """One finding for each pair, and one on a parent for all pairs of its children."""
    found = measured.excess.found
    rows = found.to_dicts()
    below = label_pairs_below(measured, [(row["a"], row["b"]) for row in rows])
    together: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        if row["parent"] is not None:
            together.setdefault(row["parent"], []).append(row)
    first = [row for row in rows if row["parent"] is None or together[row["parent"]][0] is row]
    return tuple(_finding(measured, row, below, together.get(row["parent"], ())) for row in first)


def _finding(
    measured: Measurements,
    row: Mapping[str, Any],
    below: LabelPairs,
    children: Sequence[Mapping[str, Any]],
) -> Finding:
    hierarchy = measured.hierarchy
    pair = (hierarchy.nodes[row["a"]], hierarchy.nodes[row["b"]])
    parent = hierarchy.nodes[row["parent"]] if children else ""
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(parent, *pair) if children else pair,
        statement=_statement(measured, row, len(children)),
        evidence={**_evidence(measured, row), **({"pairs": len(children)} if children else {})},
        curator="Look at a sample of these records: is the association known in the field, or is "
        "it a habit of labelling, such as a template? Say in the release notes which it "
        "is; a known pair can be listed in the policy as expected.",
        data_user="Do not read the two nodes as independent evidence: a model can predict one "
        "from the other.",
        touched=row["instances"],
        strength=row["strength"] / row["instances"],
        beyond=times_limit(row["ratio_low"], measured.policy.excess_ratio.value),
        parts=tuple(_child_part(measured, child) for child in children)
        or _parts(measured, row, below),
        key=(parent, CHILDREN) if children else (),
        asks=True,
        about=pair,
    )


def _statement(measured: Measurements, row: Mapping[str, Any], children: int) -> str:
    hierarchy = measured.hierarchy
    both = " and ".join(hierarchy.describe(row[end]) for end in ("a", "b"))
    others = ", ".join(
        " with ".join(hierarchy.describe(node) for node in pair)
        for pair in row["explained_by"][:MOST_NAMED]
    )
    by_group = "" if measured.excess.alike is None else " in {groups} {groups|group|groups}"
    made_of = "" if children else "[ ({mostly})]"
    sentence = (
        f"{{instances}} of {{of}} instances{by_group} {{instances|has|have}} "
        f"both {both}{labels_apart(hierarchy, row['a'], row['b'])}{made_of}"
        "[, about {ratio} times as many as chance would bring together in records with as many "
        f"labels{others and f', beyond what {others} explains'} "
        f"({{ratio_low}} to {{ratio_high}}, 95% interval)]{_all_of_one(measured, row)}."
    )
    if not children:
        return sentence
    parent = hierarchy.describe(row["parent"])
    return f"Most children of {parent} occur together ({{pairs}} pairs); the strongest: {sentence}"


def _all_of_one(measured: Measurements, row: Mapping[str, Any]) -> str:
    """That every instance with one of the pair has the other, where that is so.

    No count in a bin says that, so the clause is left out with the p value, which is not told then.
    """
    for end, other in (("a", "b"), ("b", "a")):
        if row["instances"] == int(measured.support[row[end]]):
            one, both = (measured.hierarchy.describe(row[place]) for place in (end, other))
            told = f"{{instances}} of {{support_{end}}} instances with {one} have {both}"
            return f"[{{p_value||}}; {told}: the first may imply the second]"
    return ""


def _evidence(measured: Measurements, row: Mapping[str, Any]) -> Evidence:
    return {
        "instances": row["instances"],
        "of": measured.n_instances,
        **_observed(measured, row),
        "expected_length": row["expected_length"],
        "explained": row["explained"],
        "ratio": row["shrunk_ratio"],
        **{name: row[name] for name in ("ratio_low", "ratio_high", "p_value", "q_value", "rank")},
        "pairs_judged": measured.excess.family,
    }


def _observed(measured: Measurements, row: Mapping[str, Any]) -> Evidence:
    """On how many instances each node of a pair is, and what those with both weigh by groups."""
    grouped = measured.excess.alike is not None
    return {
        **{f"support_{end}": int(measured.support[row[end]]) for end in ("a", "b")},
        **({"groups": row["groups"]} if grouped else {}),
        "observed": row["observed"],
        **({"effective": row["effective"]} if grouped else {}),
    }


def _child_part(measured: Measurements, row: Mapping[str, Any]) -> Part:
    names = measured.hierarchy.nodes
    evidence = {
        "instances": row["instances"],
        **_observed(measured, row),
        "explained": row["explained"],
        "ratio": row["shrunk_ratio"],
    }
    return Part((names[row["a"]], names[row["b"]]), evidence)


def _parts(measured: Measurements, row: Mapping[str, Any], below: LabelPairs) -> tuple[Part, ...]:
    """The label pairs that carry a pair, those on most of its records first."""
    names, of = measured.hierarchy.nodes, row["instances"]
    return tuple(
        Part((names[a], names[b]), {"instances": joint, "of": of, "share": joint / of})
        for a, b, joint in below.of(row["a"], row["b"])
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances that carry both nodes of the pair without a label below both.

    For a finding on most children of a parent, the instances of its strongest pair.
    """
    a, b = finding.nodes[-2:]
    return carrying_apart(measured, a, b)


_OF_PAIR = (
    *count("instances support_a support_b", "Instances"),
    *count("observed effective", under="instances"),
    *count("groups", of="groups", under="instances"),
    *factor("explained", "Expected", of="support_a support_b"),
    *ratio(
        "ratio",
        "Times expected",
        of="observed explained",
        ends="ratio_low ratio_high",
        effective="effective",
        mark=Mark(),
    ),
)
CHECK = Check(
    _NAME,
    "Which labels occur together more often than the length of records explains?",
    run,
    counts_with=("least_joint", "excess_ratio", "false_discovery_rate"),
    cases=cases,
    nodes="Node|With",
    evidence=Columns(
        _OF_PAIR,
        ALL,
        factor("expected_length", of="support_a support_b"),
        count("pairs", of=NONE),
        chance("p_value q_value rank pairs_judged"),
    ),
    of_parts=Columns(_OF_PAIR, count("of"), share("share", of="instances of")),
    denominator="untold",
)


@dataclass(frozen=True, eq=False)
class LabelPairs:
    """Joint instances of pairs of labels.

    Args:
        below: Row i holds node i and its descendants, shape (n_nodes, n_nodes).
        label: Position of each node among the selected labels, -1 for others, shape (n_nodes,).
        nodes: The selected labels, ascending, shape (n_labels,).
        joint: Instances that carry both without a label below both, shape (n_labels, n_labels).
    """

    below: Sparse
    label: IntArray
    nodes: IntArray
    joint: Sparse

    def of(self, a: int, b: int) -> list[tuple[int, int, int]]:
        """Pairs of labels at or below two nodes and their joint instances, most frequent first.

        A pair above another one with as many instances is left out. At most `TOP_PARTS` pairs.
        """
        sides = [self._labels(node) for node in (a, b)]
        met = csr_array(self.joint[sides[0]][:, sides[1]]).tocoo()
        first, second = self.nodes[sides[0][met.row]], self.nodes[sides[1][met.col]]
        order = np.lexsort((second, first, -met.data))
        pairs = list(zip(first[order].tolist(), second[order].tolist(), strict=True))
        counts = met.data[order].tolist()
        kept: list[tuple[int, int, int]] = []
        for place, (x, y) in enumerate(pairs):
            if len(kept) == TOP_PARTS:
                break
            equal = (pairs[i] for i in range(len(pairs)) if counts[i] == counts[place])
            if not any(self._above((x, y), other) for other in equal):
                kept.append((x, y, int(counts[place])))
        return kept

    def _labels(self, node: int) -> IntArray:
        places = self.label[dag.row(self.below, node)]
        return places[places >= 0]

    def _above(self, pair: tuple[int, int], other: tuple[int, int]) -> bool:
        below = (o in dag.row(self.below, x) for x, o in zip(pair, other, strict=True))
        return pair != other and all(below)


def label_pairs_below(measured: Measurements, pairs: Sequence[tuple[int, int]]) -> LabelPairs:
    """Joint instances of the labels at or below the nodes of the given pairs.

    The pair table is read once; only its lines below these nodes are kept in memory.
    """
    hierarchy, wanted = measured.hierarchy, np.zeros(len(measured.hierarchy), np.bool_)
    for node in {node for pair in pairs for node in pair}:
        wanted[dag.row(hierarchy.below, node)] = True
    nodes = np.flatnonzero(wanted & (measured.direct_support > 0))
    label = np.full(len(hierarchy), -1, np.int64)
    label[nodes] = np.arange(len(nodes))
    ends = pl.col("a", "b").cast(pl.Int64)
    chosen = nodes.tolist()
    met = (
        measured.pairs.counted.select(ends, joint=pl.col("joint") - pl.col("joint_entailed"))
        .filter(pl.col("a").is_in(chosen) & pl.col("b").is_in(chosen) & (pl.col("joint") > 0))
        .collect(engine="streaming")
    )
    a, b = (label[met[end].to_numpy()] for end in ("a", "b"))
    shape = (len(nodes), len(nodes))
    upper = csr_array((met["joint"].to_numpy(), (a, b)), shape=shape)
    return LabelPairs(hierarchy.below, label, nodes, csr_array(upper + upper.T))

"""unexpected_pair: nodes that occur together more often than record length explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import Sparse, row, rows
from audit.base.declared import NONE, Columns, Mark, chance, count, factor, ratio, share
from audit.checks.check import TOP_PARTS
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.carriers import carrying_apart, labels_apart
from audit.checks.shared.evidence import ALL
from audit.measure.measure import Measurements
from audit.results.findings import Evidence, Part, times_limit

MOST_NAMED = 3
"""Largest number of earlier finds named in a sentence as explaining part of a pair."""


def _pairs(measured: Measurements) -> Rows:
    """Report the pairs found by the pair scan, the strongest first: one finding for each pair, and
    one on a parent for all pairs of its children."""
    return Rows(
        measured.excess.family,
        "pairs of labels frequent enough to be judged",
        _rows(measured, measured.excess.found.to_dicts()),
    )


def _rows(measured: Measurements, found: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    joint = _labels_below(measured, found)
    together: dict[int, list[Mapping[str, Any]]] = {}
    for pair in found:
        together.setdefault(pair["parent"], []).append(pair)
    for pair in found:
        children = [] if pair["parent"] is None else together[pair["parent"]]
        if not children or children[0] is pair:
            yield _row(measured, pair, joint, children)


def _row(
    measured: Measurements,
    pair: Mapping[str, Any],
    joint: Sparse,
    children: Sequence[Mapping[str, Any]],
) -> Row:
    names = measured.hierarchy.nodes
    nodes = names[pair["a"]], names[pair["b"]]
    parent = names[pair["parent"]] if children else ""
    return Row(
        nodes=(parent, *nodes) if children else nodes,
        sentence=_sentence(measured, pair, len(children)),
        evidence={
            "instances": pair["instances"],
            "of": measured.n_instances,
            **_observed(measured, pair),
            "expected_length": pair["expected_length"],
            "explained": pair["explained"],
            "ratio": pair["shrunk_ratio"],
            **{name: pair[name] for name in ("ratio_low", "ratio_high", "p_value", "q_value")},
            "rank": pair["rank"],
            "pairs_judged": measured.excess.family,
            **({"pairs": len(children)} if children else {}),
        },
        curator="Look at a sample of these records: is the association known in the field, or is "
        "it a habit of labelling, such as a template? Say in the release notes which it "
        "is; a known pair can be listed in the policy as expected.",
        data_user="Do not read the two nodes as independent evidence: a model can predict one "
        "from the other.",
        strength=pair["strength"] / pair["instances"],
        beyond=times_limit(pair["ratio_low"], measured.policy.excess_ratio.value),
        parts=tuple(_child_part(measured, child) for child in children)
        or _parts(measured, joint, pair),
        key=(parent, "children") if children else (),
        asks=True,
        about=nodes,
        cases=partial(carrying_apart, measured, *nodes),
    )


def _child_part(measured: Measurements, pair: Mapping[str, Any]) -> Part:
    names = measured.hierarchy.nodes
    evidence = {
        "instances": pair["instances"],
        **_observed(measured, pair),
        "explained": pair["explained"],
        "ratio": pair["shrunk_ratio"],
    }
    return Part((names[pair["a"]], names[pair["b"]]), evidence)


def _sentence(measured: Measurements, pair: Mapping[str, Any], children: int) -> str:
    describe = measured.hierarchy.describe
    others = ", ".join(
        " with ".join(map(describe, other)) for other in pair["explained_by"][:MOST_NAMED]
    )
    by_group = "" if measured.excess.alike is None else " in {groups} {groups|group|groups}"
    made_of = "" if children else "[ ({mostly})]"
    sentence = (
        f"{{instances}} of {{of}} instances{by_group} {{instances|has|have}} "
        f"both {describe(pair['a'])} and {describe(pair['b'])}"
        f"{labels_apart(measured.hierarchy, pair['a'], pair['b'])}{made_of}"
        "[, about {ratio} times as many as chance would bring together in records with as many "
        f"labels{others and f', beyond what {others} explains'} "
        f"({{ratio_low}} to {{ratio_high}}, 95% interval)]{_all_of_one(measured, pair)}."
    )
    if not children:
        return sentence
    parent = describe(pair["parent"])
    return f"Most children of {parent} occur together ({{pairs}} pairs); the strongest: {sentence}"


def _all_of_one(measured: Measurements, pair: Mapping[str, Any]) -> str:
    """That every instance with one of the pair has the other, where that is so.

    No count in a bin says that, so the clause is left out with the p value, which is not told then.
    """
    for end, other in (("a", "b"), ("b", "a")):
        if pair["instances"] == int(measured.support[pair[end]]):
            one, both = (measured.hierarchy.describe(pair[place]) for place in (end, other))
            told = f"{{instances}} of {{support_{end}}} instances with {one} have {both}"
            return f"[{{p_value||}}; {told}: the first may imply the second]"
    return ""


def _observed(measured: Measurements, pair: Mapping[str, Any]) -> Evidence:
    """On how many instances each node of a pair is, and what those with both weigh by groups."""
    grouped = measured.excess.alike is not None
    return {
        **{f"support_{end}": int(measured.support[pair[end]]) for end in ("a", "b")},
        **({"groups": pair["groups"]} if grouped else {}),
        "observed": pair["observed"],
        **({"effective": pair["effective"]} if grouped else {}),
    }


def _labels_below(measured: Measurements, found: Sequence[Mapping[str, Any]]) -> Sparse:
    """Instances with both of two labels at or below the nodes of pairs, without one below both,
    shape (n_nodes, n_nodes).

    The pair table is read once; only its lines below these nodes are kept in memory.
    """
    below, n = measured.hierarchy.below, len(measured.hierarchy)
    ends = np.array([pair[end] for pair in found for end in ("a", "b")], np.int64)
    wanted = np.unique(rows(below, np.unique(ends)))
    chosen = wanted[measured.direct_support[wanted] > 0].tolist()
    met = (
        measured.pairs.counted.select(
            pl.col("a", "b").cast(pl.Int64), joint=pl.col("joint") - pl.col("joint_entailed")
        )
        .filter(pl.col("a").is_in(chosen) & pl.col("b").is_in(chosen) & (pl.col("joint") > 0))
        .collect(engine="streaming")
    )
    a, b, joint = (column.to_numpy() for column in met.iter_columns())
    upper = csr_array((joint, (a, b)), shape=(n, n))
    return csr_array(upper + upper.T)


def _parts(measured: Measurements, joint: Sparse, pair: Mapping[str, Any]) -> tuple[Part, ...]:
    """The label pairs that carry a pair, those on most of its records first.

    A pair of labels above another one with as many instances is left out.
    """
    names, below, of = measured.hierarchy.nodes, measured.hierarchy.below, pair["instances"]
    left, right = (row(below, pair[end]) for end in ("a", "b"))
    met = csr_array(joint[left][:, right]).tocoo()
    pairs = np.stack([left[met.row], right[met.col], met.data])
    order = np.lexsort((pairs[1], pairs[0], -pairs[2]))
    found: list[tuple[int, int, int]] = pairs[:, order].T.tolist()

    def above_an_equal(a: int, b: int, n: int) -> bool:
        others = [(x, y) for x, y, m in found if m == n and (x, y) != (a, b)]
        return any(x in row(below, a) and y in row(below, b) for x, y in others)

    kept = list[Part]()
    for a, b, n in found:
        if len(kept) < TOP_PARTS and not above_an_equal(a, b, n):
            kept.append(Part((names[a], names[b]), {"instances": n, "of": of, "share": n / of}))
    return tuple(kept)


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
CHECK = check_of_rows(
    "unexpected_pair",
    "Which labels occur together more often than the length of records explains?",
    _pairs,
    counts_with=("least_joint", "excess_ratio", "false_discovery_rate"),
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

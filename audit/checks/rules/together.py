"""parent_and_child, unspecific_beside_specific, sibling_exclusive: labels that do not go together.

Each says which node may not stand beside which label; `Beside` finds where it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse, edge_matrix, row
from audit.base.declared import NONE, Columns, count, text
from audit.checks.check import TOP_PARTS, first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.beside import Beside
from audit.checks.shared.carriers import label_part, labelled_with, named
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.checks.shared.proposals import carried_as, proposals, together
from audit.engine.statistics.intervals import wilson_at_limit
from audit.measure.measure import Measurements
from audit.measure.rule_book import associations, at_or_below, first_association
from audit.policy.rules import Exclusive
from audit.results.findings import Part, share_evidence, times_limit

NEARLY_NEVER = 0.05
"""Share of the records with a label that carry its parent too, up to which that is no habit; as
many may lack it where it is one."""
FEWEST = 20
"""Records with the parent, and as many without it, of a label that is undecided."""


def _nested(measured: Measurements) -> Rows:
    """Report, in one finding each, labels beside any ancestor where the hierarchy or policy calls
    that a fault, and elsewhere labels whose parent is given in some records and not in others."""
    found = _undecided if measured.labelled_ancestors == "allowed" else _faults
    return Rows(measured.labelled, "instances with labels", found(measured))


def _beside_ancestors(measured: Measurements) -> Beside:
    direct = measured.loaded.dataset.direct
    return Beside(direct, measured.hierarchy.strict_closure, direct)


def _faults(measured: Measurements) -> Iterator[Row]:
    """One row on the instances touched, with the pairs of most of them."""
    nested = measured.counts.records.of("nested")
    touched = measured.counts.records.total("nested_instances")
    if not touched:
        return
    top = np.argsort(-nested.joint, kind="stable")[:TOP_PARTS]
    ends = zip(*np.divmod(nested.keys[top], len(measured.hierarchy)), strict=True)
    parts = tuple(
        label_part(measured.hierarchy, (int(a), int(b)), n)
        for (a, b), n in zip(ends, nested.joint[top].tolist(), strict=True)
    )
    yield Row(
        severity="warning",
        nodes=parts[0].nodes,
        sentence="{instances} of {of} instances with labels ({share}) {instances|has|have} "
        "a label and another one above it, in {pairs} different pairs[, {mostly}].",
        evidence={**share_evidence(touched, measured.labelled), "pairs": len(nested)},
        curator="Keep the most specific label; the ancestor adds nothing and may be a remnant "
        "of coding that was later refined.",
        data_user="Propagate labels before counting, so that no ancestor is counted twice.",
        parts=parts,
        key=("labels",),
        cases=lambda: _beside_ancestors(measured).instances,
        proposes=partial(_without_ancestors, measured),
    )


def _without_ancestors(measured: Measurements) -> pl.DataFrame:
    """The label above another one is taken out."""
    above = _beside_ancestors(measured).hit.tocsc()
    used = np.flatnonzero(np.diff(above.indptr)).tolist()
    each = ((node, above.indices[slice(*above.indptr[node : node + 2])]) for node in used)
    found = [carried_as(measured, rows.astype(np.int64), [node]) for node, rows in each]
    said = "the record carries a label below it, which says the same and more"
    return together(proposals(one, "remove", "certain", said) for one in found)


def _undecided(measured: Measurements) -> Iterator[Row]:
    """One row, if more than a few labels have their parent beside them in some records only.

    A frequent label whose parent is used as a label too is undecided if the interval of the share
    of its records that carry the parent too lies between the two habits.
    """
    node, parent, both = _edges_in_use(measured)
    every, bins = measured.direct_support[node], measured.rounding.bins("instances")
    (k, n), (most, of) = bins.at_limit(both, every), bins.at_upper_limit(both, every)
    low, _ = wilson_at_limit(k, n, bins.width, NEARLY_NEVER)
    _, high = wilson_at_limit(most, of, bins.width, 1 - NEARLY_NEVER)
    undecided = (low > NEARLY_NEVER) & (high < 1 - NEARLY_NEVER)
    undecided &= np.minimum(k, of - most) >= FEWEST
    share = float(undecided.mean()) if len(node) else 0.0
    if share <= NEARLY_NEVER:
        return
    touched, pairs = measured.counts.records.total("nested_instances"), int(undecided.sum())
    top = np.argsort((both - every) * undecided, kind="stable")[: min(TOP_PARTS, pairs)]
    ids = measured.hierarchy.nodes
    parts = tuple(
        Part((ids[a], ids[b]), {"instances": n, "of": of})
        for a, b, n, of in np.stack([node, parent, both, every])[:, top].T.tolist()
    )
    yield Row(
        nodes=parts[0].nodes,
        sentence="Some records give a label with its parent, others without: {pairs} of "
        "{of_pairs} pairs of a frequent label and its parent are labels together in "
        f"{FEWEST} records or more, and the label comes without that parent in {FEWEST} or "
        "more[, {mostly}].",
        evidence={"pairs": pairs, "of_pairs": len(node)},
        curator="Decide whether a label above another one is to be given, and give it always "
        "or never; say so where the data are described.",
        data_user="Propagate labels before counting or training: here a parent that is "
        "missing does not mean that it does not hold.",
        touched=touched,
        beyond=times_limit(share, NEARLY_NEVER) * FEWEST * pairs / touched,
        parts=parts,
        key=("undecided",),
        cases=lambda: _beside_ancestors(measured).instances,
    )


def _edges_in_use(measured: Measurements) -> tuple[IntArray, IntArray, IntArray]:
    """Frequent labels and their parents that are labels too, and the instances with both."""
    edges = measured.hierarchy.edges.tocoo()
    node, parent = (place.astype(np.int64) for place in edges.coords)
    support, bins = measured.direct_support, measured.rounding.bins("instances")
    often = bins.tells & (bins.all_told(support[node]) >= 2 * FEWEST)
    used = often & (support[parent] > bins.width)
    node, parent = node[used], parent[used]
    nested = measured.counts.records.of("nested")
    keys = node * len(measured.hierarchy) + parent
    places = np.searchsorted(nested.keys, keys)
    met = np.isin(keys, nested.keys)
    both = np.zeros(len(keys), np.int64)
    both[met] = nested.joint[places[met]]
    return node, parent, both


def _unspecific(measured: Measurements) -> Rows:
    """Report such instances in one finding, with the most frequent pairs.

    Descendants of a sibling count as the sibling. A catch-all of kind ``other`` may name a further
    condition, and is not a fault beside a sibling unless it covers unspecified ones too.
    """
    open_ones = sorted(node for node, found in measured.residual.items() if found.leaves_open)
    labels = csr_array(measured.loaded.dataset.direct, copy=True)
    labels.data[~np.isin(labels.indices, open_ones)] = 0
    labels.eliminate_zeros()
    of = int(np.count_nonzero(np.diff(labels.indptr)))
    found = Beside(labels, _siblings(measured, open_ones), measured.loaded.aggregated)
    return Rows(
        of,
        "instances with an unspecified label",
        [_beside_sibling(measured, found, of)] if of and len(found.instances) else [],
        first_unmet(
            (
                open_ones,
                "no assignable node of this hierarchy is an unspecified one among siblings",
            )
        ),
    )


def _beside_sibling(measured: Measurements, found: Beside, of: int) -> Row:
    return Row(
        sentence="{instances} of {of} instances with an unspecified label ({share}) "
        "{instances|has|have} a specific sibling of it too, in {pairs} different pairs[, "
        "{mostly}].",
        curator=_OF_CODES if measured.hierarchy.integrity else _OF_GROUPS,
        data_user="Do not count the unspecified label as a second thing; use only the "
        "specific one where both mean the same.",
        key=("labels",),
        **found.told(measured, of),
    )


_OF_CODES = (
    "Check whether both labels mean the same thing; where they do, leave the unspecified one out. "
    "Where a record has two of a kind, such as two fractures, both may be right, and where coders "
    "are told to give both, name the pair under expected in the policy."
)
_OF_GROUPS = (
    "Look at the most frequent pairs: a heading of this hierarchy may hold labels that do not mean "
    "the same, and the classification of the labels may ask for both. Leave none out by this alone."
)


def _siblings(measured: Measurements, open_ones: list[int]) -> Sparse:
    """1 where the column is a specific sibling of an unspecified label, shape (n_nodes, n_nodes).

    On a graph a sibling may also be above the node or below it: then it says nothing beside it.
    Pairs that the policy expects, or a rule requires, are left out, and so are categories of a
    range of codes whose titles share no word.
    """
    hierarchy, pairs = measured.hierarchy, list[tuple[int, int]]()
    integrity, in_use = hierarchy.integrity, measured.direct_support > 0
    for node in (one for one in open_ones if in_use[one]):
        related = {node, *row(hierarchy.below, node).tolist(), *row(hierarchy.closure, node)}
        for parent in row(hierarchy.edges, node).tolist():
            beside = row(hierarchy.child_matrix, parent).tolist()
            pairs += [
                (node, sibling)
                for sibling in beside
                if sibling not in related and sibling not in measured.residual
                if integrity is None
                or integrity.table_of(hierarchy.nodes[parent])
                or _of_one_kind(hierarchy.titles[node], hierarchy.titles[sibling])
            ]
    node_of, sibling_of = np.array(sorted(set(pairs)), np.int64).reshape(-1, 2).T
    known = associations(hierarchy, measured.policy)
    free = first_association(hierarchy, known, in_use, node_of, sibling_of) < 0
    return edge_matrix(node_of[free], sibling_of[free], len(hierarchy))


_GENERIC = {"disorder", "disease", "condition", "other", "unspecified", "elsewhere", "classified"}


def _of_one_kind(title: str, other: str) -> bool:
    """Whether two titles share a word that names something; codes of a range may be of any kind."""
    named = (re.findall(r"[a-z]{5,}", one.lower()) for one in (title, other))
    first, second = ({word.removesuffix("s") for word in words} - _GENERIC for words in named)
    return not first.isdisjoint(second)


def _exclusive(measured: Measurements) -> Rows:
    """Report each violated group once, with its most frequent pairs of labels.

    An instance counts if it has two different labels on different sides; a single label below two
    sides does not count.
    """
    groups = [(one, _sides(measured, one)) for one in measured.policy.exclusive]
    used = measured.direct_support > 0
    carrying = [
        labelled_with(measured, np.flatnonzero(used & (side != _NEITHER))) for _, side in groups
    ]
    found = zip(groups, carrying, strict=True)
    return Rows(
        int(np.any(carrying, axis=0).sum()) if carrying else 0,
        "instances with a node that excludes others",
        (one for own, of in found for one in _of_group(measured, *own, int(of.sum()))),
        first_unmet((groups, "the policy declares no nodes mutually exclusive")),
    )


_NEITHER, _SEVERAL = -1, -2


def _sides(measured: Measurements, declared: Exclusive) -> IntArray:
    """Number of the side that each node is below, `_NEITHER` or `_SEVERAL`, shape (n_nodes,)."""
    side = np.full(len(measured.hierarchy), _NEITHER, np.int64)
    for number, nodes in enumerate(declared.sides):
        below = at_or_below(measured.hierarchy, nodes)
        side[below] = np.where(side[below] == _NEITHER, number, _SEVERAL)
    return side


def _of_group(
    measured: Measurements, declared: Exclusive, side: IntArray, of: int
) -> Iterator[Row]:
    """The row on a group; none where no instance has labels on two sides."""
    labels = np.flatnonzero((side >= 0) & (measured.direct_support > 0))
    a, b = labels[np.stack(np.triu_indices(len(labels), k=1))]
    apart = side[a] != side[b]
    relation = edge_matrix(a[apart], b[apart], len(side))
    direct = measured.loaded.dataset.direct
    found = Beside(direct, relation, direct)
    if not len(found.instances):
        return
    group = named(measured.hierarchy, [node for nodes in declared.sides for node in nodes])
    both = "both" if [len(nodes) for nodes in declared.sides] == [1, 1] else "two of them"

    def looked_at() -> pl.DataFrame:
        said = "the record carries another label that excludes it; one of them must be removed"
        carried = carried_as(measured, found.instances, np.flatnonzero(side >= 0))
        return proposals(carried, "review", "review", said)

    yield Row(
        severity=declared.severity,
        sentence=f"{{instances}} of {{of}} instances with {group} ({{share}}) "
        f"{{instances|has|have}} {both}, which exclude each other, in {{pairs}} different pairs: "
        f"{declared.reason}",
        curator="Look at these records and keep or join the two as the rule says and the record "
        "supports; where both are right, take the rule out of the policy.",
        data_user="Do not count these instances on either side.",
        key=declared.key,
        proposes=looked_at,
        **found.told(measured, of, group=group),
    )


PARENT_AND_CHILD = check_of_rows(
    "parent_and_child",
    "Do records carry a label and another one above it?",
    _nested,
    evidence=Columns(OF_SOME, count("pairs of_pairs", of=NONE)),
    of_parts=Columns(count("instances of")),
    proposes=True,
)
UNSPECIFIC = check_of_rows(
    "unspecific_beside_specific",
    "Do records carry an unspecified label beside a specific sibling?",
    _unspecific,
    needs="instances",
    evidence=Columns(OF_SOME, count("pairs", of=NONE)),
    of_parts=PARTS,
)
EXCLUSIVE = check_of_rows(
    "sibling_exclusive",
    "Do records carry labels that exclude each other?",
    _exclusive,
    needs="instances",
    proposes=True,
    evidence=Columns(
        text("group", "Labels that exclude each other"), OF_SOME, count("pairs", of=NONE)
    ),
    of_parts=PARTS,
)

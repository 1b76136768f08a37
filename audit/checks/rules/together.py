"""parent_and_child, unspecific_beside_specific, sibling_exclusive: labels that do not go together.

Each says which node may not stand beside which label; `RelatedLabels` finds where it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, Sparse, edge_matrix, row
from audit.base.declared import NONE, Columns, count, text
from audit.checks.check import TOP_PARTS
from audit.checks.rows import OF_SOME, PARTS, Row, Rows, check_of_rows
from audit.checks.shared.carriers import RelatedLabels, labelled_with, most_frequent, named
from audit.checks.shared.proposals import carried_as, proposals
from audit.checks.shared.written_labels import zeros_are_lost
from audit.engine.pairs.rows import counts_at, stored
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
    """Instances whose direct labels include a node and one of its strict ancestors.

    Where that is a fault, or is allowed and at most 5 % of the instances with labels (of persons 11
    or more) have such a pair, there is one finding, with the most frequent pairs.

    Where more have one, each label of 40 records or more is looked at whose parent is used as a
    label too. The parent beside the label in 95 % or more, or 5 % or less, is a habit; a label
    whose 95 % interval (Wilson) lies between, with 20 records or more of each kind, is undecided.
    If more than 5 % are undecided, there is one finding, with those of which most records lack the
    parent.

    **Severity.** Warning where labelled ancestors are a fault, as in ICD, else note; the policy's
    `labelled_ancestors` decides.
    """
    touched = measured.counts.records.total("nested_instances")
    rare = measured.rounding.bins("instances").at_worst(touched, measured.labelled)
    allowed = measured.labelled_ancestors == "allowed"
    usual = allowed and rare[0] > NEARLY_NEVER * rare[1]
    found = _undecided(measured) if usual else _ancestor_row(measured, allowed=allowed)
    return Rows(measured.labelled, "instances with labels", found)


def _labels_and_ancestors(measured: Measurements) -> RelatedLabels:
    direct = measured.loaded.dataset.direct
    return RelatedLabels(direct, measured.hierarchy.strict_closure, direct)


def _counted(measured: Measurements) -> tuple[int, IntArray, list[IntArray]]:
    """Instances with a label and one above it; and those of each such pair, with its two ends."""
    records, nodes = measured.counts.records, len(measured.hierarchy)
    pairs = records.of("nested")
    return records.total("nested_instances"), pairs.joint, [*np.divmod(pairs.keys, nodes)]


def _ancestor_row(measured: Measurements, *, allowed: bool) -> Iterator[Row]:
    """One row on all labels beside an ancestor."""
    touched, joint, ends = _counted(measured)
    if touched <= (measured.rounding.bins("instances").width if allowed else 0):
        return
    parts = most_frequent(measured.hierarchy, joint, *ends)
    yield Row(
        severity="note" if allowed else "warning",
        nodes=parts[0].nodes,
        sentence="{instances} of {of} instances with labels ({share}) {instances|has|have} "
        "a label and another one above it, in {pairs} different pairs[, {mostly}].",
        evidence={**share_evidence(touched, measured.labelled), "pairs": len(joint)},
        curator="Keep the most specific label; the ancestor adds nothing and may be a remnant "
        "of coding that was later refined.",
        data_user="Propagate labels before counting, so that no ancestor is counted twice.",
        parts=parts,
        key=("labels",),
        cases=lambda: _labels_and_ancestors(measured).instances,
        proposes=None if allowed else partial(_without_ancestors, measured),
    )


def _without_ancestors(measured: Measurements) -> pl.DataFrame:
    """Proposals to take out labels above others, unsure of those that lost zeros may have left."""
    found = _labels_and_ancestors(measured)
    above = found.hit.tocoo()
    ids = pl.Series(measured.hierarchy.nodes).gather(above.col)
    hit = pl.DataFrame({"instance": above.row.astype(np.uint32), "node": ids})
    carried = carried_as(measured, found.instances, np.unique(above.col))
    taken = carried.join(hit, on=["instance", "node"], how="semi").sort("node", maintain_order=True)
    left = (pl.col("with_zeros").list.len() > 0) & zeros_are_lost(measured)
    said = "the record carries a label below it, which says the same and more"
    sure = proposals(taken.filter(~left), "remove", "certain", said)
    unsure = proposals(taken.filter(left), "remove", "review", f"{said}, unless it lost zeros")
    return pl.concat([sure, unsure])


def _undecided(measured: Measurements) -> Iterator[Row]:
    """One row, if more than a few frequent labels have their parent in some records only."""
    hierarchy, support = measured.hierarchy, measured.direct_support
    touched, joint, ends = _counted(measured)
    node, parent = (place.astype(np.int64) for place in hierarchy.edges.tocoo().coords)
    bins = measured.rounding.bins("instances")
    often = bins.tells & (bins.all_told(support[node]) >= 2 * FEWEST)
    used = often & (support[parent] > bins.width)
    node, parent = node[used], parent[used]
    every = support[node]
    both = counts_at(csr_array((joint, ends), shape=hierarchy.edges.shape), node, parent)
    (k, n), (most, of) = bins.at_limit(both, every), bins.at_upper_limit(both, every)
    low, _ = wilson_at_limit(k, n, bins.width, NEARLY_NEVER)
    _, high = wilson_at_limit(most, of, bins.width, 1 - NEARLY_NEVER)
    undecided = (low > NEARLY_NEVER) & (high < 1 - NEARLY_NEVER)
    undecided &= np.minimum(k, of - most) >= FEWEST
    share = float(undecided.mean()) if len(node) else 0.0
    if share <= NEARLY_NEVER:
        return
    pairs = int(undecided.sum())
    top = np.argsort((both - every) * undecided, kind="stable")[: min(TOP_PARTS, pairs)]
    parts = tuple(
        Part((hierarchy.nodes[a], hierarchy.nodes[b]), {"instances": n, "of": of})
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
        cases=lambda: _labels_and_ancestors(measured).instances,
    )


def _unspecific(measured: Measurements) -> Rows:
    """Instances with an unspecified label beside a specific sibling, or what is below it.

    The label is at a [residual node](methods/residuals.md) that leaves open what was meant (kind
    `unspecified`, or "other and unspecified"), the other at or below a sibling that is not
    residual. ICD's categories below a range are no siblings here: they may be of any kind. Pairs
    that the policy expects or a rule requires are left out: 428.0 stands beside 428.2 to 428.4
    where the failure is congestive.

    **Severity.** Note: both can be right where a record has two of a kind, such as fractures or
    eyes. **Limits.** Where the hierarchy is not the labels' own (CCS above ICD), drop nothing by
    this alone.
    """
    open_ones = [node for node, found in measured.residual.items() if found.leaves_open]
    used = np.array([one for one in open_ones if measured.direct_support[one]], np.int64)
    of = int(labelled_with(measured, used).sum())
    siblings, carried = _specific_siblings(measured, used), measured.loaded.carried
    found = RelatedLabels(measured.loaded.dataset.direct, siblings, carried)
    return Rows(
        of,
        "instances with an unspecified label",
        [_unspecific_row(measured, found, of)] if len(found.instances) else [],
        ""
        if open_ones
        else "no assignable node of this hierarchy is an unspecified one among siblings",
    )


def _unspecific_row(measured: Measurements, found: RelatedLabels, n_unspecific: int) -> Row:
    return Row(
        sentence="{instances} of {of} instances with an unspecified label ({share}) "
        "{instances|has|have} a specific sibling of it too, in {pairs} different pairs[, "
        "{mostly}].",
        curator=_OF_CODES if measured.hierarchy.integrity else _OF_GROUPS,
        data_user="Do not count the unspecified label as a second thing; use only the "
        "specific one where both mean the same.",
        key=("labels",),
        **found.told(measured, n_unspecific),
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


def _specific_siblings(measured: Measurements, open_ones: IntArray) -> Sparse:
    """1 where the column is a specific sibling of the row's node that no rule expects beside it."""
    hierarchy, integrity = measured.hierarchy, measured.hierarchy.integrity
    pairs = [
        (node, sibling)
        for node in open_ones.tolist()
        for parent in row(hierarchy.edges, node).tolist()
        for sibling in row(hierarchy.child_matrix, parent).tolist()
        if sibling not in measured.residual
        if integrity is None or integrity.table_of(hierarchy.nodes[parent])
    ]
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    known = associations(hierarchy, measured.policy)
    free = first_association(hierarchy, known, measured.direct_support > 0, a, b) < 0
    free &= ~(stored(hierarchy.closure, a, b) | stored(hierarchy.closure, b, a))
    return edge_matrix(a[free], b[free], len(hierarchy))


def _exclusive(measured: Measurements) -> Rows:
    """Groups of which instances have two different labels, on different sides.

    The policy declares groups (`exclusive`) of two or more sides, each a node or several with all
    below. `share` is that of the instances with a label on any side. Siblings that no group names
    may occur together; nodes below one another cannot be declared.

    Built in for `icd9cm`, from titles and the Official Guidelines of 2011: 401.0, 401.1, 401.9 (a
    note); type I and type II of 250; 250.0 and 250.1 to 250.9; 401 and 585 or 402 to 404; 042 and
    V08 or 795.71; 496 and 491 to 493.

    **Severity.** As the group states, by default a warning. **Limits.** A diagnosis may have
    changed within a record.
    """
    used, groups = measured.direct_support > 0, measured.policy.exclusive
    sides = [
        used & np.array([at_or_below(measured.hierarchy, side) for side in group.sides])
        for group in groups
    ]
    having = [labelled_with(measured, np.flatnonzero(own.any(axis=0))) for own in sides]
    return Rows(
        int(np.any(having, axis=0).sum()) if groups else 0,
        "instances with a node that excludes others",
        (
            found
            for group, own, those in zip(groups, sides, having, strict=True)
            for found in _sides_together(measured, group, own, int(those.sum()))
        ),
        "" if groups else "the policy declares no nodes mutually exclusive",
    )


def _sides_together(
    measured: Measurements, declared: Exclusive, sides: BoolArray, of: int
) -> Iterator[Row]:
    """The row on a group that ``of`` instances carry; none where none of them has two sides."""
    labels, side = np.flatnonzero(sides.sum(axis=0) == 1), sides.argmax(axis=0)
    a, b = labels[np.stack(np.triu_indices(len(labels), k=1))]
    apart = side[a] != side[b]
    direct = measured.loaded.dataset.direct
    found = RelatedLabels(direct, edge_matrix(a[apart], b[apart], len(side)), direct)
    if not len(found.instances):
        return
    group = named(measured.hierarchy, declared.nodes_named)
    both = "both" if [len(nodes) for nodes in declared.sides] == [1, 1] else "two of them"

    def looked_at() -> pl.DataFrame:
        said = "the record carries another label that excludes it; one of them must be removed"
        return proposals(carried_as(measured, found.instances, labels), "review", "review", said)

    yield Row(
        severity=declared.severity,
        sentence=f"{{instances}} of {{of}} instances with {group} ({{share}}) "
        f"{{instances|has|have}} {both}, which exclude each other, in {{pairs}} different pairs: "
        f"{declared.reason}",
        curator="Keep or join the two as the rule says and the record supports; where both are "
        "right, take the rule out of the policy.",
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
    evidence=Columns(
        text("group", "Labels that exclude each other"), OF_SOME, count("pairs", of=NONE)
    ),
    of_parts=PARTS,
)

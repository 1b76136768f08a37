"""parent_and_child: labels beside their ancestors: any, or given in some records alone."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import IntArray
from audit.base.declared import NONE, Columns, count
from audit.checks.check import TOP_PARTS, Check, Outcome
from audit.checks.shared.carriers import label_part
from audit.checks.shared.evidence import OF_SOME
from audit.checks.shared.proposals import carried_as, proposals, together
from audit.engine.statistics.intervals import wilson_at_limit
from audit.measure.measure import Measurements
from audit.results.findings import Finding, Part, share_evidence, times_limit

_NAME = "parent_and_child"
NEARLY_NEVER = 0.05
"""Share of the records with a label that carry its parent too, up to which that is no habit; as
many may lack it where it is one."""
FEWEST = 20
"""Records with the parent, and as many without it, of a label that is undecided."""


def run(measured: Measurements) -> Outcome:
    """Report, in one finding each, labels beside any ancestor where the hierarchy or policy calls
    that a fault, and elsewhere labels whose parent is given in some records and not in others."""
    allowed = measured.labelled_ancestors == "allowed"
    return Outcome(
        denominator=measured.labelled,
        denominator_unit="instances with labels",
        findings=_undecided(measured) if allowed else _faults(measured),
    )


def _faults(measured: Measurements) -> tuple[Finding, ...]:
    """One finding on the instances touched, with the pairs of most of them."""
    nested = measured.counts.records.of("nested")
    touched = measured.counts.records.total("nested_instances")
    if not touched:
        return ()
    top = np.argsort(-nested.joint, kind="stable")[:TOP_PARTS]
    node, ancestor = np.divmod(nested.keys[top], len(measured.hierarchy))
    parts = _parts(measured, node, ancestor, nested.joint[top])
    return (
        Finding(
            check=_NAME,
            severity="warning",
            nodes=parts[0].nodes,
            statement="{instances} of {of} instances with labels ({share}) {instances|has|have} "
            "a label and another one above it, in {pairs} different pairs[, {mostly}].",
            evidence={**share_evidence(touched, measured.labelled), "pairs": len(nested)},
            curator="Keep the most specific label; the ancestor adds nothing and may be a remnant "
            "of coding that was later refined.",
            data_user="Propagate labels before counting, so that no ancestor is counted twice.",
            touched=touched,
            parts=parts,
            key=("labels",),
        ),
    )


def _undecided(measured: Measurements) -> tuple[Finding, ...]:
    """One finding, if more than a few labels have their parent beside them in some records only.

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
        return ()
    touched = measured.counts.records.total("nested_instances")
    top = np.argsort((both - every) * undecided, kind="stable")[: min(TOP_PARTS, undecided.sum())]
    parts = _parts(measured, node[top], parent[top], both[top], of_label=True)
    return (
        Finding(
            check=_NAME,
            severity="note",
            nodes=parts[0].nodes,
            statement="Some records give a label with its parent, others without: {pairs} of "
            "{of_pairs} pairs of a frequent label and its parent are labels together in "
            f"{FEWEST} records or more, and the label comes without that parent in {FEWEST} or "
            "more[, {mostly}].",
            evidence={"pairs": int(undecided.sum()), "of_pairs": len(node)},
            curator="Decide whether a label above another one is to be given, and give it always "
            "or never; say so where the data are described.",
            data_user="Propagate labels before counting or training: here a parent that is "
            "missing does not mean that it does not hold.",
            touched=touched,
            beyond=times_limit(share, NEARLY_NEVER) * FEWEST * undecided.sum() / touched,
            parts=parts,
            key=("undecided",),
        ),
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


def _parts(
    measured: Measurements,
    nodes: IntArray,
    above: IntArray,
    both: IntArray,
    *,
    of_label: bool = False,
) -> tuple[Part, ...]:
    """A line for each label with one above it: the instances labelled with both, of its own."""
    lines = list[Part]()
    for node, ancestor, n in zip(nodes.tolist(), above.tolist(), both.tolist(), strict=True):
        part = label_part(measured.hierarchy, (node, ancestor), n)
        own = {"of": int(measured.direct_support[node])} if of_label else {}
        lines.append(Part(part.nodes, {**part.evidence, **own}))
    return tuple(lines)


def cases(measured: Measurements, _: Finding) -> IntArray:
    """The instances labelled with both a node and its ancestor."""
    direct = measured.loaded.dataset.direct
    above = csr_array(direct @ measured.hierarchy.strict_closure)
    return np.flatnonzero(np.diff(csr_array(direct.multiply(above)).indptr))


def proposes(measured: Measurements, finding: Finding) -> pl.DataFrame:
    """The label above another one is taken out, where that is a fault."""
    if finding.key != ("labels",):
        return together([])
    direct, hierarchy = measured.loaded.dataset.direct, measured.hierarchy
    above = csr_array(direct.multiply(csr_array(direct @ hierarchy.strict_closure))).tocsc()
    used = np.flatnonzero(np.diff(above.indptr))
    columns = ((node, slice(*above.indptr[node : node + 2])) for node in used.tolist())
    found = [
        carried_as(measured, above.indices[rows].astype(np.int64), [node]) for node, rows in columns
    ]
    said = "the record carries a label below it, which says the same and more"
    return together(proposals(one, "remove", "certain", said) for one in found)


CHECK = Check(
    _NAME,
    "Do records carry a label and another one above it?",
    run,
    cases=cases,
    evidence=Columns(OF_SOME, count("pairs of_pairs", of=NONE)),
    of_parts=Columns(count("instances of")),
    proposes=proposes,
)

"""parent_and_child: instances labelled with both a node and its ancestor."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import IntArray
from audit.checks.check import TOP_PARTS, Check, Outcome, first_unmet
from audit.disclosure import Quantity, count, derived
from audit.measure.measure import Measurements
from audit.results.findings import Finding, Part

_NAME = "parent_and_child"


def run(measured: Measurements) -> Outcome:
    """Report such instances in one finding, with the most frequent pairs."""
    allowed = measured.labelled_ancestors == "allowed"
    return Outcome(
        denominator=measured.labelled,
        denominator_unit="instances with labels",
        findings=() if allowed else _findings(measured),
        not_applicable=first_unmet(
            (not allowed, "this hierarchy allows a label beside its ancestor"),
            (measured.labelled, "no instance has a label"),
        ),
    )


def _findings(measured: Measurements) -> tuple[Finding, ...]:
    """One finding on the instances touched, with the pairs of most of them."""
    touched, nested = (
        measured.counts.records.total("nested_instances"),
        measured.counts.records.of("nested"),
    )
    if not touched:
        return ()
    labelled, support, ids = measured.labelled, measured.direct_support, measured.hierarchy.nodes
    top = np.argsort(-nested.joint, kind="stable")[:TOP_PARTS]
    pairs = zip(*np.divmod(nested.keys[top], len(ids)), nested.joint[top].tolist(), strict=True)
    parts = tuple(
        Part(
            (ids[node], ids[ancestor]),
            {"instances": count(both, touched, int(support[node]), int(support[ancestor]))},
        )
        for node, ancestor, both in pairs
    )
    return (
        Finding(
            check=_NAME,
            severity="warning",
            nodes=parts[0].nodes,
            statement="{instances} of {of} instances with labels ({share}) {instances|has|have} "
            "a label and another one above it, in {pairs} different pairs.",
            evidence={
                "instances": count(touched, labelled),
                "of": Quantity(labelled),
                "share": derived(touched / labelled, "instances"),
                "pairs": Quantity(len(nested)),
            },
            curator="Keep the most specific label; the ancestor adds nothing and may be a remnant "
            "of coding that was later refined.",
            data_user="Propagate labels before counting, so that no ancestor is counted twice.",
            touched=touched,
            parts=parts,
            key=("labels",),
        ),
    )


def cases(measured: Measurements, _: Finding) -> IntArray:
    """The instances labelled with both a node and its ancestor."""
    direct = measured.loaded.dataset.direct
    above = csr_array(direct @ measured.hierarchy.strict_closure)
    return np.flatnonzero(np.diff(csr_array(direct.multiply(above)).indptr))


CHECK = Check(_NAME, "Do records carry a label and another one above it?", run, cases=cases)

"""Compare two runs: changes per node, pair and check, and their causes."""

from __future__ import annotations

from audit.base.errors import InputError
from audit.hierarchies.same import refuse_other, shared_nodes
from audit.results.result import AuditResult
from audit.runs.compare.causes import causes, same_data
from audit.runs.compare.edits import Release, hierarchy_edits
from audit.runs.compare.finding_changes import check_changes
from audit.runs.compare.model_changes import model_changes
from audit.runs.compare.node_changes import node_changes
from audit.runs.compare.pair_changes import pair_changes
from audit.runs.compare.result import Comparison
from audit.runs.compare.roll_up import common_nodes


def compare_runs(old: AuditResult, new: AuditResult, *, same_hierarchy: bool = False) -> Comparison:
    """Compare two runs of one hierarchy.

    Args:
        old: The earlier run, from `audit.read_run` or `audit.run_audit`.
        new: The later run.
        same_hierarchy: Whether both hierarchies are one classification, though few nodes are in
            both.

    Returns:
        The comparison. Swapping the runs negates every difference. Intervals and p values of labels
        assume independent instances, and that the two releases have none in common; those of models
        pair the instances that both runs keep.

    Raises:
        InputError: If the runs are on different hierarchies, or one of them has no instances.

    Time grows with the number of pairs of both runs; only joint counts are held in memory.
    """
    _refuse_empty(old, new)
    shared = shared_nodes(*(r.nodes.select("node", "title").iter_rows() for r in (old, new)))
    if not same_hierarchy:
        names = [str(run.identity["hierarchy"]["name"]) for run in (old, new)]
        refuse_other(shared, (names[0], names[1]), "two runs of one hierarchy are required")
    before, after = Release(old), Release(new)
    common = common_nodes(before, after)
    edits = hierarchy_edits(before, after)
    same = same_data(old, new)
    return Comparison(
        old=old,
        new=new,
        causes=causes(old, new, edits, int((~common.as_it_is).sum()), shared),
        edits=edits,
        node_changes=node_changes(before, after, common, same_data=same),
        pair_changes=pair_changes(before, after, common, same_data=same),
        checks=check_changes(old, new),
        model=model_changes(old, new, same_data=same),
    )


def _refuse_empty(old: AuditResult, new: AuditResult) -> None:
    for which, run in (("OLD", old), ("NEW", new)):
        if not run.ledger["instances"]:
            raise InputError("a run with instances is required", found=f"none in {which}")

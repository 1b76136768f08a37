"""Compare two runs: changes per node, pair and check, and their causes."""

from __future__ import annotations

from audit.base.errors import InputError
from audit.results.result import AuditResult
from audit.runs.compare.causes import causes, same_data
from audit.runs.compare.edits import Release, hierarchy_edits
from audit.runs.compare.finding_changes import check_changes
from audit.runs.compare.model_changes import model_changes
from audit.runs.compare.node_changes import node_changes
from audit.runs.compare.pair_changes import pair_changes
from audit.runs.compare.result import Comparison
from audit.runs.compare.roll_up import common_nodes


def compare_runs(old: AuditResult, new: AuditResult) -> Comparison:
    """Compare two runs of one hierarchy.

    Args:
        old: The earlier run, from `audit.read_run` or `audit.run_audit`.
        new: The later run.

    Returns:
        The comparison. Swapping the runs negates every difference. Intervals and p values of labels
        assume independent instances, and that the two releases have none in common; those of models
        pair the instances that both runs keep.

    Raises:
        InputError: If the runs are on different hierarchies, or one of them has no instances.

    Time grows with the number of pairs of both runs; only joint counts are held in memory.
    """
    _refuse_incomparable(old, new)
    before, after = Release(old), Release(new)
    common = common_nodes(before, after)
    edits = hierarchy_edits(before, after)
    same = same_data(old, new)
    return Comparison(
        old=old,
        new=new,
        causes=causes(old, new, edits, int((~common.as_it_is).sum())),
        edits=edits,
        node_changes=node_changes(before, after, common, same_data=same),
        pair_changes=pair_changes(before, after, common, same_data=same),
        checks=check_changes(old, new),
        model=model_changes(old, new, same_data=same),
    )


def _refuse_incomparable(old: AuditResult, new: AuditResult) -> None:
    names = [run.identity["hierarchy"]["name"] for run in (old, new)]
    if names[0] != names[1]:
        raise InputError(
            "two runs of one hierarchy are required",
            found=f"OLD is one of {names[0]!r}, NEW one of {names[1]!r}",
            hint="counts of nodes can be compared only within one classification",
        )
    for which, run in (("OLD", old), ("NEW", new)):
        if not run.ledger["instances"]:
            raise InputError("a run with instances is required", found=f"none in {which}")

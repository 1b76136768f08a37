"""Wording of a comparison: verdict, differences and limitations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit._reports.words.parts import Badge, Verdict
from audit._reports.words.words import counted, listed

EDIT: Mapping[str, str] = {
    "added": "added",
    "removed": "removed",
    "moved": "moved",
    "retitled": "retitled",
    "assignable_changed": "use as a label",
}
CAUSE: Mapping[str, str] = {
    "data": "Data",
    "hierarchy": "Hierarchy",
    "normaliser": "Normaliser",
    "tool": "Tool",
    "policy": "Policy",
}
CHANGE: Mapping[str, str] = {
    "new": "new",
    "gone": "gone",
    "worse": "worse",
    "better": "better",
    "limit": "at the limit in one of the two",
    "not_asked": "not asked in the other",
}
CHANGE_TONE: Mapping[str, str] = {
    "new": "warning",
    "worse": "warning",
    "gone": "pass",
    "better": "pass",
}


def comparison_verdict(shared: Mapping[str, Any]) -> Verdict:
    """The verdict of the comparison, in a word and in a sentence."""
    totals = shared["totals"]
    worse = totals["new"] + totals["worse"]
    if not shared["changed"]:
        return Verdict(Badge("Unchanged", "pass"), _unchanged(shared))
    return Verdict(Badge("Changed", "warning" if worse else "note"), _sentence(shared))


def _unchanged(shared: Mapping[str, Any]) -> str:
    nodes = counted(shared["nodes"]["compared"], "node")
    return (
        f"Among {nodes} in use and {counted(len(shared['checks']), 'check')}, nothing changed that "
        "a comparison can show."
    )


def _sentence(shared: Mapping[str, Any]) -> str:
    totals, model = shared["totals"], shared["model"]
    changed = [cause["name"] for cause in shared["causes"] if cause["changed"]]
    differ = f"Different in the two runs: {listed(changed)}. " if changed else ""
    use = (
        f"The use of {counted(totals['nodes'], 'node')} and {counted(totals['pairs'], 'pair')} "
        "changed"
    )
    found = [
        f"{sum(check['changes'][change] for check in shared['checks']):,} {CHANGE[change]}"
        for change in ("new", "worse", "gone", "better", "limit")
    ]
    edits = counted(totals["edits"], "edit")
    of_model = "" if model is None else f"{_MODELS[model['predictions']]}{_metrics(model, totals)} "
    measured = counted(len(shared.get("measures", ())), "measured number")
    of_measures = (
        f"{totals['measures']:,} of {measured} changed beyond chance. "
        if "measures" in totals
        else ""
    )
    of_data = f"{use}; findings: {listed(found)}; the hierarchy has {edits}."
    return f"{differ}{of_model}{of_measures}{of_data}"


_MODELS: Mapping[str, str] = {
    "same": "The predictions are the same.",
    "differ": "The predictions differ.",
    "alike": "The predictions were read from different files.",
    "only_old": "Only OLD has predictions.",
    "only_new": "Only NEW has predictions.",
}


def _metrics(model: Mapping[str, Any], totals: Mapping[str, int]) -> str:
    """How many metrics and confused pairs changed, where both runs have a model."""
    if model["predictions"] in ("only_old", "only_new"):
        return ""
    of = f" {totals['metrics']:,} of {counted(model['metrics']['total'], 'metric')}"
    if model["common"] is None:
        return f"{of} changed beyond chance."
    return f"{of} and {counted(totals['confusions'], 'confused pair')} changed beyond chance."


def times(ratio: float | None) -> str:
    """A ratio as a reader would say it.

    >>> times(2.357), times(0.35), times(None)
    ('× 2.4', '× 0.35', '–')
    """
    if ratio is None:
        return "–"
    return f"× {ratio:.1f}" if ratio >= 1 else f"× {ratio:.2f}"


def chance(p: float | None) -> str:
    """A p or q value; a dash if there was no test.

    >>> chance(0.0213), chance(1e-9), chance(None)
    ('0.021', '<0.001', '–')
    """
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.2g}"


def limits(shared: Mapping[str, Any]) -> tuple[str, ...]:
    """Limitations that a reader must know before using the comparison."""
    notes = [
        "A change of use is not a fault: patients, services and rules of coding change. The "
        "comparison says what to look at.",
        "For labels, the two releases are treated as samples with no instance in common. Where "
        "NEW holds the instances of OLD, differences are smaller than those between two samples, "
        "so that intervals are too wide rather than too narrow.",
        "Pairs are compared only where both of their nodes have the same nodes below them in both "
        "hierarchies, and ancestor pairs are left out.",
        "A pair with a node that one release does not use cannot be judged beyond its nodes.",
        "A finding that is reported only beyond a limit, and has no number in one run, cannot be "
        "tested: it is counted as at the limit in one of the two.",
    ]
    notes.insert(1, _of_groups(**shared["grouped"]))
    return tuple(notes)


def _of_groups(old: bool | None, new: bool | None) -> str:
    """What is taken as independent, by whether each run has groups of several instances."""
    if old and new:
        return (
            "What is tested is the mean over groups, such as patients, of the share of a group’s "
            "instances. A node that only groups of many instances carry more often counts little. "
            "Groups that come again are not paired, so that small changes are missed rather than "
            "reported by chance."
        )
    if old or new:
        which = ("OLD", "NEW") if old else ("NEW", "OLD")
        return (
            f"In {which[0]} alone groups have several instances; each instance of {which[1]} is "
            "taken as a group of its own. Where that is not so, more than one change in twenty "
            "may be chance: name the column of the groups in both runs (--group)."
        )
    return (
        "Every instance is taken as independent of the others. Where several are of one patient, "
        "and no column was named that says so (--group), intervals and q-values are too small."
    )

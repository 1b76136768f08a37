"""Make a history of runs: their checks, metrics and findings, one after the other.

It is made of the shared views alone, and no number is computed from two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from audit.base.errors import InputError
from audit.hierarchies.relations import refuse_other, shared_nodes
from audit.results.findings import SEVERITIES
from audit.runs.shared_runs import SharedRun, in_order

Step: TypeAlias = Literal["appeared", "disappeared", "persisting", "not_asked"]
STEPS: tuple[Step, ...] = ("appeared", "disappeared", "persisting", "not_asked")
"""What becomes of a finding from one run to the next: the later run alone lists it, the earlier one
alone, both do, or the check did not run in one of the two.

Whether it is new or gone takes a test, which `audit.runs.compare.findings` makes.
"""

_Check: TypeAlias = Mapping[str, Any]


def ran(check: _Check | None) -> bool:
    """Whether a run has a check, and it ran."""
    return check is not None and check["status"] not in ("error", "not_applicable")


def steps_of(old: _Check | None, new: _Check | None) -> dict[str, Step]:
    """What becomes of every finding of a check from one run to the next, by the finding's id."""
    before, after = _by_id(old), _by_id(new)
    alone: Step = "appeared" if ran(old) and ran(new) else "not_asked"
    gone: Step = "disappeared" if ran(old) and ran(new) else "not_asked"
    steps: dict[str, Step] = {one: "persisting" if one in before else alone for one in after}
    return steps | dict.fromkeys(before.keys() - after.keys(), gone)


def counted_steps(steps: Sequence[Step]) -> dict[str, int]:
    """Number of findings of each step."""
    return {step: sum(one == step for one in steps) for step in STEPS}


def _by_id(check: _Check | None) -> dict[str, Mapping[str, Any]]:
    return {} if check is None else {finding["id"]: finding for finding in check["findings"]}


_Row = dict[str, Any]
_Named: TypeAlias = Sequence[Mapping[str, _Check]]
"""The checks of each run, by name."""


def history_of(runs: Sequence[SharedRun], *, as_named: bool = False) -> _Row:
    """Make the history of two runs or more of one hierarchy.

    Args:
        runs: The runs.
        as_named: Whether they stay in this order; else they are put in the order of their times,
            runs of the same time in this order. They stay in it too where one has no time.

    Returns:
        Plain data: ``runs, steps, checks, metrics, findings``, each a list of rows, with runs
        numbered from 1, ``order``, ``time`` or ``named``, and ``rounding`` of the last run.

    Raises:
        InputError: If there is one run only, one is there twice, they have different hierarchies,
            or they tell counts in different bins.
    """
    _refuse_few_or_twice(runs)
    _refuse_hierarchies(runs)
    _refuse_other_bins(runs)
    ordered = in_order(runs, as_named=as_named)
    named = [{check["name"]: check for check in run.shared["checks"]} for run in ordered]
    undated, last = sum(run.started is None for run in runs), ordered[-1].shared
    return {
        "order": "named" if as_named or undated else "time",
        "undated": undated,
        "rounding": last["rounding"],
        "tool": dict(last["identity"]["tool"]),
        "hierarchy": last["identity"]["hierarchy"]["name"],
        "title": next((run.title for run in reversed(ordered) if run.title), ""),
        "runs": [_run(run, place) for place, run in enumerate(ordered, 1)],
        "steps": list(_steps(ordered, named)),
        "checks": list(_checks(named)),
        "metrics": list(_metrics(ordered)),
        "findings": _findings(named),
    }


def _refuse_few_or_twice(runs: Sequence[SharedRun]) -> None:
    if len(runs) < 2:
        raise InputError(
            "two runs or more are required",
            found="one" if runs else "none",
            hint="`audit report` renders the report of one run",
        )
    seen: dict[str, str] = {}
    for run in runs:
        if run.seal in seen:
            raise InputError(
                "each run may be named only once",
                found=f"{run.name!r} is the same run as {seen[run.seal]!r}",
                hint="leave one out; a copy of a run is the same run",
            )
        seen[run.seal] = run.name


def _refuse_hierarchies(runs: Sequence[SharedRun]) -> None:
    for pair in pairwise(run.shared for run in runs):
        ours, theirs = (shared["identity"]["hierarchy"] for shared in pair)
        if ours["sha256"] != theirs["sha256"]:
            trees = (shared["overview"]["tree"] for shared in pair)
            nodes = shared_nodes(*([(row["node"], row["title"]) for row in tree] for tree in trees))
            names = str(ours["name"]), str(theirs["name"])
            refuse_other(nodes, names, "runs of one hierarchy are required")


def _refuse_other_bins(runs: Sequence[SharedRun]) -> None:
    """Counts of one kind of data are told in bins of one width."""
    widths = [(run.shared["rounding"] or {"bin": 0})["bin"] for run in runs]
    if len({*widths}) > 1:
        told = (f"bins of {width}" if width else "no bins" for width in widths)
        found = ", ".join(f"{run.name!r} in {one}" for run, one in zip(runs, told, strict=True))
        raise InputError(
            "runs that tell counts in the same bins are required",
            found=found,
            hint="audit them again with one min_cell",
        )


def _run(run: SharedRun, place: int) -> _Row:
    identity, ledger = run.shared["identity"], run.shared["ledger"]
    return {
        "run": place,
        "name": run.name,
        "title": run.title,
        "started": run.started and run.started.isoformat(timespec="seconds"),
        "status": run.shared["status"],
        **{name: ledger[name] for name in ("instances", "rows_read", "rows_mapped")},
        "min_cell": run.shared["policy"]["min_cell"],
        "policy": identity["policy"]["name"],
        "tool": f"{identity['tool']['name']} {identity['tool']['version']}",
    }


def _steps(runs: Sequence[SharedRun], named: _Named) -> Iterator[_Row]:
    """What differs, and what becomes of the findings, from each run to the next."""
    identities = pairwise(run.shared["identity"] for run in runs)
    for place, ((old, new), (was, now)) in enumerate(zip(pairwise(named), identities, strict=True)):
        steps = [
            step
            for name in {**new, **old}
            for step in steps_of(old.get(name), new.get(name)).values()
        ]
        differ = [
            name for name in ("hierarchy", "policy") if was[name]["sha256"] != now[name]["sha256"]
        ]
        differ += [name for name in ("normaliser", "tool") if was[name] != now[name]]
        yield {"from": place + 1, "to": place + 2, "differ": differ, **counted_steps(steps)}


def _union(named: Sequence[Mapping[Any, Any]]) -> list[Any]:
    """Keys in the order of the last run, then those of earlier runs alone."""
    return list(dict.fromkeys(key for one in reversed(named) for key in one))


def _checks(named: _Named) -> Iterator[_Row]:
    """A row for each check and run: how many findings the run lists, and of each severity."""
    for name in _union(named):
        title = next(one[name]["title"] for one in reversed(named) if name in one)
        for place, checks in enumerate(named, 1):
            counts = _counts(checks.get(name))
            yield {"check": name, "title": title, "run": place, **counts}


def _counts(check: _Check | None) -> _Row:
    if check is None or not ran(check):
        names = ("found", *SEVERITIES, "waived", "folded", "not_shown")
        return {"status": check and check["status"], **dict.fromkeys(names)}
    standing = [one["severity"] for one in check["findings"] if one["waiver"] is None]
    return {
        "found": len(standing),
        **{severity: standing.count(severity) for severity in SEVERITIES},
        "waived": len(check["findings"]) - len(standing),
        **{name: check[name] for name in ("status", "folded", "not_shown")},
    }


def _metrics(runs: Sequence[SharedRun]) -> Iterator[_Row]:
    """A row for each metric and run that has it; null values are not told or not defined."""
    named = [{_key(metric): metric for metric in run.shared["metrics"]} for run in runs]
    for key in _union(named):
        for place, metrics in enumerate(named, 1):
            if metric := metrics.get(key):
                yield {
                    "metric": metric["name"],
                    "scope": metric["scope"],
                    "parameters": _stated(metric),
                    "run": place,
                    **{name: metric.get(name) for name in ("value", "low", "high", "n", "beyond")},
                }


def _stated(metric: Mapping[str, Any]) -> _Row:
    return {name: value for name, value in metric["parameters"].items() if value is not None}


def _key(metric: Mapping[str, Any]) -> tuple[str, str, str]:
    return metric["name"], metric["scope"], repr(sorted(_stated(metric).items()))


def _findings(named: _Named) -> list[_Row]:
    """A row for each finding: in which runs it stands, and its sentence in the last of them."""
    rows = []
    for name in _union(named):
        checks = [one.get(name) for one in named]
        steps = [steps_of(old, new) for old, new in pairwise(checks)]
        found = [_by_id(check) for check in checks]
        for id_ in _union(found):
            standing = {place: own[id_] for place, own in enumerate(found, 1) if id_ in own}
            last = standing[max(standing)]
            rows.append(
                {
                    "check": name,
                    "id": id_,
                    **{part: last[part] for part in ("severity", "nodes", "statement")},
                    "waived": last["waiver"] is not None,
                    "first": min(standing),
                    "last": max(standing),
                    "severities": [own[id_]["severity"] if id_ in own else None for own in found],
                    "steps": [step.get(id_) for step in steps],
                }
            )
    return sorted(rows, key=lambda row: (-row["last"], SEVERITIES.index(row["severity"])))

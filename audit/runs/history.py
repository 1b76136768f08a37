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

_Row: TypeAlias = dict[str, Any]
_Check: TypeAlias = Mapping[str, Any]


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
    _refuse_other_hierarchies(runs)
    _refuse_other_bins(runs)
    ordered = in_order(runs, as_named=as_named)
    named = [{check["name"]: check for check in run.shared["checks"]} for run in ordered]
    undated, last = sum(run.started is None for run in runs), ordered[-1].shared
    findings = _findings(named)
    return {
        "order": "named" if as_named or undated else "time",
        "undated": undated,
        "rounding": last["rounding"],
        "tool": dict(last["identity"]["tool"]),
        "hierarchy": last["identity"]["hierarchy"]["name"],
        "title": next((run.title for run in reversed(ordered) if run.title), ""),
        "runs": [_row_of_run(run, place) for place, run in enumerate(ordered, 1)],
        "steps": [*_steps(ordered, findings)],
        "checks": [*_checks(named)],
        "metrics": [*_metrics(ordered)],
        "findings": findings,
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


def _refuse_other_hierarchies(runs: Sequence[SharedRun]) -> None:
    for pair in pairwise(run.shared for run in runs):
        ours, theirs = (shared["identity"]["hierarchy"] for shared in pair)
        if ours["sha256"] != theirs["sha256"]:
            trees = (shared["overview"]["tree"] for shared in pair)
            nodes = shared_nodes(*([(row["node"], row["title"]) for row in tree] for tree in trees))
            names = str(ours["name"]), str(theirs["name"])
            refuse_other(nodes, names, "runs of one hierarchy are required")


def _refuse_other_bins(runs: Sequence[SharedRun]) -> None:
    """Raise InputError for runs that tell counts in bins of different widths."""
    widths = [(run.shared["rounding"] or {"bin": 0})["bin"] for run in runs]
    if len({*widths}) > 1:
        told = (f"bins of {width}" if width else "no bins" for width in widths)
        found = ", ".join(f"{run.name!r} in {one}" for run, one in zip(runs, told, strict=True))
        raise InputError(
            "runs that tell counts in the same bins are required",
            found=found,
            hint="audit them again with one min_cell",
        )


def _row_of_run(run: SharedRun, place: int) -> _Row:
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


def _steps(runs: Sequence[SharedRun], findings: Sequence[_Row]) -> Iterator[_Row]:
    """What differs, and what becomes of the findings, from each run to the next."""
    for place, pair in enumerate(pairwise(run.shared["identity"] for run in runs)):
        files = ("hierarchy", "policy")
        was, now = ({**one, **{name: one[name]["sha256"] for name in files}} for one in pair)
        differ = [name for name in (*files, "normaliser", "tool") if was[name] != now[name]]
        became = [one["steps"][place] for one in findings]
        counts = {str(step): became.count(step) for step in STEPS}
        yield {"from": place + 1, "to": place + 2, "differ": differ, **counts}


def _union(named: Sequence[Mapping[Any, Any]]) -> list[Any]:
    """Keys in the order of the last run, then those of earlier runs alone."""
    return list(dict.fromkeys(key for one in reversed(named) for key in one))


def _checks(named: Sequence[Mapping[str, _Check]]) -> Iterator[_Row]:
    """A row for each check and run: its status, and how many findings the run lists."""
    for name in _union(named):
        title = next(one[name]["title"] for one in reversed(named) if name in one)
        for place, checks in enumerate(named, 1):
            check = checks.get(name)
            listed = [one for one in check["findings"] if one["waiver"] is None] if check else []
            row = {"check": name, "title": title, "run": place, "status": check and check["status"]}
            yield {**row, "found": len(listed) if _ran(check) else None}


def _ran(check: _Check | None) -> bool:
    return check is not None and check["status"] not in ("error", "not_applicable")


def _metrics(runs: Sequence[SharedRun]) -> Iterator[_Row]:
    """A row for each metric and run that has it; null values are not told or not defined."""

    def stated(metric: Mapping[str, Any]) -> _Row:
        return {name: one for name, one in metric["parameters"].items() if one is not None}

    named = [
        {(one["name"], one["scope"], repr(sorted(stated(one).items()))): one
         for one in run.shared["metrics"]}
        for run in runs
    ]  # fmt: skip
    for key in _union(named):
        for place, metrics in enumerate(named, 1):
            if metric := metrics.get(key):
                yield {
                    "metric": metric["name"],
                    "scope": metric["scope"],
                    "parameters": stated(metric),
                    "run": place,
                    **{name: metric.get(name) for name in ("value", "low", "high", "n", "beyond")},
                }


def _findings(named: Sequence[Mapping[str, _Check]]) -> list[_Row]:
    """A row for each finding: in which runs it stands, and its sentence in the last of them."""
    rows = []
    for name in _union(named):
        checks = [one.get(name) for one in named]
        found = [{one["id"]: one for one in check["findings"]} if check else {} for check in checks]
        asked = [_ran(old) and _ran(new) for old, new in pairwise(checks)]
        for id_ in _union(found):
            standing = [own.get(id_) for own in found]
            places = [place for place, one in enumerate(standing, 1) if one]
            last = found[places[-1] - 1][id_]
            steps = [
                _step(bool(old), bool(new), both)
                for (old, new), both in zip(pairwise(standing), asked, strict=True)
            ]
            rows.append(
                {
                    "check": name,
                    "id": id_,
                    **{part: last[part] for part in ("severity", "nodes", "statement")},
                    "first": places[0],
                    "last": places[-1],
                    "steps": steps,
                }
            )
    return sorted(rows, key=lambda row: (-row["last"], SEVERITIES.index(row["severity"])))


def _step(old: bool, new: bool, asked: bool) -> Step | None:
    """Whether a finding appeared, disappeared, persists or was not asked for; None if in no run."""
    if not (old or new):
        return None
    if old and new:
        return "persisting"
    return "not_asked" if not asked else "appeared" if new else "disappeared"

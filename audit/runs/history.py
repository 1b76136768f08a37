"""Make a history of runs: their checks, metrics and findings, one after the other.

It is made of the shared views alone, and no number is computed from two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from audit.base.errors import InputError
from audit.hierarchies.same import refuse_other, shared_nodes
from audit.results.findings import SEVERITIES
from audit.runs.shared_runs import SharedRun, in_order

Step: TypeAlias = Literal["appeared", "disappeared", "persisting", "not_asked"]
STEPS: tuple[Step, ...] = ("appeared", "disappeared", "persisting", "not_asked")
"""What becomes of a finding from one run to the next: the later run alone lists it, the earlier one
alone, both do, or the check did not run in one of the two.

Whether it is new or gone takes a test, which `audit.runs.compare.finding_changes` makes.
"""

_Check: TypeAlias = Mapping[str, Any]


def ran(check: _Check | None) -> bool:
    """Whether a run has a check, and it ran."""
    return check is not None and check["status"] not in ("error", "not_applicable")


def steps_of(old: _Check | None, new: _Check | None) -> dict[str, Step]:
    """What becomes of every finding of a check from one run to the next, by the finding's id."""
    before, after = _ids(old), _ids(new)
    asked = ran(old) and ran(new)
    steps: dict[str, Step] = {}
    for one in {**after, **before}:
        if one in before and one in after:
            steps[one] = "persisting"
        elif not asked:
            steps[one] = "not_asked"
        else:
            steps[one] = "appeared" if one in after else "disappeared"
    return steps


def counted_steps(steps: Sequence[Step]) -> dict[str, int]:
    """Number of findings of each step."""
    return {step: sum(one == step for one in steps) for step in STEPS}


def _ids(check: _Check | None) -> dict[str, None]:
    return {} if check is None else {finding["id"]: None for finding in check["findings"]}


_EDITS = ("hierarchy", "policy")

_Row = dict[str, Any]


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
    _refuse_few(runs)
    _refuse_twice(runs)
    _refuse_hierarchies(runs)
    _refuse_other_bins(runs)
    ordered = in_order(runs, as_named=as_named)
    return {
        "order": "named" if as_named or any(run.started is None for run in runs) else "time",
        "undated": sum(run.started is None for run in runs),
        "rounding": ordered[-1].shared["rounding"],
        "tool": dict(ordered[-1].shared["identity"]["tool"]),
        "hierarchy": ordered[-1].shared["identity"]["hierarchy"]["name"],
        "title": next((run.title for run in reversed(ordered) if run.title), ""),
        "runs": [_run(run, place) for place, run in enumerate(ordered, 1)],
        "steps": list(_steps(ordered)),
        "checks": list(_checks(ordered)),
        "metrics": list(_metrics(ordered)),
        "findings": list(_findings(ordered)),
    }


def _refuse_few(runs: Sequence[SharedRun]) -> None:
    if len(runs) < 2:
        raise InputError(
            "two runs or more are required",
            found="one" if runs else "none",
            hint="`audit report` renders the report of one run",
        )


def _refuse_twice(runs: Sequence[SharedRun]) -> None:
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
    for old, new in pairwise(runs):
        ours, theirs = (run.shared["identity"]["hierarchy"] for run in (old, new))
        if ours["sha256"] != theirs["sha256"]:
            shared = shared_nodes(_shown(old), _shown(new))
            names = str(ours["name"]), str(theirs["name"])
            refuse_other(shared, names, "runs of one hierarchy are required")


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


def _shown(run: SharedRun) -> Iterator[tuple[str, str | None]]:
    """Id and title of the nodes in the picture of a run's hierarchy."""
    for row in run.shared["overview"]["tree"]:
        yield row["node"], row["title"]


def _run(run: SharedRun, place: int) -> _Row:
    identity, ledger = run.shared["identity"], run.shared["ledger"]
    return {
        "run": place,
        "name": run.name,
        "title": run.title,
        "started": None if run.started is None else run.started.isoformat(timespec="seconds"),
        "status": run.shared["status"],
        "instances": ledger["instances"],
        "rows_read": ledger["rows_read"],
        "rows_mapped": ledger["rows_mapped"],
        "min_cell": run.shared["policy"]["min_cell"],
        "policy": identity["policy"]["name"],
        "tool": f"{identity['tool']['name']} {identity['tool']['version']}",
    }


def _steps(runs: Sequence[SharedRun]) -> Iterator[_Row]:
    """What differs, and what becomes of the findings, from each run to the next."""
    for place, (old, new) in enumerate(pairwise(runs), 1):
        before, after = _by_name(old), _by_name(new)
        steps = [
            step
            for name in {**after, **before}
            for step in steps_of(before.get(name), after.get(name)).values()
        ]
        yield {
            "from": place,
            "to": place + 1,
            "differ": list(_differing(old.shared, new.shared)),
            **counted_steps(steps),
        }


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = old["identity"], new["identity"]
    for name in _EDITS:
        if before[name]["sha256"] != after[name]["sha256"]:
            yield name
    for name in ("normaliser", "tool"):
        if before[name] != after[name]:
            yield name


def _by_name(run: SharedRun) -> dict[str, Mapping[str, Any]]:
    return {check["name"]: check for check in run.shared["checks"]}


def _checks(runs: Sequence[SharedRun]) -> Iterator[_Row]:
    """A row for each check and run: how many findings the run lists, and of each severity."""
    named = [_by_name(run) for run in runs]
    for name in _union(named):
        for place, checks in enumerate(named, 1):
            check = checks.get(name)
            title = next(one[name]["title"] for one in reversed(named) if name in one)
            yield {"check": name, "title": title, "run": place, **_counts(check)}


def _counts(check: Mapping[str, Any] | None) -> _Row:
    if check is None or not ran(check):
        status = None if check is None else check["status"]
        names = ("found", *SEVERITIES, "waived", "folded", "not_shown")
        return {"status": status, **dict.fromkeys(names)}
    standing = [one["severity"] for one in check["findings"] if one["waiver"] is None]
    return {
        "status": check["status"],
        "found": len(standing),
        **{severity: standing.count(severity) for severity in SEVERITIES},
        "waived": len(check["findings"]) - len(standing),
        "folded": check["folded"],
        "not_shown": check["not_shown"],
    }


def _union(named: Sequence[Mapping[Any, Any]]) -> list[Any]:
    """Keys in the order of the last run, then those of earlier runs alone."""
    return list(dict.fromkeys(key for one in reversed(named) for key in one))


def _metrics(runs: Sequence[SharedRun]) -> Iterator[_Row]:
    """A row for each metric and run that has it; null values are not told or not defined."""
    named = [{_key(metric): metric for metric in run.shared["metrics"]} for run in runs]
    for key in _union(named):
        for place, metrics in enumerate(named, 1):
            if key in metrics:
                metric = metrics[key]
                parameters = {k: v for k, v in metric["parameters"].items() if v is not None}
                yield {
                    "metric": metric["name"],
                    "scope": metric["scope"],
                    "parameters": parameters,
                    "run": place,
                    **{name: metric.get(name) for name in ("value", "low", "high", "n", "beyond")},
                }


def _key(metric: Mapping[str, Any]) -> tuple[str, str, str]:
    parameters = sorted((k, repr(v)) for k, v in metric["parameters"].items() if v is not None)
    return metric["name"], metric["scope"], repr(parameters)


def _findings(runs: Sequence[SharedRun]) -> Iterator[_Row]:
    """A row for each finding: in which runs it stands, and its sentence in the last of them."""
    named = [_by_name(run) for run in runs]
    rows = [
        _finding(name, identifier, [checks.get(name) for checks in named])
        for name in _union(named)
        for identifier in dict.fromkeys(
            finding["id"]
            for checks in reversed(named)
            for finding in checks.get(name, {"findings": ()})["findings"]
        )
    ]
    yield from sorted(rows, key=lambda row: (-row["last"], SEVERITIES.index(row["severity"])))


def _finding(name: str, identifier: str, checks: Sequence[_Check | None]) -> _Row:
    standing = [_standing(check, identifier) for check in checks]
    places = [place for place, finding in enumerate(standing, 1) if finding is not None]
    last = standing[places[-1] - 1]
    assert last is not None
    steps = [steps_of(old, new).get(identifier) for old, new in pairwise(checks)]
    return {
        "check": name,
        "id": identifier,
        "severity": last["severity"],
        "waived": last["waiver"] is not None,
        "nodes": last["nodes"],
        "first": places[0],
        "last": places[-1],
        "severities": [finding and finding["severity"] for finding in standing],
        "steps": steps,
        "statement": last["statement"],
    }


def _standing(check: Mapping[str, Any] | None, identifier: str) -> Mapping[str, Any] | None:
    findings = () if check is None else check["findings"]
    return next((finding for finding in findings if finding["id"] == identifier), None)

"""Open further runs beside the one that is looked at, and how often each uses a node."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from audit.explorer.run.opened_run import OpenedRun, open_run, open_shared
from audit.explorer.run.paged_tables import Row
from audit.results.result import AuditResult
from audit.runs.compare.causes import same_data
from audit.runs.compare.edits import Release, common_nodes
from audit.runs.compare.node_changes import judged_nodes
from audit.runs.history import history_of
from audit.runs.shared_runs import SharedRun, read_shared_runs


def open_beside(
    first: OpenedRun,
    folders: Sequence[Path],
    titles: Sequence[str],
) -> RunsBeside:
    """Open runs beside the one that is looked at.

    Where of that one there is only what may be shared, nothing else is read of the others either.

    Raises:
        InputError: As `open_run` for each of them; if a run is there twice, or the runs have
            different hierarchies.
    """
    shared = read_shared_runs(folders)
    history = history_of(shared)
    opened = open_run if first.in_full else open_shared
    names = distinct_titles(titles, folders)
    others = [opened(folder, name) for folder, name in zip(folders[1:], names[1:], strict=True)]
    by_time = history["order"] == "time"
    return RunsBeside(
        names,
        [first, *others],
        history,
        folders,
        [by_time and _earlier(run, shared[0]) for run in shared],
    )


def distinct_titles(titles: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """Names of runs: their titles, with the folder where several have one title.

    >>> distinct_titles(["Codes", "Codes", "Genes"], [Path("a/new"), Path("a/old"), Path("b")])
    ['Codes (new)', 'Codes (old)', 'Genes']
    >>> distinct_titles(["Codes", "Codes"], [Path("a/run"), Path("b/run")])
    ['Codes (a/run)', 'Codes (b/run)']
    """
    ends = [folder.name for folder in folders]
    shown = ends if len({*ends}) == len(ends) else [*map(str, folders)]
    often = Counter(titles)
    return [
        title if often[title] == 1 else f"{title} ({folder})"
        for title, folder in zip(titles, shown, strict=True)
    ]


def _earlier(run: SharedRun, other: SharedRun) -> bool:
    return run.started is not None and other.started is not None and run.started < other.started


@dataclass(frozen=True, eq=False)
class Differences:
    """Shares of a run less those of another, as ``audit compare OLD NEW`` computes them.

    Args:
        of_is_old: Whether the first is OLD, since it was made earlier; else it is NEW.
    """

    of: AuditResult
    less: AuditResult
    of_is_old: bool

    def at(self, node: str) -> Row | None:
        """How much larger the share of instances with a node is than in the other run.

        Returns:
            ``difference, low, high, q_value, changed`` as ``audit compare`` has them, null where
            the hierarchy was edited so that shares cannot be compared, and ``q_value`` null too
            where there is too little to test; ``same_data``, whether both runs counted the same
            data; ``of_groups``, whether the difference is one of the
            mean shares of groups. None where a run does not have the node.
        """
        row = self._rows.get(node)
        if row is None:
            return None
        difference, low, high = row["difference"], row["low"], row["high"]
        if self.of_is_old:
            turned = (None if one is None else -one for one in (difference, high, low))
            difference, low, high = turned
        return {
            "difference": difference,
            "low": low,
            "high": high,
            "q_value": row["q_value"],
            "changed": row["changed"],
            "same_data": same_data(self.of, self.less),
            "of_groups": row["mean_old"] is not None,
        }

    @cached_property
    def _rows(self) -> Mapping[str, Mapping[str, Any]]:
        """A row for each node that both hierarchies have."""
        runs = (self.of, self.less) if self.of_is_old else (self.less, self.of)
        old, new = map(Release, runs)
        same = same_data(self.of, self.less)
        table = judged_nodes(old, new, common_nodes(old, new), same_data=same)
        return {row["node"]: row for row in table.iter_rows(named=True)}


@dataclass(frozen=True, eq=False)
class RunsBeside:
    """Several runs of one hierarchy that are looked at beside each other.

    Args:
        history: What `audit.runs.history.history_of` makes of all of them.
    """

    names: Sequence[str]
    runs: Sequence[OpenedRun]
    history: Mapping[str, Any]
    folders: Sequence[Path]
    earlier: Sequence[bool]

    @property
    def comparisons(self) -> Sequence[str]:
        """Commands that compare each other run with the first, the earlier run first."""
        first, *others = self.folders
        pairs = (
            (other, first) if earlier else (first, other)
            for other, earlier in zip(others, self.earlier[1:], strict=True)
        )
        return [shlex.join(["audit", "compare", *map(str, pair)]) for pair in pairs]

    @property
    def history_command(self) -> str:
        """Command that writes the history as a file."""
        return shlex.join(["audit", "history", *map(str, self.folders), "--out", "history.json"])

    @cached_property
    def differences(self) -> Sequence[Differences | None]:
        """Of each run and the first; None of that itself, and where exact counts are not here."""
        first = self.runs[0].restricted
        return [
            Differences(run.restricted.result, first.result, earlier)
            if first and run.restricted and run.restricted is not first
            else None
            for run, earlier in zip(self.runs, self.earlier, strict=True)
        ]

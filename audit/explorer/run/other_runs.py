"""Open further runs beside the one that is looked at."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from audit.explorer.run.differences import Differences
from audit.explorer.run.opened_run import FullRun, open_run, open_shared
from audit.explorer.run.vocabulary import ExploredRun, Row
from audit.runs.history import SharedRun, history_of, read_shared_runs


def open_beside(
    first: ExploredRun, folders: Sequence[Path], titles: Sequence[str], *, unsealed: bool = False
) -> OpenedBeside:
    """Open runs beside the one that is looked at.

    Where of that one there is only what may be shared, nothing else is read of the others either.

    Args:
        first: The run that is looked at.
        folders: Folders of all the runs as named, that of the first run first.
        titles: Titles of the runs; those with the same title are distinguished by their folders.
        unsealed: As in `audit.read_run`.

    Raises:
        InputError: As `open_run` for each of them; if a run is there twice, or the runs have
            different hierarchies.
    """
    shared = read_shared_runs(folders, forced=unsealed)
    history = history_of(shared)
    opened = open_run if first.in_full else open_shared
    names = distinct_titles(titles, folders)
    others = [
        opened(folder, name, unsealed=unsealed)
        for folder, name in zip(folders[1:], names[1:], strict=True)
    ]
    by_time = history["order"] == "time"
    return OpenedBeside(
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


class OpenedBeside:
    """Runs that are looked at beside each other, see `audit.explorer.run.vocabulary.RunsBeside`.

    Args:
        names: Names of the runs, the one that the window is of first.
        runs: The runs.
        history: The history of them all.
        folders: Their folders as named.
        earlier: Whether each was made before the first.
    """

    def __init__(
        self,
        names: Sequence[str],
        runs: Sequence[ExploredRun],
        history: Mapping[str, Any],
        folders: Sequence[Path],
        earlier: Sequence[bool],
    ) -> None:
        self.names, self.runs, self.history = names, runs, history
        self._folders, self._earlier = folders, earlier
        first = runs[0]
        self._differences = {
            place: Differences(run.result, first.result, earlier[place])
            for place, run in enumerate(runs)
            if place and isinstance(run, FullRun) and isinstance(first, FullRun)
        }

    @property
    def comparisons(self) -> Sequence[str]:
        """Commands that compare each other run with the first, the earlier run first."""
        first, *others = self._folders
        pairs = (
            (other, first) if earlier else (first, other)
            for other, earlier in zip(others, self._earlier[1:], strict=True)
        )
        return [shlex.join(["audit", "compare", *map(str, pair)]) for pair in pairs]

    @property
    def history_command(self) -> str:
        """Command that writes the history as files."""
        return shlex.join(["audit", "history", *map(str, self._folders)])

    def difference(self, place: int, node: str) -> Row | None:
        """How much larger the share of instances with a node is than in the first run."""
        differences = self._differences.get(place)
        return None if differences is None else differences.at(node)

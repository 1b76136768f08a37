"""The summary of a history in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group
from rich.text import Text

from audit.base.plurals import counted
from audit.cli.terminal.tables import filled, table

_KINDS = ("new", "gone", "persisting")
_UNSURE = {"appeared": "listed now", "disappeared": "no longer listed"}
"""What is shown only where there is any: the other run may know the finding without listing it."""


def history_summary(history: Mapping[str, Any]) -> Group:
    """Summary of a history: its runs, and what became of the findings from each to the next."""
    steps = {step["to"]: step for step in history["steps"]}
    unsure = [kind for kind in _UNSURE if any(step[kind] for step in steps.values())]
    kinds = (*_KINDS, *unsure)
    rows = [
        (
            str(run["run"]),
            run["name"],
            "–" if run["started"] is None else run["started"][:10],
            f"{run['instances']:,}",
            *(str(steps[run["run"]][kind]) if run["run"] in steps else "–" for kind in kinds),
        )
        for run in history["runs"]
    ]
    order = "in the order of their times"
    if history["order"] == "named":
        order = "in the order in which they are named"
    headings = ("run", "folder", "day", "instances", *_KINDS, *(_UNSURE[kind] for kind in unsure))
    heading = Text(f"{counted(len(rows), 'runs')} {order}")
    return Group(heading, filled(table(*headings, right=len(kinds) + 1), rows))

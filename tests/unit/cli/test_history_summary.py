"""The summary of a history in a terminal."""

from __future__ import annotations

import pytest
from rich.console import Console

from audit.cli.terminal.listings import history_summary


@pytest.mark.parametrize("listed_now", [0, 1])
def test_what_a_run_lists_is_the_sum_of_its_columns(listed_now: int) -> None:
    step = {"to": 2, "new": 2, "gone": 9, "persisting": 16, "disappeared": 0, "not_asked": 0}
    runs = [{"run": run, "name": f"r{run}", "started": None, "instances": 129} for run in (1, 2)]
    steps = [{**step, "appeared": listed_now}]
    console = Console(width=100)
    with console.capture() as capture:
        console.print(history_summary({"steps": steps, "runs": runs, "order": "times"}))
    text = capture.get()
    assert ("listed now" in text) == bool(listed_now)
    assert "no longer listed" not in text
    numbers = [int(cell) for cell in text.splitlines()[-1].split() if cell.isdigit()]
    assert numbers == [2, 129, 2, 9, 16, *([1] if listed_now else [])]

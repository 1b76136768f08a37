"""The summary of a history in a terminal."""

from __future__ import annotations

from rich.console import Console

from audit.cli.terminal.listings import history_summary


def test_what_a_run_lists_is_the_sum_of_its_columns() -> None:
    steps = [{"to": 2, "appeared": 2, "disappeared": 9, "persisting": 16, "not_asked": 0}]
    runs = [{"run": run, "name": f"r{run}", "started": None, "instances": 129} for run in (1, 2)]
    console = Console(width=100)
    with console.capture() as capture:
        console.print(history_summary({"steps": steps, "runs": runs, "order": "times"}))
    numbers = [int(cell) for cell in capture.get().splitlines()[-1].split() if cell.isdigit()]
    assert numbers == [2, 129, 2, 9, 16]

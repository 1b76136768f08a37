"""A history: several runs of one hierarchy in time order, from what each of them shares."""

from audit.runs.folder import HISTORY
from audit.runs.history.folder import HTML, seal_history, write_history_tables
from audit.runs.history.history import history_of
from audit.runs.history.reading import SharedRun, read_shared_runs, whole_runs

__all__ = [
    "HISTORY",
    "HTML",
    "SharedRun",
    "history_of",
    "read_shared_runs",
    "seal_history",
    "whole_runs",
    "write_history_tables",
]

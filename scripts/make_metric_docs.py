"""Write the table of metrics in ``docs/metrics.md`` again."""

from __future__ import annotations

import inspect
from pathlib import Path

from audit import metrics
from audit.results.metric_list import METRICS, Metric

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
BEGIN, END = "<!-- metrics: scripts/make_metric_docs.py -->", "<!-- end of metrics -->"
COMMON = ("hierarchy", "classes")


def table() -> str:
    """Every metric in Markdown: what it is, arguments of its function, direction and source."""
    head = "| metric | what it is | arguments | better | from |\n|---|---|---|---|---|"
    return "\n".join([head, *map(_line, METRICS)])


def page_with_table(page: str) -> str:
    """The page with its table written anew."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def _line(metric: Metric) -> str:
    function = getattr(metrics, metric.name, None)
    given = [] if function is None else inspect.signature(function).parameters
    arguments = ", ".join(f"`{name}`" for name in given if name not in COMMON)
    of = arguments or "only in the class"
    cells = (f"`{metric.name}`", metric.title, of, metric.better, metric.source)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text("utf-8")), "utf-8")

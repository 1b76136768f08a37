"""Other runs beside the one that is looked at: on a node, of the models, and as a history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from audit._reports.comparison.history import SECTIONS
from audit._reports.comparison.words import chance
from audit._reports.words import metric_words
from audit._reports.words.words import printable, words
from audit.explorer.chapter_files import with_files
from audit.explorer.run.opened_run import OpenedRun
from audit.explorer.run.other_runs import Differences, RunsBeside
from audit.explorer.run.paged_tables import Row
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import NotThereError, Site

NODE = (
    Column("run", "Run", "named"),
    Column("instances", "Instances with it", "count"),
    Column("of", "Of all", "count"),
    Column("share", "Share", "share"),
    Column("difference", "Points more than here", "points"),
    Column("changed", "Differs"),
    Column("residual", "Catch-all share", "share"),
    Column("residual_n", "Of labelled below", "count"),
    Column("findings", "Findings on it", "count"),
    Column("remark", "Remark"),
)
METRIC = (
    Column("metric", "Metric"),
    Column("scope", "Of", "node"),
    Column("parameters", "Settings"),
)
NODE_METRIC = (METRIC[0], METRIC[2])
SHARED = "shared view only: its counts of single nodes are not here, its findings as it lists them"


def history(site: Site, request: Request) -> Response:
    """What became of checks, metrics and findings over the runs."""
    if site.history is None:
        raise NotThereError("There is no such page.")
    return site.page(
        request,
        "history",
        "History",
        report=with_files(site, request, site.history),
        sections=SECTIONS,
        paper=False,
        beside=site.beside,
    )


def on_node(site: Site, request: Request, node: str) -> list[Sheet]:
    """A node in every run, and what the models make of it; nothing where a run is alone."""
    if site.beside is None:
        return []
    beside = site.beside
    rows = [
        _in_run(name, run, node, differences)
        for name, run, differences in zip(
            beside.names, beside.runs, beside.differences, strict=True
        )
    ]
    rows[0] |= {"remark": "this run"}
    sheets = [site.sheet(request, "beside", "In this run and in others", NODE, rows)]

    def of_node(row: Row) -> bool:
        return bool(row["scope"] == node)

    if any(of_node(row) for run in beside.runs for row in run.metrics()):
        sheets.append(metrics(site, request, beside, of_node, NODE_METRIC))
    return sheets


def metrics(
    site: Site,
    request: Request,
    beside: RunsBeside,
    wanted: Callable[[Row], bool],
    described: tuple[Column, ...] = METRIC,
) -> Sheet:
    """Metrics of the models of all runs, a column a run; None where a run does not have one."""
    columns = [
        Column(f"{place}: {printable(name)}", name, "ranged")
        for place, name in enumerate(beside.names, 1)
    ]
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for column, run in zip(columns, beside.runs, strict=True):
        for row in filter(wanted, run.metrics()):
            by = metric_words.by(row)
            shown_row = rows.setdefault(
                (row["name"], row["scope"], by),
                {
                    "metric": words(row["name"]),
                    "scope": row["scope"],
                    "title": row["title"],
                    "parameters": by,
                    **{name: None for one in columns for name in one.names},
                },
            )
            values = (row[part] for part in ("value", "low", "high", "n"))
            shown_row.update(zip(column.names, values, strict=True))
    return site.sheet(
        request,
        "models",
        "Metrics of the models beside each other",
        (*described, *columns),
        list(rows.values()),
    )


def _in_run(
    name: str, run: OpenedRun, node: str, differences: Differences | None
) -> dict[str, Any]:
    """The row of a run; what it does not have is None."""
    row = {
        **dict.fromkeys(name for column in NODE for name in column.names),
        "run": name,
        "of": run.shared["ledger"]["instances"],
    }
    view = None if run.restricted is None else run.restricted.places.view(node)
    difference = None if differences is None else differences.at(node)
    if view is None:
        row["remark"] = "its hierarchy lacks this node" if run.in_full else SHARED
    else:
        use = view.residual_use or {"share": None, "n": None}
        carrying = view.node["support"]
        row |= {
            "instances": carrying,
            "share": carrying / row["of"],
            "residual": use["share"],
            "residual_n": use["n"],
        }
    if view is not None or not run.in_full:
        row["findings"] = len(run.findings_on(node))
    if difference is not None:
        row |= {
            "difference": difference["difference"],
            "difference_low": difference["low"],
            "difference_high": difference["high"],
            "changed": _changed(difference),
            "remark": "the difference is of the mean shares of groups"
            if difference["of_groups"]
            else None,
        }
    return row


def _changed(difference: Mapping[str, Any]) -> str:
    """Whether a difference counts as one, and by what."""
    if difference["difference"] is None:
        return "not comparable: its hierarchy differs there"
    if difference["same_data"]:
        return f"{_yes(difference)}, of the same data"
    if difference["q_value"] is None:
        return "too few to test"
    return f"{_yes(difference)}, q {chance(difference['q_value'])}"


def _yes(difference: Mapping[str, Any]) -> str:
    return "yes" if difference["changed"] else "no"


PAGES = {"/history": history}

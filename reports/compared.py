"""A comparison of two runs, and a history of several, as chapters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from audit.base.plurals import counted
from audit.results import compared as tables
from audit.results.printed import Rounded, in_sentence, rounding_of
from audit.results.since import twin_of
from reports import words
from reports.core import level
from reports.findings import Verdict
from reports.page import page, rendering
from reports.render import Chapter, chapter, table
from reports.words import UNNAMED, Imprint, Row

LIMITS = (
    "A change of use is not a fault: patients, services and rules of coding change.",
    "The releases are taken as samples with no instance in common: where one holds the other,"
    " intervals are too wide.",
)
_ALONE = (
    "Every instance is taken as independent: where several are of one patient, intervals are too"
    " small unless a column says so (--group)."
)
_OF_GROUPS = (
    "What is tested is the mean over groups of the share of their instances; groups that come again"
    " are not paired."
)
_ONE_SIDE = "In one run alone groups have several instances: name their column in both (--group)."
_MODELS = {
    "same": "The predictions are the same in both runs.",
    "differ": "The predictions of the two runs differ.",
    "only_old": "Only the earlier run has predictions.",
    "only_new": "Only the later run has predictions.",
}
_CHANGES = ("new", "worse", "gone", "better")


def comparison_html(view: Row, imprints: tuple[Imprint, Imprint] | None = None) -> str:
    """The complete file of a comparison; a `RenderError` if it cannot be rendered.

    Args:
        imprints: What the old and the new run say of themselves.
    """
    with rendering("comparison.html"):
        shown = words.printable(view)
        sides = [one.printable() for one in imprints or (UNNAMED, UNNAMED)]
        of = [shown["identity"][side] for side in ("old", "new")]
        names = [one.named(own["data"]) for one, own in zip(sides, of, strict=True)]
        title = " → ".join(dict.fromkeys(filter(None, names))) or "Two runs"
        said = sides[1].stated(_tool(of[1]["tool"]), rounding_of(shown))
        where = "comparison.json and its tables"
        return _page(title, said, verdict(shown), chapters(shown), where)


def history_html(told: Row) -> str:
    """The complete file of a history; a `RenderError` if it cannot be rendered."""
    with rendering("the history"):
        shown = words.printable(told)
        said = UNNAMED.stated(_tool(shown["tool"]), rounding_of(shown))
        title = shown["title"] or f"{len(shown['runs']):,} runs"
        return _page(title, said, _of_runs(shown), history(shown), "the history as JSON")


def _page(title: str, said: str, head: Verdict, seen: list[Chapter], rest_in: str) -> str:
    """HTML of a comparison or history; ``rest_in`` says where rows are that tables leave out."""
    return page(
        "report.html.jinja", title=title, stated=said, band="", foot="", paper=False,
        verdict=head, lines=(), ten=(), before=(), blocks=(), severities={},
        seen=seen, folded=(), where=rest_in,
    )  # fmt: skip


def chapters(view: Row) -> list[Chapter]:
    """What a comparison shows, in order; what is folded stands last."""
    every = (_differs(view), _checks(view), _use(view), _models(view), _how_compared(view))
    return [one for one in every if one]


def verdict(view: Row) -> Verdict:
    """Whether anything changed, and how much of what."""
    if not view["changed"]:
        return Verdict("pass", "Nothing changed that a comparison can show", ())
    worse = view["totals"]["new"] + view["totals"]["worse"]
    return Verdict("warning" if worse else "note", "Changed", (_sentences(view),))


def _sentences(view: Row) -> str:
    """Sentences on what changed: findings, use of nodes, metrics, records and edits."""
    totals, model = view["totals"], view["model"]
    found = [f"{totals[one]:,} {one}" for one in _CHANGES]
    limit = sum(one["changes"]["limit"] for one in view["checks"])
    found += [f"{limit:,} at the limit in one of the two"] * bool(limit)
    use = [counted(totals[name], name) for name in ("nodes", "pairs")]
    besides = [
        counted(totals[name], what)
        for name, what in (("exchanges", "exchanges of siblings"), ("branches", "whole branches"))
        if totals[name]
    ]
    said = [f"Findings: {words.listed(found)}.", f"The use of {words.listed(use)} changed."]
    said += [f"Told as one: {words.listed(besides)}."] * bool(besides)
    said += _beyond_chance(totals["metrics"], model["metrics"]["total"], "metrics") if model else []
    said += _beyond_chance(totals.get("measures", 0), len(view.get("measures", ())),
                           "measured numbers")  # fmt: skip
    said += _of_records(view.get("records"), rounding_of(view))
    edits = totals["edits"]
    return " ".join([*said, *[f"The hierarchy has {counted(edits, 'edits')}."] * bool(edits)])


def _beyond_chance(changed: int, total: int, what: str) -> list[str]:
    """A sentence that ``changed`` of ``total`` changed beyond chance; none if ``total`` is 0."""
    return [f"{changed:,} of {counted(total, what)} changed beyond chance."] * bool(total)


def _differs(view: Row) -> Chapter | None:
    """The chapter on which inputs and settings of the runs differ; None without any."""
    rows = [one for one in view["causes"] if one["changed"]]
    few = "Few rows differ: a count that moved to the next bin tells that one of them carries the"
    lead = f"{few} label." if view["few_rows_differ"] else ""
    return chapter("What differs", [table(tables.CAUSES, rows, None)], anchor="differs", lead=lead)


def _checks(view: Row) -> Chapter | None:
    """The chapter on the checks and the findings that changed; None without any."""
    rounding = rounding_of(view)
    checks = [
        {
            **one,
            **one["changes"],
            "name": words.name(one["name"]),
            **{side: words.STATUS.get(one[side], "") for side in ("status_old", "status_new")},
        }
        for one in view["checks"]
        if one["status_old"] != one["status_new"]
        or any(one["changes"].get(name) for name in (*_CHANGES, "limit"))
    ]
    found = [{**one, "found": _named(one)} for check in view["checks"]
             for one in _without_twins(check["findings"])]  # fmt: skip
    more = sum(one["not_shown"] for one in view["checks"])
    shown = [
        table(tables.CHECKS, checks, rounding),
        table(tables.FINDINGS, [*map(_effects, found)], rounding, more=more),
    ]
    return chapter("Checks and findings", shown, anchor="checks")


def _without_twins(findings: Sequence[Row]) -> list[Row]:
    """Findings, without those that only hold another one against the reference."""
    twins = {twin_of(one["id"]) for one in findings}
    return [one for one in findings if one["id"] not in twins]


def _named(finding: Row) -> str:
    """The nodes of a finding by their titles."""
    return words.listed([one["title"] or one["id"] for one in finding["nodes"]], 3)


def _effects(finding: Row) -> Row:
    """A finding, without ``effect_old`` and ``effect_new`` where these are no shares."""
    if finding["effect"] == "share":
        return finding
    return {**finding, "effect_old": None, "effect_new": None}


def _use(view: Row) -> Chapter | None:
    rounding = rounding_of(view)
    of = {f"of_{side}": view["ledger"][side]["instances"] for side in ("old", "new")}
    nodes, pairs = ([{**row, **of} for row in view[one]["rows"]] for one in ("nodes", "pairs"))
    branches = [{**row, **of} for row in view["branches"]]
    records = view.get("records", {})
    exchanges = [
        {
            **row,
            **of,
            **{side: [_used(one, rounding) for one in row[side]] for side in ("fewer", "more")},
        }
        for row in view["exchanges"]
    ]
    shown = [
        table(tables.EXCHANGES, exchanges, rounding,
              more=view["totals"]["exchanges"] - len(exchanges)),
        table(tables.BRANCHES, branches, rounding,
              more=view["totals"]["branches"] - len(branches)),
        table(tables.RECORDS, records.get("rows", ()), rounding,
              more=records.get("total", 0) - len(records.get("rows", ()))),
        table(tables.NODES, nodes, rounding, more=view["nodes"]["changed"] - len(nodes)),
        table(tables.PAIRS, pairs, rounding, more=view["pairs"]["changed"] - len(pairs)),
        table(tables.EDITS, view["edits"]["rows"], rounding,
              more=sum(view["edits"]["totals"].values()) - len(view["edits"]["rows"])),
    ]  # fmt: skip
    return chapter("Use of nodes", shown, anchor="use")


def _of_records(records: Row | None, rounding: Rounded) -> list[str]:
    """How many of the records that both runs keep have other labels."""
    if not records:
        return []
    common, changed = (in_sentence(records[one], rounding) for one in ("common", "changed"))
    return [f"Of {common} records in both runs by their ids, {changed} have other labels."]


def _used(node: Row, rounding: Rounded) -> str:
    """A node with its instances before and after."""
    before, after = (words.count(node[side], rounding) for side in ("support_old", "support_new"))
    return f"{node['title'] or node['node']} ({before} → {after})"


def _models(view: Row) -> Chapter | None:
    """The chapter on measured numbers of analyses and metrics of models; None without both."""
    rounding, model = rounding_of(view), view["model"]
    shown = [table(tables.MEASURES, [*_metrics(view.get("measures", ()))], rounding)]
    if model:
        shown.append(table(tables.METRICS, [*_metrics(model["metrics"]["rows"])], rounding))
    lead = " ".join(_of_models(model, rounding)) if model else ""
    return chapter("Models and measures", shown, anchor="models", lead=lead)


def _of_models(model: Row, rounding: Rounded) -> Iterator[str]:
    """Whether predictions differ, in how many answers, and how intervals are to be read."""
    yield _MODELS[model["predictions"]]
    if model["common"] is not None and model["predictions"] != "same":
        both, scores, answers = (
            in_sentence(model[one], rounding)
            for one in ("common", "scores_differ", "answers_differ")
        )
        yield (
            f"Of {both} instances that both predicted, {scores} have other scores and {answers}"
            " other predicted labels."
        )
    if model["metrics"]["rows"]:
        yield (
            "Intervals take the runs as independent, so that they are too wide where both models"
            " predicted the same instances."
        )


def _metrics(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Metrics with their names in words, and at which level each is taken."""
    for row in rows:
        title = words.METRICS.get(row["name"], words.name(row["name"]))
        yield {**row, "title": title, "at": level(row["parameters"])}


def _how_compared(view: Row) -> Chapter | None:
    grouped = {*view["grouped"].values()}
    groups = _OF_GROUPS if grouped == {True} else _ONE_SIDE if True in grouped else _ALONE
    shown = [
        table(tables.SIDES, [*_rows_of_both_runs(view)], None),
        table(tables.TERMS, view["terms"], None),
    ]
    return chapter(
        "How it was compared", shown, anchor="limits", lead=" ".join((*LIMITS, groups)), folded=True
    )


def _rows_of_both_runs(view: Row) -> Iterator[dict[str, Any]]:
    """Rows ``what, old, new``: sizes of the data, hierarchy, policy and versions of both runs."""
    for name in ("instances", "groups", "rows_read"):
        yield {"what": words.name(name).capitalize(),
               **{side: view["ledger"][side][name] for side in ("old", "new")}}  # fmt: skip
    for name in ("hierarchy", "policy"):
        of = {side: view["identity"][side][name] for side in ("old", "new")}
        yield {"what": name.capitalize(), **{side: one["name"] for side, one in of.items()}}
        yield {"what": f"{name.capitalize()}, SHA-256",
               **{side: one["sha256"] for side, one in of.items()}}  # fmt: skip
    for name in ("tool", "normaliser"):
        of = {side: view["identity"][side][name] for side in ("old", "new")}
        yield {"what": name.capitalize(), **{side: _tool(one) for side, one in of.items()}}


def _tool(one: Any) -> str:
    """Name and version that a mapping has; a text as it is; "none" for None."""
    return f"{one['name']} {one['version']}" if isinstance(one, Mapping) else one or "none"


def _of_runs(told: Row) -> Verdict:
    """How many runs, how the last stands, and how many findings are new to it, gone or persist."""
    step, status = told["steps"][-1], told["runs"][-1]["status"]
    head = f"{len(told['runs']):,} runs of {told['hierarchy']}; the last: {words.STATUS[status]}"
    found = (
        f"It lists {step['appeared']:,} findings that the run before does not, and no longer"
        f" {step['disappeared']:,}; {step['persisting']:,} persist."
    )
    return Verdict(words.TONE.get(status, status), head, (found,))


def history(told: Row) -> list[Chapter]:
    """What a history shows: its runs, checks and metrics by run, and what came or went."""
    rounding = rounding_of(told)
    steps = {one["to"]: one for one in told["steps"]}
    runs = [
        {
            **run,
            "day": (run["started"] or "")[:10],
            "status": words.STATUS[run["status"]],
            **steps.get(run["run"], {}),
        }
        for run in told["runs"]
    ]
    names = [row["check"] for row in told["checks"] if row["found"]]
    checks = [row for row in told["checks"] if row["check"] in names]
    metrics = [row for row in told["metrics"] if row["scope"] == "all"]
    metrics = [{**row, "name": row["metric"]} for row in metrics]
    moved = [
        {
            **one,
            "found": _named(one),
            "states": words.listed([words.name(step) for step in one["steps"] if step]),
        }
        for one in _without_twins(told["findings"])
        if {*one["steps"]} & {"appeared", "disappeared"}
    ]
    every = (
        chapter("The runs", [table(tables.RUNS, runs, None)], anchor="runs"),
        chapter("Checks and metrics", [
            table(tables.CHECKS_BY_RUN, checks, None),
            table(tables.METRICS_BY_RUN, [*_metrics(metrics)], rounding),
        ], anchor="by-run"),
        chapter("Findings", [table(tables.CAME_OR_WENT, moved, rounding)], anchor="findings"),
    )  # fmt: skip
    return [one for one in every if one]

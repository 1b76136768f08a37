"""The chapters on the release, the hierarchy in use and the model, and what is folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from audit.base.plurals import filled
from audit.results import tables
from audit.results.printed import Rounded, looked_at
from audit.sharing.told import Rounding
from audit.sharing.words import said as said_of
from reports import words
from reports.cells import cell
from reports.findings import moved
from reports.render import Chapter, ShownTable, chapter, facts, table
from reports.words import Row

LEVELS = ("Labels as given", "One level up", "By branch")
NODES_NAMED = 3
"""Nodes of a side of a rule that are named."""
METHODS = "https://github.com/hierarchy-audit/hierarchy-audit/blob/main/docs/methods.md"


def of_view(view: Row) -> tuple[list[Chapter], list[Chapter]]:
    """The chapters of a view, in order: those seen, and those that are folded."""
    seen = [_since(view), _use(view), _model(view)]
    folded = [_read_and_checked(view), _policy(view), _limits(view), _provenance(view)]
    return [one for one in seen if one], [one for one in folded if one]


def _overview_table(view: Row, name: str) -> ShownTable | None:
    declared = tables.TABLES[name]
    return table(declared, view["overview"][name], view["rounding"])


def _since(view: Row) -> Chapter | None:
    since, rounding = view["since_reference"], view["rounding"]
    if since is None:
        return None
    changed = [
        {
            **one,
            **{key: words.STATUS.get(one[key] or "", "") for key in ("status_before", "status")},
        }
        for one in since["checks"]
        if one["status_before"] != one["status"] or one["new"] or one["worse"] or one["gone"]
    ]
    shown = [table(tables.MOVED, moved(view), rounding)]
    shown.append(table(tables.CHANGED_CHECKS, changed, rounding))
    return chapter("Since the reference", [*shown, *_tables_of_corrections(view)], anchor="since")


def _tables_of_corrections(view: Row) -> Iterator[ShownTable | None]:
    """What corrections of the reference's data made of its findings, and who decided on them."""
    if "mended" in view:
        for declared, name in ((tables.MENDED_FINDINGS, "findings"),
                               (tables.MENDED_DECISIONS, "decisions")):  # fmt: skip
            yield table(declared, view["mended"][name], view["rounding"])


def _use(view: Row) -> Chapter | None:
    """The chapter on how labels use the hierarchy: tables of nodes, pairs, branches, depths."""
    overview, rounding = view["overview"], view["rounding"]
    limits = {one["name"]: one["value"] for one in view["policy"]["thresholds"]}
    residuals = [{**row, "limit": limits["residual_share"]} for row in overview["residuals"]]
    before = (view["since_reference"] or {"depths": ()})["depths"]
    depths = {row["depth"]: row["before"] for row in before}
    coverage = overview["coverage"]
    shown = [
        _overview_table(view, "tree"),
        table(tables.RESIDUALS, residuals, rounding),
        _overview_table(view, "pairs"),
        _overview_table(view, "frequent_pairs"),
        table(tables.BRANCHES, coverage["branches"], rounding),
        table(
            tables.DEPTHS,
            [{**row, "before": depths.get(row["depth"])} for row in coverage["depths"]],
            rounding,
        ),
        table(tables.DRIFT, coverage["drift"], rounding),
    ]
    tree, *others = shown
    parts = tree and replace(tree, title="The numbers", folded=True)
    return chapter("The hierarchy in use", [parts, *others], anchor="use")


def _model(view: Row) -> Chapter | None:
    """The chapter of tables on the model's metrics and answers; None without a metric."""
    every = [
        one
        for one in view["metrics"]
        if one["scope"] == "all" and one["name"] in words.METRICS  # those of analyses are theirs
    ]
    rows = [
        {
            **one,
            "at": level(one["parameters"]),
            "title": words.METRICS.get(one["name"], one["name"]),
        }
        for one in [*every, *view["metrics_beside"]]
    ]
    note = "; ".join(_absent(view["metrics_absent"]))
    shown = [
        table(tables.METRICS, rows, view["rounding"], note=note and f"Not measured: {note}."),
        *(
            _overview_table(view, one)
            for one in ("behaviours", "answers", "exchanged_pairs", "exchanged_in_line", "suspects")
        ),
        _overview_table(view, "data_beside_model"),
    ]
    return chapter("The model", shown, anchor="model") if rows else None


def model_lines(view: Row) -> list[str]:
    """What the verdict says of a model: how often it is right, where it is wrong, what it misses.

    If each instance has one answer, the branches of the hierarchy, if they are few, are named
    instead of what is missed.
    """
    return [line for row in view["overview"]["answered"] if row["answers"]
            for line in _model_sentences(row, view)]  # fmt: skip


_WRONG = (
    "{wrong} {wrong|answer is|answers are} wrong: {related} above or below a label, {beside} beside"
    " one (below the same parent), {within} in its branch, {elsewhere} elsewhere."
)
_RIGHT = ": {precision} of {answers} answers are labels, {recall} of {labels} labels are found."


def _model_sentences(row: Row, view: Row) -> Iterator[str]:
    """Sentences on a row of the table ``answered``: its metric, what is wrong and missed."""
    columns, rounding = tables.METRICS.columns, view["rounding"]
    answered = tables.ANSWERED.columns
    single = view["ledger"]["predictions"]["single_label"]
    named = [one for one in view["metrics"] if one["scope"] == "all" and one["value"] is not None
             and one["name"] == ("accuracy" if single else "f1")]  # fmt: skip
    counts = {name: row[name] for name, one in answered.items() if one.kind == "count"}
    said = said_of(counts, answered, Rounding(rounding["bin"] if rounding else 0))
    shares = {name: cell(answered[name], row, answered, rounding).text
              for name in ("precision", "recall")}  # fmt: skip
    for one in [max(named, key=_depth) if single else named[0]] if named else []:
        value = cell(columns["value"], one, columns, rounding).said
        beside = "." if single else _RIGHT
        yield filled(f"{words.METRICS[one['name']]} {value}{beside}", counts | shares, said)
    yield filled(_WRONG if row["wrong"] else "No answer is wrong.", counts, said)
    if not single:
        yield filled("{missed} of {labels} labels are missed.", counts, said)
    elif row["branches"]:
        branches = [*map(words.node, row["branches"], row["branch_titles"])]
        yield f"Branches here: {words.listed(branches)}."


def _depth(metric: Row) -> int:
    """How deep the answers of a metric are, the deepest the greatest."""
    of = metric["parameters"]
    return int(of["depth_to"] if "depth_to" in of else -of["level_to"])


def _absent(metrics: Sequence[Row]) -> Iterator[str]:
    """For each reason, names of the metrics that it rules out, then the reason in parentheses."""
    for reason in dict.fromkeys(one["reason"] for one in metrics):
        names = [words.METRICS[one["name"]].split(" (")[0].lower() for one in metrics
                 if one["reason"] == reason]  # fmt: skip
        yield f"{words.listed(names)} ({reason})"


def level(parameters: Row) -> str:
    """At which level of the hierarchy a metric is taken, and how it is averaged.

    >>> level({"up": 1, "threshold": 0.5}), level({"depth_from": 3, "depth_to": 1})
    ('One level up', 'Depth 3 to depth 1')
    """
    up = parameters.get("up")
    if up is not None:
        return LEVELS[min(up, 1)] if up < 2 else f"{up} levels up"
    parts = [
        f"{kind} {parameters[name]}"
        for kind in ("depth", "level")
        for name in (f"{kind}_from", f"{kind}_to")
        if parameters.get(name) is not None
    ]
    if parts == ["depth 1"]:
        return LEVELS[2]
    others = [
        words.name(f"{value} {name}" if name == "average" else f"{name} {_joined(value)}")
        for name, value in parameters.items()
        if name not in ("threshold", "up") and not name.startswith(("depth_", "level_"))
        and value is not None
    ]  # fmt: skip
    return (", ".join(filter(None, [" to ".join(parts), *others])) or "All").capitalize()


def _joined(value: Any) -> str:
    """The items of a list joined by commas; any other value as text."""
    return ", ".join(map(_joined, value)) if isinstance(value, list | tuple) else str(value)


def _read_and_checked(view: Row) -> Chapter | None:
    """The chapter on rows read and refused, and on checks that found nothing or did not run."""
    ledger, rounding = view["ledger"], view["rounding"]
    refused = sorted(ledger["refused"].items(), key=lambda item: (-(item[1] or 0), item[0]))
    rows = [{"what": f"Refused: {words.name(reason)}", "rows": n} for reason, n in refused]
    nothing = [one for one in view["checks"] if one["status"] == "pass"]
    absent = [one for one in view["checks"] if one["status"] in ("not_applicable", "error")]
    shown = [
        facts(tables.READ, ledger, rounding, "Rows and instances"),
        facts(tables.READ_PREDICTIONS, ledger["predictions"] or {}, rounding, "Predictions"),
        table(tables.ROWS, rows, rounding),
        table(tables.READINGS, view["readings"], rounding),
        table(tables.CHECKED, [*_check_rows(nothing, rounding)], rounding),
        table(tables.NOT_APPLICABLE, [*_check_rows(absent, rounding)], rounding),
    ]
    return chapter("What was read and checked", shown, anchor="read", folded=True)


def _check_rows(checks: Sequence[Row], rounding: Rounded) -> Iterator[dict[str, str]]:
    """Each check as a row of a table: its name in words, what it looked at or why it did not."""
    for one in checks:
        yield {"name": words.name(one["name"]), "looked_at": looked_at(one, rounding)}


def _policy(view: Row) -> Chapter | None:
    policy, rounding = view["policy"], view["rounding"]
    exclusive = [
        {**one, "nodes": " | ".join(map(_few_nodes, one["nodes"]))} for one in policy["exclusive"]
    ]
    companions = [
        {name: _few_nodes(one[name]) for name in ("if", "needs", "unless")}
        | {"source": one["source"].split(":")[0]}
        for one in policy["companions"]
    ]
    rules = [
        {**one, **{side: "any other" if one[side] == "*" else one[side] for side in "ab"}}
        for one in policy["branch_rules"]
    ]
    thresholds = [{**one, "name": words.name(one["name"])} for one in policy["thresholds"]]
    every = (
        (tables.THRESHOLDS, thresholds),
        (tables.BRANCH_RULES, rules),
        (tables.EXCLUSIVE, exclusive),
        (tables.COMPANIONS, companions),
        (tables.WAIVERS, [{**one, "covers": _covers(one)} for one in view["waivers"]]),
    )
    return chapter(
        f"The policy in force: {policy['name']}",
        [table(declared, rows, rounding) for declared, rows in every],
        anchor="policy",
        lead=" ".join(_stated(policy)),
        folded=True,
    )


def _stated(policy: Row) -> Iterator[str]:
    """Sentences on what a policy's tables lack: known associations, code dates, severities."""
    if policy["expected"]:
        yield f"{len(policy['expected']):,} associations are known, and not reported."
    if policy["person_rules"] and policy.get("person"):
        yield f"{len(policy['person_rules']):,} rules on the sex and the age of persons hold."
    if policy["labelled_ancestors"] == "allowed":
        yield "A label beside its own ancestor is no fault."
    if policy["ratchet"]:
        yield "A finding that the reference has too counts as a note."
    if dates := policy.get("code_dates"):
        yield (
            f"Codes are judged on the day in {dates['column']}, by {dates['codes']:,} codes in "
            f"{dates['file']}."
        )
    for check, severity in policy["severities"].items():
        yield f"Findings of {check} are of severity {severity}."


def _few_nodes(nodes: Sequence[str]) -> str:
    return words.listed(nodes, NODES_NAMED)


def _covers(waiver: Row) -> str:
    """The finding or nodes that a waiver is about, in words."""
    places = ("finding", "node", "subtree", "pair")
    named = next((waiver[one] for one in places if waiver.get(one)), "every finding")
    return _joined(named)


def _limits(view: Row) -> Chapter:
    lines = [
        "It compares labels with the hierarchy and the policy, sees no record, and cannot tell"
        " whether a label is true.",
        "A pair that is frequent beyond its expectation may be so for good reasons.",
        "Intervals say how numbers would vary among samples like this one, not how it was drawn.",
    ]
    if view["rounding"]:
        lines.append(
            "Counts in bins leave small ones open in almost all releases: no law says that they"
            " cannot be combined."
        )
    if view["ledger"]["predictions"]:
        lines.append("Where a label is wrong, a right answer counts as an error.")
    return Chapter("What this audit cannot say", "limits", (), folded=True, lines=tuple(lines))


def _provenance(view: Row) -> Chapter | None:
    rows = [*digests(view["identity"]), {"what": "Methods", "value": METHODS}]
    return chapter(
        "Versions and digests",
        [table(replace(tables.DIGESTS, title=""), rows, None)],
        anchor="provenance",
        folded=True,
    )


def digests(identity: Row) -> list[dict[str, str]]:
    """Rows ``what, value``: the tool, and the SHA-256 of what went in."""
    tool = identity["tool"]
    every = (("hierarchy", "Hierarchy"), ("policy", "Policy"), ("reference", "Reference"))
    parts = ((said, identity.get(part)) for part, said in every)
    return [
        {"what": "Tool", "value": f"{tool['name']} {tool['version']}"},
        *(
            {"what": f"{said} {one.get('name', '')}".strip(), "value": one["sha256"]}
            for said, one in parts
            if one
        ),
        *({"what": "Normaliser", "value": one} for one in [identity["normaliser"]] if one),
    ]

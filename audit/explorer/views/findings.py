"""Findings: a list to filter, and a page for each with its records and a waiver to paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from starlette.requests import Request
from starlette.responses import Response

from audit.base.declared import Column as Measured
from audit.base.declared import Columns
from audit.explorer.links import finding_address, instance_address
from audit.explorer.run.paged_tables import Page, Row, Span
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import NotThereError, Site, parameters
from audit.results.findings import OF_MODEL, OF_WAIVERS, promise
from reports.cells import cell
from reports.findings import check_columns, finding_row, first_sentence
from reports.words import EXACT, SEVERITY, name, printable

DECISION = {"waived": "waived", "accepted": "accepted", "to_fix": "to be fixed"}

CHECK, STATE = Column("check", "Check"), Column("state", "Status")
SEVERE = Column("severity", "Severity", "severity")
RECORDS = Column("cases", "Records", "count")
CASES = (Column("instance", "Instance", "instance"),)
RECORD = (
    Column("labels", "Labels behind the finding", "marked"),
    Column("others", "Other labels", "named"),
)
ANSWERS = (
    Column("answers", "Answers behind it", "marked"),
    Column("other_answers", "Other answers", "named"),
)
STATES = {
    "": "not explained by others",
    "folded": "explained by others",
    "waived": "waived or accepted",
    "to_fix": "to be fixed",
    "all": "all",
}


def show_list(site: Site, request: Request) -> Response:
    """Findings, filtered."""
    asked, every = parameters(request), site.run.findings
    choices = {
        "check": sorted({finding["check"] for finding in every}),
        "branch": sorted({branch for finding in every for branch in finding["branches"]}),
        "severity": [name for name in SEVERITY if any(f["severity"] == name for f in every)],
    }
    kept = [one for one in every if _matches(one, asked)]
    sheet = sheet_of(site, request, kept, asked.get("check", ""), asked.get("order", ""))
    return site.page(
        request, "findings", "Findings", sheet=sheet, choices=choices, asked=asked, states=STATES
    )


def sheet_of(
    site: Site, request: Request, kept: Sequence[Row], check: str, order: str | None = None
) -> Sheet:
    """Some findings as a table; those of one check have its columns, None leaves their order."""
    of_one = next((one for one in site.run.view["checks"] if one["name"] == check), None)
    declared = check_columns(of_one) if of_one else Columns()
    numbers = [one for one in declared.values() if one.heading and one.kind != "text"]
    told = [Column(one.heading, one.heading, "measured") for one in numbers]
    beside = (*(() if of_one else (CHECK,)), STATE, RECORDS)
    orders = {"": "importance"} | {one.heading: one.heading for one in numbers}
    by = next((one for one in numbers if one.heading == order), None)
    ranked = sorted(kept, key=lambda one: -_number(by.name, one)) if by else kept
    return site.sheet(
        request,
        "findings",
        "Findings" if by else "Findings, the most important first",
        (Column("subject", "Finding", "finding"), *told, SEVERE, *beside),
        lambda span: span.of(ranked).each(lambda one: _listed(printable(one), declared, numbers)),
        {} if order is None else orders,
        (order or "") if by else "",
    )


def show_one(site: Site, request: Request) -> Response:
    """One finding, with its evidence and the records behind it."""
    wanted = parameters(request).get("id", "")
    found = site.run.finding(wanted)
    if found is None:
        raise NotThereError(f"The run has no finding {wanted}.")
    cases = site.sheet(
        request,
        "cases",
        "Records behind this finding",
        _columns(site, found["check"]),
        lambda span: _cases(site, wanted, span),
    )
    check = next(one for one in site.run.view["checks"] if one["name"] == found["check"])
    return site.page(
        request,
        "finding",
        first_sentence(found["statement"]),
        crumbs=[("Findings", "/findings"), (check["title"], f"/findings?check={check['name']}")],
        finding=found,
        state=_state(found),
        judged=[*_judged(found)],
        numbers=[*_numbers(found, check_columns(check))],
        cases=cases,
        explains=[one for one in site.run.findings if wanted in one["folded"]],
        explained_by=[one for one in site.run.findings if one["id"] in found["folded"]],
        ticket=ticket(site, found),
        waiver=waiver(found),
    )


def _columns(site: Site, check: str) -> tuple[Column, ...]:
    """What is told of a record: its labels, where it may be looked at, and the answers."""
    if site.run.instances is None:
        return CASES
    return (*CASES, *RECORD, *(ANSWERS if check in OF_MODEL else ()))


def _cases(site: Site, finding: str, span: Span) -> Page:
    """Instances behind a finding, each with its address where it may be looked at."""
    page = site.run.cases(finding, span)
    if not site.run.shows_instances:
        return page
    return page.each(
        lambda row: {**row, "address": instance_address(row["instance"], finding=finding)}
    )


def ticket(site: Site, finding: Row) -> str:
    """A finding as plain text, for a ticket."""
    numbers = [f"- {name}: {value}" for name, value in finding["evidence"].items()]
    nodes = [f"{node['title'] or ''} ({node['id']})".strip() for node in finding["nodes"]]
    return "\n".join(
        [
            first_sentence(finding["statement"]),
            "",
            finding["statement"],
            "",
            f"Finding: {finding['id']}",
            f"Run: {site.run.name}",
            f"Nodes: {'; '.join(nodes)}",
            *numbers,
            "",
            f"To do: {finding['curator']}",
            "",
            f"{EXACT}.",
        ]
    )


def waiver(finding: Row) -> str:
    """A waiver of one finding for a policy file, to be filled in; empty if it cannot be waived."""
    if finding["check"] in OF_WAIVERS:
        return ""
    return f"""[[waivers]]
check = "{finding["check"]}"
finding = "{finding["id"]}"
decision = "waived"  # a fault that does not count; or "accepted", or "to_fix"
owner = ""           # who answers for it
reason = ""          # why
expires = ""         # the last day, without quotes, such as 2030-12-31
"""


def _judged(finding: Row) -> Iterator[str]:
    """Sentences on what the policy makes of a finding."""
    if waived := finding["waiver"]:
        decided = DECISION[waived["decision"]].capitalize()
        yield f"{decided} by {waived['owner']} until {waived['expires']}: {waived['reason']}"
    yield from promise(finding)
    if finding["known"]:
        yield "The reference run has this finding too, and no worse."


def _numbers(finding: Row, columns: Columns) -> Iterator[tuple[str, str]]:
    """The evidence of a finding, each number with its name."""
    for one in columns.values():
        if finding["evidence"].get(one.name) is not None and one.kind != "end":
            said = cell(one, finding["evidence"], columns, None).said
            yield one.heading or name(one.name).capitalize(), printable(said)


def _number(name: str, finding: Row) -> float:
    """A number of a finding to order by; those without one come last."""
    value = finding["evidence"].get(name)
    return float(value) if isinstance(value, int | float) else -inf


def _listed(finding: Row, columns: Columns, numbers: Sequence[Measured]) -> Row:
    """A finding as its columns have it, and their evidence as it is for a file."""
    row = finding_row(finding, {})
    headed = [one for one in columns.values() if one.heading and one.kind == "text"]
    named = [cell(one, row, columns, None).text for one in headed if row.get(one.name)]
    return {
        **{one.heading: finding["evidence"].get(one.name) for one in reversed(numbers)},
        **finding,
        "cells": {one.heading: cell(one, row, columns, None).said for one in reversed(numbers)},
        "subject": ", ".join(named) or first_sentence(finding["statement"]),
        "address": finding_address(finding["id"]),
        "state": _state(finding),
    }


def _state(finding: Row) -> str:
    if finding["waiver"]:
        return DECISION[finding["waiver"]["decision"]]
    if "to_fix" in finding:
        return f"yes, {DECISION['to_fix']}"
    return "folded" if finding["folded"] else "open"


def _matches(finding: Row, asked: dict[str, str]) -> bool:
    state = asked.get("state", "")
    of_state = {
        "": not finding["folded"] and not finding["waiver"],
        "folded": bool(finding["folded"]),
        "waived": bool(finding["waiver"]),
        "to_fix": "to_fix" in finding,
    }
    return (
        of_state.get(state, True)
        and asked.get("check", "") in ("", finding["check"])
        and asked.get("severity", "") in ("", finding["severity"])
        and (not asked.get("branch") or asked["branch"] in finding["branches"])
    )


PAGES = {"/findings": show_list, "/finding": show_one}

"""Findings: a list to filter, and a page for each."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from audit.explorer.chapter_files import with_files
from audit.explorer.links import finding_address, instance_address
from audit.explorer.run.vocabulary import Page, Row, Span
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import NotThereError, Site, parameters
from audit.explorer.views.judging import choice_of, decided_in
from reports.chapters.cards import card, headline
from reports.chapters.report import printable_view
from reports.words.words import DECISION, SEVERITIES, SEVERITY, words

FINDINGS = (
    Column("headline", "Finding", "finding"),
    Column("severity", "Severity", "severity"),
    Column("check", "Check"),
    Column("state", "Counts"),
)
RECORDS = Column("cases", "Records", "count")
CASES = (Column("instance", "Instance", "instance"),)
STATES = {
    "": "those that are not explained by others",
    "folded": "those that others explain",
    "waived": "those that are waived or accepted",
    "to_fix": "those that are to be fixed",
    "all": "all",
}


def show_list(site: Site, request: Request) -> Response:
    """Findings, filtered."""
    asked = parameters(request)
    every, decided = site.run.findings, decided_in(site)
    kept = sorted((one for one in every if _matches(one, asked)), key=_place)
    sheet = site.sheet(
        request,
        "findings",
        "Findings, the most important first",
        (*FINDINGS, RECORDS) if site.run.in_full else FINDINGS,
        lambda span: span.of(kept).each(lambda one: _listed(one, one["id"] in decided)),
    )
    choices = {
        "check": sorted({finding["check"] for finding in every}),
        "branch": sorted({branch for finding in every for branch in finding["branches"]}),
        "severity": [name for name in SEVERITY if any(f["severity"] == name for f in every)],
    }
    return site.page(
        request,
        "findings",
        "Findings",
        sheet=sheet,
        choices=choices,
        asked=asked,
        states=STATES,
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
        CASES,
        lambda span: _cases(site, wanted, span),
    )
    parts = _parts(site, request, found)
    thresholds = {one["name"]: one["value"] for one in site.run.shared["policy"]["thresholds"]}
    shown = printable_view(found)
    check = next(one for one in site.run.shared["checks"] if one["name"] == found["check"])
    made = card(shown, check, "finding", thresholds)
    return site.page(
        request,
        "finding",
        headline(shown["statement"]),
        crumbs=[
            ("Findings", "/findings"),
            (check["title"], f"/findings?check={check['name']}"),
        ],
        finding=found,
        card=with_files(site, request, made, in_full=site.run.in_full, id=wanted),
        cases=cases,
        parts=parts,
        explains=[one for one in site.run.findings if wanted in one["folded"]],
        explained_by=[one for one in site.run.findings if one["id"] in found["folded"]],
        ticket=ticket(site, found),
        choice=choice_of(site, found),
    )


def _parts(site: Site, request: Request, finding: Row) -> Sheet:
    """The parts of a finding with their numbers as shown; for its file alone."""
    names = dict.fromkeys(name for part in finding["parts"] for name in part["evidence"])
    columns = [Column(name, words(name)) for name in ("nodes", "titles", *names)]
    rows = [
        {
            **dict.fromkeys(names),
            **part["evidence"],
            "nodes": [node["id"] for node in part["nodes"]],
            "titles": [node["title"] or "" for node in part["nodes"]],
        }
        for part in finding["parts"]
    ]
    return site.sheet(request, "parts", "Parts", tuple(columns), rows)


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
            headline(finding["statement"]),
            "",
            finding["statement"],
            "",
            f"Finding: {finding['id']}",
            f"Run: {site.run.name}",
            f"Nodes: {'; '.join(nodes)}",
            *numbers,
            "",
            f"To do: {finding['curator']}",
            *(["", "Counts are unsuppressed: not for sharing."] if site.run.in_full else []),
        ]
    )


def _place(finding: Row) -> tuple[bool, int]:
    """Findings that count before those that are waived, the severe ones first."""
    return finding["waiver"] is not None, SEVERITIES.index(finding["severity"])


def _listed(finding: Row, decided: bool) -> Row:
    return {
        **finding,
        "headline": headline(finding["statement"]),
        "address": finding_address(finding["id"]),
        "state": _state(finding, decided),
    }


def _state(finding: Row, decided: bool) -> str:
    if finding["waiver"]:
        return DECISION[finding["waiver"].get("decision", "waived")]
    if "to_fix" in finding:
        return f"yes, {DECISION['to_fix']}"
    state = "folded" if finding["folded"] else "yes"
    return f"{state}, decided since" if decided else state


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

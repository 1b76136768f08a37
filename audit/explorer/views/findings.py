"""Findings: a list to filter, a page for each, and deciding on one; changes are shown first."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from http import HTTPStatus
from math import inf
from typing import TypeAlias
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from audit._reports.chapters.cards import card, cell_of, columns_of, headline, says_words, shown_by
from audit._reports.chapters.report import printable_view
from audit._reports.words.words import DECISION, SEVERITY, words
from audit.base.errors import AuditError
from audit.explorer.chapter_files import with_files
from audit.explorer.guard import LARGEST_FORM, refused
from audit.explorer.links import address, finding_address, instance_address
from audit.explorer.run.paged_tables import Page, Row, Span
from audit.explorer.run.policy_editor import Decision, EditedPolicy
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import NotThereError, Site, parameters, way_to
from audit.policy.reading import built_in_policy
from audit.results.findings import OF_MODEL, OF_WAIVERS

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
    decided = decided_in(site)
    of_one = next((one for one in site.run.shared["checks"] if one["name"] == check), None)
    declared = columns_of({"columns": of_one["columns"] if of_one else (), "findings": kept})
    subject, *told = (
        Column(one["heading"], one["heading"], "told" if says_words(one, kept) else "measured")
        for one in declared
    )
    beside = (*(() if of_one else (CHECK,)), STATE, *((RECORDS,) if site.run.in_full else ()))
    orders = {"": "importance"} | {one.name: one.heading for one in told if one.numeric}
    by = next((one for one in declared if one["heading"] == order), None)
    ranked = sorted(kept, key=lambda one: -_number(by, one)) if by else kept
    return site.sheet(
        request,
        "findings",
        "Findings" if by else "Findings, the most important first",
        (Column("subject", subject.heading, "finding"), *told, SEVERE, *beside),
        lambda span: span.of(ranked).each(
            lambda one: _listed(printable_view(one), declared, one["id"] in decided)
        ),
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
    parts = _parts(site, request, found)
    thresholds = {one["name"]: one["value"] for one in site.run.shared["policy"]["thresholds"]}
    shown = printable_view(found)
    check = next(one for one in site.run.shared["checks"] if one["name"] == found["check"])
    columns = columns_of({**check, "findings": [shown]})
    made = card(shown, check, columns, "finding", thresholds)
    return site.page(
        request,
        "finding",
        headline(shown["statement"]),
        crumbs=[("Findings", "/findings"), (check["title"], f"/findings?check={check['name']}")],
        finding=found,
        card=with_files(site, request, made, in_full=site.run.in_full, id=wanted),
        cases=cases,
        parts=parts,
        explains=[one for one in site.run.findings if wanted in one["folded"]],
        explained_by=[one for one in site.run.findings if one["id"] in found["folded"]],
        ticket=ticket(site, found),
        choice=choice_of(site, found),
    )


def _columns(site: Site, check: str) -> tuple[Column, ...]:
    """What is told of a record: its labels, where it may be looked at, and the answers."""
    if site.run.instances is None:
        return CASES
    return (*CASES, *RECORD, *(ANSWERS if check in OF_MODEL else ()))


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


def _number(column: Mapping[str, str], finding: Row) -> float:
    """What a column says of a finding as a number to order by; withheld ones come last."""
    value = finding["evidence"].get(shown_by(column, finding["evidence"]))
    return float(value) if isinstance(value, int | float) else -inf


def _listed(finding: Row, columns: Sequence[Mapping[str, str]], decided: bool) -> Row:
    """A finding as its columns have it, and their evidence as it is for a file."""
    evidence = finding["evidence"]
    cells = {one["heading"]: cell_of(one, columns, finding) for one in columns}
    texts = {name: getattr(cell, "text", cell) for name, cell in cells.items()}
    exact = {one["heading"]: evidence.get(shown_by(one, evidence)) for one in columns}
    return {
        **{name: texts[name] if value is None else value for name, value in exact.items()},
        **finding,
        "cells": cells,
        "subject": next(iter(texts.values())),
        "address": finding_address(finding["id"]),
        "state": _state(finding, decided),
    }


def _state(finding: Row, decided: bool) -> str:
    if finding["waiver"]:
        return DECISION[finding["waiver"]["decision"]]
    if "to_fix" in finding:
        return f"yes, {DECISION['to_fix']}"
    state = "folded" if finding["folded"] else "open"
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


_FIELDS = 20
"""Fields of a form at most."""

_Answer: TypeAlias = Callable[[Site, Request, EditedPolicy, Row, Mapping[str, str]], Response]


@dataclass(frozen=True, slots=True)
class Choice:
    """What may be decided on a finding, and what was.

    Args:
        problem: Why the file cannot be read; empty if it can.
        judged: Whether the run was judged by what the file states now.
    """

    finding: str
    path: str
    decided: Row | None = None
    problem: str = ""
    judged: bool = True


def choice_of(site: Site, finding: Row) -> Choice | None:
    """What may be decided on a finding; None without a policy file, or on one about waivers."""
    if site.policy is None or finding["check"] in OF_WAIVERS:
        return None
    try:
        decided = site.policy.decided().get(finding["id"])
    except AuditError as error:
        return Choice(finding["id"], str(site.policy.path), problem=str(error))
    identity, tables = site.run.shared["identity"], site.run.restricted
    usual = built_in_policy(identity["hierarchy"]["name"])
    judged = site.policy.judged(identity, tables.result.made_with if tables else usual)
    return Choice(finding["id"], str(site.policy.path), decided, judged=judged)


def decided_in(site: Site) -> Collection[str]:
    """Findings that the policy file decides on alone; none without a file that can be read."""
    try:
        return site.policy.decided().keys() if site.policy else ()
    except AuditError:
        return ()


def show_written(site: Site, request: Request) -> Response:
    """What the policy file says of a finding now, and the command that judges the run by it."""
    finding = site.run.finding(parameters(request).get("id", ""))
    choice = None if finding is None else choice_of(site, finding)
    if finding is None or choice is None:
        raise NotThereError("There is no decision to show.")
    command = _command(site.run.folder, choice.path, site.run.judged_with)
    return _page(site, request, "judged", finding, choice=choice, command=command)


def _command(run: str, policy: str, options: Sequence[str]) -> str:
    """The command that judges the run again by the policy file, as a shell takes it."""
    folder = f"./{run}" if run.startswith("-") else run
    return shlex.join(["audit", "report", folder, "--overwrite", "--policy", policy, *options])


def _answering(answer: _Answer, site: Site) -> Callable[[Request], Awaitable[Response]]:
    """Answers a form that a page of this application sent; all others are refused."""

    def answer_to(request: Request, policy: EditedPolicy, form: Mapping[str, str]) -> Response:
        finding = site.run.finding(form.get("finding", ""))
        if finding is None:
            raise NotThereError("The run has no such finding.")
        return answer(site, request, policy, finding, form)

    async def answering(request: Request) -> Response:
        form = await form_of(request)
        if site.policy is None:
            return refused("The window was opened without --policy: nothing is written.", 403)
        if form is None:
            return refused("This form is too large.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if site.guard is None or not site.guard.accepts(form):
            return refused("This form is not of this window. Open the finding again.", 403)
        return await run_in_threadpool(answer_to, request, site.policy, form)

    return answering


async def form_of(request: Request) -> dict[str, str] | None:
    """Fields of a form; None if it is larger than forms are."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_FORM:
            return None
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError:
        return {}
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


def _propose(
    site: Site, request: Request, policy: EditedPolicy, finding: Row, form: Mapping[str, str]
) -> Response:
    decision, problem = _decision(form), ""
    try:
        change = policy.propose(decision)
    except AuditError as error:
        change, problem = ("", ""), str(error)
    return _form_page(site, request, finding, decision, change, problem)


def _write(
    site: Site, request: Request, policy: EditedPolicy, finding: Row, form: Mapping[str, str]
) -> Response:
    decision = _decision(form)
    try:
        policy.write(decision, form.get("digest", ""))
    except AuditError as error:
        return _form_page(site, request, finding, decision, ("", ""), str(error))
    return RedirectResponse(address("/judged", id=decision.finding), HTTPStatus.SEE_OTHER)


def _form_page(
    site: Site,
    request: Request,
    finding: Row,
    decision: Decision,
    change: tuple[str, str],
    problem: str,
) -> Response:
    """The proposed change; or the form again, as it was filled in, with what was wrong."""
    return _page(
        site,
        request,
        "judging",
        finding,
        HTTPStatus.CONFLICT if problem else HTTPStatus.OK,
        choice=choice_of(site, finding),
        decision=decision,
        difference=change[0],
        digest=change[1],
        problem=problem,
    )


def _page(
    site: Site, request: Request, template: str, finding: Row, status: int = 200, **shown: object
) -> Response:
    return site.page(
        request,
        template,
        "Decision",
        crumbs=way_to(finding),
        status=status,
        finding=finding,
        **shown,
    )


def _decision(form: Mapping[str, str]) -> Decision:
    return Decision(**{field.name: form.get(field.name, "") for field in fields(Decision)})


PAGES = {"/findings": show_list, "/finding": show_one, "/judged": show_written}
FORMS = {"/judging": partial(_answering, _propose), "/judging/write": partial(_answering, _write)}
"""What answers a form at each address, given the application's run."""

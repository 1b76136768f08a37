"""What would mend the findings, to decide on by keys, and the sheet of what was decided."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from http import HTTPStatus

import polars as pl
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from audit._reports.chapters.cards import headline
from audit._reports.chapters.report import printable_view
from audit.base.spreadsheets import defused
from audit.explorer.guard import refused
from audit.explorer.links import instance_address
from audit.explorer.run.paged_tables import Page, Row, Span
from audit.explorer.sheets import Column
from audit.explorer.site import NotThereError, Site, csv_file, parameters
from audit.explorer.views.findings import form_of
from audit.runs.fixes.sheet import COLUMNS, Proposals, decision_of

CERTAINTIES = ("certain", "likely", "review")


def show_list(site: Site, request: Request) -> Response:
    """The proposals, the surest first, filtered by finding and certainty."""
    proposals, asked = _shown(site), parameters(request)
    table = proposals.table.with_columns(pl.col("finding").cast(pl.String))
    sure = pl.col("certainty").cast(pl.Enum(CERTAINTIES))
    kept = table.sort(sure, maintain_order=True)
    for name in ("finding", "certainty"):
        if asked.get(name):
            kept = kept.filter(pl.col(name) == asked[name])

    def rows(span: Span) -> Page:
        part = kept.slice(span.offset, span.limit)
        sheet = proposals.as_sheet(part, others=site.run.shows_instances)
        given = zip(sheet.to_dicts(), part["candidates"].to_list(), strict=True)
        return Page([_said(site, row, candidates or []) for row, candidates in given], len(kept))

    return site.page(
        request,
        "fixes",
        "Fixes",
        sheet=site.sheet(request, "fixes", "Proposals", tuple(map(Column, COLUMNS, COLUMNS)), rows),
        digest=proposals.digest,
        total=len(table),
        asked=asked,
        findings=table["finding"].unique(maintain_order=True).to_list(),
        certainties=CERTAINTIES,
    )


def _said(site: Site, row: Row, candidates: list[str]) -> Row:
    finding = site.run.finding(row["finding"])
    return printable_view(  # type: ignore[no-any-return]
        {
            **row,
            "named": candidates,
            "about": headline(finding["statement"]) if finding else row["finding"],
            "acceptable": row["change"] == "remove"
            or bool(row["proposed"])
            or (row["change"] == "add" and len(candidates) == 1),
            "address": instance_address(row["instance"], finding=row["finding"])
            if site.run.shows_instances
            else "",
        }
    )


def _shown(site: Site) -> Proposals:
    if site.run.proposals is None:
        raise NotThereError("This run proposes nothing that could be decided on here.")
    return site.run.proposals


def _sending(site: Site) -> Callable[[Request], Awaitable[Response]]:
    """Answers the form of the page with the sheet; nothing is written to the run."""

    async def sending(request: Request) -> Response:
        form = await form_of(request)
        if form is None:
            too_many = "These are too many decisions for one form: download them more often."
            return refused(too_many, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if site.guard is None or not site.guard.accepts(form):
            return refused("This form is not of this window. Open the page again.", 403)
        return await run_in_threadpool(_decided, site, form)

    return sending


def _decided(site: Site, form: Mapping[str, str]) -> Response:
    proposals = _shown(site)
    decisions, notes = (dict(_read(form.get(name, ""))) for name in ("decisions", "notes"))
    numbers = proposals.table["number"].cast(pl.String)
    unlike = any(decision_of(one)[0] is None for one in decisions.values())
    if {*decisions, *notes} - {*numbers} or unlike:
        return refused("These decisions are not on proposals of this run.", HTTPStatus.BAD_REQUEST)
    sheet = proposals.as_sheet(proposals.table, others=site.run.shows_instances)
    filled = {
        name: pl.Series([own.get(number, "") for number in numbers], dtype=pl.String)
        for name, own in (("decision", decisions), ("note", notes))
    }
    decided = defused(sheet.with_columns(**filled))
    return csv_file("decisions", decided.write_csv(), in_full=True)


def _read(text: str) -> Iterator[tuple[str, str]]:
    """Number of each line, and the decision or note behind it."""
    for line in filter(None, text.replace("\r\n", "\n").split("\n")):
        number, _, said = line.partition(" ")
        yield number, said


PAGES = {"/fixes": show_list}
FORMS = {"/fixes/sheet": _sending}

"""The first page: what the audit says, and what each check found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from audit.results.exploration import Page
from reports.chapters.blocks import by_result
from reports.chapters.report import printable_view
from reports.chapters.verdict import leading, verdict
from reports.explorer.sheets import Column, Sheet
from reports.explorer.site import Site
from reports.words.words import number

CHECKS = (
    Column("title", "Check"),
    Column("status", "Result", "severity"),
    Column("total", "Findings", "count"),
    Column("looked_at", "Looked at"),
)


def routes(site: Site) -> list[Route]:
    """Addresses of this file's pages."""
    return [Route("/", partial(show, site))]


def show(site: Site, request: Request) -> Response:
    """The verdict."""
    shared = printable_view(site.run.shared)
    checks = by_result(shared["checks"])
    rows = [{**check, "looked_at": _looked_at(check)} for check in checks]
    sheet = site.sheet(
        request, "checks", "What each check found", CHECKS, lambda _: Page(rows, len(rows))
    )
    if not isinstance(sheet, Sheet):
        return sheet
    facts = [
        ("Instances", number(shared["ledger"]["instances"])),
        ("Rows read", number(shared["ledger"]["rows_read"])),
        ("Hierarchy", shared["identity"]["hierarchy"]["name"]),
        ("Nodes", number(shared["identity"]["hierarchy"]["nodes"])),
        ("Policy", shared["identity"]["policy"]["name"]),
    ]
    return site.page(
        request,
        "verdict",
        "Verdict",
        verdict=verdict(shared),
        leading={name: one["id"] for name, one in leading(site.run.shared["checks"]).items()},
        facts=facts,
        sheet=sheet,
    )


def _looked_at(check: Mapping[str, Any]) -> str:
    if check["status"] == "not_applicable":
        return str(check["reason"] or "")
    return f"{number(check['denominator'])} {check['denominator_unit']}"

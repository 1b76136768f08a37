"""The first page: what the audit says, and what each check found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from audit.explorer.run.vocabulary import Page
from audit.explorer.sheets import Column, Sheet
from audit.explorer.site import Site
from reports.chapters.blocks import by_result
from reports.chapters.imprint import stated
from reports.chapters.tables import digests
from reports.chapters.verdict import leading, verdict
from reports.words.words import number, typical

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
    shared = site.printable_shared
    checks = by_result(shared["checks"])
    rows = [{**check, "looked_at": _looked_at_in_words(check)} for check in checks]
    sheet = site.sheet(
        request, "checks", "What each check found", CHECKS, lambda _: Page(rows, len(rows))
    )
    if not isinstance(sheet, Sheet):
        return sheet
    ledger, tool = shared["ledger"], shared["identity"]["tool"]
    facts = [
        ("Instances", number(ledger["instances"])),
        ("Labels per instance", f"{typical(ledger['labels_per_instance']['median'])} (median)"),
        ("Rows read", number(ledger["rows_read"])),
        ("Hierarchy", shared["identity"]["hierarchy"]["name"]),
        ("Nodes", number(shared["identity"]["hierarchy"]["nodes"])),
        ("Policy", shared["identity"]["policy"]["name"]),
    ]
    said = stated(site.imprint, f"{tool['name']} {tool['version']}", shared["policy"]["min_cell"])
    return site.page(
        request,
        "verdict",
        "Verdict",
        verdict=verdict(shared),
        leading={name: one["id"] for name, one in leading(site.run.shared["checks"]).items()},
        stated=said[:-1],  # the line above every page says who may read it
        facts=facts,
        sheet=sheet,
        digests=[
            *digests(shared["identity"]),
            ("result.json", sha256(site.result_json).hexdigest()),
        ],
    )


def _looked_at_in_words(check: Mapping[str, Any]) -> str:
    if check["status"] == "not_applicable":
        return str(check["reason"] or "")
    return f"{number(check['denominator'])} {check['denominator_unit']}"

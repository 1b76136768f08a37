"""What the audit says: its verdict on the first page, and the whole report."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from audit.explorer.chapter_files import with_files
from audit.explorer.run.vocabulary import Page
from audit.explorer.sheets import Column
from audit.explorer.site import Site
from reports.chapters.blocks import by_result
from reports.chapters.sections import sections
from reports.chapters.tables import digests
from reports.chapters.verdict import leading, verdict
from reports.words.words import number, typical

CHECKS = (
    Column("title", "Check"),
    Column("status", "Result", "severity"),
    Column("total", "Findings", "count"),
    Column("looked_at", "Looked at"),
)


def show_verdict(site: Site, request: Request) -> Response:
    """The verdict, and what each check found."""
    shared = site.printable_shared
    checks = by_result(shared["checks"])
    rows = [{**check, "looked_at": _looked_at_in_words(check)} for check in checks]
    sheet = site.sheet(
        request, "checks", "What each check found", CHECKS, lambda _: Page(rows, len(rows))
    )
    ledger, tool = shared["ledger"], shared["identity"]["tool"]
    facts = [
        ("Instances", number(ledger["instances"])),
        ("Labels per instance", f"{typical(ledger['labels_per_instance']['median'])} (median)"),
        ("Rows read", number(ledger["rows_read"])),
        ("Hierarchy", shared["identity"]["hierarchy"]["name"]),
        ("Nodes", number(shared["identity"]["hierarchy"]["nodes"])),
        ("Policy", shared["identity"]["policy"]["name"]),
    ]
    said = site.imprint.stated(f"{tool['name']} {tool['version']}", shared["policy"]["min_cell"])
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


def show_report(site: Site, request: Request) -> Response:
    """The report; its pictures and tables show what may be shared, and so do their files."""
    report = with_files(site, request, site.report)
    chapters = sections(report, paper=False)
    return site.page(request, "report", "Report", report=report, sections=chapters, paper=False)


def _looked_at_in_words(check: Mapping[str, Any]) -> str:
    if check["status"] == "not_applicable":
        return str(check["reason"] or "")
    return f"{number(check['denominator'])} {check['denominator_unit']}"


PAGES = {"/": show_verdict, "/report": show_report}

"""The whole report, as it may be shared, within the window."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from audit.explorer.chapter_files import led_to_files
from audit.explorer.site import Site
from reports.chapters.sections import sections


def routes(site: Site) -> list[Route]:
    """Addresses of this file's pages."""
    return [Route("/report", partial(show, site))]


def show(site: Site, request: Request) -> Response:
    """The report; its pictures and tables show what may be shared, and so do their files."""
    report, files = led_to_files(site.report, "/report")
    chapters = sections(report, paper=False)
    return files.answer(site, request, in_full=False) or site.page(
        request, "report", "Report", report=report, sections=chapters, paper=False
    )

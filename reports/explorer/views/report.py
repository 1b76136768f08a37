"""The whole report, as it may be shared, within the window."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reports.chapters.sections import sections
from reports.explorer.site import Site


def routes(site: Site) -> list[Route]:
    """Addresses of this file's pages."""
    return [Route("/report", partial(show, site))]


def show(site: Site, request: Request) -> Response:
    """The report."""
    chapters = sections(site.report, paper=False)
    return site.page(
        request, "report", "Report", report=site.report, sections=chapters, paper=False
    )

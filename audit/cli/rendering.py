"""Rendering of reports at the end of a command; a failure does not affect other outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.base.errors import RenderError
from audit.base.progress import Progress

if TYPE_CHECKING:
    from audit.results.result import AuditResult


@contextmanager
def rendering(
    result: AuditResult, folder: Path, pdf: bool, progress: Progress
) -> Iterator[list[RenderError]]:
    """Write the reports at the end of the block; typesetting of the PDF runs during the block.

    Yields:
        A list that holds the rendering errors once the block has ended.
    """
    import reports

    unrendered: list[RenderError] = []
    with _typesetting(result, pdf, progress, unrendered) as finished_pdf:
        yield unrendered
        progress("writing report.html")
        with _kept_whole(folder / "report.html", unrendered) as path:
            reports.write_html(result, path)
        if finished_pdf:
            progress("writing report.pdf")
            with _kept_whole(folder / "report.pdf", unrendered) as path:
                path.write_bytes(finished_pdf())


@contextmanager
def _typesetting(
    result: AuditResult, pdf: bool, progress: Progress, unrendered: list[RenderError]
) -> Iterator[Callable[[], bytes] | None]:
    from reports.pdf.pdf import rendering_pdf

    with ExitStack() as begun:
        finished = None
        if pdf:
            progress("preparing report.pdf")
            try:
                finished = begun.enter_context(rendering_pdf(result.shared()))
            except RenderError as error:
                unrendered.append(error)
        yield finished


@contextmanager
def _kept_whole(path: Path, unrendered: list[RenderError]) -> Iterator[Path]:
    """Leave a report out that could not be rendered."""
    try:
        yield path
    except RenderError as error:
        path.unlink(missing_ok=True)
        unrendered.append(error)


def render_comparison(shared: Mapping[str, Any], path: Path) -> list[RenderError]:
    """Write the report of a comparison; returns the rendering errors, if any."""
    import reports

    try:
        reports.write_comparison(shared, path)
    except RenderError as error:
        path.unlink(missing_ok=True)
        return [error]
    return []

"""Reports of an audit: the view that may be shared, rendered as HTML and PDF.

Both writers render that view and nothing else, so that HTML, PDF and ``result.json`` agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from audit.results.result import AuditResult
    from reports.page import Shown
    from reports.pdf import Variant
    from reports.words import Imprint

__all__ = ["show", "write_comparison", "write_html", "write_pdf"]


class Shareable(Protocol):
    """An object with a view that may be shared, such as `audit.Comparison`."""

    def shared(self) -> dict[str, Any]:
        """The view that may be shared."""


def show(result: AuditResult | Mapping[str, Any]) -> Shown:
    """Show the HTML report in a notebook, as the last expression of a cell.

    Args:
        result: An audit's result, or the dictionary read back from its ``result.json``.

    Raises:
        RenderError: If the report cannot be rendered.

    >>> import audit, reports
    >>> labels = audit.load_labels([["cat"], ["dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> page = reports.show(audit.run_audit(labels))
    """
    from reports.page import Shown, html_text

    return Shown(html_text(_view(result)))


def write_comparison(
    comparison: Shareable | Mapping[str, Any],
    path: str | Path,
    imprints: tuple[Imprint, Imprint] | None = None,
) -> None:
    """Write the report of a comparison as one self-contained HTML file.

    Args:
        comparison: The result of `audit.compare_runs`, or the dictionary read back from its
            ``comparison.json``.
        path: The file to write; the same comparison and imprints give the same bytes.
        imprints: Title, name of what was read, and day of the old and the new run.

    Raises:
        RenderError: If it cannot be rendered.

    >>> import audit, reports
    >>> tree = {"pet": {"cat": {}, "dog": {}}}
    >>> old, new = (audit.run_audit(audit.load_labels(labels, tree)) for labels in (
    ...     [["cat"], ["dog"]], [["cat"], ["cat", "dog"]]))
    >>> reports.write_comparison(audit.compare_runs(old, new), "comparison.html")
    """
    from reports.compared import comparison_html

    text = comparison_html(_view(comparison), imprints)
    Path(path).write_bytes(text.encode("utf-8"))


def write_html(
    result: AuditResult | Mapping[str, Any], path: str | Path, imprint: Imprint | None = None
) -> None:
    """Write the report as one self-contained HTML file that opens without a network.

    Args:
        result: An audit's result, or the dictionary read back from its ``result.json``.
        path: The file to write; the same result and imprint give the same bytes.
        imprint: Title, name of what was read, and day of the run; None for the policy's title.

    Raises:
        RenderError: If the report cannot be rendered.

    >>> import audit, reports
    >>> labels = audit.load_labels([["cat"], ["dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> reports.write_html(audit.run_audit(labels), "report.html")
    """
    from reports.page import html_text
    from reports.words import UNNAMED

    text = html_text(_view(result), imprint or UNNAMED)
    Path(path).write_bytes(text.encode("utf-8"))


def write_pdf(
    result: AuditResult | Mapping[str, Any],
    path: str | Path,
    imprint: Imprint | None = None,
    variant: Variant = "pdf/a-3a",
) -> None:
    """Write the report as a PDF with ``result.json`` attached inside.

    Args:
        result: An audit's result, or the dictionary read back from its ``result.json``.
        path: The file to write; with ``SOURCE_DATE_EPOCH`` set, the same result gives the
            same bytes.
        imprint: Title, name of what was read, and day of the run; None for the policy's title.
        variant: The standard that it follows, ``pdf/a-3a`` or ``pdf/ua-1``; none where no font of
            the machine has one of its characters.

    Raises:
        RenderError: If Pango is missing (the message says how to install it), or if the report
            cannot be rendered.
        InputError: If ``SOURCE_DATE_EPOCH`` is not a valid timestamp.

    >>> import audit, reports
    >>> labels = audit.load_labels([["cat"], ["dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> reports.write_pdf(audit.run_audit(labels), "report.pdf")
    """
    from reports.pdf import typeset

    Path(path).write_bytes(typeset(_view(result), imprint, variant=variant).content)


def _view(result: Shareable | Mapping[str, Any]) -> Mapping[str, Any]:
    return result if isinstance(result, Mapping) else result.shared()

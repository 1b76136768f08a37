"""Reports of an audit: the public name of `audit._reports`."""

from audit._reports import (
    show,
    write_comparison,
    write_html,
    write_pdf,
)

__all__ = [
    "show",
    "write_comparison",
    "write_html",
    "write_pdf",
]

"""The report in a notebook: the complete file in an iframe."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

HEIGHT = 800
"""Height of the frame in pixels."""


@dataclass(frozen=True)
class Shown:
    """A report that a notebook shows.

    Args:
        html: The complete HTML file.
    """

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        """A sandboxed frame, so that neither page changes how the other looks or what it runs."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="Hierarchy audit" width="100%" '
            f'height="{HEIGHT}" sandbox="allow-scripts" style="border: 0"></iframe>'
        )

"""``audit list``: list built-in hierarchies, formats, checks or metrics."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from audit.cli.output import (
    print_shown,
)


class Listed(StrEnum):
    """Things that ``audit list`` can list."""

    hierarchies = "hierarchies"
    formats = "formats"
    checks = "checks"
    metrics = "metrics"


def list_(what: Annotated[Listed, typer.Argument(help="What to list.")]) -> None:
    """List the built-in hierarchies, the formats, the checks or the metrics."""
    from audit.cli import terminal

    headings = ("name", "kind", "what it is") if what is Listed.formats else ("name", "what")
    print_shown(terminal.listed(headings, _listed(what)))


def _listed(what: Listed) -> Iterator[tuple[str, ...]]:
    if what is Listed.checks:
        from audit.checks import ALL_CHECKS

        yield from ((check.name, check.title) for check in ALL_CHECKS)
        return
    if what is Listed.metrics:
        from audit.alignment.metrics import METRICS

        yield from ((metric.name, metric.title) for metric in METRICS)
        return
    from audit.data import formats as loaders
    from audit.hierarchies import reading as hierarchies

    if what is Listed.hierarchies:
        yield from ((known.name, known.title) for known in hierarchies.BUILT_IN)
        return
    yield from ((known.name, "labels", known.title) for known in loaders.FORMATS)
    yield from ((known.name, "predictions", known.title) for known in loaders.PREDICTION_FORMATS)
    readers = (*hierarchies.FORMATS, *hierarchies.FOLDERS)
    yield from ((known.name, "hierarchy", known.title) for known in readers)

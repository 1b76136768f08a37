"""``audit list``: list built-in hierarchies, formats, checks, metrics, limits or plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, TypeAlias

from audit.base.limits import LIMITS
from audit.base.settings import Argument
from audit.cli.options import PrintJson
from audit.cli.output import print_json, print_shown

Listed: TypeAlias = Literal["hierarchies", "formats", "checks", "metrics", "limits", "plugins"]

_HEADINGS: Mapping[Listed, tuple[str, ...]] = {
    "formats": ("name", "kind", "what it is"),
    "limits": ("name", "unless stated", "what is limited"),
    "plugins": ("name", "version", "what it adds"),
}


def list_(what: Annotated[Listed, Argument("What to list.")], as_json: PrintJson = False) -> None:
    """List built-in hierarchies, formats, checks, metrics, limits or installed plugins."""
    from audit.cli.terminal.tables import listed as table

    headings, rows = _HEADINGS.get(what, ("name", "what")), [*_listed(what)]
    if as_json:
        print_json({what: [dict(zip(headings, row, strict=True)) for row in rows]})
    else:
        print_shown(table(headings, rows))


def _listed(what: Listed) -> Iterator[tuple[str, ...]]:
    if what == "checks":
        from audit.runs.analyses import ALL_CHECKS

        of_data = sorted(ALL_CHECKS, key=lambda check: bool(getattr(check, "reads", None)))
        yield from ((check.name, check.title) for check in of_data)
        return
    if what == "metrics":
        from audit.results.metric_list import METRICS

        yield from ((metric.name, metric.title) for metric in METRICS)
        return
    if what == "plugins":
        from audit.base.plugins import listed

        yield from listed()
        return
    if what == "limits":
        yield from ((one.name, f"{one.most:,}", f"{one.of}: {one.why}") for one in LIMITS)
        return
    from audit.data.layouts import LAYOUTS
    from audit.hierarchies import reading as hierarchies

    if what == "hierarchies":
        yield from ((known.name, known.title) for known in hierarchies.BUILT_IN)
        return
    yield from ((known.name, "labels", known.title) for known in LAYOUTS)
    readers = (*hierarchies.FORMATS, *hierarchies.FOLDERS)
    yield from ((known.name, "hierarchy", known.title) for known in readers)

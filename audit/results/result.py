"""The result of an audit: its record, with the view that may be shared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from audit.base.plurals import counted
from audit.results.record import Record
from audit.results.shared_view import SharedView


class AuditResult(Record):
    """Everything one audit measured and found.

    ``shared()`` returns the view that may be published; the tables themselves are not suppressed.
    """

    def shared(self) -> dict[str, Any]:
        """The view that may be published: the content of ``result.json``, HTML and PDF.

        Small cells are suppressed and the findings of each check are capped; a finding is never
        dropped for being small. The same result gives the same bytes. The view is made once, and
        copied on each call.
        """
        copied: dict[str, Any] = _copied(self._shared)
        return copied

    @cached_property
    def _shared(self) -> dict[str, Any]:
        return self.view.as_dict()

    @cached_property
    def view(self) -> SharedView:
        """The builder of the shared view."""
        return SharedView(self)

    def __repr__(self) -> str:
        total = sum(len(check.standing) for check in self.checks)
        return (
            f"AuditResult({self.status}: {counted(total, 'findings')} in "
            f"{counted(len(self.checks), 'checks')}, "
            f"{counted(self.size, 'instances')})"
        )

    def _repr_markdown_(self) -> str:
        rows = "\n".join(
            f"| {check.name} | {check.status} | {len(check.standing):,} "
            f"| {counted(check.denominator, check.denominator_unit)} |"
            for check in self.checks
        )
        heading = "| check | status | findings | looked at |\n|---|---|---:|---|"
        return f"**{self!r}**\n\n{heading}\n{rows}\n"


def _copied(value: Any) -> Any:
    """The same plain data, in dictionaries and lists of its own."""
    if isinstance(value, dict):
        return {name: _copied(inner) for name, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def to_json_bytes(shared: Mapping[str, Any]) -> bytes:
    """Serialise the shared view: the bytes of ``result.json``, also attached to reports."""
    text = json.dumps(shared, ensure_ascii=False, indent=1, allow_nan=False)
    return (text + "\n").encode("utf-8")

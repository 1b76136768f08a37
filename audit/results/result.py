"""The result of an audit: its record, with the view that may be shared."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import polars as pl

from audit.base.plurals import counted, percentage
from audit.results.binned import binned
from audit.results.metric_list import ALL
from audit.results.record import Record
from audit.results.view import view

DIGEST = 12
"""Characters of the digest of ``result.json`` in the foot of each page, and when it is verified."""


class AuditResult(Record):
    """Everything one audit measured and found.

    ``shared()`` returns the view that may be published; the tables themselves are exact.
    `audit.run_audit` and `audit.read_run` give one.

    >>> import audit
    >>> labels = audit.load_labels([["cat"], ["dog", "dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> result = audit.run_audit(labels)
    >>> result.status, result.size
    ('note', 2)
    >>> result.worst()["sentence"].to_list()
    ['1 of 2 instances with labels (50.0%) has a label more than once, which counts once: \
1 repeated row of 1 label, dog.']
    >>> result.nodes.select("node", "direct", "support").rows()
    [('cat', 1, 1), ('dog', 1, 1), ('pet', 0, 2)]
    """

    def shared(self) -> dict[str, Any]:
        """The view that may be published: the content of ``result.json``, HTML and PDF.

        Where instances are persons' records their counts are told in bins, and nothing in it
        depends on more than these tell. The findings of each check are capped. The same result
        gives the same bytes. The view is made once, and copied on each call.
        """
        copied: dict[str, Any] = _copied(self._shared)
        return copied

    def exact(self) -> dict[str, Any]:
        """The view of `shared` in exact numbers, made on each call, for who may see the records."""
        return view(replace(self, policy={**self.policy, "min_cell": 1}))

    def as_metrics(self) -> dict[str, float]:
        """Numbers of the shared view by names that MLflow, W&B and DVC take.

        ``instances``; ``findings/CHECK`` of each check that applies; and each metric of a model,
        ``metric/NAME/SCOPE``, with its parameters where it has any. Letters that MLflow refuses are
        ``_``; a name that is then the same as an earlier one ends in ``_again`` and a number. A
        metric that is not told has no entry.
        """
        shared, made = self._shared, dict[str, float]()
        numbers = [("instances", shared["ledger"]["instances"])]
        numbers += [(f"findings/{check['name']}", check["total"]) for check in shared["checks"]
                    if check["status"] not in ("not_applicable", "error")]  # fmt: skip
        for one in shared["metrics"]:
            stated = [f"{key}_{value}" for key, value in one["parameters"].items()]
            numbers.append(("/".join(["metric", one["name"], one["scope"], *stated]), one["value"]))
        for name, value in numbers:
            plain = re.sub(r"[^\w\-. :/]", "_", name, flags=re.ASCII)
            again = sum(key == plain or key.startswith(f"{plain}_again") for key in made)
            if value is not None:
                made[f"{plain}_again{again}" if again else plain] = value
        return made

    @cached_property
    def told(self) -> Self:
        """The same run with told numbers, of which ``shared()`` is the view."""
        return binned(self, self.rounding)

    @cached_property
    def _shared(self) -> dict[str, Any]:
        return view(self.told)

    def __repr__(self) -> str:
        total = sum(len(check.standing) for check in self.checks)
        applied = sum(check.status != "not_applicable" for check in self.checks)
        return (
            f"AuditResult({self.status}: {counted(total, 'findings')} in "
            f"{counted(applied, 'checks')}, "
            f"{counted(self.size, 'instances')})"
        )

    def _repr_markdown_(self) -> str:
        """The status, the findings to act on first, and a model's metrics; exact numbers."""
        first = self.worst()
        told = first.select("severity", "sentence", "instances", "share", "curator").iter_rows()
        rows = [
            (*before, None if share is None else percentage(share), curator)
            for *before, share, curator in told
        ]
        parts = [f"**{self!r}**", _table("severity, finding, instances, share, to do", rows)]
        metrics = self.metrics.filter(pl.col("scope") == ALL)
        measured = metrics.select("name", "value", "low", "high", "n").rows()
        parts.append(_table("metric, value, low, high, n", measured))
        return "\n\n".join(filter(None, parts)) + "\n"


def _table(headings: str, rows: Sequence[Sequence[Any]]) -> str:
    """A table in Markdown, in which no text of the data is markup; empty without rows."""
    names = headings.split(", ")
    lines = [names, ["---"] * len(names), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if rows else ""


def _cell(value: Any) -> str:
    """A value as text in which nothing is markup of Markdown or HTML; empty if None."""
    if value is None:
        return ""
    text = f"{value:,.3f}" if isinstance(value, float) else str(value)
    return re.sub(r"([\\`*_\[\]|$<>&])", lambda one: f"&#{ord(one[1])};", " ".join(text.split()))


def _copied(value: Any) -> Any:
    """Plain data copied, in dictionaries and lists of its own."""
    if isinstance(value, dict):
        return {name: _copied(inner) for name, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def to_json_bytes(shared: Mapping[str, Any]) -> bytes:
    """Serialise the shared view: the bytes of ``result.json``, also attached to reports."""
    text = json.dumps(shared, ensure_ascii=False, indent=1, allow_nan=False)
    return (text + "\n").encode("utf-8")

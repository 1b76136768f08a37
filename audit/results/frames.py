"""What a result holds as frames: its findings, and the metrics of a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from audit.base.plurals import filled
from audit.base.schemas import schema
from audit.disclosure import Quantity
from audit.results.findings import Finding, Judgement, Part, Waived, values_of

_FINDINGS = schema(
    ("check id severity sentence", pl.String),
    ("nodes titles", pl.List(pl.String)),
    ("instances", pl.Int64),
    ("share low high weight", pl.Float64),
)
_FURTHER = schema(
    ("curator data_user", pl.String),
    ("touched", pl.Int64),
    ("strength beyond", pl.Float64),
    ("aside", pl.Boolean),
    ("key folded_into", pl.List(pl.String)),
    ("record", pl.String),
)
_ALWAYS = {"instances": 0, "of": 0}
"""Numbers that evidence has a field for, whatever the findings have."""
_METRICS = schema(
    ("name scope", pl.String), ("value low high", pl.Float64), ("n", pl.Int64)
)  # fmt: skip


def finding_frame(
    findings: Sequence[Finding], titles: Mapping[str, str | None], weight: Mapping[str, float]
) -> pl.DataFrame:
    """A row a finding; evidence and parts as structs, with a field for each name that any has.

    Args:
        findings: The findings, in order.
        titles: Title of each node.
        weight: What each weighs among findings of other checks, by its id.
    """
    own = _struct(values_of(finding.evidence) for finding in findings)
    of_parts = _struct(values_of(part.evidence) for finding in findings for part in finding.parts)
    nodes = {"nodes": pl.List(pl.String), "titles": pl.List(pl.String)}
    part = pl.Struct({**nodes, "evidence": of_parts})
    columns = {**_FINDINGS, "evidence": own, "parts": pl.List(part), **_FURTHER}
    rows = [_row(finding, titles) | {"weight": weight[finding.id]} for finding in findings]
    return pl.DataFrame(rows, schema=columns, strict=False)


def _row(finding: Finding, titles: Mapping[str, str | None]) -> dict[str, Any]:
    values = values_of(finding.evidence)
    count, of, share = (values.get(name) for name in ("instances", "of", "share"))
    if share is None and count is not None and of:
        share = count / of
    return {
        **{name: getattr(finding, name) for name in _FURTHER if name != "record"},
        **{name: getattr(finding, name) for name in ("check", "id", "nodes")},
        "severity": finding.judged_severity,
        "sentence": filled(finding.statement, values),
        "titles": [titles.get(node) for node in finding.nodes],
        "instances": (finding.touched or None) if count is None else count,
        "share": share,
        **{end: values.get(end) for end in ("low", "high")},
        "evidence": values,
        "parts": [
            {
                "nodes": part.nodes,
                "titles": [titles.get(node) for node in part.nodes],
                "evidence": values_of(part.evidence),
            }
            for part in finding.parts
        ],
        "record": json.dumps(asdict(finding), ensure_ascii=False),
    }


def _struct(rows: Iterable[Mapping[str, Any]], always: Mapping[str, Any] = _ALWAYS) -> pl.Struct:
    """The type of some records: numbers where all of a name are, whole ones where all are."""
    kinds: dict[str, set[type]] = {}
    for row in (always, *rows):
        for name, value in row.items():
            kinds.setdefault(name, set()).update(() if value is None else (type(value),))
    return pl.Struct({name: _kind(found) for name, found in kinds.items()})


def _kind(found: set[type]) -> pl.DataType:
    if found == {bool}:
        return pl.Boolean()
    if found <= {int}:
        return pl.Int64()
    return pl.Float64() if found <= {int, float} else pl.String()


def finding_of(record: str) -> Finding:
    """The finding of a row, from its ``record``."""
    stored = json.loads(record)
    judgement = stored["judgement"]
    waiver = judgement.pop("waiver")
    parts = [Part(tuple(one["nodes"]), _evidence(one["evidence"])) for one in stored["parts"]]
    lists = ("nodes", "key", "folded_into", "about")
    return Finding(
        **stored
        | {name: tuple(stored[name]) for name in lists}
        | {
            "evidence": _evidence(stored["evidence"]),
            "parts": tuple(parts),
            "judgement": Judgement(**judgement, waiver=Waived(**waiver) if waiver else None),
            "beside": tuple((a, b) for a, b in stored["beside"]),
        }
    )


def _evidence(stored: Mapping[str, Any]) -> dict[str, Quantity]:
    return {
        name: Quantity(q["value"], q["kind"], tuple(q["totals"]), tuple(q["sources"]))
        for name, q in stored.items()
    }


def metric_frame(metrics: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A row a metric: ``name, scope, value, low, high, n`` and its ``parameters`` as a struct."""
    parameters = _struct((one["parameters"] for one in metrics), {"threshold": 0.0})
    columns = {**_METRICS, "parameters": parameters}
    return pl.DataFrame([dict(one) for one in metrics], schema=columns, strict=False)

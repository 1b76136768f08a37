"""The JSON schemas of ``result.json`` and ``comparison.json``, made of what is declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from audit.base.declared import (
    Column,
    Columns,
    Table,
    chance,
    count,
    exact,
    flag,
    mean,
    metric,
    setting,
    share,
    text,
    texts,
    whole,
)
from audit.results import columns as declared
from audit.results import compared, tables
from audit.results.findings import SEVERITIES
from audit.results.order import BY_RESULT
from audit.runs.analyses import ANALYSES

Schema: TypeAlias = dict[str, Any]


def column(of: Column) -> Schema:
    """What stands in a column, or null; of a number its kind under ``told``, and why it is told."""
    told = {} if of.kind == "text" else {"told": f"{of.kind}: {of.reason}".removesuffix(": ")}
    return {"type": [of.holds, "null"], **told}


def fields(*columns: Iterable[Column], **inner: Schema) -> Schema:
    """An object of ``columns``, which it may lack, and of ``inner`` fields, which it must have."""
    own = {one.name: column(one) for some in columns for one in some}
    return {
        "type": "object",
        "required": [*inner],
        "additionalProperties": False,
        "properties": own | inner,
    }


def rows(*columns: Iterable[Column], **inner: Schema) -> Schema:
    """A list of objects as `fields` describes them."""
    return _list_of(fields(*columns, **inner))


def rows_of(table: Table, *others: Iterable[Column], **inner: Schema) -> Schema:
    """JSON schema of the list of rows of a declared table, with further columns and fields."""
    said = f"{table.title}: a row is {table.row}." if table.title else f"A row is {table.row}."
    return {"description": said, **rows(table.columns.values(), *others, **inner)}


def analysis(every: Mapping[str, Table], facts: Columns) -> Schema:
    """The entry of an analysis: its facts, and its tables by name."""
    told = {"type": "object", "propertyNames": {"enum": [*facts]}}
    made = fields(facts=told, **{name: rows_of(table) for name, table in every.items()})
    return {**made, "required": ["facts"]}


def _list_of(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _map_of(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


def _or_null(of: Schema) -> Schema:
    return {"anyOf": [{"type": "null"}, of]}


_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Schema = {"type": "string"}
_SEVERITY: Schema = {"enum": [*SEVERITIES]}
_STATUS: Schema = {"enum": [*BY_RESULT]}
_OBJECT: Schema = {"type": "object"}
_NODE = text("node title")
_NODES = rows(text("id title"))
_EVIDENCE = _map_of({"type": ["number", "string", "null"], "told": "as the check declares it"})
_ANSWERS_FOR = text("owner reason expires")
_ROUNDING = fields(
    setting("bin"),
    text("note"),
    totals=_map_of(column(*exact("total", reason="a total"))),
    about=_list_of(_TEXT),
)


def result_schema() -> Schema:
    """The schema of ``result.json``; each number says under ``told`` of which kind it is."""
    made = fields(
        text("schema_version"),
        rounding=_or_null(_ROUNDING),
        identity=_identity(),
        ledger=_ledger(),
        readings=rows_of(tables.READINGS),
        policy=_policy(),
        status=_STATUS,
        worst={**_list_of(_TEXT), "maxItems": 10},
        checks=_list_of(_check()),
        since_reference=_or_null(_since_reference()),
        metrics=_metrics(),
        metrics_absent=rows(text("name reason")),
        metrics_beside=_metrics(),
        waivers=rows_of(tables.WAIVERS, text("node subtree finding added"), texts("pair")),
        overview=_overview(),
    )
    made["properties"] |= {
        "mended": _mended(),
        "tables": _map_of(_OBJECT),
        "analyses": _map_of(_OBJECT),
        **{one.name: analysis(one.tables, one.facts) for one in ANALYSES},
    }
    return {"$schema": _DRAFT, "title": "The view of a run that may be shared", **made}


def comparison_schema() -> Schema:
    """The schema of ``comparison.json``; numbers say under ``told`` of which kind they are."""
    sides = fields(old=_OBJECT, new=_OBJECT)
    rounding = fields(old=_or_null(_ROUNDING), new=_or_null(_ROUNDING))
    counted = whole("edits exchanges branches nodes pairs labels metrics measures")
    findings = whole("new gone worse better")
    beyond = text("beyond_old beyond_new")
    metrics = rows_of(compared.METRICS, beyond, parameters=_OBJECT)
    moved = rows(text("node title"), count("support_old support_new"))
    made = fields(
        text("schema_version"),
        setting("min_cell"),
        flag("few_rows_differ changed"),
        identity=sides,
        ledger=sides,
        rounding=rounding,
        terms=rows_of(compared.TERMS),
        causes=rows_of(compared.CAUSES, flag("changed"), text("old new")),
        totals=fields(counted, findings),
        exchanges=rows_of(compared.EXCHANGES, fewer=moved, more=moved),
        branches=rows_of(compared.BRANCHES, text("branch"), chance("p_value")),
        nodes=_changed(compared.NODES, text("branch"), chance("p_value")),
        pairs=_changed(compared.PAIRS, chance("odds_ratio p_value q_value")),
        edits=fields(
            totals=fields(whole("added removed moved retitled assignable_changed")),
            rows=rows_of(compared.EDITS, texts("old new counted_at"), flag("from_labels")),
        ),
        checks=rows_of(
            compared.CHECKS,
            text("title"),
            whole("total_old total_new not_shown"),
            changes=fields(whole("new worse gone better limit same not_asked")),
            findings=rows_of(
                compared.FINDINGS,
                text("severity_old severity_new statement effect"),
                nodes=_NODES,
            ),
        ),
        grouped=fields(flag("old new")),
        model=_or_null(
            fields(
                text("predictions"),
                count("common scores_differ answers_differ"),
                metrics=fields(whole("total changed"), rows=metrics),
            )
        ),
    )
    records = fields(count("common changed"), whole("total"), rows=rows_of(compared.RECORDS))
    made["properties"] |= {"measures": metrics, "records": records}
    return {"$schema": _DRAFT, "title": "What changed between two runs", **made}


def _changed(table: Table, *others: Iterable[Column]) -> Schema:
    """Listed changes, and how many there are, were compared, and were tested (``family``)."""
    numbers = (*whole("compared not_comparable changed"), *chance("family", type="integer"))
    return fields(numbers, rows=rows_of(table, *others))


def _mended() -> Schema:
    return fields(
        whole("not_shown"),
        findings=rows_of(tables.MENDED_FINDINGS, text("check severity"), nodes=_NODES),
        decisions=rows_of(tables.MENDED_DECISIONS),
    )


def _identity() -> Schema:
    return fields(
        text("normaliser"),
        data=fields(text("format called title")),
        hierarchy=fields(text("name sha256"), whole("nodes depth")),
        policy=fields(text("name sha256")),
        tool=fields(text("name version")),
        reference=_or_null(fields(text("sha256"))),
    )


def _ledger() -> Schema:
    read = (one for one in declared.PREDICTIONS.values() if one.kind != "text")
    thresholds = setting("confusion_threshold decision_threshold", type="number")
    return fields(
        declared.LEDGER.values(),
        refused=_map_of(column(*count("rows", of="rows"))),
        labels_per_instance=fields(mean("mean", n="instances")),
        predictions=_or_null(fields(read, flag("set_valued single_label"), thresholds)),
    )


def _policy() -> Schema:
    """The schema of the policy that a result records."""
    pairs = setting("pairs")
    return fields(
        text("name title labelled_ancestors"),
        setting("min_cell max_findings"),
        thresholds=rows_of(tables.THRESHOLDS),
        branch_rules=rows_of(tables.BRANCH_RULES),
        expected=rows(texts("nodes"), text("source"), pairs),
        companions=rows(
            texts("if needs unless"), text("position valid_from valid_to source severity"), pairs
        ),
        exclusive=rows(text("reason severity"), nodes=_list_of(_list_of(_TEXT))),
        person=_or_null(fields(text("sex age"), texts("female male"))),
        person_rules=rows(texts("nodes"), text("sex source severity"), setting("age_from age_to")),
        severities=_map_of(_SEVERITY),
        ratchet={"enum": [True, False, "mended"]},
        code_dates=_or_null(fields(text("column file"), setting("codes"))),
    )


def _check() -> Schema:
    finding = fields(
        text("id statement curator data_user"),
        flag("more_parts known unasked"),
        severity=_SEVERITY,
        nodes=_NODES,
        evidence=_EVIDENCE,
        parts=rows(nodes=_NODES, evidence=_EVIDENCE),
        waiver=_or_null(fields(_ANSWERS_FOR, text("decision"))),
    )
    finding["properties"]["to_fix"] = fields(_ANSWERS_FOR)
    return fields(
        text("name title reason denominator_unit"),
        count("denominator"),
        whole("total folded not_shown"),
        flag("not_told"),
        texts("counts nodes"),
        status=_STATUS,
        columns=_list_of(_OBJECT),
        part_columns=_list_of(_OBJECT),
        findings=_list_of(finding),
    )


def _since_reference() -> Schema:
    shares = (*share("before", of="labels labels"), *share("now", of="labels labels"))
    return fields(
        exact("instances", reason="a total"),
        status=_STATUS,
        depths=rows(whole("depth"), shares),
        checks=rows_of(tables.CHANGED_CHECKS, text("name"), whole("known")),
        findings=rows(text("id severity check change effect"), shares, count("of"), nodes=_NODES),
    )


def _metrics() -> Schema:
    value = metric("value", by="name", n="n", ends="low high")
    return rows(text("name scope beyond"), value, count("n"), parameters=_OBJECT)


def _overview() -> Schema:
    coverage = {"branches": tables.BRANCHES, "depths": tables.DEPTHS, "drift": tables.DRIFT}
    return fields(
        coverage=fields(**{name: rows_of(table) for name, table in coverage.items()}),
        **{name: rows_of(table) for name, table in tables.TABLES.items()},
    )

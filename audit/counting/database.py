"""Counting of pairs inside a database: what leaves it are counts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.databases import POSTGRESQL, SQLITE
from audit.base.errors import InputError
from audit.base.limits import LABELS
from audit.base.progress import Progress, silent
from audit.base.queries import quoted
from audit.base.readings import Reading
from audit.counting import spark
from audit.counting.counts import PairCount
from audit.counting.kept import with_added
from audit.counting.passes import MEMORY, CountSettings, Plan, planned
from audit.counting.storage import packed_sums
from audit.data.formats import chosen_of
from audit.data.known_nodes import KnownNodes
from audit.data.label_format import Chosen, Columns
from audit.data.mapping import KEYS, summed_counts
from audit.data.row_rules import EVERY, RowRules
from audit.data.sources.sql import Query
from audit.engine.pairs.entailed import overlapping_above, pairs_above
from audit.engine.pairs.record_counts import KINDS
from audit.engine.pairs.rows import row_numbers
from audit.engine.pairs.sums import Sums
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy

ALL = (*KINDS, spark.DIRECT, spark.SUPPORT, spark.ENTAILED, spark.PAIRS)
"""Kinds of counts, by their numbers in the database."""
_BLANK = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B)))
_BLANK += "\u2028\u2029\u202f\u205f\u3000"
"""Characters that are white space around ids, as in a file."""


def count_pairs(
    source: Query,
    hierarchy: Hierarchy,
    *,
    instance: str | None = None,
    label: str | None = None,
    format: str | None = None,
    policy: Policy | None = None,
    added_to: PairCount | None = None,
    rules: RowRules = EVERY,
    progress: Progress = silent,
) -> PairCount:
    """Count the pairs of a query in PostgreSQL or DuckDB, as `audit.counting.file.count_pairs`.

    Two statements that only read run in one snapshot: one counts the labels, which are mapped
    here; the other has their nodes, and those above, as texts in it, and counts everything else.

    Args:
        source: The query; rows of one label each, in any order.
        hierarchy, instance, label, format, policy, added_to, rules, progress: As there.

    Raises:
        InputError: If the database cannot count, or the rows are not of an id and a label each.
    """
    if source.base is None or source.base is SQLITE:
        required, hint = "PostgreSQL or DuckDB is required for --engine sql", "--memory 2GB counts"
        raise InputError(required, found="another database", where=source, hint=hint)
    rows, readings = "", tuple[Reading, ...]()
    if not source.functions:
        columns = Columns(instance, label, nodes=KnownNodes(hierarchy), rules=rules)
        chosen = chosen_of(source, replace(columns, codes=hierarchy.codes), format)
        rows, readings = _rows(source, chosen), chosen.readings
    if source.base is POSTGRESQL:
        each = (f"set_config('{name}', '{value}', true)" for name, value in _TUNED.items())
        source.read(f"SELECT {', '.join(f'{one} AS of_{n}' for n, one in enumerate(each))}")
    progress("reading labels")
    of_labels = _LABELS.format(rows=rows) if rows else f"SELECT * FROM {source.functions}_labels()"
    labels = source.read(of_labels).with_columns(pl.col("rows").cast(pl.Int64))
    if labels.is_empty():
        raise InputError("a dataset with rows is required", found="none", where=source)
    counts = labels.with_columns(pl.lit(None, pl.String).alias("table"))
    settings = CountSettings(hierarchy, policy, MEMORY, added_to)
    together = summed_counts([spark.tidied(counts.select(*KEYS, "rows"))])
    plan = planned(settings, together, Path(), source)
    plan = replace(plan, labels=replace(plan.labels, readings=(*readings, *plan.labels.readings)))
    progress("counting pairs")
    texts = {**_texts(plan, labels["label"].unique(), source), "n": str(len(plan.labels.hierarchy))}
    stated = f"SELECT * FROM {source.functions}({', '.join(texts.values())})"
    tallies = source.read(_statement(rows, texts) if rows else stated)
    count = spark.counted(_packed(tallies, source), plan)
    return count if added_to is None else with_added(count, added_to)


def functions(query: str, id: str, label: str, name: str = "audit_counts") -> str:
    """Statements that make functions of PostgreSQL, by which a role counts that reads no rows.

    Who owns the rows runs them, and grants a role the two functions alone; ``--table NAME()`` with
    ``--engine sql`` then counts.

    Args:
        query: The query of the rows.
        id, label: Its columns.
        name: Name of the function; the other one is ``NAME_labels``.
    """
    rows = _ROWS.format(id=_tidy(quoted(id)), label=quoted(label), query=query)
    places = {part: f"${n}" for n, part in enumerate((*_TEXTS, "n"), start=1)}
    tuned = "".join(f"SET {setting} = '{value}' " for setting, value in _TUNED.items())
    defined = f"LANGUAGE sql STABLE SECURITY DEFINER {tuned}AS $audit$\n{{}}\n$audit$"
    labels = f"{name}_labels() RETURNS TABLE (label text, homeless boolean, rows bigint)"
    counts = f"{name}({'text, ' * len(_TEXTS)}bigint) RETURNS TABLE "
    counts += "(kind integer, key bigint, n bigint, bits double precision)"
    both = ((labels, _LABELS.format(rows=rows)), (counts, _statement(rows, places)))
    made = (f"CREATE FUNCTION {own} {defined.format(body)};" for own, body in both)
    signatures = (f"{name}_labels()", counts.split(" RETURNS")[0])
    kept = (f"REVOKE ALL ON FUNCTION {own} FROM PUBLIC;" for own in signatures)
    return "\n".join((*made, *kept))


def _rows(source: Query, chosen: Chosen) -> str:
    """The query of ``instance``, tidy or null, and ``label`` as written."""
    plain = not (chosen.each or chosen.joined or chosen.tables) and chosen.rules == EVERY
    id_, label = chosen.id, chosen.labels[0]
    types = [source.schema[name] for name in (id_, label) if name is not None]
    if not plain or id_ is None or not all(t.is_integer() or t == pl.String() for t in types):
        raise InputError(
            "rows of an id, a text or a whole number, and one label are required for --engine sql",
            found="others, or rules of rows",
            where=source,
            hint="have the query make and choose them, or count in batches: --memory 2GB",
        )
    own = quoted(id_) if types[0].is_integer() else _tidy(quoted(id_))
    return _ROWS.format(id=own, label=quoted(label), query=source.query)


def _tidy(column: str) -> str:
    blank = _text(_BLANK)
    return f"nullif(ltrim(rtrim(cast({column} AS text), {blank}), {blank}), '')"


_ROWS = "SELECT {id} AS instance, cast({label} AS text) AS label FROM (\n{query}\n) AS audit_rows"
_LABELS = (
    "SELECT label, instance IS NULL AS homeless, count(*) AS rows "
    "FROM ({rows}) AS audit_read GROUP BY 1, 2"
)
_BETWEEN, _WITHIN, _NONE = "\x1e", "\x1f", "\x1d"
"""What stands between labels in a text, between a label and its number, and for no label."""
_TEXTS = {
    "audit_spelled": ("label", "number"),
    "audit_label": ("number", "node", "reason"),
    "audit_above": ("node", "above", "kind"),
    "audit_node": ("node", "branch", "little"),
    "audit_fork": ("node", "key"),
}
"""Tables that a statement has as texts: what labels and nodes are."""


def _texts(plan: Plan, labels: pl.Series, source: Query) -> dict[str, str]:
    """The texts of `_TEXTS`, as SQL: labels as written with their numbers, and all nodes in use."""
    if labels.str.contains(f"[{_NONE}-{_WITHIN}]").any():
        raise InputError("labels without control characters are required", where=source)
    mapped, n_labels = plan.mapped, len(plan.labels.node_of)
    numbers = plan.labels.written.filter(~pl.col("homeless")).select("label", "number")
    tidy = spark.tidied(labels.alias("label").to_frame())
    found = tidy.join(numbers, on="label", how="left", nulls_equal=True, maintain_order="left")
    spelled = zip(labels.fill_null(_NONE).to_list(), found["number"].to_list(), strict=True)
    used = np.unique(mapped.node_of[mapped.node_of >= 0])
    own = mapped.closure[used]
    node, above = used[row_numbers(own)], own.indices.astype(np.int64)
    little = mapped.uninformative[used].astype(np.int64)
    forks = used[pairs_above(mapped.closure)[used] > 0]
    columns: dict[str, tuple[IntArray, ...]] = {
        "audit_label": (np.arange(n_labels), mapped.node_of, mapped.reason_of),
        "audit_above": (node, above, np.where(node == above, 0, mapped.residual[node])),
        "audit_node": (used, mapped.branch_of[used], little),
        "audit_fork": overlapping_above(forks, mapped.closure),
    }
    written = _BETWEEN.join(f"{label}{_WITHIN}{n}" for label, n in spelled if n is not None)
    lines = {
        name: _BETWEEN.join(_WITHIN.join(map(str, row)) for row in zip(*each, strict=True))
        for name, each in columns.items()
    }
    return {name: _text(text) for name, text in {"audit_spelled": written, **lines}.items()}


def _statement(rows: str, texts: Mapping[str, str]) -> str:
    """The statement that gives ``kind, key, n, bits`` of everything that is counted.

    Args:
        rows: The query of `_rows`.
        texts: Where the texts of `_TEXTS` and the number ``n`` of nodes stand in it.
    """
    listed = {}
    for name, fields in _TEXTS.items():
        parts = ", ".join(
            f"cast(split_part(one, {_text(_WITHIN)}, {n}) AS "
            f"{'text' if field == 'label' else 'bigint'}) AS {field}"
            for n, field in enumerate(fields, start=1)
        )
        lines = f"SELECT unnest(string_to_array({texts[name]}, {_text(_BETWEEN)})) AS one"
        listed[name] = f"SELECT {parts} FROM ({lines}) AS every WHERE one <> ''"
    every = {**listed, "audit_read": rows, **_PARTS}
    tables = ",\n".join(f"{name} AS MATERIALIZED ({query})" for name, query in every.items())
    counted = "\nUNION ALL ".join(
        f"SELECT {ALL.index(kind)}, cast(key AS bigint), cast(n AS bigint), "
        f"cast({'bits' if kind == spark.PAIRS else '0'} AS double precision) "
        f"FROM ({query.format(n=texts['n'])}) AS one_{number}"
        for number, (kind, query) in enumerate(_COUNTS)
    )
    return (
        f"WITH {tables},\naudit_count (kind, key, n, bits) AS ({counted})\n"
        "SELECT kind, key, n, bits FROM audit_count WHERE n > 0"
    )


_TUNED = {"enable_nestloop": "off", "jit": "off", "work_mem": "256MB"}
"""Settings of PostgreSQL for the transaction: it knows no sizes of what the statement makes."""
_PARTS = {
    "audit_row": "SELECT instance, number, node, reason FROM audit_read LEFT JOIN "
    f"audit_spelled ON coalesce(audit_read.label, '{_NONE}') = audit_spelled.label "
    "LEFT JOIN audit_label USING (number) WHERE instance IS NOT NULL",
    "audit_direct": "SELECT instance, node, count(*) AS n FROM audit_row WHERE node >= 0 "
    "GROUP BY instance, node",
    "audit_carried": "SELECT d.instance, a.above AS node, count(*) AS labels, "
    "max(CASE WHEN a.node = a.above THEN 1 ELSE 0 END) AS own, "
    "sum(CASE WHEN a.kind = 1 THEN 1 ELSE 0 END) AS other, "
    "sum(CASE WHEN a.kind = 2 THEN 1 ELSE 0 END) AS unspecified "
    "FROM audit_direct d JOIN audit_above a ON a.node = d.node GROUP BY d.instance, a.above",
    "audit_specific": "SELECT instance, node FROM audit_carried WHERE own = 1 AND labels = 1",
    "audit_size": "SELECT instance, count(*) AS size FROM audit_specific GROUP BY instance",
    "audit_branch": "SELECT s.instance, z.size, b.branch, count(*) AS c FROM audit_specific s "
    "JOIN audit_size z ON z.instance = s.instance AND z.size >= 2 "
    "JOIN audit_node b ON b.node = s.node AND b.branch >= 0 "
    "GROUP BY s.instance, z.size, b.branch",
    "audit_length": "SELECT r.instance, count(DISTINCT CASE WHEN node >= 0 THEN node END) AS key "
    "FROM audit_row r GROUP BY r.instance",
    "audit_refused": "SELECT DISTINCT r.instance, r.reason FROM audit_row r JOIN audit_length l "
    "ON l.instance = r.instance AND l.key = 0",
    "audit_nested": "SELECT d.instance, d.node, e.node AS above FROM audit_direct d "
    "JOIN audit_above a ON a.node = d.node AND a.above <> a.node "
    "JOIN audit_direct e ON e.instance = d.instance AND e.node = a.above",
}
"""Tables within the statement, by instance."""
_OF_SIZE = "JOIN audit_size z ON z.instance = c.instance AND z.size >= 2"
_RESIDUAL = (
    "FROM audit_carried WHERE other + unspecified > 0 AND labels - own = other + unspecified"
)
_P = "cast(x.labels AS double precision) / (x.labels + y.labels)"
_Q = "cast(y.labels AS double precision) / (x.labels + y.labels)"
_COUNTS = [
    ("label", "SELECT number AS key, count(DISTINCT instance) AS n FROM audit_row GROUP BY number"),
    ("length", "SELECT key, count(*) AS n FROM audit_length GROUP BY key"),
    ("rows", "SELECT key, count(*) AS n FROM (SELECT sum(n) AS key FROM audit_direct "
     "GROUP BY instance) AS sums GROUP BY key"),
    ("repeated", "SELECT node AS key, count(*) AS n FROM audit_direct WHERE n > 1 GROUP BY node"),
    ("repeated_instances", "SELECT 0 AS key, count(DISTINCT instance) AS n FROM audit_direct "
     "WHERE n > 1"),
    ("repeated_rows", "SELECT 0 AS key, coalesce(sum(n - 1), 0) AS n FROM audit_direct"),
    ("refused", "SELECT reason AS key, count(*) AS n FROM audit_refused GROUP BY reason"),
    ("all_refused", "SELECT 0 AS key, count(DISTINCT instance) AS n FROM audit_refused"),
    ("nested", "SELECT node * {n} + above AS key, count(*) AS n FROM audit_nested GROUP BY 1"),
    ("nested_instances", "SELECT 0 AS key, count(DISTINCT instance) AS n FROM audit_nested"),
    ("uninformative", "SELECT 0 AS key, count(*) AS n FROM (SELECT d.instance FROM audit_direct d "
     "JOIN audit_node b ON b.node = d.node GROUP BY d.instance HAVING min(b.little) = 1) AS few"),
    ("below", "SELECT node AS key, count(*) AS n FROM audit_carried "
     "WHERE labels > 1 OR own = 0 GROUP BY node"),
    ("only_residual", f"SELECT node AS key, count(*) AS n {_RESIDUAL} GROUP BY node"),
    ("only_residual", f"SELECT {{n}} + node AS key, count(*) AS n {_RESIDUAL} "
     "AND unspecified = 0 GROUP BY node"),
    ("only_residual", f"SELECT 2 * {{n}} + node AS key, count(*) AS n {_RESIDUAL} "
     "AND other = 0 GROUP BY node"),
    ("labels_squared", "SELECT node AS key, sum(labels * labels) AS n FROM audit_carried "
     "GROUP BY node"),
    ("alone", "SELECT c.node AS key, count(*) AS n FROM audit_specific c JOIN audit_size z "
     "ON z.instance = c.instance AND z.size = 1 GROUP BY c.node"),
    ("size", "SELECT size AS key, count(*) AS n FROM audit_size WHERE size >= 2 GROUP BY size"),
    ("carried", f"SELECT z.size * {{n}} + c.node AS key, count(*) AS n FROM audit_carried c "
     f"{_OF_SIZE} GROUP BY 1"),
    ("labelled", f"SELECT z.size * {{n}} + c.node AS key, count(*) AS n FROM audit_specific c "
     f"{_OF_SIZE} GROUP BY 1"),
    ("between", "SELECT (x.size * {n} + x.branch) * {n} + y.branch AS key, "
     "sum(CASE WHEN x.branch = y.branch THEN x.c * x.c - x.c ELSE x.c * y.c END) AS n "
     "FROM audit_branch x JOIN audit_branch y "
     "ON x.instance = y.instance AND x.branch <= y.branch GROUP BY 1"),
    (spark.DIRECT, "SELECT node AS key, count(*) AS n FROM audit_direct GROUP BY node"),
    (spark.SUPPORT, "SELECT node AS key, count(*) AS n FROM audit_carried GROUP BY node"),
    (spark.ENTAILED, "SELECT f.key, count(DISTINCT d.instance) AS n FROM audit_direct d "
     "JOIN audit_fork f ON f.node = d.node GROUP BY f.key"),
    (spark.PAIRS, "SELECT x.node * {n} + y.node AS key, count(*) AS n, "
     f"sum(CASE WHEN x.labels = y.labels THEN 1 ELSE -({_P} * ln({_P}) + {_Q} * ln({_Q})) "
     "/ ln(cast(2 AS double precision)) END) AS bits "
     "FROM audit_carried x JOIN audit_carried y "
     "ON x.instance = y.instance AND x.node < y.node GROUP BY 1"),
]  # fmt: skip
"""Queries of ``key, n``, as `audit.engine.pairs.record_counts.Kind` says."""


def _packed(counts: pl.DataFrame, source: Query) -> pl.DataFrame:
    """`audit.counting.spark.TALLIES` of what the statement gives."""
    packed = []
    for number, kind in enumerate(ALL):
        some = counts.filter(pl.col("kind") == number).sort("key")
        keys, n, bits = (some[name].to_numpy() for name in ("key", "n", "bits"))
        if kind == "length" and len(keys):
            LABELS.refuse_beyond(int(keys[-1]), source)
        packed.append((kind, 0, packed_sums(Sums(keys, n, bits))))
    schema = {"kind": pl.String, "part": pl.Int32, "sums": pl.Binary}
    return pl.DataFrame(packed, schema, orient="row")


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

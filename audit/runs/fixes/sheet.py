"""Sheets to decide on: the proposals of a run with titles, and what people decided of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.files import sha256_of
from audit.base.stored_tables import as_before
from audit.base.tables import open_table
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.result import AuditResult
from audit.runs.fixes.changes import CERTAIN, Change
from audit.runs.folder import INSTANCES
from audit.runs.instances import kept_labels
from audit.runs.manifest import RESTRICTED, RESULT

COLUMNS = (
    *("number", "instance", "label", "title", "change", "proposed", "proposed_title"),
    *("candidates", "before", "certainty", "reason", "others", "decision", "note"),
    *("finding", "table", "run"),
)
"""Columns of a sheet, in order; ``decision`` and ``note`` are to be filled in."""
_KEPT = ("number", "instance", "label", "change", "proposed", "finding")
"""Columns that must come back as they were written, beside that of the run."""
_OTHER = r"(?is)^other\s*:\s*(.+)$"
"""How a decision for another label is written."""
_RUN = 16
"""Number of hexadecimal digits of the run's digest that a sheet carries."""


def digest_of(run: AuditResult) -> str:
    """The beginning of the digest of a run's ``result.json``, which its sheets carry."""
    return str(run.sha256)[:_RUN]


@dataclass(frozen=True, eq=False)
class Proposals:
    """The proposals of a run, numbered from 1 in the order of its findings."""

    run: AuditResult

    def __post_init__(self) -> None:
        if self.run.proposals is None:
            raise InputError(
                "a run whose instances were loaded is required",
                found="one whose data were only counted, without looking at single instances",
                hint="audit the data without --engine spark",
            )

    @cached_property
    def table(self) -> pl.DataFrame:
        """``number, finding``, and the columns of `PROPOSED`."""
        assert self.run.proposals is not None, "refused above"
        table = self.run.proposals.collect().with_row_index("number", offset=1)
        return table.with_columns(pl.col("number", "finding").cast(pl.String))

    def summary(self) -> pl.DataFrame:
        """``finding, change, certainty, reason, proposals, instances``, as findings are ordered."""
        by = ("finding", "change", "certainty", "reason")
        grouped = self.table.group_by(by, maintain_order=True)
        return grouped.agg(proposals=pl.len(), instances=pl.col("instance").n_unique())

    def sheet(self, finding: str | None = None) -> pl.DataFrame:
        """The sheet, with columns `COLUMNS` as text; of one finding, or of all.

        Where the run keeps instances ``others`` holds the other labels of the record; where its
        reference keeps them too, ``before`` those that it had on the record and this run has not.
        """
        table = self.table if finding is None else self.table.filter(pl.col("finding") == finding)
        if finding is not None and table.is_empty():
            raise InputError(
                "the id of a finding with proposals is required",
                found=repr(finding),
                hint=f"there are: {', '.join(self.table['finding'].unique(maintain_order=True))}",
            )
        node_of, titles = nodes_as_written(self.run.titles), self.run.titles

        def title(label: str | None, of: str | None) -> str:
            return titles.get(node_of(label, of) or "") or ""

        def texts(told: Sequence[str | None]) -> pl.Series:
            return pl.Series(told, dtype=pl.String)

        labels, tables = table["label"].to_list(), table["table"].to_list()
        candidates = [
            "; ".join(f"{one} {title(one, of)}".strip() for one in some or ())
            for some, of in zip(table["candidates"].to_list(), tables, strict=True)
        ]
        rows = table.with_columns(
            title=texts([*map(title, labels, tables)]),
            proposed_title=texts([*map(title, table["proposed"], tables)]),
            candidates=texts(candidates),
            before=self._before(table),
            others=self._others(table, texts([*map(node_of, labels, tables)])),
            decision=pl.lit(""),
            note=pl.lit(""),
            run=pl.lit(digest_of(self.run)),
        )
        return rows.select(pl.col(COLUMNS).cast(pl.String).fill_null(""))

    def _others(self, table: pl.DataFrame, nodes: pl.Series) -> pl.Series:
        """The other labels of each record, with titles, as a text; empty without kept instances."""
        hierarchy = self.run.hierarchy
        if self.run.instances is None:
            return pl.repeat("", len(table), eager=True)
        carried = kept_labels(self.run, table["instance"]).filter(pl.col("label") > 0)
        met = carried["node"].unique().to_list()
        called = {n: hierarchy.describe(hierarchy.index(n)) for n in met if n in hierarchy}
        own = table.select("number", "instance", "label").with_columns(of=nodes)
        beside = own.join(carried.select("instance", "node"), on="instance").filter(
            pl.col("node").ne_missing(pl.col("label")), pl.col("node").ne_missing(pl.col("of"))
        )
        named = pl.col("node").replace(called)
        listed = beside.sort("node").group_by("number").agg(named.str.join("; "))
        return own.join(listed, on="number", how="left", maintain_order="left")["node"]

    def _before(self, table: pl.DataFrame) -> pl.Series:
        """Labels that the reference had on a record and the run lacks, with titles; else empty."""
        nothing, told = pl.repeat("", len(table), eager=True), self.run.identity.get("reference")
        given = (one["path"] for one in self.run.inputs if one["role"] == "reference")
        kept = Path(next(given, "")).parent / RESTRICTED / INSTANCES.file
        if self.run.instances is None or told is None or not kept.is_file():
            return nothing
        if sha256_of(kept.parents[1] / RESULT) != told["sha256"]:
            return nothing
        ids, hierarchy = table["instance"].unique(), self.run.hierarchy
        old = pl.scan_parquet(kept).filter(pl.col("instance").is_in(ids.implode()), label=1)
        lost = old.collect().join(kept_labels(self.run, ids), on=["instance", "node"], how="anti")
        met = lost["node"].unique().to_list()
        called = {n: hierarchy.describe(hierarchy.index(n)) for n in met if n in hierarchy}
        named = lost.sort("node").with_columns(pl.col("node").replace(called))
        listed = named.group_by("instance").agg(pl.col("node").str.join("; "))
        return table.join(listed, on="instance", how="left", maintain_order="left")["node"]

    @cached_property
    def certain(self) -> list[Change]:
        """What is certain, as changes."""
        sure = self.table.filter(pl.col("certainty") == CERTAIN).iter_rows(named=True)
        return [_change(row, row["change"], row["proposed"], CERTAIN) for row in sure]


def nodes_as_written(nodes: Mapping[str, Any]) -> Callable[[str | None, str | None], str | None]:
    """What gives the node that a label is written for, with or without the dot of its code.

    It takes the label and its code set, where that is known: a procedure of ICD-9 has its dot
    behind two digits.

    >>> nodes_as_written({"42.80": "", "428.0": ""})("4280", "diagnoses")
    '428.0'
    """
    written: dict[str, list[str]] = {node: [node] for node in nodes}
    for node in nodes:
        if "." in node:
            written.setdefault(node.replace(".", ""), []).append(node)

    def node_of(label: str | None, table: str | None) -> str | None:
        known = written.get(label or "", [])
        if table:
            of_procedures = table == "procedures"
            known = [n for n in known if "." not in n or (n.find(".") == 2) == of_procedures]
        return next(iter(known), None)

    return node_of


def _change(row: Mapping[str, Any], kind: str, new: str | None, by: str) -> Change:
    """A change of the label of a proposal; any ``kind`` but replace and add is a removal."""
    known: Any = kind if kind in ("replace", "add") else "remove"
    keep, table = row["keep"] if known == "remove" else 0, row["table"] or ""
    return Change(
        row["instance"], known, row["label"] or "", new or "", table, keep, row["finding"], by
    )


def read_sheet(path: Path) -> pl.DataFrame:
    """A sheet of proposals that came back as CSV; InputError if it lacks a column."""
    rows = read_table(path)
    if lacking := [name for name in (*_KEPT, "run", "decision") if name not in rows.columns]:
        found = f"no column {first_cases(lacking)}"
        raise _refused(path, "a sheet that `audit fixes` wrote is required", found)
    return rows


def read_table(path: Path) -> pl.DataFrame:
    """The cells of any table file as text, without what was put before them against formulas."""
    rows = open_table(path).frame()
    return rows.select(
        pl.Series(one.name, [as_before(text.strip()) for text in one]) for one in rows.fill_null("")
    )


def decided(
    proposals: Proposals, sheet: pl.DataFrame, path: Path, hierarchy: Hierarchy, by: str = ""
) -> list[Change]:
    """What a sheet decides of the proposals of a run, as changes; rejected rows give none.

    Args:
        path: Where the sheet is, for messages.
        hierarchy: Of the data: a label that somebody wrote must be one of its nodes.
        by: Who decided.

    Raises:
        InputError: If the sheet is of another run, or has other rows; if a decision is none, or
            there are several on a row; if something is accepted that proposes no label, or a label
            is no node.
    """
    _refuse_other_rows(proposals, sheet, path)
    rows = proposals.table.join(_given(sheet, path), on="number", maintain_order="left")
    kept = rows.filter(pl.col("word") != "reject").iter_rows(named=True)
    return [_decided(row, path, hierarchy, by) for row in kept]


def _refused(path: Path, required: str, found: str, hint: str = "") -> InputError:
    return InputError(required, found=found, where=path, hint=hint)


def _refuse_other_rows(proposals: Proposals, sheet: pl.DataFrame, path: Path) -> None:
    """Raise InputError if a sheet is of another run, or has a row that is none of proposals."""
    digest, runs = digest_of(proposals.run), [*sheet["run"].unique(maintain_order=True)]
    if runs != [digest]:
        raise _refused(
            path,
            f"a sheet of this run, {digest}, is required",
            f"one of {first_cases(runs)}" if runs else "one without rows",
            "make it anew: audit fixes RUN --csv FILE",
        )
    known = proposals.table.select(pl.col(_KEPT).cast(pl.String).fill_null(""))
    others = sheet.join(known, on=_KEPT, how="anti", maintain_order="left")
    if not others.is_empty():
        named = others.select("number", "label", "instance").iter_rows()
        raise _refused(
            path,
            "rows as the run has them are required",
            f"others: {first_cases('{} ({} of {})'.format(*row) for row in named)}",
            "only the columns decision and note are to be changed",
        )


def _given(sheet: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The decisions, ``number, decision, word, other``: in lower case, and the label it names."""
    given = sheet.filter(pl.col("decision") != "").select(
        "number",
        "decision",
        word=pl.col("decision").str.to_lowercase(),
        other=pl.col("decision").str.extract(_OTHER).str.strip_chars(),
    )
    twice = given.filter(pl.col("number").is_duplicated())["number"].unique(maintain_order=True)
    if len(twice):
        found = f"several on the rows {first_cases(twice)}"
        raise _refused(path, "one decision on each row is required", found)
    known = pl.col("word").is_in(("accept", "reject", "remove"))
    unknown = given.filter(~known & pl.col("other").is_null())["decision"]
    if len(unknown):
        required = "accept, reject, remove or `other: LABEL` is required as a decision"
        raise _refused(path, required, first_cases(unknown.unique(maintain_order=True)))
    return given


def _decided(row: Mapping[str, Any], path: Path, hierarchy: Hierarchy, by: str) -> Change:
    """The change that a row with its decision makes; InputError if that names no fit label."""
    kind, label, number = row["change"], row["other"], f"row {row['number']}"
    if label is not None:
        placed = hierarchy.place(label, row["table"])
        if placed.node is None or placed.parent is not None:
            required = "a label that the hierarchy has is required"
            raise _refused(path, required, f"{label!r} in {number}")
        return _change(row, "add" if row["label"] is None else "replace", label, by)
    if row["word"] == "remove":
        if row["label"] is None:
            raise _refused(path, "a label to remove is required", f"{number}, which adds one")
        return _change(row, "remove", "", by)
    only = [*(row["candidates"] or ())] if kind == "add" else []
    label = row["proposed"] or (only[0] if len(only) == 1 else "")
    if kind == "review" or (kind != "remove" and not label):
        raise _refused(
            path,
            "a proposed label is required where a row is accepted",
            f"{number}, which asks somebody to look",
            "write `other: LABEL`, `remove` or reject",
        )
    return _change(row, kind, label, by)

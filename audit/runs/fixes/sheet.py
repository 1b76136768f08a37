"""Sheets to decide on: the proposals of a run with titles, and what people decided of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.stored_tables import as_before, sheets_of
from audit.base.tables import open_table
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.result import AuditResult
from audit.runs.fixes.changes import CERTAIN, Change
from audit.runs.instances import kept_labels

Decision: TypeAlias = Literal["", "accept", "reject", "remove", "other"]

COLUMNS = (
    *("number", "instance", "label", "title", "change", "proposed", "proposed_title"),
    *("candidates", "certainty", "probability", "reason", "others", "decision", "note"),
    *("finding", "table", "run"),
)
"""Columns of a sheet, in order; ``decision`` and ``note`` are to be filled in."""
_KEPT = ("number", "instance", "label", "change", "proposed", "finding", "run")
"""Columns that must come back as they were written."""
_OTHER = re.compile(r"other\s*:\s*(.+)", re.IGNORECASE | re.DOTALL)
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
                hint="audit the data in memory, without --memory and --engine",
            )

    @cached_property
    def table(self) -> pl.DataFrame:
        """``number, finding``, and the columns of `PROPOSED`."""
        assert self.run.proposals is not None, "refused above"
        return self.run.proposals.collect().with_row_index("number", offset=1)

    @property
    def digest(self) -> str:
        """As `digest_of` the run."""
        return digest_of(self.run)

    @cached_property
    def titles(self) -> Titles:
        """Titles of labels as they are written."""
        return Titles.of(self.run)

    def summary(self) -> pl.DataFrame:
        """``finding, change, certainty, proposals, instances``, in the order of the findings."""
        by = ("finding", "change", "certainty")
        grouped = self.table.group_by(by, maintain_order=True)
        return grouped.agg(proposals=pl.len(), instances=pl.col("instance").n_unique())

    def sheet(self, finding: str | None = None) -> pl.DataFrame:
        """The sheet, with columns `COLUMNS` as text; of one finding, or of all.

        ``others`` holds the other labels of the record, where the run keeps instances.
        """
        table = self.table if finding is None else self.table.filter(pl.col("finding") == finding)
        if finding is not None and table.is_empty():
            raise InputError(
                "the id of a finding with proposals is required",
                found=repr(finding),
                hint=f"there are: {', '.join(self.table['finding'].unique(maintain_order=True))}",
            )
        titles = self.titles
        rows = table.with_columns(
            title=titles.series(table["label"], table["table"]),
            proposed_title=titles.series(table["proposed"], table["table"]),
            candidates=pl.Series(
                map(titles.listed, table["candidates"].to_list(), table["table"]), dtype=pl.String
            ),
            probability=pl.col("probability").round(3),
            others=self._others(table) if self.run.instances is not None else pl.lit(""),
            decision=pl.lit(""),
            note=pl.lit(""),
            run=pl.lit(self.digest),
        )
        return rows.select(pl.col(COLUMNS).cast(pl.String).fill_null(""))

    def _others(self, table: pl.DataFrame) -> pl.Series:
        hierarchy = self.run.hierarchy
        carried = kept_labels(self.run, table["instance"]).filter(pl.col("label") > 0)
        nodes = carried["node"].unique().to_list()
        called = [hierarchy.describe(hierarchy.index(n)) if n in hierarchy else n for n in nodes]
        own = table.select("number", "instance", "label").with_columns(
            of=pl.Series(map(self.titles.node, table["label"], table["table"]), dtype=pl.String)
        )
        beside = own.join(carried.select("instance", "node"), on="instance").filter(
            pl.col("node").ne_missing(pl.col("label")), pl.col("node").ne_missing(pl.col("of"))
        )
        named = pl.col("node").replace_strict(nodes, called, return_dtype=pl.String)
        listed = beside.sort("node").group_by("number").agg(named.str.join("; "))
        return own.join(listed, on="number", how="left", maintain_order="left")["node"]

    @cached_property
    def certain(self) -> list[Change]:
        """What is certain, as changes."""
        sure = self.table.filter(pl.col("certainty") == CERTAIN).iter_rows(named=True)
        return [_change(row, row["change"], row["proposed"] or "", CERTAIN) for row in sure]


@dataclass(frozen=True)
class Titles:
    """Titles of labels as they are written, with and without the dots of codes."""

    titles: Mapping[str, str | None]
    nodes: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, run: AuditResult) -> Titles:
        """Those of a run."""
        nodes = {node: [node] for node in run.titles}
        for node in run.titles:
            if "." in node:
                nodes.setdefault(node.replace(".", ""), []).append(node)
        return cls(run.titles, nodes)

    def node(self, label: str | None, table: str | None = None) -> str | None:
        """The node that a label is written for; of a code set, where it is known.

        A procedure of ICD-9 has its dot behind two digits:

        >>> Titles({}, {"4280": ["42.80", "428.0"]}).node("4280", "diagnoses")
        '428.0'
        """
        known = self.nodes.get(label or "", ())
        if table:
            procedure = table == "procedures"
            known = [one for one in known if one.find(".") < 0 or (one.find(".") == 2) == procedure]
        return next(iter(known), None)

    def title(self, label: str | None, table: str | None = None) -> str:
        """The title of a label; empty if it has none."""
        return self.titles.get(self.node(label, table) or "") or ""

    def series(self, labels: pl.Series, tables: pl.Series) -> pl.Series:
        """The titles of labels."""
        return pl.Series(map(self.title, labels, tables), dtype=pl.String)

    def listed(self, labels: Iterable[str] | None, table: str | None) -> str:
        """Labels with their titles, one after the other."""
        return "; ".join(f"{one} {self.title(one, table)}".strip() for one in labels or ())


def _change(row: Mapping[str, Any], kind: str, new: str, by: str) -> Change:
    known: Any = {"replace": "replace", "add": "add"}.get(kind, "remove")
    return Change(
        row["instance"],
        known,
        row["label"] or "",
        new,
        row["table"] or "",
        row["keep"] if known == "remove" else 0,
        row["finding"],
        by,
    )


def read_sheet(path: Path) -> pl.DataFrame:
    """A sheet that came back, CSV or a workbook with a sheet for each finding; all as text."""
    rows = read_cells(path)
    if lacking := [name for name in (*_KEPT, "decision") if name not in rows.columns]:
        raise InputError(
            "a sheet that `audit fixes` wrote is required",
            found=f"no column {first_cases(lacking)}",
            where=path,
        )
    return rows


def read_cells(path: Path) -> pl.DataFrame:
    """The cells of CSV, or of all sheets of a workbook one below the other, as text."""
    if path.suffix.lower() in (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"):
        frames = [*sheets_of(path).values()]
    else:
        frames = [open_table(path).frame()]
    rows = pl.concat(frames, how="diagonal")
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
    table = proposals.table.with_columns(pl.col("number").cast(pl.String))
    _refuse_other_rows(proposals.digest, table, sheet, path)
    given = sheet.filter(pl.col("decision") != "").select("number", "decision")
    twice = given.filter(pl.col("number").is_duplicated())["number"].unique(maintain_order=True)
    if len(twice):
        found = f"several on the rows {first_cases(twice)}"
        raise _refused(path, "one decision on each row is required", found)
    if unknown := [one for one in given["decision"] if decision_of(one)[0] is None]:
        required = "accept, reject, remove or `other: LABEL` is required as a decision"
        raise _refused(path, required, first_cases(dict.fromkeys(unknown)))
    rows = table.join(given, on="number", maintain_order="left").iter_rows(named=True)
    changes = (_decided(row, path, hierarchy, by) for row in rows)
    return [one for one in changes if one is not None]


def _refused(path: Path, required: str, found: str, hint: str = "") -> InputError:
    return InputError(required, found=found, where=path, hint=hint)


def _refuse_other_rows(digest: str, table: pl.DataFrame, sheet: pl.DataFrame, path: Path) -> None:
    if (runs := [*sheet["run"].unique(maintain_order=True)]) != [digest]:
        raise _refused(
            path,
            f"a sheet of this run, {digest}, is required",
            f"one of {first_cases(runs)}" if runs else "one without rows",
            "make it anew: audit fixes RUN --csv FILE",
        )
    own = [name for name in _KEPT if name != "run"]
    known = table.select(pl.col(own).cast(pl.String).fill_null(""))
    others = sheet.join(known, on=own, how="anti", maintain_order="left")
    if not others.is_empty():
        named = others.select("number", "label", "instance").iter_rows()
        raise _refused(
            path,
            "rows as the run has them are required",
            f"others: {first_cases('{} ({} of {})'.format(*row) for row in named)}",
            "only the columns decision and note are to be changed",
        )


def _decided(row: Mapping[str, Any], path: Path, hierarchy: Hierarchy, by: str) -> Change | None:
    """The change that a row with its decision makes; None if it makes none."""
    decision, label = decision_of(row["decision"])
    number, adds = f"row {row['number']}", row["label"] is None
    if decision == "other":
        placed = hierarchy.place(label, row["table"])
        if placed.node is None or placed.parent is not None:
            required = "a label that the hierarchy has is required"
            raise _refused(path, required, f"{label!r} in {number}")
        return _change(row, "add" if adds else "replace", label, by)
    if decision == "remove":
        if adds:
            raise _refused(path, "a label to remove is required", f"{number}, which adds one")
        return _change(row, "remove", "", by)
    if decision == "reject":
        return None
    only = [*(row["candidates"] or ())] if row["change"] == "add" else []
    label = row["proposed"] or (only[0] if len(only) == 1 else "")
    if row["change"] == "review" or (row["change"] != "remove" and not label):
        raise _refused(
            path,
            "a proposed label is required where a row is accepted",
            f"{number}, which asks somebody to look",
            "write `other: LABEL`, `remove` or reject",
        )
    return _change(row, row["change"], label, by)


def decision_of(text: str) -> tuple[Decision | None, str]:
    """A decision as it is written, and the label that it names; None if it is none.

    >>> decision_of("Accept"), decision_of("other: 401.9"), decision_of("yes")
    (('accept', ''), ('other', '401.9'), (None, ''))
    """
    plain = text.strip().lower()
    if plain in ("", "accept", "reject", "remove"):
        return plain, ""  # type: ignore[return-value]
    other = _OTHER.fullmatch(text.strip())
    return ("other", other[1].strip()) if other else (None, "")

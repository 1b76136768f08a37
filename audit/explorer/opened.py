"""A run that is looked at: its findings, pairs, records and every table, in exact numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

import polars as pl

from audit.base.declared import Column, Columns, Table, count, key, share, text, whole
from audit.base.errors import InputError
from audit.base.files import read_json, sha256_of
from audit.explorer.pairs import Pairs
from audit.explorer.records import Records
from audit.explorer.rows import Stored
from audit.explorer.tables import Shown, shown_columns
from audit.hierarchies.hierarchy import Hierarchy
from audit.results import columns, tables
from audit.results.finding_lines import EXACTLY
from audit.results.order import ordered
from audit.results.parts import AnalysisPart
from audit.results.printed import looked_at
from audit.results.result import AuditResult
from audit.results.view import finding_view
from audit.runs.analyses import attribution_rows
from audit.runs.folder import INSTANCES, refuse_no_run
from audit.runs.manifest import MANIFEST, RESTRICTED, RESULT
from audit.runs.read import read_run
from reports.core import level
from reports.words import METRICS, STATUS, Row

DECISION = {"waived": "waived", "accepted": "accepted", "to_fix": "to be fixed"}
OPEN = "open"
"""Status of a finding that nobody decided on, and no other explains."""
OF_RECORDS = ("instances", "refused_labels")
"""Tables of single records, which are shown on request alone."""
CHECKS = Columns(
    key("check severity", "Check|Result"),
    whole("findings", "Findings"),
    text("question looked_at", "Question|Looked at"),
)
FINDINGS = Columns(
    (Column("id", "text", heading="Finding", title="sentence"),),
    text("sentence"),
    key("severity status check"),
    count("records"),
    count("instances"),
    share("share", of="instances of", ends="low high"),
)
MODEL_PAIR = "relation joint co_predicted rate confusion expected lift"
PAIRS = {
    "pairs": (
        "Pairs in the labels",
        "a b relation joint observed expected_length ratio q_value rate confusion lift expected"
        " support_a support_b joint_entailed explained shrunk_ratio p_value effective groups"
        " group_sum group_squares found_rank lca",
    ),
    "model_pairs": ("Pairs in the predictions", f"a b {MODEL_PAIR} support_a support_b lca"),
}
"""Titles of the tables of pairs, and their columns in order: no pair of predictions is judged."""
DECLARED: Mapping[str, Table] = {
    **{name: Table(own) for name, own in (
        ("nodes", columns.NODES), ("residuals", columns.RESIDUALS),
        ("drift_values", columns.DRIFT_VALUES), ("drift_nodes", columns.DRIFT_NODES),
    )},
    **tables.MODEL,
    "metrics": tables.METRICS,
}  # fmt: skip
"""Tables that are no analysis's, as they are declared."""


@dataclass(frozen=True, eq=False)
class OpenedRun:
    """A run that is looked at.

    Args:
        folder: The folder of the run.
        day: Day that the run was made or judged; None if it is not known.
        shows_records: Whether single records were asked for, and the run keeps them.
    """

    name: str
    folder: Path
    result: AuditResult
    day: date | None = None
    shows_records: bool = False

    @cached_property
    def shared(self) -> bytes:
        """The bytes of its ``result.json``, which may be shared."""
        return (self.folder / RESULT).read_bytes()

    @cached_property
    def view(self) -> Mapping[str, Any]:
        """What its report shows, with exact numbers."""
        return self.result.exact()

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy, in the order of the table of nodes."""
        return self.result.hierarchy

    @property
    def root(self) -> str:
        """The root of the hierarchy; empty if no node can be looked at."""
        empty = self.result.nodes.is_empty()
        return "" if empty else self.hierarchy.nodes[self.hierarchy.root]

    @property
    def has_model(self) -> bool:
        """Whether the run has predictions."""
        return self.result.model is not None

    def title(self, node: str) -> str:
        """Title of a node; empty if it has none, or is unknown."""
        there = node in self.hierarchy
        return self.hierarchy.titles[self.hierarchy.index(node)] if there else ""

    @cached_property
    def findings(self) -> Mapping[str, Row]:
        """All findings that a policy did not drop, folded ones included, by id, in report order.

        Each has the fields of a finding of ``result.json``, and ``check``, ``folded`` (ids of the
        findings that explain it), ``status`` and ``cases`` (instances behind it, None if unknown).
        """
        cases, counted = self.result.cases, dict[str, int]()
        if cases is not None:
            sizes = cases.group_by(pl.col("finding").cast(pl.String)).len().collect()
            counted = dict(sizes.iter_rows())
        found = {}
        for one in ordered(self.result.checks):
            row = {
                **finding_view(one, {}, self.result.titles, EXACTLY),
                "check": one.check,
                "folded": one.folded_into,
                "cases": None if cases is None else counted.get(one.id, 0),
            }
            found[one.id] = {**row, "status": _status(row)}
        return found

    def findings_on(self, *nodes: str) -> list[Row]:
        """The findings that name each of these nodes."""
        every = self.findings.values()
        return [one for one in every if {each["id"] for each in one["nodes"]} >= {*nodes}]

    @cached_property
    def pairs(self) -> Mapping[str, Pairs]:
        """Its tables of pairs: ``pairs``, and ``model_pairs`` of the predictions."""
        of = {"pairs": self.result.pair_table}
        if self.result.model is not None:
            of["model_pairs"] = self.result.model.pair_table
        sealed = read_json(self.folder / RESTRICTED / MANIFEST)["outputs"]
        return {
            name: Pairs(table, sealed[f"{RESTRICTED}/{name}.parquet"]) for name, table in of.items()
        }

    @cached_property
    def records(self) -> Records | None:
        """Its records; None where they are not to be looked at."""
        return Records(self.result, self.hierarchy) if self.shows_records else None

    @property
    def way_to_records(self) -> str:
        """How single records are shown; empty where they are."""
        if self.shows_records:
            return ""
        kept = (self.folder / RESTRICTED / INSTANCES.file).is_file()
        made = "" if kept else "audit run ... --keep-instances, then "
        shown = f"audit explore {quote(str(self.folder))} --show-instances"
        return f"Records with their labels are shown by: {made}{shown}"

    @cached_property
    def tables(self) -> Mapping[str, Shown]:
        """Every table by its name: those of ``restricted/``, findings and checks as pages list."""
        return {one.name: one for one in self._tables()}

    def _tables(self) -> Iterator[Shown]:
        declared = dict(DECLARED)
        for part in self.result.parts:
            if isinstance(part, AnalysisPart):
                declared |= {part.file_of(name): rule for name, rule in part.rules.items()}
        yield self._checks()
        yield self.finding_table("")
        for name, pairs in self.pairs.items():
            own = shown_columns(pairs.schema, columns.MODEL_PAIRS)
            title, names = PAIRS[name]
            yield Shown(name, own, pairs, title, "two nodes").only(names)
        for path in sorted((self.folder / RESTRICTED).glob("*.parquet")):
            hidden = path.stem in OF_RECORDS and not self.shows_records
            if path.stem not in ("findings", *self.pairs) and not hidden:
                yield self._stored(path, declared.get(path.stem, Table(Columns())))

    def _stored(self, path: Path, declared: Table) -> Shown:
        """A file of ``restricted/`` as a table; columns that are not declared go by their types."""
        frame = pl.scan_parquet(path)
        if path.stem == "metrics":
            frame = self._metrics(frame)
        elif path.stem == "judged_pairs":
            names = pl.lit(pl.Series(self.hierarchy.nodes, dtype=pl.String))
            frame = frame.with_columns(names.gather(pl.col(end)).alias(end) for end in "ab")
        own = shown_columns(frame.collect_schema(), declared.columns)
        shown = Shown(path.stem, own, Stored(frame), declared.title, declared.row)
        return shown.only("title at scope value n part") if path.stem == "metrics" else shown

    def _metrics(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The table of metrics with ``title``, and ``at``: what tells those of one name apart."""
        at = [level(one["parameters"]) for one in self.result.metric_rows]
        at += [level(one["parameters"]) for one in self.view["metrics_beside"]]
        title = pl.col("name").replace(METRICS).alias("title")
        return frame.with_columns(title, pl.Series("at", at, pl.String))

    def _checks(self) -> Shown:
        """The table ``checks``: a row a check, with its result and its number of findings."""
        rows = [
            {
                "check": one["name"],
                "severity": STATUS[one["status"]],
                "findings": one["total"],
                "question": one["title"],
                "looked_at": looked_at(one, None),
            }
            for one in self.view["checks"]
        ]
        stored = Stored(pl.LazyFrame(rows, schema=CHECKS.types))
        return Shown("checks", CHECKS, stored, "What each check found", "a check")

    def finding_table(self, check: str) -> Shown:
        """The findings of a check with its evidence, in report order; of an unknown check, all."""
        frame, own = self.result.findings, FINDINGS
        judged = pl.DataFrame(
            [(id, one["status"], one["cases"]) for id, one in self.findings.items()],
            schema={"id": pl.String, "status": pl.String, "records": pl.Int64},
            orient="row",
        )
        of_check = next((one for one in self.view["checks"] if one["name"] == check), None)
        if of_check is not None:
            there = {one.name for one in frame.schema["evidence"].fields}  # type: ignore[attr-defined]
            evidence = Columns.read(of_check["columns"])
            own = Columns(FINDINGS.values(), evidence.values())
            others = [one for one in evidence if one in there and one not in frame.columns]
            frame = frame.with_columns(pl.col("evidence").struct.field(one) for one in others)
            frame = frame.filter(pl.col("check") == check)
        frame = judged.join(frame, on="id", how="inner", maintain_order="left").drop("record")
        frame = frame.select("id", "sentence", pl.exclude("id", "sentence"))
        shown = shown_columns(
            {name: frame.schema[name] for name in own if name in frame.columns}, own
        )
        return Shown("findings", shown, Stored(frame.lazy()), "Findings", "a finding")

    def attributions_of(self, record: str) -> Sequence[Row]:
        """Rows ``target, model, method, seed, tokens, scores`` of a record, by the first four;
        none where their file has changed or is missing."""
        if self._attributions is None:
            return ()
        return (
            self._attributions.filter(id=record)
            .sort("target", "model", "method", "seed")
            .with_columns(pl.col("seed").cast(pl.String))
            .to_dicts()
        )

    @cached_property
    def _attributions(self) -> pl.DataFrame | None:
        """The file of attributions that it was made from; None if that is another one by now."""
        file = next((one for one in self.result.inputs if one["role"] == "attributions"), None)
        path = Path(file["path"] if file else "")
        if file is None or not path.is_file() or sha256_of(path) != file["sha256"]:
            return None
        return attribution_rows(path).filter(~pl.col("borrowed"))


def _status(finding: Row) -> str:
    """What a policy decided on a finding, else that others explain it, else `OPEN`."""
    if finding["waiver"]:
        return DECISION[finding["waiver"]["decision"]]
    if "to_fix" in finding:
        return DECISION["to_fix"]
    return "explained by others" if finding["folded"] else OPEN


def nodes_named(finding: Row) -> list[str]:
    """The nodes of a finding; of one that names none, those of its parts."""
    named = [finding] if finding["nodes"] else finding["parts"]
    return [node["id"] for one in named for node in one["nodes"]]


def open_run(
    folder: Path, name: str, *, day: date | None = None, show_instances: bool = False
) -> OpenedRun:
    """A run read for the window, made or judged on ``day``; InputError if it shall show
    instances and keeps none."""
    refuse_no_run(folder)
    if show_instances and not (folder / RESTRICTED / INSTANCES.file).is_file():
        raise InputError(
            "a run that keeps its instances is required",
            found=f"no {RESTRICTED}/{INSTANCES.file}",
            where=folder,
            hint="make it with: audit run ... --keep-instances, or leave out --show-instances",
        )
    run = OpenedRun(name, folder, read_run(folder), day, shows_records=show_instances)
    assert run.pairs is not None, "pairs are put in order before anybody asks for a page"
    return run

"""Cases of a run: the instances behind findings, listed, sampled and written for reviewers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.disk import replacing
from audit.base.errors import InputError
from audit.base.plurals import filled
from audit.checks.shared.proposals import PROPOSED
from audit.engine.statistics.resampling import unit_keys
from audit.results.order import ordered
from audit.results.result import AuditResult
from audit.runs.instances import kept_labels, records

CaseNumbers: TypeAlias = NDArray[np.uint32]
"""Indices into the dataset of the instances behind a finding, ascending."""

BEHAVIOUR = "behaviour:"
"""What stands before the name of a kind of behaviour where there is the id of a finding."""


def case_table(
    findings: Sequence[str], cases: Mapping[str, CaseNumbers], instances: pl.Series
) -> pl.LazyFrame:
    """Make the case table: columns ``finding`` and ``instance``, one row per case.

    Args:
        findings: Ids of findings and of behaviours, in the order of the table.
        cases: The instances behind each finding, by its id; findings not in it have no cases.
        instances: Ids of the dataset's instances, in its order.

    Returns:
        ``finding`` is an enumeration of the ids of the findings, ``instance`` text.

    Rows are held as numbers, 4 bytes each for up to 65,000 findings and instances, else up to 8
    bytes; they become ids when the table is collected or written in batches.
    """
    names, ids = (pl.Series(some, dtype=pl.Enum(some)) for some in (findings, instances))
    each = [cases.get(finding, _NONE) for finding in findings]
    of = np.repeat(np.arange(len(each), dtype=np.uint32), np.fromiter(map(len, each), int))
    behind = np.concatenate([_NONE, *each])
    table = pl.DataFrame({"finding": names.gather(of), "instance": ids.gather(behind)})
    return table.lazy().with_columns(pl.col("instance").cast(pl.String))


def proposal_table(
    findings: Sequence[str], proposed: Mapping[str, pl.DataFrame], instances: pl.Series
) -> pl.LazyFrame:
    """Make the table of proposals: ``finding``, and `PROPOSED` with ids for indices.

    Of several proposals for one label of an instance the surest counts, of these the first.
    """
    of_finding = (
        proposed[one].select(pl.lit(one).alias("finding"), pl.all())
        for one in findings
        if one in proposed and proposed[one].height
    )
    nothing = pl.DataFrame(schema={"finding": pl.String, **PROPOSED})
    table = _surest(pl.concat([nothing, *of_finding]))
    return table.with_columns(instance=instances.gather(table["instance"])).lazy()


def _surest(table: pl.DataFrame) -> pl.DataFrame:
    """The proposals without the less sure, or later, ones for one label of an instance."""
    sure = pl.col("certainty").replace_strict({"certain": 0, "review": 1})
    lines = table.select("instance", "label", sure, line=pl.int_range(pl.len()))
    firsts = lines.sort("certainty", maintain_order=True).unique(
        ["instance", "label"], keep="first"
    )
    kept = pl.int_range(pl.len()).is_in(firsts["line"].implode())
    return table.filter(pl.col("label").is_null() | kept)


_NONE = np.empty(0, np.uint32)


@dataclass(frozen=True, slots=True)
class Listed:
    """A finding with its number of cases.

    Args:
        statement: Its sentence with exact numbers, small ones included.
        cases: Number of instances behind it; 0 if it is not about instances.
        labels: The most frequent refused labels that it is about, each with its instances.
    """

    id: str
    check: str
    severity: str
    statement: str
    cases: int
    labels: tuple[tuple[str, int], ...] = ()


MOST_LABELS = 5
"""Number of refused labels that are named of a finding."""


def listed(result: AuditResult) -> Iterator[Listed]:
    """All findings of a run, folded ones included, in report order; then kinds of behaviour."""
    counted = cases_of(result).group_by("finding").len().collect(engine="streaming")
    cases = dict(counted.select(pl.col("finding").cast(pl.String), "len").iter_rows())
    for finding in ordered(result.checks):
        yield Listed(
            finding.id,
            finding.check,
            finding.judged_severity,
            filled(finding.statement, finding.evidence),
            cases.get(finding.id, 0),
            tuple(
                (part.nodes[0], int(part.evidence["instances"] or 0))
                for part in finding.parts
                if part.nodes and part.nodes[0] in finding.written[:MOST_LABELS]
            ),
        )
    for name, one in _behaviours(result).items():
        yield Listed(name, "behaviour", "note", one["title"], one["instances"])


def cases_of(result: AuditResult, finding: str | None = None) -> pl.LazyFrame:
    """Cases of one finding of a run, or of all: columns ``finding, instance``.

    Args:
        result: The run, read back.
        finding: Id of a finding, or `BEHAVIOUR` and the name of a behaviour; None for all.

    Raises:
        InputError: If the data of the run were only counted, or nothing has the id.
    """
    if result.cases is None:
        raise InputError(
            "a run whose instances were loaded is required",
            found="one whose data were only counted, without looking at single instances",
            hint="audit the data without --engine spark",
        )
    if finding is None:
        return result.cases
    _refuse_unknown(result, finding)
    named = result.cases.collect_schema()["finding"]
    known = isinstance(named, pl.Enum) and finding in named.categories
    return result.cases.filter(pl.col("finding") == finding) if known else result.cases.clear()


def _refuse_unknown(result: AuditResult, finding: str) -> None:
    behaviours = list(_behaviours(result))
    ids = [*(known.id for check in result.checks for known in check.findings), *behaviours]
    if finding not in ids:
        of_model = finding.startswith(BEHAVIOUR)
        nearest = behaviours if of_model else get_close_matches(finding, ids, cutoff=0.4)
        raise InputError(
            "the id of a finding of the run is required",
            found=repr(finding),
            hint=f"{'there are' if of_model else 'nearest'}: {', '.join(nearest)}"
            if nearest
            else "`audit cases RUN` lists the findings with their ids",
        )


def _behaviours(result: AuditResult) -> dict[str, Mapping[str, Any]]:
    """The kinds of behaviour of a run, by what stands for them in place of a finding's id."""
    counted = () if result.model is None else result.model.frames["behaviours"].to_dicts()
    return {BEHAVIOUR + one["name"]: one for one in counted}


def drawn(cases: pl.LazyFrame, sample: int, seed: int) -> pl.LazyFrame:
    """Draw a random sample of the cases of each finding, reproducible by seed.

    Args:
        cases: From `cases_of`.
        sample: Number of cases per finding; findings with fewer keep all. A larger sample contains
            a smaller one of the same seed.
        seed: Any integer.

    Instances are selected by a hash of the seed and their id, independent of the order and of other
    instances. The order of the cases is kept.
    """
    ids = cases.select("instance").unique().sort("instance").collect(engine="streaming")
    keys = pl.Series(unit_keys(ids["instance"].to_list(), seed), dtype=pl.UInt64)
    places = ids.with_columns(place=keys.rank("ordinal")).lazy()
    chosen = (
        cases.join(places, on="instance").group_by("finding").agg(pl.col("place").bottom_k(sample))
    )
    return (
        chosen.explode("place")
        .join(places, on="place")
        .select("finding", "instance")
        .sort("finding", "instance")
    )


def records_behind(result: AuditResult, cases: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Cases with the labels of their instances, as `records` has them, finding by finding.

    Of a run that keeps no instances, ``finding, instance`` alone.
    """
    found = cases.with_columns(pl.col("finding").cast(pl.String)).collect(engine="streaming")
    if result.instances is None:
        yield found
        return
    named = {one.id: one for check in result.checks for one in check.findings}
    rows, hierarchy = kept_labels(result, found["instance"]), result.hierarchy
    for one in found.partition_by("finding", maintain_order=True):
        finding = named.get(one["finding"][0])
        nodes = (
            [] if finding is None else finding.nodes or [n for p in finding.parts for n in p.nodes]
        )
        told = records(one["instance"], rows, nodes, hierarchy, result)
        yield told.insert_column(0, one["finding"])


def write_csv(records: Iterable[pl.DataFrame], file: Path, *, overwrite: bool) -> None:
    """Write `records_behind` as CSV, atomically."""
    with replacing(file, overwrite=overwrite) as begun, begun.open("wb") as opened:
        first = True
        for one in records:
            one.write_csv(opened, include_header=first)
            first = False
        if first:
            opened.write(b"finding,instance\n")

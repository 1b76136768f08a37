"""Blind samples of records for coders, and what they confirm of findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl

from audit.base.errors import InputError, first_cases
from audit.engine.statistics.intervals import LEVEL, wilson
from audit.engine.statistics.resampling import unit_keys
from audit.results.order import ordered
from audit.results.result import AuditResult
from audit.runs.case_lists import BEHAVIOUR, cases_of, drawn
from audit.runs.fixes.sheet import digest_of
from audit.runs.instances import kept_labels, records

COLUMNS = ("row", "instance", "labels", "others", "verdict", "note", "drawn", "run")
"""Columns of a blind sheet; ``verdict`` and ``note`` are to be filled in."""
VERDICTS = ("right", "wrong", "unsure")
"""What may be written as a verdict, case ignored; a blank says nothing, as unsure."""
_CONTROL = ""


@dataclass(frozen=True, eq=False)
class Sample:
    """Records to be judged: some behind each finding, and as many that no finding is about.

    The same run, size and seed give the same sample, so that a sheet needs not say which row is of
    which finding. A larger sample contains a smaller one of the same seed.

    Args:
        run: The run, read back, made with its instances.
        size: Number of records of each finding; of one with fewer, all.
        seed: Any integer from 0.

    Raises:
        InputError: If the run keeps no instances, or no finding is about instances.
    """

    run: AuditResult
    size: int
    seed: int

    def __post_init__(self) -> None:
        if self.run.instances is None:
            raise InputError(
                "a run that keeps its instances is required",
                found="one without them",
                hint="make it with: audit run ... --keep-instances",
            )

    @cached_property
    def rows(self) -> pl.DataFrame:
        """``row, finding, instance, labels, others``, shuffled; ``finding`` is empty for controls.

        ``labels`` are those that the finding is about; of a control, one of its labels by chance.
        """
        chosen = self._chosen
        if chosen.is_empty():
            raise InputError("a finding about instances is required", found="none with cases")
        parts = [*self._of_findings(chosen), self._of_controls(chosen)]
        every = pl.concat(parts)
        names = [
            blake2b(f"{self.seed}\0{one}\0{instance}".encode(), digest_size=6).hexdigest()
            for one, instance in every.select("finding", "instance").iter_rows()
        ]
        return every.insert_column(0, pl.Series("row", names)).sort("row")

    @cached_property
    def cases(self) -> dict[str, int]:
        """Number of instances behind each finding, in the order of the report."""
        counted = self._every.group_by("finding").len().collect(engine="streaming")
        found = dict(counted.iter_rows())
        ids = (one.id for one in ordered(self.run.checks))
        return {one: found[one] for one in ids if one in found}

    @property
    def _every(self) -> pl.LazyFrame:
        """The cases of findings, without those of behaviours."""
        every = cases_of(self.run).with_columns(pl.col("finding").cast(pl.String))
        return every.filter(~pl.col("finding").str.starts_with(BEHAVIOUR))

    @cached_property
    def _chosen(self) -> pl.DataFrame:
        """``finding, instance`` of the records of findings, no record twice of one finding."""
        return drawn(self._every, self.size, self.seed).collect(engine="streaming")

    def _of_findings(self, chosen: pl.DataFrame) -> Iterator[pl.DataFrame]:
        named = {one.id: one for check in self.run.checks for one in check.findings}
        kept, hierarchy = kept_labels(self.run, chosen["instance"]), self.run.hierarchy
        for part in chosen.partition_by("finding", maintain_order=True):
            finding = named[part["finding"][0]]
            nodes = finding.nodes or [node for one in finding.parts for node in one.nodes]
            told = records(part["instance"], kept, nodes, hierarchy, self.run)
            yield told.select(pl.lit(finding.id).alias("finding"), "instance", "labels", "others")

    def _of_controls(self, chosen: pl.DataFrame) -> pl.DataFrame:
        """As many records without a finding as were chosen, each with one of its labels."""
        assert self.run.instances is not None, "refused above"
        behind = self._every.select("instance").unique()
        labelled = self.run.instances.filter(pl.col("label") > 0).select("instance").unique()
        free = labelled.join(behind, on="instance", how="anti").collect()["instance"].sort()
        order = np.argsort(unit_keys(free.to_list(), self.seed), kind="stable")[: len(chosen)]
        ids = free.gather(np.sort(order))
        kept, hierarchy = kept_labels(self.run, ids), self.run.hierarchy
        own = kept.filter(pl.col("label") > 0).sort("instance", "node")
        parts = [
            records(one["instance"].head(1), kept, [self._one_of(one)], hierarchy, self.run)
            for one in own.partition_by("instance", maintain_order=True)
        ]
        nothing = pl.DataFrame(schema=dict.fromkeys(("instance", "labels", "others"), pl.String))
        told = pl.concat([nothing, *(one.select(nothing.columns) for one in parts)])
        return told.select(pl.lit(_CONTROL).alias("finding"), pl.all())

    def _one_of(self, labels: pl.DataFrame) -> str:
        """One of the labels of a record, by a hash of its id and the seed."""
        key = int(unit_keys([f"{labels['instance'][0]}\0label"], self.seed)[0])
        return str(labels["node"][key % len(labels)])

    def sheet(self) -> pl.DataFrame:
        """The sheet, with columns `COLUMNS` as text; no finding is named in it."""
        return self.rows.select(
            *("row", "instance", "labels", "others"),
            verdict=pl.lit(""),
            note=pl.lit(""),
            drawn=pl.lit(f"{self.size} a finding, seed {self.seed}"),
            run=pl.lit(digest_of(self.run)),
        )


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What coders confirmed of a finding.

    Args:
        finding: Its id; empty for the controls.
        cases: Number of instances behind it; of controls, those that were judged.
        share: ``wrong`` of ``judged``, with its 95 % interval; None if none was judged.
        concerned: Instances with wrong labels among all cases, as many as the share says, with the
            95 % interval of a draw without replacement; None for controls.
    """

    finding: str
    cases: int
    judged: int
    wrong: int
    unsure: int
    share: tuple[float, float, float] | None
    concerned: tuple[float, int, int] | None


def confirmed(run: AuditResult, sheet: pl.DataFrame, path: Path) -> list[Confirmed]:
    """What a returned sheet confirms of each finding, then of controls; InputError for another."""
    lacking = [name for name in COLUMNS if name not in sheet.columns and name != "note"]
    if lacking:
        raise _refused("a sheet of `audit sample` is required", f"no {first_cases(lacking)}", path)
    size, seed = _drawn_as(sheet, run, path)
    rows = Sample(run, size, seed)
    judged = rows.rows.join(sheet.select("row", "instance", "verdict"), on=["row", "instance"])
    if sheet["row"].is_duplicated().any() or len(judged) < len(sheet):
        raise _refused(
            "a sheet with each row of the sample once is required", "other rows, or one twice", path
        )
    given = judged.with_columns(pl.col("verdict").str.to_lowercase())
    other = given.filter(~pl.col("verdict").is_in(["", *VERDICTS]))["verdict"]
    if len(other):
        said = first_cases(other.unique(maintain_order=True))
        raise _refused(f"{', '.join(VERDICTS)} or a blank is required as a verdict", said, path)
    return [_of_verdicts(one, given, cases) for one, cases in ({**rows.cases, _CONTROL: 0}).items()]


def _refused(required: str, found: str, path: Path) -> InputError:
    return InputError(required, found=found, where=path)


def _drawn_as(sheet: pl.DataFrame, run: AuditResult, path: Path) -> tuple[int, int]:
    """The size and seed that a sheet of this run was drawn with; InputError for any other."""
    runs, said = sheet["run"].unique().to_list(), sheet["drawn"].unique().to_list()
    if runs != [digest_of(run)]:
        found = first_cases(runs) if runs else "none"
        raise _refused(f"a sheet of this run, {digest_of(run)}, is required", found, path)
    words = said[0].replace(",", "").split() if len(said) == 1 else []
    if len(words) != 5 or not (words[0].isdecimal() and words[-1].isdecimal()):
        raise _refused("a sheet that says how it was drawn is required", first_cases(said), path)
    return int(words[0]), int(words[-1])


def _of_verdicts(finding: str, given: pl.DataFrame, cases: int) -> Confirmed:
    verdicts = given.filter(pl.col("finding") == finding)["verdict"]
    wrong, right, unsure = (int((verdicts == one).sum()) for one in ("wrong", "right", "unsure"))
    n = wrong + right
    share = (wrong / n, *wilson(wrong, n)) if n else None
    concerned = None
    if finding and n:
        concerned = (cases * wrong / n, *concerned_interval(wrong, n, cases))
    return Confirmed(finding, cases or n, n, wrong, unsure, share, concerned)


def concerned_interval(k: int, n: int, cases: int) -> tuple[int, int]:
    """Exact interval of how many of ``cases`` are wrong, where ``k`` of ``n`` drawn of them are.

    The draw is without replacement, so that a complete one leaves no doubt.

    >>> concerned_interval(3, 10, 10), concerned_interval(0, 20, 20)
    ((3, 3), (0, 0))
    """
    from scipy.stats import hypergeom

    tail = (1 - LEVEL) / 2
    possible = np.arange(k, cases - (n - k) + 1)
    at_least = hypergeom.sf(k - 1, cases, possible, n)
    at_most = hypergeom.cdf(k, cases, possible, n)
    fitting = possible[(at_least > tail) & (at_most > tail)]
    return int(fitting.min()), int(fitting.max())

"""MEDS: events of subjects in Parquet shards, with their codes and splits in a folder beside."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from shlex import quote

import polars as pl

from audit.base.columnar import parquet_schema, polars_of
from audit.base.errors import AuditError, InputError, SchemaError, first_cases
from audit.base.files import called, in_text, read_table
from audit.base.readings import Reading
from audit.data.sources.events import Events, Named, code_set, which
from audit.data.sources.source import HEAD

CODES, SPLITS = Path("metadata", "codes.parquet"), Path("metadata", "subject_splits.parquet")
"""Where the codes and the splits are in a folder."""
VISITS = ("hadm_id", "visit_id", "visit_occurrence_id", "encounter_id")
"""Columns of visits that shards have beside those of the standard, the first of which counts."""
DAY = "day"
"""Name of the ids that are a subject and a day."""
_REQUIRED = {"subject_id": "whole numbers", "time": "times", "code": "text"}
_TEXTS = (pl.String, pl.Categorical, pl.Enum)
_AT_ONCE = 1_000 * HEAD


def meds_of(path: Path) -> Meds | None:
    """A folder of MEDS; None if it is none. Shards tell it without a table of their codes."""
    if (path / CODES).is_file():
        return Meds(path)
    with suppress(AuditError):  # what cannot be read is no shard
        first = next((path / "data").rglob("*.parquet"), None)
        if first is not None and _REQUIRED.keys() <= parquet_schema(first).keys():
            return Meds(path)
    return None


class Meds(Events):
    """A folder of MEDS: its shards are read one after the other, a subject never in two pieces."""

    kind = "a folder of MEDS"
    format = "meds"

    def __init__(self, path: Path) -> None:
        self.shards = in_text((path / "data").rglob("*.parquet"))
        beside = [path / one for one in (CODES, SPLITS) if (path / one).is_file()]
        super().__init__(path, [*self.shards, *beside])
        self.path = path

    @cached_property
    def shape(self) -> dict[str, pl.DataType]:
        """The columns of every shard; raises SchemaError if one lacks some, or differs."""
        if not self.shards:
            found = "none"
            raise InputError("a shard data/*.parquet is required", found=found, where=self)
        first = parquet_schema(self.shards[0])
        for shard in self.shards:
            own = parquet_schema(shard)
            subject, time, code = map(own.get, _REQUIRED)
            fit = subject is not None and subject.is_integer() and code in _TEXTS
            if not (fit and time is not None and time.is_temporal()) or dict(own) != dict(first):
                asks = ", ".join(f"{name} ({what})" for name, what in _REQUIRED.items())
                raise SchemaError(
                    f"every shard must have the columns {asks}, and those of the first one",
                    found=first_cases(f"{name}: {dtype}" for name, dtype in own.items()),
                    where=shard,
                    hint="leave only the shards of one data set below data/",
                )
        return first

    @cached_property
    def visit(self) -> str | None:
        """The column of visits, if there is one."""
        return next((name for name in VISITS if name in self.shape), None)

    @property
    def instance(self) -> str:  # type: ignore[override]
        return self.visit or DAY

    @cached_property
    def splits(self) -> pl.DataFrame | None:
        """``subject_id, split``, if subjects are in splits."""
        if not (self.path / SPLITS).is_file():
            return None
        table = read_table(self.path / SPLITS)
        if not {"subject_id", "split"} <= {*table.columns}:
            required = "the columns subject_id and split are required"
            raise SchemaError(required, found=first_cases(table.columns), where=self.path / SPLITS)
        return table.select(pl.col("subject_id", "split").cast(pl.String)).unique("subject_id")

    @cached_property
    def counted(self) -> pl.DataFrame:
        """``code, rows, loose``: events of each code, and how many of them name no visit."""
        loose = pl.lit(True) if self.visit is None else pl.col(self.visit).is_null()
        names = ["code", *([self.visit] if self.visit else [])]
        total = pl.DataFrame(schema={"code": pl.String, "rows": pl.UInt32, "loose": pl.UInt32})
        for shard in self.shards:
            for frame in _frames(shard, names):
                own = pl.len().alias("rows"), loose.sum().cast(pl.UInt32).alias("loose")
                some = frame.group_by("code").agg(*own)
                total = pl.concat([total, some]).group_by("code").agg(pl.col("rows", "loose").sum())
        return total.drop_nulls("code").sort("code")

    @cached_property
    def chosen(self) -> dict[str, str | None]:
        """The codes that are labels, each with its code set; raises AskedError if none are."""
        if not self.shape or not self.words.chosen:
            raise self._unchosen()
        fitting = {one: self.words.before(one) for one in self.counted["code"]}
        found = {one: code_set(before) for one, before in fitting.items() if before is not None}
        if not found:
            raise InputError(
                "codes of events that fit --codes are required",
                found=f"none among {first_cases(sorted({_family(one) for one in fitting}))}",
                where=self,
            )
        return found

    def _unchosen(self) -> InputError:
        rows, nodes = Counter[str](), Counter[str]()
        for code, count, _ in self.counted.iter_rows():
            family = _family(code)
            rows[family] += count
            texts = (code, code.removeprefix(family))
            nodes[family] += count * bool(self.nodes and any(map(self.nodes.weight, texts)))
        required, said = "it must be stated which codes are labels", "codes of {} are labels"
        return which(required, rows, nodes, lambda one: f"--codes {quote(one + '*')}", self, said)

    def said(self, columns: Named) -> tuple[Reading, ...]:
        codes = pl.col("code").is_in([*self.chosen])
        kept, others = self.counted.filter(codes), self.counted.filter(~codes)
        told = []
        if left := int(others["rows"].sum()):
            why, option = "--codes names the codes that are labels", "--codes '*'"
            told += [Reading("events of other codes are no labels", why, left, option)]
        if columns.id is None and (loose := int(kept["loose"].sum())):
            why = f"they have no {self.visit}" if self.visit else "no column names visits"
            said = "events of a subject on one day are an instance"
            told += [Reading(said, why, loose, f"--id {self.visit or 'COLUMN'}")]
        return tuple(told)

    def events(self, columns: Named, at_once: int) -> Iterator[pl.DataFrame]:
        """Rows of whole subjects, sorted by instance, so that each instance stands together."""
        further = [columns.id, columns.label, *columns.beside.values()]
        own = called(self.shape, [one for one in further if one])
        visit = [self.visit] if self.visit else []
        codes = [*self.chosen]
        names = [*dict.fromkeys(["subject_id", "time", "code", *visit, *own])]
        for shard in self.shards:
            held = pl.DataFrame()
            for frame in _frames(shard, names):
                some = frame.filter(pl.col("code").is_in(codes))
                held = pl.concat([held, some]) if held.width else some
                last = held["subject_id"].eq_missing(held["subject_id"].last())
                if not last.all():
                    yield self._grouped(held.filter(~last), columns)
                    held = held.filter(last)
            if held.height:
                yield self._grouped(held, columns)

    def _grouped(self, rows: pl.DataFrame, columns: Named) -> pl.DataFrame:
        subject = pl.col("subject_id").cast(pl.String)
        day = pl.concat_str(subject, pl.col("time").dt.date().cast(pl.String), separator=" ")
        visits = [pl.col(self.visit).cast(pl.String)] if self.visit else []
        rows = rows.with_columns(day.alias(DAY)).with_columns(
            instance=pl.coalesce(*visits, DAY), label="code", group=subject,
            table=pl.col("code").replace_strict(self.chosen, return_dtype=pl.String),
        )  # fmt: skip
        if self.splits is not None:
            splits = self.splits.rename({"subject_id": "group"})
            rows = rows.join(splits, on="group", how="left", maintain_order="left")
        named = called(rows.columns, [columns.id]) if columns.id else []
        return rows.sort(named or "instance", maintain_order=True)


def _frames(shard: Path, names: list[str]) -> Iterator[pl.DataFrame]:
    import pyarrow as pa

    from audit.data.sources.arrow import row_groups

    for batch in row_groups(shard, names, _AT_ONCE, 0):
        frame = polars_of(pa.Table.from_batches([batch]))
        yield frame.with_columns(pl.col("code").cast(pl.String))


def _family(code: str) -> str:
    """What stands before the code itself.

    >>> _family("DIAGNOSIS//ICD//9//4280"), _family("MEDS_BIRTH")
    ('DIAGNOSIS//ICD//9//', '')
    """
    found = re.match(r".*[/:|]", code)
    return found[0] if found else ""

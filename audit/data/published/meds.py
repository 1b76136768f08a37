"""MEDS 0.3 and 0.4: events of subjects in Parquet shards, with their splits in a folder beside."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import in_text
from audit.base.readings import Reading
from audit.base.table import AT_ONCE, Table
from audit.base.tables import open_table
from audit.data.published.wanted import Wanted, code_set, which
from audit.data.records import pick

_CODES, _SPLITS = Path("metadata", "codes.parquet"), Path("metadata", "subject_splits.parquet")
_VISITS = ("hadm_id", "visit_id", "visit_occurrence_id", "encounter_id")
"""Columns of visits that shards have beside those of the standard, the first of which counts."""
_REQUIRED = {"subject_id": "whole numbers", "time": "times", "code": "text"}
_OWN = ("instance", "label", "group", "split", "table", "day")


def meds_of(path: Path, wanted: Wanted) -> Table | None:
    """The events of a folder of MEDS whose codes ``--codes PREFIX*`` names; None of others.

    An instance is the visit, else the subject and day; the group is the subject.
    """
    shards = in_text((path / "data").rglob("*.parquet"))
    beside = [path / one for one in (_CODES, _SPLITS) if (path / one).is_file()]
    if path / _CODES not in beside and not (
        shards and open_table(shards[0]).schema.keys() >= _REQUIRED.keys()
    ):
        return None
    if not shards:
        raise InputError("a shard data/*.parquet is required", found="none", where=path)
    tables = [*map(open_table, shards)]
    schema = tables[0].schema
    for table in tables:
        _refuse_unlike(table, schema)
    visit = next((name for name in _VISITS if name in schema), "")
    visits = pl.col(visit).cast(pl.String) if visit else pl.lit(None, pl.String)
    counts = _counted(tables, visits)
    chosen = _chosen(counts, wanted, path)
    splits = pl.DataFrame(schema={"group": pl.String, "split": pl.String})
    if path / _SPLITS in beside:
        found = open_table(path / _SPLITS)
        named = {"group": "subject_id", "split": "split"}
        splits = pick(found.frame(), found, **named).unique("group", maintain_order=True)
    own, subject = [one for one in schema if one not in _OWN], pl.col("subject_id").cast(pl.String)
    day = pl.concat_str(subject, pl.col("time").dt.date().cast(pl.String), separator=" ")

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        for table in tables:
            for frame in table.frames(own, at_once):
                code = pl.col("code").cast(pl.String)
                rows = frame.with_columns(code, group=subject, day=day, label=code)
                rows = rows.with_columns(instance=pl.coalesce(visits, "day"))
                rows = rows.join(chosen, on="code", maintain_order="left")
                rows = rows.join(splits, on="group", how="left", maintain_order="left")
                yield rows.select(columns)

    kept = counts.join(chosen, on="code")
    readings = [*wanted.told_of_days(int(kept["loose"].sum()), visit or "COLUMN")]
    if others := int(counts["rows"].sum()) - int(kept["rows"].sum()):
        said, why = "events of other codes are no labels", "--codes names the codes that are labels"
        readings.insert(0, Reading(said, why, others, "--codes '*'"))
    return Table(
        str(path),
        {name: schema[name] for name in own} | dict.fromkeys(_OWN, pl.String()),
        scan,
        (*shards, *beside),
        readings=tuple(readings),
        layout="meds",
    )


def _refuse_unlike(table: Table, first: object) -> None:
    """Raise SchemaError where a shard lacks a column of the standard, or differs from another."""
    subject, time, code = map(table.schema.get, _REQUIRED)
    texts = isinstance(code, pl.String | pl.Categorical | pl.Enum)
    fit = subject is not None and subject.is_integer() and time is not None and time.is_temporal()
    if not (fit and texts and table.schema == first):
        asks = ", ".join(f"{name} ({what})" for name, what in _REQUIRED.items())
        raise SchemaError(
            f"every shard must have the columns {asks}, and those of the first one",
            found=first_cases(f"{name}: {dtype}" for name, dtype in table.schema.items()),
            where=table,
            hint="leave only the shards of one data set below data/",
        )


def _counted(tables: Sequence[Table], visits: pl.Expr) -> pl.DataFrame:
    """``code, rows, loose``: events of each code, and how many of them name no visit."""
    code, loose = pl.col("code").cast(pl.String), visits.is_null().cast(pl.Int64)
    named = visits.meta.root_names()
    counts = [pl.DataFrame(schema={"code": pl.String, "loose": pl.Int64, "rows": pl.Int64})]
    for table in tables:
        for frame in table.frames(["code", *named], AT_ONCE):
            rows = frame.select(code, loose=loose, rows=pl.lit(1, pl.Int64))
            counts.append(rows.group_by("code").sum())
    return pl.concat(counts).group_by("code").sum().drop_nulls("code").sort("code")


def _chosen(counts: pl.DataFrame, wanted: Wanted, where: Path) -> pl.DataFrame:
    """``code, table``: the codes that are labels, with code sets; asked where none are named."""
    patterns = [one for one in wanted.columns.codes if one.endswith("*")]
    sets = {
        code: code_set(next(one for one in patterns if fnmatchcase(code, one)))
        for code in counts["code"]
        if any(fnmatchcase(code, one) for one in patterns)
    }
    if sets:
        return pl.DataFrame(
            [*sets.items()], dict.fromkeys(("code", "table"), pl.String), orient="row"
        )
    rows, nodes = Counter[str](), Counter[str]()
    for code, count in counts.select("code", "rows").iter_rows():
        family = _family(code)
        rows[family] += count
        texts = (code, code.removeprefix(family))
        nodes[family] += count * any(map(wanted.nodes.is_complete, texts))
    if patterns:
        found = f"none among {first_cases(sorted(rows))}"
        raise InputError("codes of events that fit --codes are required", found=found, where=where)
    raise which("which codes are labels", rows, nodes, ("codes", "{}*"), where)


def _family(code: str) -> str:
    """The beginning of a code up to its last ``/``, ``:`` or ``|``; empty without one.

    >>> _family("DIAGNOSIS//ICD//9//4280"), _family("MEDS_BIRTH")
    ('DIAGNOSIS//ICD//9//', '')
    """
    found = re.match(r".*[/:|]", code)
    return found[0] if found else ""

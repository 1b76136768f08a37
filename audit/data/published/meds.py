"""MEDS 0.3 and 0.4: events of subjects in Parquet shards, with their splits in a folder beside."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from shlex import quote

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import in_text
from audit.base.readings import Reading
from audit.base.table import AT_ONCE, Table
from audit.base.tables import open_table
from audit.data.published.wanted import Wanted, code_set, which

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
    listed = (path / _CODES).is_file()
    if not (listed or (shards and _is_shard(open_table(shards[0])))):
        return None
    if not shards:
        raise InputError("a shard data/*.parquet is required", found="none", where=path)
    tables = [*map(open_table, shards)]
    for table in tables:
        _refuse_unlike(table, tables[0])
    first, splits = tables[0].schema, _splits(path)
    visit = next((name for name in _VISITS if name in first), "")
    counts = _counted(tables, visit)
    chosen = _chosen(counts, wanted, path)
    own = [one for one in first if one not in _OWN]

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        for table in tables:
            for frame in table.frames(own, at_once):
                yield _read(frame, visit, splits, chosen).select(columns)

    return Table(
        str(path),
        {name: first[name] for name in own} | dict.fromkeys(_OWN, pl.String()),
        scan,
        (*shards, *(path / one for one in (_CODES, _SPLITS) if (path / one).is_file())),
        readings=tuple(_told(counts, chosen, visit, wanted)),
        layout="meds",
    )


def _is_shard(table: Table) -> bool:
    return _REQUIRED.keys() <= table.schema.keys()


def _refuse_unlike(table: Table, first: Table) -> None:
    """Raise SchemaError where a shard lacks a column of the standard, or differs from another."""
    subject, time, code = map(table.schema.get, _REQUIRED)
    texts = isinstance(code, pl.String | pl.Categorical | pl.Enum)
    fit = subject is not None and subject.is_integer() and time is not None and time.is_temporal()
    if not (fit and texts and dict(table.schema) == dict(first.schema)):
        asks = ", ".join(f"{name} ({what})" for name, what in _REQUIRED.items())
        raise SchemaError(
            f"every shard must have the columns {asks}, and those of the first one",
            found=first_cases(f"{name}: {dtype}" for name, dtype in table.schema.items()),
            where=table,
            hint="leave only the shards of one data set below data/",
        )


def _splits(path: Path) -> pl.DataFrame:
    """``group, split`` of subjects that are in one."""
    if not (path / _SPLITS).is_file():
        return pl.DataFrame(schema={"group": pl.String, "split": pl.String})
    table = open_table(path / _SPLITS)
    if not {"subject_id", "split"} <= table.schema.keys():
        required = "the columns subject_id and split are required"
        raise SchemaError(required, found=first_cases(table.schema), where=table)
    found = table.frame(["subject_id", "split"]).cast(pl.String)
    return found.rename({"subject_id": "group"}).unique("group", maintain_order=True)


def _counted(tables: Sequence[Table], visit: str) -> pl.DataFrame:
    """``code, rows, loose``: events of each code, and how many of them name no visit."""
    loose = (pl.col(visit).null_count() if visit else pl.len()).cast(pl.Int64)
    counts = [pl.DataFrame(schema={"code": pl.String, "rows": pl.Int64, "loose": pl.Int64})]
    for table in tables:
        for frame in table.frames(["code", *([visit] if visit else [])], AT_ONCE):
            some = frame.group_by(pl.col("code").cast(pl.String))
            counts.append(some.agg(rows=pl.len().cast(pl.Int64), loose=loose))
    return pl.concat(counts).group_by("code").sum().drop_nulls("code").sort("code")


def _chosen(counts: pl.DataFrame, wanted: Wanted, where: Path) -> pl.DataFrame:
    """``code, table``: the codes that are labels, with their code sets."""
    patterns = [one for one in wanted.columns.codes if one.endswith("*")]
    codes = counts["code"].to_list()
    if not patterns:
        raise _unchosen(counts, wanted, where)
    fitting = [(code, one) for code in codes for one in patterns if fnmatchcase(code, one)]
    if not fitting:
        raise InputError(
            "codes of events that fit --codes are required",
            found=f"none among {first_cases(sorted({_family(one) for one in codes}))}",
            where=where,
        )
    sets = {code: code_set(pattern) for code, pattern in reversed(fitting)}
    return pl.DataFrame(
        {"code": [*sets], "table": [*sets.values()]}, {"code": pl.String, "table": pl.String}
    )


def _unchosen(counts: pl.DataFrame, wanted: Wanted, where: Path) -> InputError:
    rows, nodes = Counter[str](), Counter[str]()
    for code, count, _ in counts.iter_rows():
        family = _family(code)
        rows[family] += count
        texts = (code, code.removeprefix(family))
        nodes[family] += count * any(map(wanted.nodes.is_complete, texts))
    required, said = "it must be stated which codes are labels", "codes of {} are labels"
    return which(required, rows, nodes, lambda one: f"--codes {quote(one + '*')}", where, said)


def _family(code: str) -> str:
    """What stands before the code itself.

    >>> _family("DIAGNOSIS//ICD//9//4280"), _family("MEDS_BIRTH")
    ('DIAGNOSIS//ICD//9//', '')
    """
    found = re.match(r".*[/:|]", code)
    return found[0] if found else ""


def _read(
    rows: pl.DataFrame, visit: str, splits: pl.DataFrame, chosen: pl.DataFrame
) -> pl.DataFrame:
    subject, visits = pl.col("subject_id").cast(pl.String), [pl.col(visit)] if visit else []
    day = pl.concat_str(subject, pl.col("time").dt.date().cast(pl.String), separator=" ")
    ids = [one.cast(pl.String) for one in visits]
    rows = rows.with_columns(pl.col("code").cast(pl.String), group=subject, day=day)
    rows = rows.with_columns(instance=pl.coalesce(*ids, "day"), label="code")
    rows = rows.join(chosen, on="code", maintain_order="left")
    return rows.join(splits, on="group", how="left", maintain_order="left")


def _told(
    counts: pl.DataFrame, chosen: pl.DataFrame, visit: str, wanted: Wanted
) -> Iterator[Reading]:
    kept = counts.join(chosen, on="code")
    if left := int(counts.join(chosen, on="code", how="anti")["rows"].sum()):
        why, option = "--codes names the codes that are labels", "--codes '*'"
        yield Reading("events of other codes are no labels", why, left, option)
    if not wanted.columns.id and (loose := int(kept["loose"].sum())):
        why = f"they have no {visit}" if visit else "no column names visits"
        said = "events of a subject on one day are an instance"
        yield Reading(said, why, loose, f"--id {visit or 'COLUMN'}")

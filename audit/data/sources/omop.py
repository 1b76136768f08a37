"""OMOP CDM 5.3 and 5.4: conditions and procedures of visits, with their concepts."""

from __future__ import annotations

import hashlib
import weakref
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError
from audit.base.readings import Reading, asked
from audit.data.sources.events import Events, Named, code_set, which
from audit.hierarchies.formats.omop_tables import CODES, Tables, TablesOfBase

KINDS = {"condition": "condition_start_date", "procedure": "procedure_date"}
"""Kinds of occurrences, with the column of their day."""
_SIDES = ("standard", "source")
"""The concept that a code was mapped to, and the one that it is."""
_KNOWN = (
    "concept_id", "concept_code", "vocabulary_id", "valid_start_date", "valid_end_date",
)  # fmt: skip
_VISIT = ("visit_occurrence_id", "visit_concept_id", "care_site_id")


def omop_of(tables: Tables) -> Omop | None:
    """The tables of a folder, or of a database, as OMOP; None if none is of occurrences."""
    return Omop(tables) if any(f"{kind}_occurrence" in tables.names for kind in KINDS) else None


class Omop(Events):
    """Tables of the CDM, in a folder or a database: held whole once loaded, else read again."""

    kind = "tables of OMOP"
    format = "omop"
    instance = "visit_occurrence_id"
    vocabularies = True
    ended: weakref.finalize[..., Any] | None = None
    """What closes a connection that is the source's own."""
    _whole: pl.DataFrame | None = None

    def __init__(self, tables: Tables) -> None:
        names = (*(f"{kind}_occurrence" for kind in KINDS), CODES, "visit_occurrence")
        read = [tables.names[name] for name in names if name in tables.names]
        super().__init__(tables, [one for one in read if isinstance(one, Path)])
        self.tables = tables
        if isinstance(tables, TablesOfBase):
            said = f"tables of OMOP: {', '.join(read)}"
            self.queried = {"path": self.name, "driver": tables.base.driver, "query": said}

    @property
    def occurrences(self) -> dict[str, Any]:
        """The table of each kind of occurrences that there are."""
        named = ((kind, f"{kind}_occurrence") for kind in KINDS)
        return {kind: self.tables.names[name] for kind, name in named if name in self.tables.names}

    def load(self) -> None:
        self._whole = pl.concat(self._occurrences())

    def close(self) -> None:
        if self.ended is not None:
            self.ended()

    def _occurrences(self) -> Iterator[pl.DataFrame]:
        """The occurrences of each kind, some at a time unless they are held."""
        if self._whole is not None:
            yield self._whole
            return
        for kind in self.occurrences:
            names = {
                "person_id": "person_id", KINDS[kind]: "date", _VISIT[0]: _VISIT[0],
                f"{kind}_concept_id": "standard_id", f"{kind}_source_concept_id": "source_id",
                f"{kind}_source_value": "source_value",
            }  # fmt: skip
            ids = pl.col("standard_id", "source_id").str.replace(r"\.0$", "")
            told, how = [ids, pl.col("date").str.slice(0, 10)], f"{kind}_type_concept_id"
            for frame in self.tables.frames(f"{kind}_occurrence", [*names], [how]):
                if how not in frame.columns:
                    frame = frame.with_columns(pl.lit(None, pl.String).alias(how))
                whole = frame.rename({**names, how: "type_concept_id"})
                yield whole.with_columns(*told, resource=pl.lit(kind))

    @cached_property
    def _counts(self) -> pl.DataFrame:
        """Rows by kind and both concepts: ``rows``, and ``loose``, those that name no visit."""
        keys, rows = ["resource", "standard_id", "source_id"], pl.len().cast(pl.Int64).alias("rows")
        loose = pl.col(_VISIT[0]).null_count().cast(pl.Int64).alias("loose")
        counts = pl.DataFrame(schema=dict.fromkeys(keys, pl.String))
        counts = counts.with_columns(rows=pl.lit(0, pl.Int64), loose=pl.lit(0, pl.Int64))
        for frame in self._occurrences():
            both = pl.concat([counts, frame.group_by(keys).agg(rows, loose)])
            counts = both.group_by(keys).agg(pl.col("rows", "loose").sum())
            self._summed += _summed(frame) if self.queried else 0
        return counts.sort(keys)

    _summed = 0
    """The sum of the digests of rows that were counted, which does not depend on their order."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the occurrences and their concepts, whatever their order; empty of files."""
        if not self.queried:
            return ""
        both = (self._counts.height and self._summed, _summed(self._codes))
        return hashlib.sha256(repr(both).encode()).hexdigest()

    @cached_property
    def _codes(self) -> pl.DataFrame:
        """The concepts that occurrences name."""
        ids = pl.concat([self._counts[f"{side}_id"] for side in _SIDES]).drop_nulls().unique()
        known = self.tables.read(CODES, _KNOWN, keep=pl.col("concept_id").is_in(ids.implode()))
        return known.unique("concept_id", keep="first", maintain_order=True)

    def _with_codes(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the codes and vocabularies of both of their concepts."""
        for side in _SIDES:
            named = {n: f"{side}_{n.removeprefix('concept_').removesuffix('_id')}" for n in _KNOWN}
            named["concept_id"] = f"{side}_id"
            own = self._codes.rename(named)
            rows = rows.join(own, on=f"{side}_id", how="left", maintain_order="left")
        return rows

    @cached_property
    def counted(self) -> pl.DataFrame:
        """`_counts` with what their concepts are."""
        return self._with_codes(self._counts)

    @cached_property
    def _visits(self) -> pl.DataFrame | None:
        if "visit_occurrence" not in self.tables.names:
            return None
        return self.tables.read("visit_occurrence", _VISIT[:1], _VISIT[1:]).unique(_VISIT[0])

    @cached_property
    def vocabulary(self) -> str:
        """The vocabulary whose codes are labels."""
        stated, nodes, counts = self.words.vocabulary, Counter[str](), Counter[str]()
        for side in _SIDES:
            own = self.counted.group_by(f"{side}_vocabulary").agg(pl.col("rows").sum())
            counts |= Counter(dict(own.drop_nulls().iter_rows()))
        counts.pop("None", None)  # of concept 0
        names = {name.lower(): name for name in counts}
        if stated and stated.lower() not in names:
            required = "a vocabulary that concepts of occurrences have is required"
            found = f"{stated}; they have {', '.join(sorted(counts)) or 'none'}"
            raise InputError(required, found=found, where=self)
        if stated or len(counts) == 1:
            return names[stated.lower()] if stated else next(iter(counts))
        for side in _SIDES:
            held = Counter[str]()
            columns = (f"{side}_vocabulary", f"{side}_code", "rows")
            for name, code, n in self.counted.select(columns).drop_nulls().iter_rows():
                held[name] += n * bool(self.nodes and self.nodes.weight(code))
            nodes |= held
        required, said = "it must be stated which vocabulary is meant", "labels are of {}"
        raise which(required, counts, nodes, lambda one: f"--vocabulary {one}", self, said)

    def side(self, label: str | None) -> str:
        """Which concepts are the labels: the side that is named, or that has the vocabulary."""
        if label in _SIDES:
            return str(label)
        own = {s: pl.col(f"{s}_vocabulary") == self.vocabulary for s in _SIDES}
        rows = {s: int(self.counted.filter(fits)["rows"].sum()) for s, fits in own.items()}
        having = [side for side in _SIDES if rows[side]]
        unlike = pl.col("standard_id").ne_missing(pl.col("source_id"))
        apart = self.counted.filter(unlike, pl.any_horizontal(*own.values()))
        if len(having) > 1 and not apart.is_empty():
            said = {"standard": "concepts that codes were mapped to", "source": "source concepts"}
            offers = [Reading(f"{said[s]} are labels", "", rows[s], f"--label {s}") for s in having]
            raise asked(
                f"it must be stated which concepts of {self.vocabulary} are labels", offers, self
            )
        return having[0]

    def _table(self, side: str) -> pl.Expr:
        """The code set of a row, or why it is refused."""
        own = pl.col(f"{side}_vocabulary") == self.vocabulary
        lacking = _unmapped(side) | pl.col(f"{side}_vocabulary").is_null()
        known = pl.when(own).then(pl.lit(code_set(self.vocabulary)))
        return known.when(lacking).then(pl.lit("unknown_code")).otherwise(pl.lit("left_out"))

    def _labelled(self, rows: pl.DataFrame, side: str) -> pl.DataFrame:
        """Rows with label and table: what no concept stands for is refused with its own code."""
        own = pl.col(f"{side}_vocabulary") == self.vocabulary
        code = pl.when(own | ~_unmapped(side)).then(f"{side}_code").otherwise("source_value")
        first, last = (
            pl.col(f"{side}_valid_{end}_date").str.replace_all("-", "") for end in ("start", "end")
        )
        dated = pl.col("date").str.replace_all("-", "").is_between(first, last)
        return self._with_codes(rows).with_columns(
            label=code.fill_null(pl.col(f"{side}_id")), table=self._table(side),
            valid=pl.when(own).then(dated).cast(pl.String),
        )  # fmt: skip

    def events(self, columns: Named, at_once: int) -> Iterator[pl.DataFrame]:
        side = self.side(columns.label)
        named = {columns.label: pl.col("label")} if columns.label in _SIDES else {}
        parts = -(-int(self._counts["rows"].sum()) // max(at_once, 1))
        for frame in self.gathered(partial(self._of_instances, columns), columns, parts):
            yield self._labelled(frame, side).with_columns(**named)

    def _of_instances(self, columns: Named) -> Iterator[pl.DataFrame]:
        """Occurrences with their instance and, where the user names some, columns of visits."""
        day = pl.concat_str("person_id", "date", separator=" ")
        own = pl.coalesce(_VISIT[0], day)
        asked = {one.lower() for one in (columns.id, *columns.beside.values()) if one}
        visits = self._visits if self._whole is not None or asked & {*_VISIT[1:]} else None
        for rows in self._occurrences():
            frame = rows.with_columns(instance=own, group="person_id", day=day)
            if visits is not None:
                frame = frame.join(visits, on=_VISIT[0], how="left", maintain_order="left")
            yield frame

    def said(self, columns: Named) -> tuple[Reading, ...]:
        side, kinds = self.side(columns.label), self.counted.group_by("resource")
        counts = dict(kinds.agg(pl.col("rows").sum()).iter_rows())
        told = [*self.alike(columns, "resource", counts)]
        left = int(self.counted.filter(self._table(side) == "left_out")["rows"].sum())
        if left:
            said, option = "concepts of other vocabularies are no labels", "another --vocabulary"
            told += [Reading(said, f"labels are those of {self.vocabulary}", left, option)]
        if not any(one.startswith("valid") for one in columns.rules.where):
            rows = (self._labelled(frame, side)["valid"] for frame in self._occurrences())
            if outside := sum(int((valid == "false").sum()) for valid in rows):
                said = "codes on days on which they were not valid count as any other"
                why = "their concepts have valid_start_date and valid_end_date"
                told += [Reading(said, why, outside, "--where valid=true")]
        if not columns.id and (loose := int(self._counts["loose"].sum())):
            said, why = "codes of a person on one day are an instance", "they name no visit"
            told += [Reading(said, why, loose, f"--id {_VISIT[0]}")]
        return tuple(told)


def _unmapped(side: str) -> pl.Expr:
    return pl.col(f"{side}_id").fill_null("0") == "0"


def _summed(rows: pl.DataFrame) -> int:
    """The sum of the digests of rows."""
    texts = rows.select(pl.concat_str(pl.all().fill_null("\0"), separator="\x1f")).to_series()
    return sum(int.from_bytes(hashlib.sha256(one.encode()).digest()) for one in texts)

"""OMOP CDM 5.3 and 5.4: conditions and procedures of visits, with their concepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import polars as pl

from audit.base.errors import InputError
from audit.base.readings import Reading, asked
from audit.data.sources.events import Events, Named, code_set, which
from audit.hierarchies.formats.clinical import CODES, Tables

KINDS = {"condition": "condition_start_date", "procedure": "procedure_date"}
"""Kinds of occurrences, with the column of their day."""
_SIDES = ("standard", "source")
"""The concept that a code was mapped to, and the one that it is."""
_KNOWN = (
    "concept_id", "concept_code", "vocabulary_id", "valid_start_date", "valid_end_date",
)  # fmt: skip
_VISIT = ("visit_occurrence_id", "visit_concept_id", "care_site_id")


def omop_of(path: Path) -> Omop | None:
    """A folder with occurrences of conditions or procedures as OMOP; None if it has none."""
    tables = Tables(path)
    return Omop(tables) if any(f"{kind}_occurrence" in tables.files for kind in KINDS) else None


class Omop(Events):
    """Tables of the CDM; another `Tables` than that of a folder reads them from elsewhere."""

    kind = "tables of OMOP"
    format = "omop"
    instance = "visit_occurrence_id"
    vocabularies = True

    def __init__(self, tables: Tables) -> None:
        names = (*(f"{kind}_occurrence" for kind in KINDS), CODES, "visit_occurrence")
        super().__init__(tables.folder, [tables.files[n] for n in names if n in tables.files])
        self.tables = tables

    @cached_property
    def rows(self) -> pl.DataFrame:
        """Each occurrence with the codes and vocabularies of its two concepts."""
        found = [self._occurrences(kind) for kind in KINDS if self._has(f"{kind}_occurrence")]
        rows = pl.concat(found)
        ids = pl.concat([rows[f"{side}_id"] for side in _SIDES]).drop_nulls().unique()
        known = self.tables.scan(CODES, _KNOWN).filter(pl.col("concept_id").is_in(ids.implode()))
        codes = self.tables.collected(known).unique("concept_id")
        for side in _SIDES:
            named = {n: f"{side}_{n.removeprefix('concept_').removesuffix('_id')}" for n in _KNOWN}
            named["concept_id"] = f"{side}_id"
            own = codes.rename(named)
            rows = rows.join(own, on=f"{side}_id", how="left", maintain_order="left")
        if self._has("visit_occurrence"):
            visits = self.tables.scan("visit_occurrence", _VISIT[:1], _VISIT[1:])
            beside = self.tables.collected(visits).unique(_VISIT[0])
            rows = rows.join(beside, on=_VISIT[0], how="left", maintain_order="left")
        return rows

    def _has(self, name: str) -> bool:
        return name in self.tables.files

    def _occurrences(self, kind: str) -> pl.DataFrame:
        names = {
            "person_id": "person_id", KINDS[kind]: "date", _VISIT[0]: _VISIT[0],
            f"{kind}_concept_id": "standard_id", f"{kind}_source_concept_id": "source_id",
            f"{kind}_source_value": "source_value", f"{kind}_type_concept_id": "type_concept_id",
        }  # fmt: skip
        table = self.tables.scan(f"{kind}_occurrence", [*names])
        ids = pl.col("standard_id", "source_id").str.replace(r"\.0$", "")
        return self.tables.collected(table.rename(names).with_columns(ids, resource=pl.lit(kind)))

    @cached_property
    def vocabulary(self) -> str:
        """The vocabulary whose codes are labels."""
        stated = self.words.vocabulary
        counts = Counter[str]()
        for side in _SIDES:
            counts |= Counter(self.rows[f"{side}_vocabulary"].drop_nulls())
        counts.pop("None", None)  # of concept 0
        names = {name.lower(): name for name in counts}
        if stated and stated.lower() not in names:
            required = "a vocabulary that concepts of occurrences have is required"
            found = f"{stated}; they have {', '.join(sorted(counts)) or 'none'}"
            raise InputError(required, found=found, where=self)
        if stated or len(counts) == 1:
            return names[stated.lower()] if stated else next(iter(counts))
        nodes = Counter[str]()
        for side in _SIDES:
            pairs = self.rows.group_by(f"{side}_vocabulary", f"{side}_code").len().drop_nulls()
            own = Counter[str]()
            for name, code, n in pairs.iter_rows():
                own[name] += n * bool(self.nodes and self.nodes.weight(code))
            nodes |= own
        required, said = "it must be stated which vocabulary labels are of", "it is {}"
        raise which(required, counts, nodes, lambda one: f"--vocabulary {one}", self, said)

    def side(self, label: str | None) -> str:
        """Which concepts are the labels: the side that is named, or that has the vocabulary."""
        if label in _SIDES:
            return str(label)
        rows = {s: int((self.rows[f"{s}_vocabulary"] == self.vocabulary).sum()) for s in _SIDES}
        having = [side for side in _SIDES if rows[side]]
        if len(having) > 1 and not self.rows.filter(_apart(self.vocabulary)).is_empty():
            said = {"standard": "those that codes were mapped to", "source": "those of the source"}
            offers = [Reading(f"{said[s]} are", "", rows[s], f"--label {s}") for s in having]
            raise asked(
                f"it must be stated which concepts of {self.vocabulary} count", offers, self
            )
        return having[0]

    def _labelled(self, columns: Named) -> pl.DataFrame:
        """Rows with label and table: what no concept stands for is refused with its own code."""
        side = self.side(columns.label)
        own = pl.col(f"{side}_vocabulary") == self.vocabulary
        unmapped = pl.col(f"{side}_id").fill_null("0") == "0"
        lacking = pl.col(f"{side}_vocabulary").is_null()
        known = pl.when(own).then(pl.lit(code_set(self.vocabulary)))
        table = (
            known.when(unmapped | lacking)
            .then(pl.lit("unknown_code"))
            .otherwise(pl.lit("left_out"))
        )
        code = pl.when(own | ~unmapped).then(f"{side}_code").otherwise("source_value")
        first, last = (
            pl.col(f"{side}_valid_{end}_date").str.replace_all("-", "") for end in ("start", "end")
        )
        day = pl.col("date").str.slice(0, 10)
        dated = day.str.replace_all("-", "").is_between(first, last)
        return self.rows.with_columns(
            label=code.fill_null(pl.col(f"{side}_id")), table=table, date=day,
            valid=pl.when(own).then(dated).cast(pl.String),
        )  # fmt: skip

    def events(self, columns: Named) -> Iterator[pl.DataFrame]:
        day = pl.concat_str("person_id", "date", separator=" ")
        named = {columns.label: pl.col("label")} if columns.label in _SIDES else {}
        yield self._labelled(columns).with_columns(
            instance=pl.coalesce(_VISIT[0], day), group="person_id", day=day, **named
        )

    def said(self, columns: Named) -> tuple[Reading, ...]:
        rows, told = self._labelled(columns), [*self.alike(columns, "resource", self.rows)]
        left = int((rows["table"] == "left_out").sum())
        if left:
            said, option = "concepts of other vocabularies are no labels", "another --vocabulary"
            told += [Reading(said, f"labels are those of {self.vocabulary}", left, option)]
        outside = int((rows["valid"] == "false").sum())
        if outside and not any(one.startswith("valid") for one in columns.rules.where):
            said = "codes on days on which they were not valid count as any other"
            why = "their concepts have valid_start_date and valid_end_date"
            told += [Reading(said, why, outside, "--where valid=true")]
        loose = 0 if columns.id else self.rows[_VISIT[0]].null_count()
        if loose:
            said, why = "codes of a person on one day are an instance", "they name no visit"
            told += [Reading(said, why, loose, f"--id {_VISIT[0]}")]
        return tuple(told)


def _apart(vocabulary: str) -> pl.Expr:
    """Whether one of both concepts is of the vocabulary, and the other is not the same."""
    of = [pl.col(f"{side}_vocabulary").eq_missing(pl.lit(vocabulary)) for side in _SIDES]
    return (of[0] | of[1]) & pl.col("standard_id").ne_missing(pl.col("source_id"))

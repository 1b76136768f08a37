"""Changes of events whose codes stand in several places: resources of FHIR, tables of OMOP."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.data.label_format import Layout
from audit.data.sources.fhir import is_other, is_whole
from audit.hierarchies.formats.omop_tables import CODES, Tables
from audit.runs.fixes.changes import Edit, Ledger, Record
from audit.runs.fixes.plan import Cells, Plan, Planner
from audit.runs.fixes.text_files import Value, entries_of, in_bytes, members

Became: TypeAlias = Mapping[int, str | None]
"""Another label by the number of a row; None where its event goes."""


def became(rows: pl.DataFrame, ledger: Ledger) -> dict[int, str | None]:
    """What the changes of a ledger make of rows of `Layout.events`; rows that stay are left out.

    Raises:
        InputError: If a label is to be added: an event has an id and a time of its own.
    """
    changes = (one for own in ledger.of.values() for one in own)
    if added := [f"{one.new} of {one.instance}" for one in changes if not one.label]:
        raise InputError(
            "labels of events that are there are required",
            found=f"some to be added: {first_cases(added)}",
            hint="record the event with its time, by the program that the data are from",
        )
    counts = pl.col("refused").ne_missing(pl.lit("left_out")) & pl.col("label").is_not_null()
    of_some = pl.col("instance").is_in([*ledger.of])
    asked = rows.with_row_index("row").filter(counts & of_some)
    records, found = dict[tuple[str, str | None], Record](), dict[int, str | None]()
    for row, instance, table, label in asked.select("row", "instance", "table", "label").rows():
        begun = Record(ledger, instance, table or "")
        new = records.setdefault((instance, table), begun).becomes(label)
        if new != label:
            found[row] = new
    return found


class Occurrences(Planner):
    """What becomes of a table of OMOP: the concept of a code, and the code where it is written."""

    def __init__(
        self, table: Cells, rows: pl.DataFrame, became: Became, kind: str, tables: Tables
    ) -> None:
        numbered = rows.with_row_index("row").filter(pl.col("resource") == kind)
        column = next(iter(numbered["column"]), f"{kind}_concept_id")
        super().__init__(table, Layout(None, (column,)), Ledger(()))
        if table.height != numbered.height:
            found = f"{table.height:,} for {numbered.height:,}"
            raise InputError("the rows that were read are required", found=found, where=tables)
        self._coded, self._labels = self.place(f"{kind}_source_value"), numbered["label"]
        places = zip(numbered["row"], range(numbered.height), strict=True)
        self._became = {place: became[row] for row, place in places if row in became}
        self._id_of = _ids_of_codes(tables, rows["vocabulary"][0], self._became)

    def plan(self) -> Plan:
        """What becomes of the rows."""
        (column,), plan = self.places, Plan()
        for row, new in self._became.items():
            if new is None:
                plan.gone.add(row)
                continue
            plan.cells[row, column] = self._id_of[new]
            text, label = str(self._table.cell(row, self._coded) or ""), self._labels[row]
            if text.strip() == label:
                plan.cells[row, self._coded] = text.replace(label, new, 1)
            elif text.strip() == label.replace(".", ""):
                plan.cells[row, self._coded] = text.replace(text.strip(), new.replace(".", ""), 1)
        return plan


def _ids_of_codes(tables: Tables, vocabulary: str, became: Became) -> dict[str, str]:
    """The concept of each code that is written, a valid one where there are several."""
    new = {one for one in became.values() if one is not None}
    own = pl.col("concept_code").is_in([*new]) & (pl.col("vocabulary_id") == vocabulary)
    names = ("concept_id", "concept_code", "vocabulary_id")
    known = tables.read(CODES, names, ("invalid_reason",), own)
    if "invalid_reason" in known.columns:
        known = known.sort("invalid_reason", nulls_last=False, maintain_order=True)
    known = known.unique("concept_code", keep="first")
    if lacking := sorted(new - {*known["concept_code"]}):
        raise InputError(
            f"a concept of {vocabulary} is required for each label that is written",
            found=f"none for {first_cases(lacking)}",
            where=tables,
            hint="decide on labels as the table of concepts writes them",
        )
    return dict(known.select("concept_code", "concept_id").iter_rows())


_Codings: TypeAlias = dict[tuple[str | None, str], str | None]
_Changed: TypeAlias = Iterator[tuple[int, int, str]]
"""Characters from one place up to another, and what becomes of them."""


class Codings:
    """What becomes of codings in files of FHIR, which are edited in the order that they are read.

    The code of a coding changes; one that goes leaves its list, and the last one takes its resource
    with it. What is displayed, texts and codings of other systems stay.
    """

    def __init__(self, rows: pl.DataFrame, became: Became) -> None:
        self._of, self._read = defaultdict[int, _Codings](dict), 0
        places = rows.select("place", "system", "label")
        for row, new in became.items():
            place, system, label = places.row(row)
            self._of[place][system, label] = new

    def edits(self, path: Path, data: bytes) -> list[Edit]:
        """The edits of the next file."""
        text = data.decode("utf-8")
        return [*in_bytes(text, sorted(self._changed(text, whole=is_whole(path))))]

    def _changed(self, text: str, *, whole: bool) -> _Changed:
        gone = dict[int, tuple[Sequence[Value], set[int]]]()
        for at, among, nth in _resources(text, whole=whole):
            own, self._read = self._of.get(self._read), self._read + 1
            if own is None:
                continue
            lists = [_listed(text, one.start, "coding") for one in _listed(text, at, "code")]
            left = [[*_new_codes(text, every, own)] for every in lists]
            if any(new is not None for some in left for _, new in some):
                for every, some in zip(lists, left, strict=True):
                    yield from _without(
                        every, {n for n, (_, new) in enumerate(some) if new is None}
                    )
                    yield from (
                        (code.start, code.end, json.dumps(new, ensure_ascii=False))
                        for code, new in some
                        if code is not None and new not in (None, code.value)
                    )
            else:
                gone.setdefault(among[0].start, (among, set()))[1].add(nth)
        for among, every_gone in gone.values():
            yield from _without(among, every_gone)


def _new_codes(
    text: str, codings: Sequence[Value], own: _Codings
) -> Iterator[tuple[Value | None, str | None]]:
    """The code of each coding, None where it has none, and what it becomes; None where it goes."""
    for one in codings:
        said = dict(members(text, one.start))
        system, code = (said.get(key) for key in ("system", "code"))
        now = "" if code is None else str(code.value)
        named = str(system.value) if system and system.value else None
        yield code, own.get((named, now.strip()), now)


def _resources(text: str, *, whole: bool) -> Iterator[tuple[int, Sequence[Value], int]]:
    """Where each resource that is read begins, of which lines or entries it is one, and which."""
    ends = [] if whole else [found.end() for found in re.finditer("\n", text)]
    ends += [len(text)] * (ends[-1:] != [len(text)])
    lines = [Value(None, start, end) for start, end in pairwise([0, *ends])]
    for number, line in enumerate(lines):
        said = text[line.start : line.end]
        if not said.strip() or is_other(said):
            continue
        at = text.index("{", line.start)
        if '"Bundle"' not in said or dict(members(text, at))["resourceType"].value != "Bundle":
            yield at, lines, number
            continue
        entries = _listed(text, at, "entry")
        for nth, entry in enumerate(entries):
            for held in _listed(text, entry.start, "resource"):
                yield held.start, entries, nth


def _listed(text: str, at: int, key: str) -> Sequence[Value]:
    """The objects under a key of an object, one or a list of them."""
    held = dict(members(text, at)).get(key)
    if held is None or held.value is None:
        return ()
    return [held] if isinstance(held.value, dict) else [*entries_of(text, held.start)]


def _without(every: Sequence[Value], gone: Collection[int]) -> _Changed:
    """Take some entries of a list out, each with what parts it from the one before."""
    first = next((n for n in range(len(every)) if n not in gone), len(every))
    for n in sorted(gone):
        start = every[n - 1].end if n > first else every[n].start
        ahead = n < first and n + 1 < len(every)
        yield start, every[n + 1].start if ahead else every[n].end, ""

"""FHIR R4: conditions and procedures as lines of a bulk export, or in Bundles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

import polars as pl

from audit.base.disk import PassingFolder, on_disk
from audit.base.errors import InputError, first_cases
from audit.base.files import files_in, first_bytes
from audit.base.readings import Reading
from audit.data.sources.events import Events, Named, code_set, which
from audit.data.sources.fhir_resources import Held, codings_of, objects_in, visit_of
from audit.data.sources.file import File

CODED, _ENCOUNTER = ("Condition", "Procedure"), "Encounter"
"""Resources whose codes are labels, and those that they belong to."""
_AT_ONCE = 50_000
"""Rows of codings that are held at a time where not all are."""
_TYPE = re.compile(r'"resourceType"\s*:\s*"(\w+)"')
_COLUMNS = (
    "place", "instance", "label", "group", "table", "resource", "system", "display", "date",
    "category", "clinical", "verification", "class",
)  # fmt: skip
_UNLIKE: Mapping[str, tuple[str, ...]] = {
    "category": (),
    "verification": ("unconfirmed", "provisional", "differential"),
    "resource": (),
}
"""Columns of what is told to count alike: these values, or all where there are several."""


def fhir_of(path: Path) -> Fhir | None:
    """A file of lines or a Bundle, or a folder of such, as FHIR; None if it is none."""
    inside = files_in(path) if path.is_dir() else [path]
    files = [one for one in inside if one.is_file() and _kind_of(one)]
    return Fhir(path, files) if files else None


def _kind_of(file: Path) -> str | None:
    """The type of the first resource in a file; None of a code system and of what is no FHIR."""
    if not re.fullmatch(r".*\.(json|ndjson|jsonl)(\.gz)?", file.name.lower()):
        return None
    head = first_bytes(file).decode("utf-8-sig", "replace").lstrip()
    found = _TYPE.search(head) if head.startswith("{") else None
    kind = found and found[1]
    return None if kind == "CodeSystem" else kind


def is_whole(file: Path) -> bool:
    """Whether a file is one resource, or Bundle, instead of lines."""
    return _kind_of(file) == "Bundle" or ".json" in file.suffixes


def is_other(line: str) -> bool:
    """Whether a line is whole, and a resource of no kind that is read; it need not be parsed."""
    whole = '"resourceType"' in line and line.rstrip().endswith("}")
    return whole and not any(f'"{kind}"' in line for kind in (*CODED, _ENCOUNTER, "Bundle"))


class Fhir(Events):
    """Resources of FHIR R4, in one file or several."""

    kind = "resources of FHIR"
    format = "fhir"
    instance = "encounter"
    vocabularies = True

    def _resources(self) -> Iterator[tuple[str, str, Held]]:
        """Place, address and content of each resource that may be of a kind that is read."""
        from audit.data.json_lines import objects_on

        for file in self.files:
            lines = File(file).streamed_lines()
            asked = iter([(str(file), File(file).text())]) if is_whole(file) else lines
            for where, one in objects_on(line for line in asked if not is_other(line[1])):
                if one.get("resourceType") != "Bundle":
                    yield where, "", one
                    continue
                for number, entry in enumerate(objects_in(one, "entry", where), start=1):
                    for held in objects_in(entry, "resource", f"{where}: entry {number}"):
                        yield f"{where}: entry {number}", str(entry.get("fullUrl") or ""), held

    _whole: pl.DataFrame | None = None

    def load(self) -> None:
        self._whole = self._of_visits(pl.concat(self._parsed()))

    def _parsed(self) -> Iterator[pl.DataFrame]:
        """A row for each coding of each condition and procedure, and for those without any, those
        of a resource together; ``place`` is its number. Beside them encounters become known."""
        found: list[tuple[Any, ...]] = []
        others = Counter[str]()
        self._visits, self.systems, self.read = {}, Counter[str](), 0
        for number, (where, address, one) in enumerate(self._resources()):
            kind = str(one.get("resourceType"))
            others[kind] += 1
            if kind == _ENCOUNTER:
                own = str(one.get("id") or address)
                self._visits[own] = self._visits[address] = visit_of(own, one, where)
            elif kind in CODED:
                found += [(number, *row) for row in codings_of(one, kind, where)]
            if len(found) >= _AT_ONCE:
                yield self._framed(found)
                found = []
        if not (found or self.read):
            raise InputError(
                "resources of Condition or Procedure are required",
                found=first_cases(others) if others else "a bundle, or file, without resources",
                where=self,
                hint="" if others else "a search that found nothing gives such a bundle: curl "
                "'SERVER/Condition?_count=1000' > conditions.json asks for them",
            )  # fmt: skip
        yield self._framed(found)

    def _framed(self, found: list[tuple[Any, ...]]) -> pl.DataFrame:
        types = dict.fromkeys(_COLUMNS, pl.String) | {"place": pl.Int64}
        rows = pl.DataFrame(found, types, orient="row")
        self.systems.update(rows["system"].drop_nulls())
        self.read += rows.height
        return rows

    @cached_property
    def _stored(self) -> PassingFolder:
        """A folder of the rows, which are parsed once; read again they are of their encounters."""
        folder = PassingFolder()
        for number, rows in enumerate(self._parsed()):
            with on_disk(folder.path):
                rows.write_parquet(folder.path / f"{number:06d}")
        return folder

    def rows(self) -> Iterator[pl.DataFrame]:
        """The rows as `_parsed` makes them, with what their encounters say."""
        if self._whole is not None:
            yield self._whole
            return
        for file in sorted(self._stored.path.iterdir()):
            yield self._of_visits(pl.read_parquet(file))

    @cached_property
    def _encounters(self) -> pl.DataFrame:
        names = ("instance", "own", "start", "kind", "wrong")
        told = [(name, *one) for name, one in self._visits.items()]
        return pl.DataFrame(told, dict.fromkeys(names, pl.String), orient="row")

    def _of_visits(self, rows: pl.DataFrame) -> pl.DataFrame:
        joined = rows.join(self._encounters, on="instance", how="left", maintain_order="left")
        return joined.with_columns(
            pl.coalesce("own", "instance").alias("instance"),
            pl.coalesce("date", "start"),
            pl.coalesce("table", "wrong"),
            pl.col("kind").alias("class"),
        ).select(_COLUMNS)

    @cached_property
    def system(self) -> str:
        """The code system whose codings are labels, which may be a pattern."""
        next(self.rows())  # all are parsed
        stated, counts = self.words.vocabulary, self.systems
        fits = [one for one in counts if stated and fnmatchcase(one.lower(), stated.lower())]
        if stated and not fits:
            required = "a code system that codings have is required"
            raise InputError(
                required, found=f"{stated}; they have {first_cases(counts)}", where=self
            )
        if stated or len(counts) == 1:
            return (stated or next(iter(counts))).lower()
        nodes = Counter[str]()
        for rows in self.rows():
            for system, label in rows.select("system", "label").drop_nulls().iter_rows():
                nodes[system] += bool(self.nodes and self.nodes.weight(label))
        required, said = "it must be stated which codings are labels", "codings of {} are labels"
        raise which(required, counts, nodes, lambda one: f"--system {quote(one)}", self, said)

    def kept(self) -> Iterator[pl.DataFrame]:
        """The codings of the system, and one row for each resource that has none of it."""
        system = self.system
        names = [one for one in self.systems if fnmatchcase(one.lower(), system)]
        left = pl.when(pl.col("system").is_not_null()).then(pl.lit("left_out")).otherwise("table")
        other = pl.col("table").is_null() & pl.col("system").is_not_null()
        for rows in self.rows():
            own = rows.filter(pl.col("system").is_in(names))
            own = own.unique(["place", "system", "label"], maintain_order=True)
            rest = rows.filter(~pl.col("place").is_in(own["place"].implode()))
            rest = rest.unique("place", keep="first", maintain_order=True)
            rest = rest.with_columns(table=left, other=other)
            both = [own.with_columns(other=pl.lit(False)), rest]
            yield pl.concat(both).sort("place", maintain_order=True)

    def _of_instances(self) -> Iterator[pl.DataFrame]:
        day = pl.concat_str("group", "date", separator=" ")
        for rows in self.kept():
            kinds = rows.select("system", "resource")
            sets = {
                (system, kind): code_set(f"{kind if kind == 'Procedure' else ''} {system}")
                for system, kind in kinds.unique().iter_rows()
            }
            tables = pl.Series("table", [sets[one] for one in kinds.iter_rows()], pl.String)
            yield rows.with_columns(
                pl.coalesce("instance", day), pl.coalesce("table", tables),
                encounter="instance", day=day, patient="group",
            )  # fmt: skip

    def events(self, columns: Named, at_once: int) -> Iterator[pl.DataFrame]:
        parts = -(-self.read // max(at_once, 1))
        return self.gathered(self._of_instances, columns, parts)

    def said(self, columns: Named) -> tuple[Reading, ...]:
        told, others, loose = list[Reading](), 0, 0
        counts = {name: Counter[str]() for name in _UNLIKE}
        for rows in self.kept():
            others += int(rows["other"].sum())
            loose += 0 if columns.id else rows["instance"].null_count()
            own = rows.filter(pl.col("table").is_null())
            for name, found in counts.items():
                found.update(own[name].drop_nulls())
        if others:
            said = "resources without a coding of the system are no labels"
            option = "--system with a pattern"
            told += [Reading(said, "--system names it", others, option, "resources")]
        if loose:
            said, why = "codings of a patient on one day are an instance", "they name no encounter"
            told += [Reading(said, why, loose, "--id encounter", "codings")]
        for name, unlike in _UNLIKE.items():
            told += self.alike(columns, name, counts[name], unlike)
        return tuple(told)

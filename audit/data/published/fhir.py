"""FHIR R4: conditions and procedures as lines of a bulk export, or in Bundles."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from shlex import quote
from typing import Any

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import files_in, first_bytes, read_json, read_lines
from audit.base.frames import table_of
from audit.base.readings import Reading
from audit.base.table import Table
from audit.data.published.wanted import Wanted, code_set, which

_FALSE = ("refuted", "entered-in-error", "not-done")
"""Statuses of what was not so."""
_UNSURE = ("unconfirmed", "provisional", "differential")
_DATES = (
    ("recordedDate",), ("onsetDateTime",), ("performedDateTime",), ("performedPeriod", "start"),
    ("onsetPeriod", "start"),
)  # fmt: skip
_TYPE = re.compile(r'"resourceType"\s*:\s*"(\w+)"')
_COLUMNS = (
    "encounter", "label", "group", "refused", "resource", "system", "display", "date", "category",
    "clinical", "verification",
)  # fmt: skip
_VISIT = ("encounter", "own", "start", "class", "wrong")


def fhir_of(path: Path, wanted: Wanted) -> Table | None:
    """The codings of conditions and procedures in a file of lines or a Bundle, or a folder of such;
    None of others.

    An instance is the encounter, else the subject and day. Of each resource count the codings of
    one system; without such it is a row that is refused, or has no label.
    """
    inside = files_in(path) if path.is_dir() else [path]
    files = [one for one in inside if one.is_file() and _kind_of(one)]
    if not files:
        return None
    rows = _read(files, path)
    system = _system(rows, wanted, path)
    names = [one for one in {*rows["system"]} if one and fnmatchcase(one.lower(), system)]
    own = rows.filter(pl.col("system").is_in(names))
    own = own.unique(["place", "system", "label"], maintain_order=True)
    rest = rows.join(own, on="place", how="anti").unique("place", maintain_order=True)
    other = pl.col("refused").is_null() & pl.col("system").is_not_null()
    others = int(rest.select(other.sum()).item())
    rest = rest.with_columns(refused=pl.when(other).then(pl.lit("left_out")).otherwise("refused"))
    kept = pl.concat([own, rest]).sort("place", maintain_order=True).drop("place")
    kinds = kept.select("system", "resource").unique()
    said = (f"{kind.removeprefix('Condition')} {name or ''}" for name, kind in kinds.iter_rows())
    kinds = kinds.with_columns(table=pl.Series([*map(code_set, said)], dtype=pl.String))
    kept = kept.join(kinds, on=kinds.columns[:2], how="left", nulls_equal=True)
    day = pl.concat_str("group", "date", separator=" ")
    kept = kept.with_columns(day=day, instance=pl.coalesce("encounter", day))
    told = tuple(_told(kept, others, wanted))
    return replace(table_of(kept, str(path), tuple(files)), layout="fhir", readings=told)


def _kind_of(file: Path) -> str | None:
    """The type of the first resource in a file; None of a code system and of what is no FHIR."""
    if not re.fullmatch(r".*\.(json|ndjson|jsonl)(\.gz)?", file.name.lower()):
        return None
    head = first_bytes(file).decode("utf-8-sig", "replace").lstrip()
    found = _TYPE.search(head) if head.startswith("{") else None
    return found[1] if found and found[1] != "CodeSystem" else None


def _resources(file: Path) -> Iterator[tuple[str, str, Any]]:
    """Place, address and content of each resource."""
    whole = _kind_of(file) == "Bundle" or ".json" in file.suffixes
    for number, text in [(0, "")] if whole else read_lines(file):
        where = f"{file}:{number}" if number else str(file)
        one = read_json(file) if whole else _parsed(text, where)
        entries = _all(one, where, "entry")
        if not entries:
            yield where, "", one
        for entry in entries:
            for held in _all(entry, where, "resource"):
                yield where, str(entry.get("fullUrl") or ""), held


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        required = "each line must be a resource of FHIR as JSON"
        raise InputError(required, found=str(error), where=where) from None


def _all(held: Any, where: str, *keys: str) -> list[Any]:
    """What stands under keys within keys, in order, of all objects in lists of such."""
    for key in keys:
        some = held if isinstance(held, list) else [held]
        if not all(isinstance(one, dict) for one in some):
            required = f"{key!r} must stand in an object, or a list of objects, as in FHIR R4"
            raise SchemaError(required, found=str(held)[:60], where=where)
        values = [one[key] for one in some if one.get(key) is not None]
        held = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return list(held)


def _first(held: Any, where: str, *keys: str) -> str | None:
    """The first text that stands under keys within keys."""
    found = _all(held, where, *keys)
    if not all(isinstance(one, str) for one in found):
        required = f"{keys[-1]!r} must be text, as in FHIR R4"
        raise SchemaError(required, found=str(found)[:60], where=where)
    return (found[0] or None) if found else None


def _read(files: Iterable[Path], where: Path) -> pl.DataFrame:
    """A row for each coding of each condition and procedure, and one for those without any, with
    what their encounters say; ``place`` is the number of the resource."""
    rows, visits, others = list[Any](), list[Any](), Counter[str]()
    every = (one for file in files for one in _resources(file))
    for number, (place, address, one) in enumerate(every):
        kind = str(one.get("resourceType"))
        others[kind] += 1
        if kind == "Encounter":
            own, told = str(one.get("id") or address), _visit(one, place)
            visits += [(known, own, *told) for known in dict.fromkeys((own, address))]
        elif kind in ("Condition", "Procedure"):
            rows += [(number, *row) for row in _codings(one, kind, place)]
    if not rows:
        raise InputError(
            "resources of Condition or Procedure are required",
            found=first_cases(others) if others else "a file without resources",
            where=where,
        )
    types = {"place": pl.Int64} | dict.fromkeys(_COLUMNS, pl.String)
    known = pl.DataFrame(visits, dict.fromkeys(_VISIT, pl.String), orient="row").unique("encounter")
    found = pl.DataFrame(rows, types, orient="row")
    joined = found.join(known, on="encounter", how="left", maintain_order="left")
    return joined.with_columns(
        encounter=pl.coalesce("own", "encounter"),
        date=pl.coalesce("date", "start"),
        refused=pl.coalesce("refused", "wrong"),
    ).drop("own", "start", "wrong")


def _visit(one: Any, where: str) -> tuple[str | None, ...]:
    """First day and class of an encounter, and whether it was an error."""
    start, kind = _first(one, where, "period", "start"), _first(one, where, "class", "code")
    wrong = "left_out" if one.get("status") == "entered-in-error" else None
    return start and start[:10], kind, wrong


def _codings(one: Any, kind: str, where: str) -> Iterator[tuple[str | None, ...]]:
    """`_COLUMNS` of each coding of a resource."""
    statuses = _all(one, where, "verificationStatus", "coding", "code") or [one.get("status")]
    refused = "left_out" if {*map(str, statuses)} & {*_FALSE} else None
    encounter, subject = (_reference(one, key, where) for key in ("encounter", "subject"))
    date = next((day for keys in _DATES if (day := _first(one, where, *keys))), None)
    words = (_first(one, where, key, "coding", "code") for key in ("category", "clinicalStatus"))
    says = (date and date[:10], *words, statuses[0])
    for coding in _all(one, where, "code", "coding") or [{"display": None}]:
        system, code, display = (
            _first(coding, where, key) for key in ("system", "code", "display")
        )
        display = display or _first(one, where, "code", "text")
        yield (encounter, code, subject, refused, kind, system, display, *says)


def _reference(one: Any, key: str, where: str) -> str | None:
    """The id that a reference names, without type and address; one of a Bundle as it stands.

    >>> _reference({"subject": {"reference": "http://a.org/Patient/7/_history/1"}}, "subject", "")
    '7'
    """
    said = _first(one, where, key, "reference")
    found = re.fullmatch(r"(?:.*/)?[A-Z]\w+/([^/]+)(?:/_history/.*)?", said or "")
    return found[1] if found else said


def _system(rows: pl.DataFrame, wanted: Wanted, where: Path) -> str:
    """The code system whose codings are labels, which may be a pattern, in lower case."""
    coded = rows.drop_nulls("system")
    counts, stated = Counter(coded["system"]), wanted.system.lower()
    if stated and not any(fnmatchcase(one.lower(), stated) for one in counts):
        required = "a code system that codings have is required"
        found = f"{wanted.system}; they have {first_cases(counts)}"
        raise InputError(required, found=found, where=where)
    if stated or len(counts) < 2:
        return stated or next(iter(counts), "").lower()
    labels = coded.select("system", "label").drop_nulls().iter_rows()
    nodes = Counter(system for system, label in labels if wanted.nodes.is_node(label))
    required, said = "it must be stated which codings are labels", "codings of {} are labels"
    raise which(required, counts, nodes, lambda one: f"--system {quote(one)}", where, said)


def _told(rows: pl.DataFrame, others: int, wanted: Wanted) -> Iterator[Reading]:
    if others:
        said = "resources without a coding of the system are no labels"
        yield Reading(said, "--system names it", others, "--system with a pattern", "resources")
    loose = rows["encounter"].null_count()
    if loose and not wanted.columns.id:
        said, why = "codings of a patient on one day are an instance", "they name no encounter"
        yield Reading(said, why, loose, "--id encounter", "codings")
    unsure = rows.filter(pl.col("verification").is_in(_UNSURE) & pl.col("refused").is_null())
    if unsure.height and not any(one.startswith("verification") for one in wanted.columns.where):
        said = f"{first_cases(sorted({*unsure['verification']}))} conditions count as any other"
        option = "--where verification=confirmed"
        yield Reading(said, "nothing says otherwise", unsure.height, option, "codings")

"""FHIR R4: conditions and procedures as lines of a bulk export, or in Bundles."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import files_in, first_bytes, parsed_json, read_json, read_lines
from audit.base.readings import Reading
from audit.base.table import Table, table_of
from audit.data.published.wanted import Wanted, code_set, meant

_CODING = pl.Struct(dict.fromkeys(("system", "code", "display"), pl.String))
_CODED = pl.Struct({"coding": pl.List(_CODING), "text": pl.String})
_PERIOD, _REFERENCE = pl.Struct({"start": pl.String}), pl.Struct({"reference": pl.String})
_EVENT: dict[str, Any] = {
    **dict.fromkeys(("code", "clinicalStatus", "verificationStatus"), _CODED),
    **dict.fromkeys(("subject", "encounter"), _REFERENCE),
    **dict.fromkeys(("performedPeriod", "onsetPeriod"), _PERIOD),
    **dict.fromkeys(("recordedDate", "onsetDateTime", "performedDateTime", "status"), pl.String),
}
_KINDS = {
    "Condition": _EVENT | {"category": pl.List(_CODED)},
    "Procedure": _EVENT | {"category": _CODED},
    "Encounter": {"id": pl.String, "status": pl.String, "period": _PERIOD, "class": _CODING},
}
"""What is read of each kind of resource."""
_DATES = (
    pl.col("recordedDate", "onsetDateTime", "performedDateTime"),
    pl.col("performedPeriod", "onsetPeriod").struct.field("start"),
)
_FALSE = ("refuted", "entered-in-error", "not-done")
"""Statuses of what was not so."""
_UNSURE = ("unconfirmed", "provisional", "differential")
_TYPE = re.compile(r'"resourceType"\s*:\s*"(\w+)"')
_LEFT_OUT = pl.lit("left_out")


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
    rows = _events(pl.concat(map(_resources, files)).with_row_index("place"), path)
    systems = [*rows.select("system", "label").drop_nulls().iter_rows()]
    nodes = Counter(system for system, label in systems if wanted.nodes.is_node(label))
    counts = Counter(rows["system"].drop_nulls())
    names = meant(counts, nodes, wanted.system, "system", path)
    own, first = pl.col("system").is_in(names).fill_null(False), pl.col("place").is_first_distinct()
    rows = rows.filter(own | (first & ~own.any().over("place")))
    rows = rows.unique(["place", "system", "label"], maintain_order=True)
    other = ~own & pl.col("system").is_not_null() & pl.col("refused").is_null()
    others = int(rows.select(other.sum()).item())
    kind = pl.col("resource").replace("Condition", "")
    said = rows.select(pl.concat_str(kind, "system", separator=" ", ignore_nulls=True)).to_series()
    rows = rows.with_columns(
        refused=pl.when(other).then(_LEFT_OUT).otherwise("refused"),
        table=said.replace_strict({one: code_set(one) for one in said.unique()}),
        day=pl.concat_str("group", "date", separator=" "),
    )
    rows = rows.drop("place").with_columns(instance=pl.coalesce("encounter", "day"))
    told = tuple(_told(rows, others, wanted))
    return replace(table_of(rows, str(path), tuple(files)), layout="fhir", readings=told)


def _kind_of(file: Path) -> str | None:
    """The type of the first resource in a file; None of a code system and of what is no FHIR."""
    if not re.fullmatch(r".*\.(json|ndjson|jsonl)(\.gz)?", file.name.lower()):
        return None
    head = first_bytes(file).decode("utf-8-sig", "replace").lstrip()
    found = _TYPE.search(head) if head.startswith("{") else None
    return found[1] if found and found[1] != "CodeSystem" else None


def _resources(file: Path) -> pl.DataFrame:
    """Place, ``fullUrl`` in a Bundle, text and kind of each resource of JSON, or a line each."""
    if _kind_of(file) == "Bundle" or ".json" in file.suffixes:
        held = read_json(file)
        entries = held.get("entry", [{"resource": held}])
        if not (isinstance(entries, list) and all(isinstance(one, dict) for one in entries)):
            required = "'entry' must be a list of objects, as in FHIR R4"
            raise SchemaError(required, found=str(entries)[:60], where=file)
        rows = [
            (str(file), one.get("fullUrl"), json.dumps(one["resource"]))
            for one in entries
            if "resource" in one
        ]
    else:
        rows = [(f"{file}:{number}", None, text) for number, text in read_lines(file)]
    every = pl.DataFrame(rows, dict.fromkeys(("where", "address", "text"), pl.String), orient="row")
    every = every.with_columns(kind=pl.col("text").str.json_path_match("$.resourceType"))
    for where, _, text, _ in every.filter(pl.col("kind").is_null()).iter_rows():
        parsed_json(text, where)
    return every


def _decoded(every: pl.DataFrame, kind: str) -> pl.DataFrame:
    """What the resources of a kind say, as `_KINDS` has it, with ``place`` and ``address``."""
    own, dtype = every.filter(kind=kind), pl.Struct(_KINDS[kind])
    try:
        said = own["text"].str.json_decode(dtype)
    except pl.exceptions.ComputeError:
        for where, text in own.select("where", "text").iter_rows():
            try:
                pl.Series([text]).str.json_decode(dtype)
            except pl.exceptions.ComputeError as error:
                required, found = (
                    f"a resource of {kind} as in FHIR R4 is required",
                    str(error).split("\n")[0],
                )
                raise SchemaError(required, found=found, where=where) from None
        raise
    return own.select("place", "address").hstack(said.struct.unnest())


def _codes(coding: str) -> pl.Expr:
    """The codes of a concept, or of a list of such."""
    of_each = pl.element().struct.field("coding").explode().struct.field("code").drop_nulls()
    return pl.concat_list(coding).list.eval(of_each)


def _id(reference: str) -> pl.Expr:
    """The id that a reference names, without type and address; one of a Bundle as it stands."""
    said = pl.col(reference).struct.field("reference")
    return pl.coalesce(said.str.extract(r"^(?:.*/)?[A-Z]\w+/([^/]+)(?:/_history/.*)?$"), said)


def _events(every: pl.DataFrame, where: Path) -> pl.DataFrame:
    """A row for each coding of a condition or procedure, or one without; with its encounter."""
    kinds = ("Condition", "Procedure")
    if every.filter(pl.col("kind").is_in(kinds)).is_empty():
        counts = Counter(every["kind"].drop_nulls())
        raise InputError(
            "resources of Condition or Procedure are required",
            found=first_cases(counts) if counts else "a file without resources",
            where=where,
        )
    statuses = pl.concat_list(_codes("verificationStatus"), "status").list.drop_nulls()
    events = pl.concat(
        _decoded(every, kind).select(
            "place",
            pl.col("code").struct.field("coding", "text"),
            encounter=_id("encounter"),
            group=_id("subject"),
            resource=pl.lit(kind),
            date=pl.coalesce(_DATES).str.head(10),
            category=_codes("category").list.first(),
            clinical=_codes("clinicalStatus").list.first(),
            verification=statuses.list.first(),
            refused=pl.when(statuses.list.eval(pl.element().is_in(_FALSE)).list.any()).then(
                _LEFT_OUT
            ),
        )
        for kind in kinds
    )
    visits = _decoded(every, "Encounter").select(
        "address",
        own=pl.coalesce("id", "address"),
        start=pl.col("period").struct.field("start").str.head(10),
        wrong=pl.when(status="entered-in-error").then(_LEFT_OUT),
        **{"class": pl.col("class").struct.field("code")},
    )
    ids = (visits.rename({"address": "encounter"}), visits.with_columns(encounter="own"))
    known = pl.concat(ids, how="diagonal").drop("address").unique("encounter", keep="first")
    rows = (
        events.sort("place")
        .explode("coding", empty_as_null=True)
        .unnest("coding")
        .rename({"code": "label"})
    )
    rows = rows.join(known, on="encounter", how="left", maintain_order="left")
    return rows.select(
        pl.exclude("own", "start", "wrong", "text", "encounter", "date", "refused", "display"),
        encounter=pl.coalesce("own", "encounter"),
        date=pl.coalesce("date", "start"),
        refused=pl.coalesce("refused", "wrong"),
        display=pl.coalesce("display", "text"),
    ).with_columns(pl.col(pl.String).replace("", None))


def _told(rows: pl.DataFrame, others: int, wanted: Wanted) -> Iterator[Reading]:
    """Readings on ``others`` (left out), rows without a visit, and conditions that are not sure."""
    if others:
        said = "resources without a coding of the system are no labels"
        yield Reading(said, "--system names it", others, "--system with a pattern", "resources")
    yield from wanted.told_of_days(rows["encounter"].null_count(), "encounter")
    unsure = rows.filter(pl.col("verification").is_in(_UNSURE) & pl.col("refused").is_null())
    if unsure.height and not any(one.startswith("verification") for one in wanted.columns.where):
        said = f"{first_cases(sorted({*unsure['verification']}))} conditions count as any other"
        option = "--where verification=confirmed"
        yield Reading(said, "nothing says otherwise", unsure.height, option, "codings")

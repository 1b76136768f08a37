"""The data of a run as they were, and whether their format can be written back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard

from audit.base.databases import KINDS
from audit.base.errors import InputError, first_cases
from audit.base.limits import limits
from audit.base.other_files import SHEETS
from audit.base.plugins import using
from audit.base.remote import address_of, allowing, stored_place
from audit.data.arrays import NPY_MAGIC
from audit.data.dataset import LabelDataset
from audit.data.label_formats.mimic import tables_of
from audit.data.sources import File, Folder, Source, source_of
from audit.data.sources.fhir import Fhir
from audit.data.sources.file import CopiedFile
from audit.data.sources.meds import Meds
from audit.data.sources.omop import Omop
from audit.data.sources.sql import Query
from audit.data.sources.tables import TableFile
from audit.runs.fixes.statements import table_in
from audit.runs.fixes.workbook import ENDINGS
from audit.runs.inputs import read_data, stated_policy
from audit.runs.sealed_run import SealedRun
from audit.runs.settings import Settings

OF_FOLDERS = ("mimic3", "mimic4")
"""Formats whose tables each hold one code set, which the name of the file says."""
_AS_TABLE = (
    "write them as a table, CSV or Parquet with a row for each label, and audit that; or change by "
    "hand what the sheet of `audit fixes` says"
)


def settings_of(run: Path, data: str | None = None) -> Settings:
    """The settings of a run whose inputs are as they were, and whose data can be written back."""
    sealed = SealedRun(run)
    settings = None if sealed.manifest is None else sealed.manifest.settings
    if settings is None:
        raise InputError(
            "a run that records how it was made is required",
            found="a changed manifest" if sealed.manifest is None else "one made from Python",
            where=run,
        )
    before, settings = settings.dataset, replace(settings, dataset=data or settings.dataset)
    with _as_then(settings):
        faults = list(sealed.changed_inputs(Path(before), Path(settings.dataset)))
        if is_database(settings):
            recorded = {one.sha256 for one in sealed.inputs if one.query is not None}
            with closing(queried_of(settings)) as source:
                other = not {source.digest, None} & recorded
            faults += ["the query gives other rows"] * other
        if faults:
            raise InputError(
                "the data as they were when the run was made are required",
                found=first_cases(faults),
                where=run,
                hint="audit the data as they are now, and decide on that run",
            )
        if not is_database(settings):
            _refuse_kind(settings.dataset)
    return settings


@contextmanager
def _as_then(settings: Settings) -> Iterator[None]:
    """With the limits, plugins and network that a run was made with."""
    with limits(**settings.limits), using(settings.plugins), allowing(settings.allow_network):
        yield


def is_database(settings: Settings) -> bool:
    """Whether the data of a run are in a database."""
    return settings.dataset.partition("://")[0] in KINDS


def queried_of(settings: Settings) -> Query | Omop:
    """The table of a run, or its tables of OMOP, all read."""
    with _as_then(settings):
        source = source_of(settings.dataset, settings.sql, settings.table)
        assert isinstance(source, (Query, Omop)), "it is a database"
        if isinstance(source, Query):
            table_in(source)
            source.load()
    return source


def read_again(settings: Settings) -> LabelDataset:
    """The data of a run."""
    with _as_then(settings):
        labels, _ = read_data(replace(settings, predictions=()), stated_policy(settings))
        if labels.layout is None or not (
            is_database(settings) or files_of(labels, settings.dataset)
        ):
            raise _refused(labels.format, settings.dataset, _AS_TABLE)
    return labels


def files_of(labels: LabelDataset, dataset: str) -> list[Path]:
    """The files that hold the labels, each of a kind that can be written back; else none."""
    if _is_book(dataset):
        return [Path(dataset)]
    source = source_of(dataset)
    if isinstance(source, Fhir):
        return [*source.files]
    if isinstance(source, Omop):
        return [*source.occurrences.values()]
    found = [part for part in _parts(source, labels.format) if _is_text(part)]
    inside = {*(labels.layout.labels if labels.layout else ())}
    plain = bool(found) and not any(
        part.preamble.blanks or inside & {*part.class_names} for part in found
    )
    if labels.format == "npy":
        plain = all(part.head.startswith(NPY_MAGIC) or part.suffix == ".npz" for part in found)
    return [path for part in found for path in part.files] if plain else []


def _is_text(source: Source) -> TypeGuard[File]:
    """Whether a source is a file as it is, or a copy of one that differs by its encoding alone."""
    return type(source) is File or (isinstance(source, CopiedFile) and bool(source.encoding))


def _is_book(dataset: str) -> bool:
    return Path(dataset).suffix.lower() in ENDINGS and Path(dataset).is_file()


def _parts(source: Source, format: str) -> list[Source]:
    if isinstance(source, Meds):
        return [*map(File, source.shards)]
    return [*(tables_of(source, "hosp") if format in OF_FOLDERS else source.parts)]


def _refused(found: str, where: str, hint: str) -> InputError:
    return InputError(
        "data that can be written back are required: tables of text, Parquet or .xlsx, JSON "
        "lines, the tables of MIMIC, MEDS, OMOP, FHIR, grouped, psv, .npy or .npz",
        found=found,
        where=where,
        hint=hint,
    )


def _refuse_kind(dataset: str) -> None:
    """Refuse data of a kind that is never written back, before anything of them is read."""
    if address_of(dataset):
        hint = "copy the file, and audit the copy"
        raise _refused("a file at an address", stored_place(dataset), hint)
    if _is_book(dataset):
        return
    source = source_of(dataset)
    if isinstance(source, CopiedFile) and not source.encoding:
        hint = "write it with commas between cells, and rows alone, and audit that"
        raise _refused("a text that is read from a copy in another form", dataset, hint)
    if isinstance(source, TableFile):
        books = source.suffix in SHEETS
        hint = "save it as a workbook of .xlsx, and audit that" if books else _AS_TABLE
        if source.head.startswith(b"SQLite format 3"):
            hint = f"audit sqlite:///{dataset} --table NAME; statements that change it are written"
        raise _refused(f"{source.kind} ({source.suffix or 'no ending'})", dataset, hint)
    if not isinstance(source, (File, Folder, Meds, Fhir, Omop)) or source.queried:
        raise _refused(f"{source.kind}, a {type(source).__name__}", dataset, _AS_TABLE)
